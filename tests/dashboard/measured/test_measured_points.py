"""The plain table of measured points: what is taken, and the sentence for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.measured import Refused, points, read


def cases(text: str) -> list[points.Case]:
    return points.read(text.encode(), "t.csv")


def test_the_template_is_a_table_that_reads() -> None:
    llm, bare = cases(points.TEMPLATE)
    assert (llm.match.gpu, llm.match.heads_q, llm.match.heads_kv, llm.match.seq_q) == ("h100-sxm", 32, 8, 4096)
    assert (llm.latency_us.value, llm.l2_bytes.value, llm.dram_bytes.value) == (412.5, None, 98e6)
    assert (bare.match.mask, bare.match.batch, bare.clock_hz) == ("causal", 4, 2.128e9)
    assert all(case.experiment(measured_clock=True) for case in (llm, bare))


@pytest.mark.parametrize(
    "text",
    [
        "llm,gpu,seq,latency_us\nllama3-8b,gb10,512,7\n",
        "llm;gpu;seq;latency_us\r\nllama3-8b;gb10;512;7\r\n",
        "\ufeffLLM\tGPU\tSeq\tlatency_us\n\n# a remark\nllama3-8b\tNVIDIA GB10\t512\t7\n",
    ],
)
def test_delimiters_line_ends_marks_and_device_names(text: str) -> None:
    (case,) = cases(text)
    assert (case.match.gpu, case.match.seq_q, case.latency_us.value) == ("gb10", 512, 7.0)
    assert points.recognise(text.encode()) and points.recognise(text.encode("utf-16"))


HEAD = (
    "llm,heads_q,heads_kv,head_dim,gpu,seq,batch,mask,dtype,kernel,clock_mhz,latency_us,l2_bytes,dram_bytes,set\n"
)
GOOD = {"llm": "llama3-8b", "gpu": "gb10", "seq": "512", "latency_us": "7"}


def line(**cells: str) -> str:
    row = GOOD | cells
    return HEAD + ",".join(row.get(name, "") for name in HEAD.strip().split(",")) + "\n"


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"llm": "llama9"}, "line 2: llm: unknown llm 'llama9'.*Allowed: llama3-70b"),
        ({"llm": ""}, "line 2: llm is empty; give llm"),
        ({"heads_q": "8"}, "llm and heads_q exclude each other"),
        ({"llm": "", "heads_q": "8", "heads_kv": "3", "head_dim": "64"}, "line 2: shape: heads_q .8. must be a"),
        ({"gpu": ""}, "gpu is empty; allowed: gb10"),
        ({"gpu": "b300"}, "unknown gpu 'b300'"),
        ({"gpu": "../../etc/passwd.toml"}, "unknown gpu"),
        ({"llm": "/tmp/own.toml"}, "unknown llm"),
        ({"kernel": "./own.toml"}, "unknown kernel"),
        ({"seq": ""}, "seq: '' is not allowed; allowed: a whole number from 1"),
        ({"seq": "-5"}, "seq: '-5' is not allowed"),
        ({"seq": "1e3"}, "seq: '1e3' is not allowed"),
        ({"batch": "65537"}, "allowed: a whole number from 1 to 65,536"),
        ({"mask": "yes"}, "unknown mask 'yes'.*causal"),
        ({"dtype": "int8"}, "unknown dtype"),
        ({"latency_us": ""}, "nothing measured"),
        ({"latency_us": "0"}, "latency_us: '0' is not allowed"),
        ({"latency_us": "nan"}, "a number above 0"),
        ({"latency_us": "inf"}, "a number above 0"),
        ({"latency_us": "1_000"}, "a number above 0"),
        ({"latency_us": '"1,5"'}, "decimal separator as a point"),
        ({"set": "l2.byte=5"}, "Did you mean 'l2.bytes'"),
        ({"set": "nonsense"}, "KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_said_with_line_column_and_what_is_allowed(cells: dict[str, str], sentence: str) -> None:
    with pytest.raises(Refused, match=f"(?s)^t.csv, line 2: .*{sentence.removeprefix('line 2: ')}"):
        cases(line(**cells))


def test_columns_are_checked_before_rows() -> None:
    with pytest.raises(Refused, match="line 1: unknown column 'l2_byte'. Did you mean 'l2_bytes'"):
        cases("llm,gpu,seq,latency_us,l2_byte\n")
    with pytest.raises(Refused, match="column 'seq' occurs twice"):
        cases("llm,gpu,seq,seq,latency_us\n")
    with pytest.raises(Refused, match="column 'gpu' is missing"):
        cases("llm,seq,latency_us\nllama3-8b,4,5\n")
    with pytest.raises(Refused, match="no rows"):
        cases("llm,gpu,seq,latency_us\n")
    with pytest.raises(Refused, match="line 2: 5 cells under 4 columns"):
        cases("llm,gpu,seq,latency_us\nllama3-8b,gb10,4,5,6\n")


def test_many_errors_are_counted_and_the_first_ones_shown() -> None:
    with pytest.raises(Refused, match="and 15 more") as caught:
        cases("llm,gpu,seq,latency_us\n" + "x,gb10,1,1\n" * 20)
    assert str(caught.value).count("\n") == points.SHOWN_ERRORS


def test_the_profiler_reader_still_refuses_such_tables() -> None:
    with pytest.raises(Refused, match="plain table of measured points"):
        read(points.TEMPLATE.encode(), "t.csv")


CELL = st.text(alphabet="0123456789.,;-+eE\"'\t =\nxgb", max_size=12)


@given(st.lists(st.lists(CELL, max_size=6), max_size=5))
@settings(max_examples=200)
def test_no_table_raises_anything_but_a_refusal(rows: list[list[str]]) -> None:
    text = "llm,gpu,seq,latency_us\n" + "\n".join(",".join(row) for row in rows)
    try:
        cases(text)
    except Refused as refusal:
        assert str(refusal).startswith("t.csv")


@given(st.integers(1, 2**24), st.floats(1e-3, 1e9), st.sampled_from([",", ";", "\t"]))
def test_what_is_written_is_what_is_read(seq: int, latency: float, delimiter: str) -> None:
    text = delimiter.join(("llm", "gpu", "seq", "latency_us")) + "\n"
    text += delimiter.join(("llama3-70b", "h800", str(seq), repr(latency)))
    (case,) = cases(text)
    assert (case.match.seq_q, case.latency_us.value) == (seq, latency)
