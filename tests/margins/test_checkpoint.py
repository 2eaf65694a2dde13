"""Finished tasks on disk: damaged ones are done again, foreign ones never taken."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tests.margins.seam import Checkpoint, _checkpoint

IDENTITY = {"data": "a", "labels": ["b", 1]}
RESULT = {"wins": np.arange(6.0).reshape(2, 3), "maxima": np.array([1.0, np.nan])}


def saved(folder, identity=IDENTITY, tasks=(0, 1)):
    """Return a checkpoint in which these tasks are finished."""
    with Checkpoint(folder, identity) as store:
        for task in tasks:
            store.save(task, {**RESULT, "score": np.array(float(task))})
    return store


def loaded(folder, task, identity=IDENTITY):
    with Checkpoint(folder, identity) as store:
        return store.load(task)


def test_results_come_back_to_the_bit(tmp_path):
    saved(tmp_path / "a" / "b")
    result = loaded(tmp_path / "a" / "b", 1)
    assert result.keys() == {*RESULT, "score"}
    for name, value in RESULT.items():
        np.testing.assert_array_equal(result[name], value)
    assert loaded(tmp_path / "a" / "b", 2) is None


def edited(path):
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["wins"] = arrays["wins"] + 1
    np.savez(path, **arrays)


def nan(path):
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["wins"] = arrays["wins"] * np.nan
    np.savez(path, **arrays)


def lacking(path):
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "wins"}
    np.savez(path, **arrays)


def unsealed(path):
    np.savez(path, **RESULT, score=1.0)


def exchanged(path):
    shutil.copy(path.with_name("task_000000.npz"), path)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def flipped(path):
    with zipfile.ZipFile(path) as file:
        first, second = file.infolist()[:2]
    content = bytearray(path.read_bytes())
    content[second.header_offset - first.compress_size // 2] ^= 1  # in the array
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(b"\x80\x04garbage" * 100)


def pickled(path):
    np.savez(path, **RESULT, seal=np.array([object()], dtype=object))


def folder(path):
    path.unlink()
    path.mkdir()


def unlike(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "no array")


DAMAGES = [
    edited, nan, lacking, unsealed, exchanged, truncated, flipped, empty, garbage,
    pickled, folder, unlike,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_task_is_done_again(tmp_path, damage):
    saved(tmp_path)
    damage(tmp_path / "task_000001.npz")
    with pytest.warns(UserWarning, match=r"task_000001\.npz is damaged .*again"):
        assert loaded(tmp_path, 1) is None
    assert loaded(tmp_path, 0)["score"] == 0.0


def test_a_task_of_another_run_is_not_taken(tmp_path):
    saved(tmp_path / "one")
    saved(tmp_path / "other", {"data": "x"})
    shutil.copy(tmp_path / "other" / "task_000001.npz", tmp_path / "one")
    with pytest.warns(UserWarning, match="it is of another task or run"):
        assert loaded(tmp_path / "one", 1) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00"])
def test_a_damaged_manifest_is_one_line_with_a_remedy(tmp_path, text):
    saved(tmp_path)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=r"damaged manifest\.json; name another fol"):
        Checkpoint(tmp_path, IDENTITY)


def test_another_run_is_refused_by_name(tmp_path):
    saved(tmp_path)
    other = {"data": "a", "labels": ["b", 2], "versions": {"numpy": "9"}}
    with pytest.raises(ValueError, match="run with another labels, versions; name"):
        Checkpoint(tmp_path, other)
    assert loaded(tmp_path, 0) is not None  # and it has not kept the folder


def test_two_at_once_are_refused_until_the_first_is_done(tmp_path):
    with Checkpoint(tmp_path, IDENTITY, "1of2"):
        with pytest.raises(ValueError, match="is in use: another process"):
            Checkpoint(tmp_path, IDENTITY, "1of2")
        with Checkpoint(tmp_path, IDENTITY, "2of2") as other:
            other.save(0, RESULT)
    Checkpoint(tmp_path, IDENTITY, "1of2").close()


_STARTS = """
import os, sys, time
from pathlib import Path
from neuroextrap.margins.running._checkpoint import Checkpoint

