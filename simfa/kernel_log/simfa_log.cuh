// Sim-FA kernel log: records the events of Table 4 from inside FlashAttention-3's forward kernel (section 5.1).
//
// UNPROVEN ON A GPU: this file is compiled for sm_90a by a test, and its layout is checked against the reader;
// nobody has run it yet. Take the instrumented kernel's own time for nothing: it is only the source of a trace.
//
// How to use it
//   Host, before the launch:
//       simfa_log::Log log = simfa_log::allocate(blocks, warps_per_block, entries_per_warp);
//     blocks is the number of output tiles, (query tiles) x (query heads) x (batch), query tile fastest, then head,
//     then batch. A tile of n K/V tiles takes 2 n + 1 entries in the producer and 6 n in a consumer, and one more.
//   Pass `log` by value to the kernel. In the kernel, in every warp, once per output tile:
//       simfa_log::Recorder record(log, tile + query_tiles * (head + heads_q * batch));
//     Where each block computes one tile this number is the linear block index; a persistent kernel passes the
//     tile it works on.
//   Then call record(EVENT, stage, index), by all lanes of the warp (lane 0 writes):
//       producer warp, before each cp.async.bulk.tensor
//         of Q:   record(simfa_log::TMA_Q_ISSUE, 0, query_tile);
//         of K:   record(simfa_log::TMA_K_ISSUE, smem_pipe_write.index(), n_block);   V likewise: TMA_V_ISSUE
//       consumer warps, with the ring-buffer stage of the tile
//         entry of the mbarrier wait for K:        record(simfa_log::WAIT_K_START, smem_pipe_read.index(), n_block);
//         before the first wgmma of Q K^T:         record(simfa_log::GEMM_QK_ISSUE, same stage, n_block);
//         entry of the mbarrier wait for V:        record(simfa_log::WAIT_V_START, ...);
//         before the first wgmma of P V:           record(simfa_log::GEMM_PV_ISSUE, ...);
//         after warpgroup_wait<1> (Q K^T done):    record(simfa_log::WAIT_WG_1, ...);
//         after warpgroup_wait<0> (all done):      record(simfa_log::WAIT_WG_0, ...);
//   Host, after the kernel: simfa_log::write("fa3.log", header, log), with a Header filled in as below; then
//       python -m simfa translate fa3.log -o fa3.trace && python -m simfa run fa3.trace --gpu h800
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

namespace simfa_log {

enum Event : std::uint16_t {
    TMA_Q_ISSUE = 1,
    TMA_K_ISSUE = 2,
    TMA_V_ISSUE = 3,
    WAIT_K_START = 4,
    GEMM_QK_ISSUE = 5,
    WAIT_V_START = 6,
    GEMM_PV_ISSUE = 7,
    WAIT_WG_1 = 8,
    WAIT_WG_0 = 9,
};

struct alignas(16) Entry {
    std::uint64_t timestamp;
    std::uint16_t event;
    std::uint16_t stage;
    std::uint16_t payload;
    std::uint16_t padding;
};
static_assert(sizeof(Entry) == 16, "an entry has 16 bytes");

// Bases and strides in bytes. dtype: 0 FP16, 1 BF16, 2 FP8, 3 FP32. The first seven counts are set by write().
struct Header {
    char magic[8];
    std::uint32_t byte_order, version, header_bytes, entry_bytes;
    std::uint32_t blocks, warps_per_block, entries_per_warp;
    std::uint32_t batch, seq_q, seq_kv, heads_q, heads_kv, head_dim;
    std::uint32_t query_rows, kv_rows, k_stages, v_stages;
    std::uint32_t dtype, ping_pong, cluster, ctas_per_sm, reserved;
    std::uint64_t q_base, q_head_stride, q_row_stride, q_batch_stride;
    std::uint64_t k_base, k_head_stride, k_row_stride, k_batch_stride;
    std::uint64_t v_base, v_head_stride, v_row_stride, v_batch_stride;
    std::uint64_t o_base, o_head_stride, o_row_stride, o_batch_stride;
    unsigned char unused[32];
};
static_assert(sizeof(Header) == 256, "a header has 256 bytes");

struct Log {
    Entry* entries;
    std::uint32_t blocks, warps_per_block, entries_per_warp;
};

// One warp's view of its own buffer; no atomics, and nothing is recorded once the buffer is full.
class Recorder {
public:
    __device__ Recorder(Log const& log, std::uint32_t block) {
        std::uint64_t const buffer = std::uint64_t(block) * log.warps_per_block + threadIdx.x / 32;
        next_ = log.entries + buffer * log.entries_per_warp;
        end_ = next_ + log.entries_per_warp;
    }

    __device__ void operator()(Event event, int stage, int payload) {
        if (threadIdx.x % 32 != 0 || next_ == end_) {
            return;
        }
        std::uint64_t now;
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
        next_->timestamp = now;
        next_->event = event;
        next_->stage = static_cast<std::uint16_t>(stage);
        next_->payload = static_cast<std::uint16_t>(payload);
        next_->padding = 0;
        ++next_;
    }

private:
    Entry* next_;
    Entry* end_;
};

// Device memory for all buffers, zeroed; entries is null if there is not enough.
inline Log allocate(std::uint32_t blocks, std::uint32_t warps_per_block, std::uint32_t entries_per_warp) {
    Log log{nullptr, blocks, warps_per_block, entries_per_warp};
    std::size_t const bytes = sizeof(Entry) * blocks * warps_per_block * entries_per_warp;
    if (cudaMalloc(reinterpret_cast<void**>(&log.entries), bytes) != cudaSuccess) {
        log.entries = nullptr;
    } else if (cudaMemset(log.entries, 0, bytes) != cudaSuccess) {
        cudaFree(log.entries);
        log.entries = nullptr;
    }
    return log;
}

// Waits for the device and writes header and buffers; false on any error.
inline bool write(char const* path, Header header, Log const& log) {
    std::size_t const count = std::size_t(log.blocks) * log.warps_per_block * log.entries_per_warp;
    Entry* const host = new Entry[count];
    bool good = cudaDeviceSynchronize() == cudaSuccess &&
                cudaMemcpy(host, log.entries, count * sizeof(Entry), cudaMemcpyDeviceToHost) == cudaSuccess;
    std::memcpy(header.magic, "SIMFALOG", 8);
    header.byte_order = 0x01020304u;
    header.version = 1;
    header.header_bytes = sizeof(Header);
    header.entry_bytes = sizeof(Entry);
    header.blocks = log.blocks;
    header.warps_per_block = log.warps_per_block;
    header.entries_per_warp = log.entries_per_warp;
    if (std::FILE* const file = good ? std::fopen(path, "wb") : nullptr) {
        good = std::fwrite(&header, sizeof header, 1, file) == 1;
        good = std::fwrite(host, sizeof(Entry), count, file) == count && good;
        good = std::fclose(file) == 0 && good;
    } else {
        good = false;
    }
    delete[] host;
    return good;
}

}  // namespace simfa_log
