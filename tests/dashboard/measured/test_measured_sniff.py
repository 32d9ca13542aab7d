"""Uploads: archives, limits, binary files, damage, and names that must never become paths."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from dashboard.measured import NeedsAnswer, Refused, read, sniff

DATA = Path(__file__).parent / "data"
GOOD = (DATA / "utf8_bom_crlf.csv").read_bytes()
NS = 10_340.0


def zipped(members: dict[str, bytes]) -> bytes:
    store = io.BytesIO()
    with zipfile.ZipFile(store, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return store.getvalue()


def test_gzip_once_and_twice() -> None:
    packed = gzip.compress(GOOD)
    assert read(packed, "a.csv.gz")[0].duration_ns == NS
    assert read(gzip.compress(packed), "a.csv.gz.gz")[0].duration_ns == NS


def test_zip_reads_every_member_in_order() -> None:
    launches = read(zipped({"b.csv": GOOD, "deep/a.csv": (DATA / "raw_ms.csv").read_bytes()}), "runs.zip")
    assert [launch.file for launch in launches] == ["runs.zip:b.csv", "runs.zip:a.csv", "runs.zip:a.csv"]


def test_zip_with_gzip_inside_and_clutter() -> None:
    upload = zipped({"__MACOSX/._a.csv": b"\0\1", ".DS_Store": b"\0", "a.csv.gz": gzip.compress(GOOD)})
    assert len(read(upload, "runs.zip")) == 1


def test_zip_says_which_members_were_not_read() -> None:
    launches = read(zipped({"a.csv": GOOD, "notes.txt": b"hello\n"}), "runs.zip")
    assert "notes.txt" in launches[0].provenance["not_read"]


def test_names_of_zip_members_never_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    launches = read(zipped({"../../evil.csv": GOOD, "/etc/evil2.csv": GOOD, "..\\evil3.csv": GOOD}), "runs.zip")
    assert [launch.file for launch in launches] == [f"runs.zip:{n}.csv" for n in ("evil", "evil2", "evil3")]
    assert not list(tmp_path.iterdir()) and not (tmp_path.parent / "evil.csv").exists()


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped({"bomb.csv": data})], ids=["gzip", "zip"])
def test_a_bomb_stops_at_the_limit(pack, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sniff, "TEXT_LIMIT_BYTES", 2**20)
    with pytest.raises(Refused, match="larger than the limit of 1 MiB"):
        read(pack(GOOD + b"\n" * 2**23), "bomb")


def test_members_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniff, "TEXT_LIMIT_BYTES", 2**20)
    with pytest.raises(Refused, match="limit"):
        read(zipped({f"{i}.csv": b"\n" * 2**18 for i in range(8)}), "many.zip")


def test_an_upload_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as stream:
        stream.truncate(sniff.UPLOAD_LIMIT_BYTES + 1)
    with pytest.raises(Refused, match="larger than the limit of 256 MiB"):
        read(path)


BINARY = {
    b"SQLite format 3\0rest": "SQLite database.*nsys stats",
    b"NVR\0rest": "binary Nsight Compute report.*ncu -i",
    b"%PDF-1.7": "PDF",
    b"PAR1....": "Parquet",
    b"\x89PNG\r\n": "image",
    b"BZh91AY": "bzip2",
    b"a,b\0\1\2\3": "binary file",
}


@pytest.mark.parametrize("content", BINARY, ids=[text.split(".")[0] for text in BINARY.values()])
def test_binary_files_say_what_to_run(content: bytes) -> None:
    with pytest.raises(Refused, match=BINARY[content]):
        read(content, "report")


def test_a_binary_report_is_told_by_its_name() -> None:
    with pytest.raises(Refused, match="nsys stats"):
        read(b"\1\2\0\3" * 10, "run.nsys-rep")


def test_a_spreadsheet_a_tar_and_empty_archives() -> None:
    with pytest.raises(Refused, match="spreadsheet.*save the sheet as CSV"):
        read(zipped({"xl/workbook.xml": b"<x/>"}), "book.xlsx")
    with pytest.raises(Refused, match="tar archive"):
        read(b"a.csv" + b"\0" * 252 + b"ustar\0" + b"\0" * 250, "runs.tar")
    with pytest.raises(Refused, match="holds no files"):
        read(zipped({}), "none.zip")
    with pytest.raises(Refused, match="empty"):
        read(b"", "none.csv")
    with pytest.raises(Refused, match="empty"):
        read(gzip.compress(b""), "none.csv.gz")


def test_damaged_archives() -> None:
    for damaged in (gzip.compress(GOOD)[:-40], zipped({"a.csv": GOOD})[:-30], b"PK\3\4" + b"x" * 40):
        with pytest.raises(Refused, match="cannot be unpacked"):
            read(damaged, "damaged")


def test_a_missing_path_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(Refused, match="cannot be opened"):
            read(path)


def test_progress_rises_to_one() -> None:
    row = GOOD.splitlines(keepends=True)[1]
    seen: list[float] = []
    read(GOOD + row * 30_000, "long.csv", progress=seen.append)
    assert len(seen) > 2 and seen == sorted(seen) and seen[-1] == 1.0


def test_a_question_from_inside_a_zip_names_the_member() -> None:
    with pytest.raises(NeedsAnswer, match=r"runs.zip:ambiguous.csv"):
        read(zipped({"ambiguous.csv": (DATA / "ambiguous.csv").read_bytes()}), "runs.zip")


def test_a_wrong_answer_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="decimal"):
        read(GOOD, decimal=";")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(encoding: str, newline: str) -> None:
    text = GOOD.decode("utf-8-sig").replace("\r\n", newline)
    assert read(text.encode(encoding), "a.csv")[0].l2_bytes == 32 * 34_089_136
