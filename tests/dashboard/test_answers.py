"""Results kept on disk: found again, dropped when space is short, and never the cause of a failure."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from joblib import memory as joblib_memory
from joblib import numpy_pickle

from dashboard import answers, settings
from presets.errors import PresetError

ROOT = Path(__file__).resolve().parents[2]
NAME = "0" * 32
ANSWER = {"record": {"cycles": 26_048}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMFA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("SIMFA_CACHE_BYTES", raising=False)
    joblib_memory._FUNCTION_HASHES.clear()  # as in a process that has just started
    return tmp_path / "kept"


def files(folder, name="output.pkl"):
    return sorted(folder.rglob(name))


def test_what_is_kept_is_found_again_and_nothing_else():
    assert answers.look_up(NAME) == (None, "")
    assert answers.keep(NAME, ANSWER) == ""
    assert answers.look_up(NAME) == (ANSWER, "")
    assert answers.look_up("1" * 32) == (None, "")


def test_another_process_finds_it():
    answers.keep(NAME, ANSWER)
    question = f"from dashboard import answers; print(answers.look_up({NAME!r}))"
    told = subprocess.run([sys.executable, "-c", question], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == repr((ANSWER, "")) and told.stderr == ""


def test_the_name_follows_experiment_observed_sm_and_sources(make_experiment, monkeypatch):
    from simfa import coverage

    first = answers.name_of(make_experiment(seq=512), None)
    assert first == answers.name_of(make_experiment(seq=512), None)
    assert first not in (answers.name_of(make_experiment(seq=1024), None), answers.name_of(make_experiment(), 0))
    monkeypatch.setattr(coverage, "model_digest", lambda: "another simulator")
    assert first != answers.name_of(make_experiment(seq=512), None)


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_file_is_said_and_written_anew(folder, damage):
    answers.keep(NAME, ANSWER)
    (file,) = files(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert answers.look_up(NAME) == (None, answers.UNREADABLE)
    assert answers.look_up(NAME) == (None, ""), "it is said once and the file is gone"
    assert answers.keep(NAME, ANSWER) == "" and answers.look_up(NAME) == (ANSWER, "")


def test_a_damaged_note_of_joblib_empties_the_cache(folder):
    answers.keep(NAME, ANSWER)
    (note,) = files(folder, "func_code.py")
    note.write_bytes(b"\xff\xfe\x80")
    joblib_memory._FUNCTION_HASHES.clear()
    assert answers.look_up(NAME) == (None, answers.UNREADABLE)
    assert answers.keep(NAME, ANSWER) == "" and answers.look_up(NAME) == (ANSWER, "")


def test_a_full_disk_is_said_and_leaves_no_half_file(folder, monkeypatch):
    def full(value, file, **_):
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(numpy_pickle, "dump", full)
    said = answers.keep(NAME, ANSWER)
    assert "was not kept on disk (the disk may be full" in said and "shown all the same" in said
    assert answers.look_up(NAME) == (None, "") and files(folder, "output*") == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMFA_CACHE_DIR", str(tmp_path / "file" / "kept"))
    assert answers.look_up(NAME) == (None, "")
    assert "was not kept on disk (Not a directory" in answers.keep(NAME, ANSWER)
    assert answers.usage().results == 0


def test_the_longest_unused_is_dropped_when_space_is_short(folder, monkeypatch):
    record = {"record": {"noise": os.urandom(20_000)}}
    monkeypatch.setenv("SIMFA_CACHE_BYTES", "70kB")
    for number in range(3):
        answers.keep(f"{number}" * 32, record)
        for age, file in enumerate(reversed(files(folder))):  # the clock of a disk is coarse: set it apart
            os.utime(file, (file.stat().st_mtime - 10 * age, file.stat().st_mtime))
    oldest = min(files(folder), key=lambda file: file.stat().st_atime)
    answers.keep("3" * 32, record)
    assert answers.usage().used_bytes <= 70_000 and answers.usage().results == 3
    assert oldest not in files(folder)


def test_nothing_is_kept_where_none_is_allowed(monkeypatch):
    monkeypatch.setenv("SIMFA_CACHE_BYTES", "0")
    assert answers.keep(NAME, ANSWER) == "" and answers.look_up(NAME) == (None, "")


def test_clear_forgets_all():
    answers.keep(NAME, ANSWER)
    assert answers.usage().results == 1 and answers.usage().used_bytes > 0
    answers.clear()
    assert answers.usage().results == 0 and answers.look_up(NAME) == (None, "")


@pytest.mark.parametrize("size", ["much", "-1GB", "3MHz", "1.5"])
def test_a_size_that_is_none_is_named(monkeypatch, size):
    monkeypatch.setenv("SIMFA_CACHE_BYTES", size)
    with pytest.raises(PresetError, match="SIMFA_CACHE_BYTES|cache_bytes"):
        settings.cache_bytes()
    assert "SIMFA_CACHE_BYTES" in answers.keep(NAME, ANSWER)


@pytest.mark.parametrize(("size", "meant"), [("1GB", 10**9), ("500MiB", 500 * 2**20), ("1000", 1000)])
def test_sizes(monkeypatch, size, meant):
    monkeypatch.setenv("SIMFA_CACHE_BYTES", size)
    assert settings.cache_bytes() == meant
