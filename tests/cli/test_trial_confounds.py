"""neuroextrap searchlight --trial-confound, against the call in Python."""

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight, trial_confound
from neuroextrap.maps import read_maps
from tests.cli.seam import SampleOptions, confound_of_samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """4 runs of 12 volumes, a trial each, of two classes, and two of rest."""
    path = tmp_path_factory.mktemp("confound")
    rng = np.random.default_rng(0)
    shape, affine = (4, 4, 3), np.diag([3.0, 3.0, 3.0, 1.0])
    y = np.concatenate([rng.permutation([0, 1] * 6) for _ in range(4)])
    runs, time = np.repeat(np.arange(4), 12), 0.6 + 0.2 * y + 0.5 * rng.random(48)
    volumes = 100 + rng.normal(size=(48, *shape))
    volumes[:, :2] += 5 * time[:, None, None, None]
    table = pd.DataFrame(
        {"trial_type": np.array(["face", "house"])[y], "time": time.round(3)}
    )
    table["level"] = np.where(time > np.median(time), "slow", "quick")
    table["run"] = runs
    table.loc[[0, 30], ["trial_type", "time", "level"]] = ["rest", None, None]
    table.to_csv(path / "volumes.tsv", sep="\t", index=False, na_rep="n/a")
    img = nibabel.Nifti1Image(np.moveaxis(volumes, 0, 3).astype(np.float32), affine)
    nibabel.save(img, path / "bold.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), affine)
    nibabel.save(mask, path / "mask.nii.gz")
    for run in range(4):
        rows = table[runs == run]
        nibabel.save(img.slicer[..., 12 * run : 12 * run + 12], path / f"{run}.nii.gz")
        events = rows[["trial_type", "time", "level"]].copy()
        events.insert(0, "onset", 2.0 * np.arange(12))
        events.insert(1, "duration", 2.0)
        events.to_csv(path / f"{run}.tsv", sep="\t", index=False, na_rep="n/a")
    return path


def words(folder, *more, column="time", out="", runs=False):
    imgs, events = [folder / "bold.nii.gz"], [folder / "volumes.tsv"]
    if runs:
        imgs = [folder / f"{run}.nii.gz" for run in range(4)]
        events = [folder / f"{run}.tsv" for run in range(4)]
        more = (*more, "--t-r", "2", "--no-check-t-r")
    return [
        *("searchlight", "--imgs", *map(str, imgs), "--events", *map(str, events)),
        *("--mask", str(folder / "mask.nii.gz"), "--radius", "5"),
        *("--exclude", "rest", "--trial-confound", column),
        *("--n-permutations", "79", *more, str(out)),
    ]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("column", "runs"), [("time", False), ("level", True)])
def test_the_command_equals_the_call(folder, tmp_path, capsys, column, runs):
    out = tmp_path / "out"
    more = ("--samples", "volumes", "--stratum-size", "3", "--report")
    assert main(words(folder, *more, column=column, out=out, runs=runs)) == 0
    said = capsys.readouterr().out
    table = pd.read_csv(folder / "volumes.tsv", sep="\t")
    kept = np.flatnonzero(table["trial_type"] != "rest")
    img, mask = (nibabel.load(folder / f"{n}.nii.gz") for n in ("bold", "mask"))
    maps = trial_confound(
        IdentificationSearchLight(mask, radius=5.0, n_permutations=79),
        nibabel.Nifti1Image(img.get_fdata()[..., kept], img.affine),
        table["trial_type"].to_numpy()[kept],
        table["run"].to_numpy()[kept],
        table[column].to_numpy()[kept],
        stratum_size=3,
    )
    found = read_maps(out)
    assert set(found) == set(maps)
    for name, mine in maps.items():
        np.testing.assert_allclose(found[name].get_fdata(), mine.get_fdata(), atol=1e-6)
    assert maps.summary_ in said
    assert maps.summary_.split(".")[0][:40] in (out / "report.html").read_text()
    assert len(pd.read_csv(out / "regions.tsv", sep="\t")) == 48


@pytest.mark.parametrize("samples", ["lss", "volumes"])
def test_trials_have_the_confound_of_their_events(folder, samples):
    imgs, events = (
        [str(folder / f"{run}.{end}") for run in range(4)] for end in ("nii.gz", "tsv")
    )
    options = SampleOptions(samples=samples, exclude="rest", t_r=2.0, check_t_r=False)
    table = pd.read_csv(folder / "volumes.tsv", sep="\t")
    kept = table[table["trial_type"] != "rest"]
    time = confound_of_samples(imgs, events, options, "time")
    np.testing.assert_array_equal(time, kept["time"])
    level = confound_of_samples(imgs[::-1], events[::-1], options, "level")
    backwards = kept.sort_values("run", ascending=False, kind="stable")
    assert level.tolist() == backwards["level"].tolist()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--samples", "blocks"), "needs --samples: give lss"),
        (("--samples", "volumes", "--n-permutations", "0"), "needs --n-permutations"),
        (("--samples", "volumes", "--train", "a", "--test", "b"), "excludes --train"),
        (("--samples", "volumes", "--trial-confound", "rt"), "no column 'rt'"),
    ],
)
def test_refusals_in_one_line(folder, tmp_path, capsys, more, message):
    assert main(words(folder, *more, out=tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_trial_without_the_confound_is_named(folder, tmp_path, capsys):
    table = pd.read_csv(folder / "volumes.tsv", sep="\t", keep_default_na=False)
    table.loc[5, "time"] = "n/a"
    table.to_csv(tmp_path / "less.tsv", sep="\t", index=False)
    command = words(folder, "--samples", "volumes", out=tmp_path / "out")
    command[command.index("--events") + 1] = str(tmp_path / "less.tsv")
    assert main(command) == 2
    assert "no entry in row 6" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(words(folder, "--samples", "lsa", "--dry-run", out=out, runs=True)) == 0
    assert "48 regions, 48 voxels, 79 permutations" in capsys.readouterr().out
    assert not out.exists()
