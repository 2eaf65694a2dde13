"""neuroextrap searchlight on the data of Haxby et al. 2001, as the README does it."""

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def volumes(real_data):
    """Condition and run of every volume; the file has no header."""
    path = real_data("haxby2001_subject1") / "attributes_literal.txt"
    return pd.read_csv(path, sep=r"\s+", names=["trial_type", "run"])


def _maps(folder, table, where, *more):
    table.to_csv(where / "volumes.tsv", sep="\t", index=False)
    words = [
        *("searchlight", "--imgs", str(folder / "bold.nii.gz")),
        *("--mask", str(folder / "mask.nii.gz"), "--exclude", "rest"),
        *("--detrend", "--standardize", "--radius", "12", "--quiet", *more),
        *("--events", str(where / "volumes.tsv"), str(where / "out")),
    ]
    assert main(words) == 0
    return where / "out"


def _values(out, name):
    data = nibabel.load(out / f"{name}.nii.gz").get_fdata()
    return data[np.isfinite(data)]


def test_eight_categories_are_told_apart(real_data, volumes, tmp_path):
    folder = real_data("haxby2001_subject1")
    out = _maps(folder, volumes, tmp_path, "--n-permutations", "99", "--report")
    accuracy = _values(out, "accuracy")
    assert len(accuracy) == 530
    assert 0.65 < accuracy.max() < 0.85  # eight ways, chance .125
    assert _values(out, "p_value_fwe").min() == 0.01
    assert _values(out, "implied_information").max() > 2
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "With 8 classes the simultaneous bound" in page
    assert_where_it_is(folder, out, page)


def assert_where_it_is(folder, out, page):
    """Check that the slice lies over its own mean image, not on a template."""
    assert "drawn over the mean image, not on the MNI template" in page
    bold = nibabel.load(folder / "bold.nii.gz")
    mean, accuracy = (
        nibabel.load(out / f"{name}.nii.gz") for name in ("mean_image", "accuracy")
    )
    for img in (mean, accuracy):
        assert img.shape == bold.shape[:3]
        np.testing.assert_allclose(img.affine, bold.affine)
        assert img.header["sform_code"] == bold.header["sform_code"]
    expected = bold.get_fdata().mean(axis=3).ravel()
    assert np.corrcoef(mean.get_fdata().ravel(), expected)[0, 1] > 0.99


def test_conditions_exchanged_within_runs_are_not(real_data, volumes, tmp_path):
    """Every run gives its blocks the names of other conditions: nothing to decode."""
    rng = np.random.default_rng(0)
    names = np.setdiff1d(volumes["trial_type"].unique(), ["rest"])
    table = volumes.copy()
    for run in table["run"].unique():
        other = dict(zip(names, rng.permutation(names), strict=True), rest="rest")
        here = table["run"] == run
        table.loc[here, "trial_type"] = table.loc[here, "trial_type"].map(other)
    out = _maps(real_data("haxby2001_subject1"), table, tmp_path)
    accuracy = _values(out, "accuracy")
    assert abs(accuracy.mean() - 0.125) < 0.06
    assert accuracy.max() < 0.4


def test_one_pair_of_files_a_run_with_bids_events(real_data, tmp_path):
    runs = sorted(
        (real_data("haxby2001_subject1") / "haxby2001").glob("sub001/BOLD/task*")
    )
    imgs = [str(run / "bold_25mm.nii.gz") for run in runs]
    events = [str(run / "bold_events.tsv") for run in runs]
    words = ["--mask", str(_mask_25mm(real_data)), "--t-r", "2.5", "--delay", "5"]
    options = ["--detrend", "--standardize", "--radius", "60", "--quiet"]
    out = tmp_path / "out"
    command = ["searchlight", *words, *options, "--imgs", *imgs]
    assert main([*command, "--events", *events, str(out)]) == 0
    accuracy = _values(out, "accuracy")
    assert accuracy.max() > 0.25


def _mask_25mm(real_data):
    masks = real_data("haxby2001_subject1") / "haxby2001" / "sub001" / "masks"
    return next(path for path in masks.rglob("*brain*.nii.gz"))
