"""Which code gave an answer: version, commit, digests."""

import platform
import subprocess
import tomllib

import numba
import streamlit

from dashboard import provenance


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def repository(folder):
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "user.email", "a@b.c")
    git(folder, "config", "user.name", "somebody")
    (folder / "file").write_text("one")
    git(folder, "add", "file")
    git(folder, "commit", "-qm", "first")
    return folder


def test_the_version_is_that_of_the_project_file():
    stated = tomllib.loads((provenance.ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert provenance.package_version() == stated


def test_a_commit_is_named_and_marked_where_files_differ_from_it(tmp_path):
    root = repository(tmp_path / "clean")
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    assert head.startswith(provenance.commit(root)) and len(provenance.commit(root)) == 12
    changed = repository(tmp_path / "changed")
    (changed / "file").write_text("two")
    assert provenance.commit(changed).endswith("-dirty")


def test_a_tag_does_not_take_the_place_of_the_commit(tmp_path):
    root = repository(tmp_path / "tagged")
    git(root, "tag", "-a", "v9", "-m", "release")
    assert "v9" not in provenance.commit(root) and len(provenance.commit(root)) == 12


def test_no_repository_and_somebody_elses_repository_have_no_commit(tmp_path):
    assert provenance.commit(tmp_path) == ""
    inside = repository(tmp_path / "other") / "copy"
    inside.mkdir()
    assert provenance.commit(inside) == ""


def test_the_digest_follows_every_source_and_preset(tmp_path, monkeypatch):
    for room in ("presets", "analytical", "simfa", "dashboard"):
        (tmp_path / room).mkdir()
    (tmp_path / "presets" / "a.toml").write_text("x = 1")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    try:
        digests = set()
        for text in ("x = 1", "x = 2"):
            (tmp_path / "presets" / "a.toml").write_text(text)
            provenance.code_digest.cache_clear()
            digests.add(provenance.code_digest())
        (tmp_path / "dashboard" / "notes.txt").write_text("not code")
        provenance.code_digest.cache_clear()
        digests.add(provenance.code_digest())
        assert len(digests) == 2
    finally:
        provenance.code_digest.cache_clear()


def test_versions_are_those_of_this_process():
    found = provenance.versions()
    assert found["python"] == platform.python_version()
    assert found["numba"] == numba.__version__ and found["streamlit"] == streamlit.__version__
    assert found["sim-fa"] in provenance.said() and provenance.code_digest() in provenance.said()