def start(folder, number, when):
    while time.monotonic() < when:
        pass
    try:
        Checkpoint(folder, {"data": number}, str(number))
    except ValueError as error:
        os._exit(1 if "another data" in str(error) else 2)
    os._exit(0)

for round in range(int(sys.argv[2])):
    folder, when, children = Path(sys.argv[1], str(round)), time.monotonic() + 0.02, []
    for number in range(4):
        child = os.fork()
        if child == 0:
            start(folder, number, when)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(*sorted(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_of_different_runs_that_start_at_once_one_is_admitted(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _STARTS, str(tmp_path), "25"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:-1] == ["0 1 1 1"] * 25
    owners = {
        json.loads((folder / "manifest.json").read_text())["data"]
        for folder in tmp_path.iterdir()
    }
    assert owners <= {0, 1, 2, 3}


def test_what_a_killed_process_left_is_cleared(tmp_path):
    saved(tmp_path)
    left = tmp_path / ".task_000003.whole.0123.npz"
    other = tmp_path / ".task_000003.1of2.0123.npz"
    for path in (left, other):
        path.write_bytes(b"half")
    with Checkpoint(tmp_path, IDENTITY):
        assert not left.exists()
        assert other.exists()  # of a part that may be running


@pytest.mark.parametrize("link", [True, False])
def test_manifests_are_created_by_one_only(tmp_path, monkeypatch, link):
    if not link:

        def refuse(*args):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "manifest.json"
    assert _checkpoint._created(path, b"first")
    assert not _checkpoint._created(path, b"second")
    assert path.read_bytes() == b"first"
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


def test_a_folder_that_vanishes_is_made_again(tmp_path):
    with Checkpoint(tmp_path / "c", IDENTITY) as store:
        store.save(0, RESULT)
        shutil.rmtree(tmp_path / "c")
        with pytest.warns(UserWarning, match="was removed during the run and made"):
            store.save(1, RESULT)
        store.save(2, RESULT)
    with Checkpoint(tmp_path / "c", IDENTITY) as store:
        assert [store.load(task) is None for task in range(3)] == [True, False, False]


def test_a_folder_that_cannot_be_written_costs_a_warning_not_the_run(
    tmp_path, monkeypatch
):
    with Checkpoint(tmp_path / "c", IDENTITY) as store:
        store.save(0, RESULT)

        def full(path, **arrays):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(np, "savez_compressed", full)
            with pytest.warns(UserWarning, match="No space left on device.*goes on"):
                store.save(1, RESULT)
            store.save(2, RESULT)  # silently
        assert not list((tmp_path / "c").glob(".task_*"))
    shutil.rmtree(tmp_path / "c")
    (tmp_path / "c").write_text("a file now")
    with pytest.raises(ValueError, match="cannot be used as a folder"):
        Checkpoint(tmp_path / "c", IDENTITY)


def test_another_run_that_took_the_folder_meanwhile_keeps_it(tmp_path):
    with Checkpoint(tmp_path / "c", IDENTITY) as store:
        shutil.rmtree(tmp_path / "c")
        saved(tmp_path / "c", {"data": "other"})
        (tmp_path / "c" / ".lock-whole").unlink()
        monkey = store._write

        def vanished(task, arrays):
            store._write = monkey
            raise OSError(2, "No such file or directory")

        store._write = vanished
        with pytest.warns(UserWarning, match="made by a run with another data"):
            store.save(1, RESULT)
    assert loaded(tmp_path / "c", 1, {"data": "other"})["score"] == 1.0


def test_it_works_where_nothing_can_be_locked(tmp_path, monkeypatch):
    from tests.margins.seam import _checkpoint

    monkeypatch.setattr(_checkpoint, "fcntl", None)
    saved(tmp_path)
    with Checkpoint(tmp_path, IDENTITY), Checkpoint(tmp_path, IDENTITY) as store:
        assert store.load(1) is not None
