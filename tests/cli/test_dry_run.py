"""A dry run says how much there is to do, and does none of it."""

import re

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.cli.seam import _results

SHAPE, AFFINE = (5, 4, 3), np.diag([3.0, 3.0, 3.0, 1.0])
LINE = r"dry run: {}; about \d+:\d\d:\d\d \(h:mm:ss\), \d+ MiB of data; nothing written"


def save(data, path):
    nibabel.save(nibabel.Nifti1Image(data.astype(np.float32), AFFINE), path)
    return str(path)


@pytest.fixture
def folder(tmp_path):
    """Twenty-four volumes of 60 voxels; tables for every command."""
    rng = np.random.default_rng(0)
    save(rng.normal(size=(*SHAPE, 24)), tmp_path / "imgs.nii.gz")
    save(np.ones(SHAPE), tmp_path / "mask.nii.gz")
    for k in range(8):
        save(rng.normal(size=SHAPE) + 1, tmp_path / f"map-{k}.nii.gz")
        np.save(tmp_path / f"null-{k}.npy", rng.normal(size=(9, 60)))
    features = pd.DataFrame(rng.normal(size=(24, 2)), columns=["a", "b"])
    features.insert(0, "set", ["train"] * 16 + ["test"] * 8)
    features.insert(1, "run", np.arange(24) // 4)
    features.to_csv(tmp_path / "features.tsv", sep="\t", index=False)
    scans = pd.DataFrame({"trial_type": ["x", "y"] * 12, "run": np.arange(24) // 4})
    scans.to_csv(tmp_path / "scans.tsv", sep="\t", index=False)
    return tmp_path


def says(words, folder, capsys):
    """Run a command in a dry run; return the first line that it prints."""
    files = {"IMGS": "imgs.nii.gz", "MASK": "mask.nii.gz", "SCANS": "scans.tsv"}
    files |= {"FEATURES": "features.tsv", "OUT": "out"}
    several = {"MAPS": "map-{}.nii.gz", "NULLS": "null-{}.npy"}
    given = []
    for word in words.split():
        if word in several:
            given += [str(folder / several[word].format(k)) for k in range(8)]
        else:
            given.append(str(folder / files[word]) if word in files else word)
    before = sorted(folder.iterdir())
    assert main([*given, "--dry-run", "--quiet"]) == 0
    assert sorted(folder.iterdir()) == before
    said = capsys.readouterr()
    assert said.err == ""
    cost, *found = said.out.splitlines()
    assert all(line.startswith("doubtful: the classes come") for line in found)
    assert len(found) == words.startswith("searchlight")
    return f"{cost}\n"


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (
            "searchlight OUT --imgs IMGS --events SCANS --mask MASK --radius 4 "
            "--n-permutations 50 --shard 1/4",
            "60 regions, 60 voxels, 50 permutations, of which part 1/4; "
            "tests by class sums, forward tests by growing folds",
        ),
        (
            "encoding OUT --imgs IMGS --stimuli FEATURES --mask MASK --radius 4 "
            "--encoder ridge --n-permutations 20 --stride 2 --shard 2/3",
            "12 regions, 60 voxels, 8 stimuli, 20 permutations, of which part 2/3",
        ),
        (
            "encoding OUT --imgs IMGS --stimuli FEATURES --mask MASK --radius 4 "
            "--encoder ridge --process-mask MASK",
            "60 regions, 60 voxels, 8 stimuli, 0 permutations",
        ),
        (
            "learning-curve OUT --imgs IMGS --scans SCANS --groups run --mask MASK "
            "--labels trial_type agnostic",
            "2 curves of 2 training sizes, 150 splits, 24 scans of 6 groups, "
            "60 features",
        ),
        ("group OUT --imgs MAPS --mask MASK", "8 subjects, 60 voxels, 1000 permuta"),
        (
            "group OUT --imgs MAPS --null NULLS --mask MASK --n-permutations 500",
            "8 subjects, 60 voxels, 500 permutations",
        ),
    ],
)
def test_every_long_command_has_a_dry_run(words, size, folder, capsys):
    line = says(words, folder, capsys)
    assert re.match(LINE.format(f"{re.escape(size)}[^;]*"), line), line


def test_input_is_checked_all_the_same(folder, capsys):
    words = ["encoding", "--imgs", str(folder / "imgs.nii.gz"), "--stimuli", "nowhere"]
    assert main([*words, "--dry-run", str(folder / "out")]) == 2
    assert "nowhere" in capsys.readouterr().err
    words[-1] = str(folder / "features.tsv")
    options = ["--mask", str(folder / "mask.nii.gz"), "--radius", "1", "--dry-run"]
    assert main([*words, *options, str(folder / "out")]) == 2
    assert "no region has --min-voxels 2 usable voxels" in capsys.readouterr().err
    options = ["--mask", str(folder / "mask.nii.gz"), "--shard", "5", "--dry-run"]
    assert main([*words, *options, str(folder / "out")]) == 2
    assert "--shard 5 must be 'i/N'" in capsys.readouterr().err


def test_seconds_grow_with_the_number(monkeypatch):
    now, calls = [0.0], []
    monkeypatch.setattr(_results.time, "process_time", lambda: now[0])

    def run(n):
        calls.append(n)
        now[0] += 3.0 + 0.5 * n

    assert _results.seconds_of(run, 1000, few=(2, 12)) == pytest.approx(503)
    assert _results.seconds_of(run, 7, few=(2, 12)) == pytest.approx(6.5)
    assert max(calls) == 12


def test_a_faster_larger_number_is_no_negative_time(monkeypatch):
    steps = iter([0, 5.0, 10.0, 11.0])
    monkeypatch.setattr(_results.time, "process_time", lambda: next(steps))
    assert _results.seconds_of(lambda n: None, 1000) == 1.0
