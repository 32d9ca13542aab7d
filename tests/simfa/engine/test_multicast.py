"""Multicast within a cluster: one request stream, every CTA of the mask filled, releases counted across CTAs."""

import pytest

from presets import loader
from presets.arguments import build as experiment_of
from presets.errors import NotModelled, PresetError
from presets.specs import GpuSpec, KernelSpec, LlmSpec
from simfa import simulate, trace_launch
from simfa.kernel_log.generate import generate
from simfa.simulate import SimulationError
from simfa.trace import text, writer
from simfa.trace.fillings import Member, expected, releasers, sources
from tests.simfa.harness import LINE, SETUP, leaks, lines, program, run, tiny

NEAR = 258
PAIR = tiny(sms=2, cluster=2)
LOAD = "TMA_TENSOR map=0 row=0 sid=0 multicast=3"


def test_one_request_stream_fills_both_ctas_in_the_same_cycle() -> None:
    # CTA 0 issues at 0; eight lines leave two a cycle from 170; the last pair answers at 170 + 3 + 258. Both CTAs
    # wait for it and end in that cycle.
    done = run(PAIR, [[program(LOAD, "MB_WAIT sid=0")], [program("MB_WAIT sid=0")]], [lines(8)], ctas=2)
    assert done.ends == [SETUP + 3 + NEAR] * 2
    assert done.counted("accesses") == 8
    engines = done.machine.engines.engines
    assert engines["requested_bytes"].tolist() == [8 * LINE, 0]
    assert engines["delivered_bytes"].tolist() == [2 * 8 * LINE, 0]
    assert leaks(done.machine) == []


def test_a_mask_without_the_issuer_fills_only_the_other() -> None:
    load = program("TMA_TENSOR map=0 row=0 sid=0 multicast=2")
    done = run(PAIR, [[load], [program("MB_WAIT sid=0", "BUBBLES cycles=10")]], [lines(2)], ctas=2)
    assert done.ends == [SETUP + NEAR, SETUP + NEAR + 1 + 10]  # the bubble issues after the wait
    assert int(done.machine.engines.engines["delivered_bytes"].sum()) == 2 * LINE


def test_halves_from_both_ctas_are_one_filling() -> None:
    # Rank 1 issues its half 100 cycles later: stage 0 is full nowhere before that.
    early, late = program(LOAD, "MB_WAIT sid=0"), program("BUBBLES cycles=100", LOAD, "MB_WAIT sid=0")
    done = run(PAIR, [[early], [late]], [lines(2)], ctas=2)
    assert done.ends == [100 + SETUP + NEAR] * 2


@pytest.mark.parametrize("extra", [0, 100])
def test_lines_of_a_multicast_answer_later_by_its_latency(extra: int) -> None:
    code = [[program(LOAD, "MB_WAIT sid=0")], [program("MB_WAIT sid=0")]]
    assert run(tiny(sms=2, cluster=2, multicast_cycles=extra), code, ctas=2).ends == [SETUP + NEAR + extra] * 2
    own = [[program("TMA_TENSOR map=0 row=0 sid=0", "MB_WAIT sid=0")]] * 2
    assert run(tiny(sms=2, cluster=2, multicast_cycles=extra), own, ctas=2).ends == [SETUP + NEAR] * 2


@pytest.mark.parametrize("remote", [2, 90])
def test_a_stage_is_free_once_the_consumers_of_both_ctas_have_released_it(remote: int) -> None:
    producer = program("ACQUIRE_STAGE sid=0", LOAD, "ACQUIRE_STAGE sid=0", LOAD)
    quick = program("MB_WAIT sid=0", "RELEASE_STAGE sid=0", "MB_WAIT sid=0")
    slow = program("MB_WAIT sid=0", "BUBBLES cycles=300", "RELEASE_STAGE sid=0", "MB_WAIT sid=0")
    gpu = tiny(sms=2, cluster=2, remote_cycles=remote)
    done = run(gpu, [[producer, quick], [program("BAR_ARRIVE bid=1"), slow]], [lines(1)], ctas=2)
    # The load is issued at 1, there at 1 + 170 + 258 = 429. CTA 1 sleeps 430 to 730 and releases at 730; that
    # is known in CTA 0 `remote` cycles later, and its producer acquires in that cycle. CTA 0's own release, at 430,
    # did not do.
    assert [end for _, end in done.of("ACQUIRE_STAGE")] == [730 + remote]
    assert done.cycles == 731 + remote + SETUP + NEAR
    assert leaks(done.machine) == []


def test_who_fills_and_who_releases() -> None:
    loads, waits = program(LOAD, "TMA_TENSOR map=0 row=0 sid=1"), program("MB_WAIT sid=0", "RELEASE_STAGE sid=0")
    cluster = [[loads, waits], [program("MB_WAIT sid=1"), waits, waits]]
    assert expected(cluster) == [{(0, 0): 1, (1, 0): 1}, {(0, 0): 1}]
    assert sources(cluster) == [{0: 1}, {0: 1}]
    assert releasers(Member(0, cluster)) == {0: 3}
    assert releasers(Member(1, cluster))[0] == 0


