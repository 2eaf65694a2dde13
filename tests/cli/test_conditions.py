"""neuroextrap searchlight --train A --test B, against the call in Python."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight, cross_identification
from neuroextrap.maps import read_maps


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """4 runs of 5 classes in two tasks, each seen in two volumes, and rest."""
    path = tmp_path_factory.mktemp("cross")
    rng = np.random.default_rng(0)
    shape, affine = (5, 4, 3), np.diag([3.0, 3.0, 3.0, 1.0])
    codes = rng.normal(size=(2, 5, *shape))
    codes[1, :, :2] = codes[0, :, :2]
    volumes, rows = [], []
    for run in range(4):
        for cell in [*rng.permutation(10), -1]:
            task, name = divmod(int(cell), 5)
            for _ in range(2):
                signal = 0 if cell < 0 else codes[task, name]
                volumes.append(signal + rng.normal(size=shape))
                row = ["rest", "n/a"] if cell < 0 else ["abcde"[name], "si"[task]]
                rows.append([*row, run])
    img = nibabel.Nifti1Image(np.stack(volumes, -1).astype(np.float32), affine)
    nibabel.save(img, path / "bold.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), affine)
    nibabel.save(mask, path / "mask.nii.gz")
    table = pd.DataFrame(rows, columns=["trial_type", "task", "run"])
    table.to_csv(path / "volumes.tsv", sep="\t", index=False)
    for run in range(4):
        here = np.flatnonzero(table["run"] == run)
        nibabel.save(img.slicer[..., here[0] : here[-1] + 1], path / f"{run}.nii.gz")
        events = table.loc[here, ["trial_type", "task"]]
        events.insert(0, "onset", 2.0 * np.arange(len(here)))
        events.insert(1, "duration", 2.0)
        events.to_csv(path / f"{run}.tsv", sep="\t", index=False)
    return path


def words(folder, *more, out, runs=False):
    imgs, events = [folder / "bold.nii.gz"], [folder / "volumes.tsv"]
    if runs:
        imgs = [folder / f"{run}.nii.gz" for run in range(4)]
        events = [folder / f"{run}.tsv" for run in range(4)]
        more = (*more, "--t-r", "2", "--no-check-t-r")
    return [
        *("searchlight", "--imgs", *map(str, imgs), "--events", *map(str, events)),
        *("--mask", str(folder / "mask.nii.gz"), "--radius", "5"),
        *("--conditions-column", "task", "--train", "s", "--test", "i"),
        *("--n-permutations", "119", *more, str(out)),
    ]


@pytest.mark.parametrize("runs", [False, True])
def test_the_command_equals_the_call(folder, tmp_path, capsys, runs):
    out = tmp_path / "out"
    assert main(words(folder, "--report", "--exclude", "rest", out=out, runs=runs)) == 0
    assert "highest accuracy of 60 regions" in capsys.readouterr().out
    table = pd.read_csv(folder / "volumes.tsv", sep="\t", keep_default_na=False)
    data = nibabel.load(folder / "bold.nii.gz").get_fdata()
    cells = table[table["trial_type"] != "rest"].groupby(["run", "trial_type", "task"])
    means = np.stack([data[..., rows].mean(-1) for rows in cells.groups.values()], -1)
    run, y, task = (np.array(column) for column in zip(*cells.groups, strict=True))
    mask = nibabel.load(folder / "mask.nii.gz")
    maps = cross_identification(
        IdentificationSearchLight(mask, radius=5.0, n_permutations=119),
        nibabel.Nifti1Image(means, mask.affine),
        y,
        run,
        task,
        train="s",
        test="i",
        order=[np.mean(rows) for rows in cells.groups.values()],
    )
    found = read_maps(out)
    assert set(found) == set(maps)
    for name, img in maps.items():
        np.testing.assert_allclose(found[name].get_fdata(), img.get_fdata(), atol=1e-6)
    assert 0 < (maps.region_scores_["p_value_fwe"] <= 0.05).sum() < 60
    about = json.loads((out / "p_value_fwe.json").read_text())
    assert about["parameters"]["train"] == "s"
    assert about["Sources"]
    command = json.loads((out / "provenance.json").read_text())["command"]
    assert command[command.index("--test") + 1] == "i"
    assert len(pd.read_csv(out / "regions.tsv", sep="\t")) == 60
    assert "carries over between s and i in" in (out / "report.html").read_text()


def test_rest_without_a_condition_is_left_out(folder, tmp_path):
    for name, more in (("one", ()), ("two", ("--exclude", "rest"))):
        assert main(words(folder, "--quiet", *more, out=tmp_path / name)) == 0
    one, two = (read_maps(tmp_path / name)["accuracy"] for name in ("one", "two"))
    np.testing.assert_array_equal(one.get_fdata(), two.get_fdata())


def test_a_dry_run_writes_nothing(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(words(folder, "--dry-run", out=out)) == 0
    assert "60 regions, 60 voxels, 119 permutations" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--test", "x"), "test='x' is no condition; choose one of '', 'i', 's'"),
        (("--conditions-column", "color"), "no column 'color'"),
        (("--test-runs", "1"), "excludes --test-runs"),
        (("--test", "s"), "the same condition 's'"),
        (("--shard", "1/2"), "light has --shard 1/2"),
        (("--bounds", "forward", "--classes", "a"), "one class, a"),
    ],
)
def test_bad_input_is_one_line(folder, tmp_path, capsys, more, message):
    assert main(words(folder, *more, out=tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_condition_is_not_enough(folder, tmp_path, capsys):
    given = words(folder, out=tmp_path / "out")
    at = given.index("--test")
    assert main([*given[:at], *given[at + 2 :]]) == 2
    assert "--train needs --test" in capsys.readouterr().err
