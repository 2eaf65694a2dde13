"""Disks that fill and folders that vanish: old results stay, and one line says why."""

import contextlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from tests.faults.runs import KINDS, content, make_inputs, program, read, run, words_of
from tests.faults.seam import _region_run

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with inputs and the results of an earlier run."""
    root = tmp_path_factory.mktemp("inputs")
    make_inputs(root)
    assert run(words_of("searchlight", root, root / "old", seed=1)) == 0
    return root


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 800 KiB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(words, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def one_line(text):
    """Check that a command said what went wrong on one line."""
    lines = [line for line in text.splitlines() if not line.startswith("warning")]
    assert len(lines) == 1, text
    assert lines[0].startswith("error: ")
    return lines[0]


def hidden(folder):
    """Return what a failure may have left, names that begin with a dot."""
    return [path.name for path in folder.rglob(".*")]


def check_limits(kind, state, sizes, folder, tally):
    """Let disks of several sizes fill while results are written."""
    counts = program("limits", kind, state, sizes, folder)
    tally(f"{kind}, files limited while {state} results are written", **counts)
    assert counts["failed_whole"] > 0


@needs_fork
@pytest.mark.parametrize(
    ("kind", "state", "size"),
    [
        ("searchlight", "second", "5000"),
        ("group", "second", "4500"),  # whose data set is described first
        ("scores", "first", "3000"),  # less than is tried in an output folder
    ],
)
def test_a_limit_while_results_are_written(kind, state, size, tmp_path, tally):
    check_limits(kind, state, size, tmp_path, tally)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", ["first", "second"])
def test_limits_of_many_sizes(kind, state, tmp_path, tally):
    sizes = "1000,2000,3000,4500" if kind == "scores" else "4500,6000,8000,12000,20000"
    check_limits(kind, state, sizes, tmp_path, tally)


def check_errors(kind, name, step, folder, tally):
    """Let changes of the file system fail, one in each run."""
    counts = program("errors", kind, name, step, folder)
    n_errors = counts.pop("errors")
    tally(f"{kind}, {name} at changes of the file system", n_errors, **counts)
    assert counts["mixed"] == counts["untold"] == 0
    assert min(counts["old"], counts["new"]) >= 1


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("name", ["EROFS", "ENOSPC", "EIO"])
@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_the_file_system(kind, name, tmp_path, tally):
    check_errors(kind, name, 5, tmp_path, tally)


@pytest.mark.slow
def test_a_disk_that_fills(root, small_disk, tally, capsys):
    out, n_failed = small_disk / "out", 0
    shutil.copytree(root / "old", out)
    before = content(out)
    for filled in range(0, 750, 50):
        filler = small_disk / "filler"
        filler.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # full, which is what is wanted
            filler.write_bytes(b"0" * 1024 * filled)
        words = [
            word for word in words_of("searchlight", root, out) if word != "--quiet"
        ]
        if run(words) != 0:
            n_failed += 1
            assert content(out) == before
            assert hidden(small_disk) == []
        else:
            before = content(out)
        read("searchlight", out)
    outcomes = {"failed_whole": n_failed, "overwritten_whole": 15 - n_failed}
    tally("disks that fill while results are overwritten", 15, **outcomes)
    assert 0 < n_failed < 15


@pytest.mark.slow
def test_a_disk_without_room_for_null_maps(root, small_disk, tally, capsys):
    null = small_disk / "null.npy"
    words = words_of("searchlight", root, root / "with-null")
    words[words.index("200")] = "2000"  # 3 MB
    assert main([*words, "--save-null", str(null)]) == 2
    assert "No space left on device); make room" in one_line(capsys.readouterr().err)
    assert not (root / "with-null").exists()
    assert list(small_disk.iterdir()) == []
    tally("null maps on a disk without room", 1, one_line=1)


def test_outputs_that_cannot_be_made_are_found_before_any_work(
    root, tmp_path, tally, capsys
):
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("")
    outs = [tmp_path / name for name in ("dangling", "loop", "file", "file/below")]
    if sys.platform == "linux":
        outs.append("/proc/neuroextrap")
    for out in outs:
        words = words_of("searchlight", root, out)
        words[words.index("--events") + 1] = "nothing.tsv"  # never looked at
        words.remove("--quiet")
        assert main(words) == 2
        assert "output folder" in one_line(capsys.readouterr().err)
    tally("outputs that cannot be made", len(outs), found_before_work=len(outs))


class _Vanishing:
    """Progress that removes a folder when some regions are done."""

    def __init__(self, folder):
        self.folder, self.gone = folder, False

    def __call__(self, done, total):
        if not self.gone and self.folder.is_dir():
            shutil.rmtree(self.folder)
            self.gone = True


def test_a_checkpoint_that_vanishes_costs_no_work(root, tmp_path, tally, monkeypatch):
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    X = rng.normal(size=(12, 600))
    regions = np.eye(600, dtype=bool) | np.eye(600, k=1, dtype=bool)
    options = {"regions": regions, "n_permutations": 5}
    whole = IdentificationSearchLight(**options).fit(X, y, groups=runs)
    vanishing = _Vanishing(tmp_path / "c")
    monkeypatch.setattr(_region_run, "Progress", lambda verbose: vanishing)
    light = IdentificationSearchLight(checkpoint=tmp_path / "c", **options)
    with pytest.warns(UserWarning, match="was removed during the run"):
        light.fit(X, y, groups=runs)
    assert vanishing.gone
    np.testing.assert_array_equal(light.wins_, whole.wins_)
    np.testing.assert_array_equal(light.null_maxima_, whole.null_maxima_)
    tally("checkpoints that vanish", 1, same=1)


DAMAGES = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "edited": lambda path: path.write_bytes(b"X" + path.read_bytes()[1:]),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "of another run"])
def test_damaged_and_exchanged_results_are_refused(root, tmp_path, tally, damage):
    if not (root / "new").exists():
        assert run(words_of("searchlight", root, root / "new")) == 0
    matters = ["analysis.json", "maps.json", "results.npz", "mask.nii.gz"]
    matters += ["accuracy.nii.gz", "p_value_fwe.nii.gz"]
    refused = 0
    for name in matters:
        out = tmp_path / name
        shutil.copytree(root / "old", out)
        if damage == "of another run":
            shutil.copy(root / "new" / name, out / name)
            if content(out) == content(root / "old"):
                continue  # both runs have the same file
        else:
            DAMAGES[damage](out / name)
        with pytest.raises(ValueError, match=r"(write the .*again|holds no)") as told:
            read("searchlight", out)
        assert len(str(told.value).splitlines()) == 1
        refused += 1
    tally(f"results {damage}", refused, refused=refused)
    # mask and accuracy are the same in the other run
    assert refused >= len(matters) - 2 * (damage == "of another run")