def test_a_deadlock_across_a_cluster_names_the_other_cta() -> None:
    producer = program("ACQUIRE_STAGE sid=0", LOAD, "ACQUIRE_STAGE sid=0", LOAD)
    releases, keeps = program("MB_WAIT sid=0", "RELEASE_STAGE sid=0"), program("MB_WAIT sid=0", "MB_WAIT sid=0",
                                                                              "RELEASE_STAGE sid=0")  # fmt: skip
    with pytest.raises(SimulationError) as error:
        run(PAIR, [[producer, releases], [program("WGMMA_COMMIT"), keeps]], ctas=2)
    report = str(error.value)
    assert "CTA 0, thread 0 (SM 0) waits since cycle" in report
    assert "stage 0 has been released 1 times, it takes 2" in report
    assert "thread 1 of CTA 1 has issued 0 of its 1 RELEASE_STAGE and is at its instruction 2" in report
    assert "CTA 1, thread 1 (SM 1) waits since cycle" in report
    assert "thread 0 of CTA 0 has issued 1 of its 2 TMA_TENSOR/TMA_BULK" in report


def test_a_multicast_far_ahead_of_another_cta_stalls_and_is_named() -> None:
    ahead = program(*["TMA_TENSOR map=0 row=0 sid=0 multicast=2", "ACQUIRE_STAGE sid=0"] * 6)
    releases = program("9 * RELEASE_STAGE sid=0")
    lacks = program("MB_WAIT sid=1", LOAD)
    with pytest.raises(SimulationError, match="stage 0 of CTA 1 has 4 fillings under way, the oldest is number 1"):
        run(PAIR, [[ahead], [lacks, releases]], ctas=2)


TRACE = """TRACE 1
LAUNCH cluster=2
DEF_TMAP K 2 [64,1024] [128] [64,64] 2
PROGRAM both
TMA_TENSOR 0 [0,0] K 0 multicast=3
MB_WAIT 0
CTA both K=[0,0]
CTA both K=[0,64]
"""


def test_a_trace_with_multicast_is_read_written_and_run() -> None:
    trace = text.parse(TRACE)
    assert text.parse(writer.write(trace)) == trace
    record, _ = simulate.run_trace(trace, loader.load(GpuSpec, "h800"))
    assert (record["line_requests"], record["l2_bytes"], record["tma_delivered_bytes"]) == (128, 16384, 32768)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("multicast=4", "trace:5:24: multicast=0x4 names CTAs that are not: the cluster has 2 CTAs"),
        ("multicast=0", "trace:5:34: expected multicast, a whole number from 1 to 65535; got '0'"),
        ("multicast=x", "expected multicast, a whole number"),
    ],
)
def test_a_mask_beyond_the_cluster_is_named(line: str, words: str) -> None:
    with pytest.raises(text.TraceError) as error:
        text.parse(TRACE.replace("multicast=3", line))
    assert words in str(error.value)
    with pytest.raises(text.TraceError, match="LAUNCH declares no cluster"):
        text.parse(TRACE.replace("LAUNCH cluster=2\n", ""))


def test_an_incomplete_cluster_is_refused() -> None:
    with pytest.raises(NotModelled, match="3 CTAs are no whole number of clusters of 2"):
        trace_launch.build(text.parse(TRACE + "CTA both\n"), loader.load(GpuSpec, "h800"))


def fa3(seq: int, **settings: str):
    llm, gpu, kernel = (
        loader.load(LlmSpec, "llama3-8b"),
        loader.load(GpuSpec, "h800"),
        loader.load(KernelSpec, "fa3"),
    )
    values = {key.replace("__", "."): value for key, value in settings.items()}
    return experiment_of(llm, gpu, kernel, values, seq_q=seq, seq_kv=seq, causal=values.pop("causal", "") == "true")


def test_flash_attention_with_multicast_delivers_the_same_and_requests_half_of_k_and_v() -> None:
    alone, shared = (simulate.run(fa3(512, pipeline__multicast=on)).result for on in ("false", "true"))
    assert alone.extra["cycles"] == 26_048
    assert shared.extra["tma_delivered_bytes"] == alone.extra["tma_delivered_bytes"]
    q_and_o = 2 * 32 * 512 * 256
    assert shared.l2_bytes - q_and_o == (alone.l2_bytes - q_and_o) // 2
    assert shared.extra["cycles"] < alone.extra["cycles"]
    assert shared.extra["coalesced_share"] == 0


def test_the_trace_of_a_multicast_kernel_takes_the_same_cycles() -> None:
    experiment = fa3(512, pipeline__multicast="true")
    trace = text.parse(writer.write(trace_launch.trace_of(experiment)))
    record, _ = simulate.run_trace(trace, experiment.gpu)
    assert record["cycles"] == simulate.run(experiment).result.extra["cycles"]


def test_what_cannot_multicast_says_so() -> None:
    with pytest.raises(NotModelled, match="Table 4 has no event"):
        generate(fa3(512, pipeline__multicast="true"))
    with pytest.raises(NotModelled, match="causal mask"):
        simulate.run(fa3(512, pipeline__multicast="true", causal="true"))
    with pytest.raises(PresetError, match=r"kv_rows \(175\) must be a multiple"):
        fa3(512, pipeline__multicast="true", tile__kv_rows="175")
    odd = {"pipeline__multicast": "true"}
    single, plain = simulate.run(fa3(300, **odd)).result, simulate.run(fa3(300)).result
    assert single.extra["cycles"] == plain.extra["cycles"]  # an odd number of query tiles: no clusters
