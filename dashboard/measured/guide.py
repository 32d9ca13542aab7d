"""The user's guide to a good measured file: commands, counters, and why counters and models differ."""

LABEL = "These commands have not yet been run on a GPU by this project; names may differ between versions of ncu."

NCU = """\
nvidia-smi -lgc 1500      # lock the SM clock first; pick one your GPU holds
ncu -o fa --target-processes all -k "regex:flash|fmha|attn|attention" --launch-skip 3 -c 5 \\
    --clock-control none --cache-control all --section LaunchStats --section Occupancy \\
    --metrics gpu__time_duration.sum,\\
dram__bytes.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__bytes_op_read.sum,dram__bytes_op_write.sum,\\
lts__t_bytes.sum,lts__t_sectors.sum,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_ltcfabric.sum,\\
lts__t_sectors_lookup_miss.sum,lts__t_sectors_aperture_sysmem_lookup_miss.sum,lts__t_sector_hit_rate.pct,\\
sm__cycles_elapsed.avg,sm__cycles_elapsed.avg.per_second python run.py
LC_ALL=C ncu -i fa.ncu-rep --csv --page raw --print-units base > fa.csv
nvidia-smi -rgc           # release the clock"""

NSYS = """\
nsys profile -t cuda -o fa python run.py
nsys stats --report cuda_gpu_trace,cuda_gpu_kern_sum --format csv --timeunit nsec -o fa fa.nsys-rep"""

CHOICES = """\
- `-k` keeps attention kernels, `--launch-skip 3 -c 5` drops warm-up and takes five launches: their spread shows
  what a difference is worth.
- `--clock-control none` leaves the clock you locked in place; the file then states it, and the models run at it.
- `--cache-control all` empties the caches before each launch: DRAM traffic starts from nothing, as in the models.
- `--page raw --print-units base` writes every counter in full digits; `LC_ALL=C` keeps separators unambiguous.
- A metric name your version of ncu refuses: leave it out. A missing counter stays missing here, it is never zero.
- A file name such as `ncu_b1_h32_s4096_d128_causal.csv` is read too: it fills what the kernel name does not say.
- nsys gives times alone, with caches and clocks as the program has them; the median is compared."""

# (counter, what it counts)
COUNTERS = (
    ("gpu__time_duration.sum", "Time of the launch on the GPU. Compared with latency."),
    (
        "lts__t_sectors_srcunit_tex.sum",
        "32-byte sectors that the SMs asked of the L2, reads and writes. Compared with Eq. (2): the preferred one.",
    ),
    (
        "lts__t_sectors.sum, lts__t_bytes.sum",
        "What all clients asked of all L2 slices: SMs, the fabric between partitions, others. An upper bound.",
    ),
    ("lts__t_sectors_srcunit_ltcfabric.sum", "The part of it that crossed between L2 partitions."),
    (
        "dram__bytes_read.sum, dram__bytes_write.sum",
        "Bytes that crossed the memory interface. Compared with DRAM traffic.",
    ),
    (
        "dram__bytes_op_read.sum, ..._op_write.sum",
        "The same under the names of newer versions on consumer Blackwell.",
    ),
    (
        "lts__t_sectors_aperture_sysmem_lookup_miss.sum",
        "L2 misses to system memory. Stands in for DRAM on GPUs without memory of their own (GB10); an estimate.",
    ),
    ("sm__cycles_elapsed.avg.per_second", "The SM clock during the launch. The models can run at it."),
    ("lts__t_sector_hit_rate.pct", "Share of L2 lookups that hit. Shown by the reader, not compared."),
)

WHY_L2 = """\
**L2 counters above the model on partitioned L2s.** A100, H100 and B200 split their L2 into two partitions, and
`lts__t_*` also counts `srcunit_ltcfabric`, the traffic between them (NVIDIA developer forum, threads 228015 and
361731). Eq. (2) is what the SMs ask for, once: compare the SM-side counter. Where a file lacks it, the table
says so, and the value is an upper bound. *Below* the model: in a cluster of two, FlashAttention-3 loads each
K/V tile once and multicasts it, and the coalescer of an SM pair merges requests. There the simulator's
coalesced bytes are the ones to compare, with Eq. (2) beside them. Register spills add traffic that no model
has."""

WHY_SHORT = """\
**Short kernels.** A launch, the first loads that nothing overlaps, the last partly filled wave and the
write-back of O take microseconds that a roofline does not count. At 10 µs they are most of the time, at 1 ms
little. Counters come from several replays of the launch, so related ones may differ by a few percent; time under
ncu (cold caches, its own clock policy) is not time under nsys."""
