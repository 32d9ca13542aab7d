"""Fuzzing: layout, encoding, locale and unit must not change a value; damage must not raise or hang.

The default run covers some 5,600 cases in about 12 s, `pytest -m slow` 100,000 in about 140 s of one core:
20,000 rendered files, 20,000 rewritten files and 60,000 damaged files.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.measured import Launch, MeasuredError, NeedsAnswer, read
from tests.dashboard.measured.render import COUNTERS, ENCODINGS, PAGES, Layout, Truth, render, wrong_values

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "ncu" / "files"
FILES = {path.name: path.read_bytes() for path in sorted(DATA.iterdir())}
SMALL_REAL = sorted(SHARED.glob("*")) if SHARED.exists() else []
REAL = {path.name: path.read_bytes() for path in SMALL_REAL if path.stat().st_size < 40_000}

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)

kernels = st.text("abcXYZ_09<>(), :*&\"'é$@=+-", min_size=0, max_size=40).map(lambda t: ("k" + t).strip())
counts = st.integers(0, 10**12) | st.integers(0, 10**6) | st.sampled_from([117_344, 1_000, 999, 4_096, 0])
truths = st.builds(
    Truth,
    kernels,
    st.tuples(st.integers(1, 2**31), st.integers(1, 65_535), st.integers(1, 65_535)),
    st.tuples(*[counts] * 5, st.integers(0, 10_000), st.integers(10**8, 3 * 10**9)),
)
noise = st.sampled_from(
    ["==PROF== Connected to process 1", "step 1, 2.5, ok", 'say "hi', "", "1,5", "Kernel Name", "ID"]
)
LOCALES = [
    (".", ","),
    (".", ""),
    (",", "."),
    (",", ""),
    (".", "'"),
    (",", "\u00a0"),
    (",", " "),
    (".", "\u2019"),
]


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    decimal, group = draw(st.sampled_from(LOCALES))
    return Layout(
        page=draw(st.sampled_from(sorted(PAGES))),
        delimiter=draw(st.sampled_from(",;\t")),
        decimal=decimal,
        group=group,
        lakh=draw(st.booleans()),
        digits=draw(st.sampled_from([2, 3, 6])),
        units=draw(st.tuples(*[st.integers(0, 5)] * len(COUNTERS))),
        encoding=draw(st.sampled_from(ENCODINGS)),
        newline=draw(st.sampled_from(["\n", "\r\n", "\r"])),
        noise=tuple(draw(st.lists(noise, max_size=4))),
        pack=draw(st.sampled_from(["none", "none", "gzip", "zip"])),
    )


def check_rendered(layout: Layout, launched: list[Truth]) -> None:
    """Every value within rounding, after at most one question answered as the layout has it."""
    data = render(launched, layout)
    try:
        launches = read(data, "made")
    except NeedsAnswer as question:
        assert question.readings
        launches = read(data, "made", decimal=layout.decimal)
    assert wrong_values(launches, launched, layout) == []


def same(one: list[Launch], other: list[Launch]) -> bool:
    """Equal in everything but the file name."""
    return [launch.record() | {"file": ""} for launch in one] == [
        launch.record() | {"file": ""} for launch in other
    ]


@pytest.mark.timeout(300)
@settings(QUICK, max_examples=1500)
@given(layouts(), st.lists(truths, min_size=1, max_size=4))
def test_no_value_is_wrong_under_any_layout(layout: Layout, launched: list[Truth]) -> None:
    check_rendered(layout, launched)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(QUICK, max_examples=20_000)
@given(layouts(), st.lists(truths, min_size=1, max_size=4))
def test_no_value_is_wrong_under_any_layout_slow(layout: Layout, launched: list[Truth]) -> None:
    check_rendered(layout, launched)


def rewritten(data: bytes, rng: random.Random) -> bytes:
    """The same file with other delimiters, quotes, line ends, encoding, noise and packing."""
    text = data.decode("utf-8-sig")
    delimiter = next((mark for mark in (";", "\t") if f'"{mark}"' in text), ",")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    store = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    newline = rng.choice(["\n", "\r\n"])
    writer = csv.writer(store, delimiter=rng.choice(",;\t"), quoting=quoting, lineterminator=newline)
    for _ in range(rng.randrange(3)):
        store.write(rng.choice(["==PROF== x", "", "loss 0.5", 'an "open quote']) + newline)
    writer.writerows(rows)
    packed = store.getvalue().encode(rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]))
    return gzip.compress(packed, 1) if rng.random() < 0.2 else packed


def readable() -> Iterator[tuple[str, bytes, list[Launch]]]:
    for name, data in (FILES | REAL).items():
        try:
            yield name, data, read(data, name)
        except MeasuredError:
            continue


def check_rewritten(cases: int, seed: int) -> None:
    rng = random.Random(seed)
    sources = [entry for entry in readable() if _is_utf8(entry[1])]
    for case in range(cases):
        name, data, launches = sources[case % len(sources)]
        assert same(read(rewritten(data, rng), name), launches), (name, case, seed)


def _is_utf8(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False


@pytest.mark.timeout(300)
def test_rewriting_a_file_changes_nothing() -> None:
    check_rewritten(800, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_rewriting_a_file_changes_nothing_slow() -> None:
    check_rewritten(20_000, seed=2)


def damage(data: bytes, rng: random.Random) -> bytes:
    """One to four random injuries to bytes, lines or cells."""
    for _ in range(rng.randint(1, 4)):
        data = rng.choice(INJURIES)(data, rng)
    return data


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flip(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if out:
            out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    piece = rng.choice(
        [b'"', b",", b"\n", b"\0", b";", b"\xff\xfe", b"1e999", b"-", b"{", b'""', b"\r", b"9" * 400]
    )
    return data[:place] + piece + data[place:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        action = rng.randrange(4)
        one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
        if action == 0:
            del lines[one]
        elif action == 1:
            lines.insert(one, lines[two])
        elif action == 2:
            lines[one], lines[two] = lines[two], lines[one]
        else:
            lines[one] = lines[one].replace(b",", rng.choice([b";", b"\t", b",,", b""]))
    return b"".join(lines)


def _join(data: bytes, rng: random.Random) -> bytes:
    return data + rng.choice(list(FILES.values()))


def _pack(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(data, 1)


INJURIES = (_cut, _flip, _insert, _lines, _lines, _flip, _insert, _join, _pack)


def check_damaged(cases: int, seed: int) -> int:
    """Only MeasuredError may escape, and what is read is sane; returns how many files still gave launches."""
    rng = random.Random(seed)
    sources = list((FILES | REAL).values())
    survived = 0
    for case in range(cases):
        data = damage(rng.choice(sources), rng)
        try:
            launches = read(data, "damaged", decimal=rng.choice([None, None, ".", ","]))
        except MeasuredError as error:
            assert str(error).startswith("damaged"), (case, seed, error)
            continue
        survived += 1
        for launch in launches:
            check_sane(launch)
    return survived


def check_sane(launch: Launch) -> None:
    record = launch.record()
    json.dumps(record, allow_nan=False)
    assert launch.kernel
    for name, value in record.items():
        if isinstance(value, float):
            assert math.isfinite(value) and value >= 0, name


@pytest.mark.timeout(300)
def test_damaged_files_never_raise_anything_else() -> None:
    assert check_damaged(3_000, seed=3) > 300


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_damaged_files_never_raise_anything_else_slow() -> None:
    assert check_damaged(60_000, seed=4) > 6_000


@pytest.mark.timeout(120)
@settings(QUICK, max_examples=300)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_arbitrary_uploads_are_refused(data: bytes) -> None:
    with pytest.raises(MeasuredError):
        read(data, "arbitrary")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        '"' * 300_000,
        "," * 300_000,
        "9" * 300_000,
        '"a' * 100_000,
        "\n" * 300_000,
        "(" * 300_000,
        "1 " * 150_000,
    ],
    ids=["quotes", "commas", "digits", "open quotes", "lines", "brackets", "spaces"],
)
def test_no_input_takes_more_than_linear_time(text: str) -> None:
    page = FILES["utf8_bom_crlf.csv"].decode("utf-8-sig")
    for upload in (text, text + "\n" + page, page.replace("10.34", text.replace('"', "").replace("\n", ""))):
        try:
            launches = read(upload.encode(), "long")
        except MeasuredError as refusal:
            assert str(refusal)
        else:
            assert launches
