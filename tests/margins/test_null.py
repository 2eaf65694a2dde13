"""Null maps on disk: room first, one name for each writer, nothing half."""

import os
import sys

import numpy as np
import pytest

from tests.margins.seam import Lock, _null, null_file, read_about_null


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("block", [2**22, 7])
def test_it_starts_as_nan_and_takes_its_name_at_the_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(_null, "_BLOCK", block)
    path = tmp_path / "null.npy"
    with null_file(path, 5, 4) as null:
        assert null.shape == (5, 4)
        assert np.isnan(null).all()
        null[:, 1] = 1.0
        assert not path.exists()
    found = np.load(path)
    assert found.dtype == np.float32
    assert np.isnan(found).sum() == 15
    assert found[:, 1].tolist() == [1.0] * 5
    assert listing(tmp_path) == ["null.npy"]


def test_it_has_the_permissions_of_any_file(tmp_path):
    with null_file(tmp_path / "null.npy", 2, 2):
        pass
    (tmp_path / "plain").touch()
    modes = {p.stat().st_mode for p in tmp_path.iterdir()}
    assert len(modes) == 1


def test_none_opens_nothing():
    with null_file(None, 2, 2) as null:
        assert null is None


def interrupt(path):
    with null_file(path, 2, 2):
        raise KeyboardInterrupt


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "null.npy"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        interrupt(path)
    assert path.read_bytes() == b"before"
    assert listing(tmp_path) == ["null.npy"]


def test_two_writers_of_one_name_do_not_meet(tmp_path):
    path = tmp_path / "null.npy"
    with null_file(path, 3, 2) as first:
        with null_file(path, 3, 2) as second:
            second[:] = 2.0
        first[:] = 1.0
        assert np.load(path).min() == 2.0
    assert np.load(path).max() == 1.0
    assert listing(tmp_path) == ["null.npy"]


@pytest.mark.parametrize("broken", ["posix_fallocate", "fsync"])
def test_a_full_disk_is_one_line_before_any_work(tmp_path, monkeypatch, broken):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, full, raising=False)
    message = r"save_null='.*null\.npy' cannot be written, 1\.5 MiB are needed \(No sp"
    with (
        pytest.raises(ValueError, match=message),
        null_file(tmp_path / "null.npy", 100, 4000),
    ):
        pytest.fail("the work began")
    assert listing(tmp_path) == []


def test_a_file_system_that_cannot_reserve_is_written(tmp_path, monkeypatch):
    def unsupported(*args):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported, raising=False)
    with null_file(tmp_path / "null.npy", 3, 3) as null:
        assert np.isnan(null).all()
    status = (tmp_path / "null.npy").stat()
    if sys.platform == "linux":
        assert status.st_blocks * 512 >= status.st_size  # no holes


def test_places_that_cannot_be_are_refused(tmp_path):
    for path in (tmp_path / "none" / "null.npy", tmp_path):
        with (
            pytest.raises(ValueError, match=r"cannot be written, 0\.0 MiB"),
            null_file(path, 2, 2),
        ):
            pytest.fail("the work began")


ABOUT = {"run": "abc", "maps": {"accuracy": "Accuracy"}}


def write(path, value, about=ABOUT):
    with null_file(path, 3, 2, about) as null:
        null[:] = value
    return np.load(path)


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    path = tmp_path / "null[1].npy"  # no pattern
    left, used, other = (
        tmp_path / f".{name}.partial"
        for name in ("null[1].npy.0", "null[1].npy.1", "null1.npy.2")
    )
    for file in (left, used, other):
        file.write_bytes(b"half")
    lock = Lock(used)
    write(path, 1.0)
    lock.release()
    assert listing(tmp_path) == sorted(
        [used.name, other.name, "null[1].npy", "null[1].npy.json"]
    )


def test_maps_that_nobody_locks_are_made_all_the_same(tmp_path, monkeypatch):
    def unlocked(path):
        lock = Lock.__new__(Lock)
        lock.held, lock.known, lock._handle = False, False, None
        return lock

    monkeypatch.setattr(_null, "Lock", unlocked)
    left = tmp_path / ".null.npy.0.partial"
    left.write_bytes(b"half")
    write(tmp_path / "null.npy", 1.0)
    assert left.exists()  # whose it is cannot be known


def test_a_file_says_whose_maps_it_holds(tmp_path):
    path = tmp_path / "null.npy"
    null = write(path, 1.0)
    assert read_about_null(path, null) == read_about_null(str(path), null)
    assert ABOUT.items() <= read_about_null(path, null).items()
    other = write(tmp_path / "other.npy", 2.0, about=None)
    assert read_about_null(tmp_path / "other.npy", other) is None
    write(path, 3.0, about=None)  # and nothing of the earlier maps stays
    assert listing(tmp_path) == ["null.npy", "other.npy"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fingerprint": 1}', "\0"])
def test_a_description_of_other_maps_is_refused(tmp_path, text):
    path = tmp_path / "null.npy"
    null = write(path, 1.0)
    with pytest.raises(ValueError, match="does not describe the permuted maps in"):
        read_about_null(path, null + 1)
    (tmp_path / "null.npy.json").write_text(text)
    with pytest.raises(ValueError, match="write them again with save_null"):
        read_about_null(path, null)


def test_a_description_that_cannot_be_written_costs_no_maps(tmp_path):
    (tmp_path / "null.npy.json").mkdir()
    (tmp_path / "null.npy.json" / "mine").touch()
    with pytest.warns(UserWarning, match="which run its maps are of"):
        write(tmp_path / "null.npy", 1.0)
    assert np.load(tmp_path / "null.npy").max() == 1.0
    assert listing(tmp_path) == ["null.npy", "null.npy.json"]
