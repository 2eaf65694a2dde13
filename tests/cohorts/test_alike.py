"""Participants whose data were made differently are no group, unless one says so."""

import json
import shutil
from pathlib import Path

import nibabel
import numpy as np
import pytest

from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.group import second_level_test
from tests.analyses import searchlight_of

OPTIONS = {"samples": "blocks", "confounds": (), "report": False}


def analyze(derivatives, out, label, light=None, **options):
    light = searchlight_of(**{"radius": 4.0, "bounds": None, **(light or {})})
    given = {"analysis": light, "participants": [label], **OPTIONS, **options}
    outcomes = analyze_participants(derivatives, out, **given)
    assert outcomes["status"].tolist() == ["done"]


@pytest.fixture(scope="module")
def two(cohort, tmp_path_factory):
    """Two participants who were analyzed alike."""
    out = tmp_path_factory.mktemp("alike") / "out"
    for label in ("01", "02"):
        analyze(cohort, out, label)
    return out


CHANGES = {
    "samples": {"samples": "lsa"},
    "smoothing_fwhm": {"smoothing_fwhm": 6.0},
    "high_pass": {"high_pass": 0.01},
    "confounds": {"confounds": ("motion",)},
    "delay": {"delay": 4.0},
    "detrend": {"detrend": True},
    "standardize": {"standardize": True},
    "exclude": {"exclude": ("rest",)},
    "cv": {"light": {"cv": [(np.arange(4), np.arange(4, 16))]}},
    "bounds": {"light": {"bounds": "auto"}},
    "test_units": {"light": {"test_units": "runs"}},
    "min_voxels": {"light": {"min_voxels": 5}},
    "confidence_level": {"light": {"confidence_level": 0.9}},
    "e_value_order": {"light": {"e_value_order": "chronological"}},
}


@pytest.mark.parametrize("word", CHANGES)
def test_what_differs_is_refused_by_its_name(cohort, two, tmp_path, word):
    out = shutil.copytree(two, tmp_path / "out")
    analyze(cohort, out, "04", **CHANGES[word])
    message = (
        rf"participants: sub-01 and sub-04 differ in {word};.*--allow-mixed {word}"
    )
    for allowed in (False, ["radius", "runs"]):
        with pytest.raises(ValueError, match=message):
            analyze_group(out, allow_mixed=allowed)
    assert not (out / "group").exists()
    imgs = [str(path) for path in sorted(out.rglob("sub-*_desc-accuracy_stat.nii.gz"))]
    with pytest.raises(ValueError, match=f"differ in {word};"):
        second_level_test(imgs, n_permutations=10)


@pytest.mark.filterwarnings("ignore:only 8 distinct sign flips")
def test_what_is_allowed_by_name_is_told(cohort, two, tmp_path, caplog):
    out = shutil.copytree(two, tmp_path / "out")
    analyze(cohort, out, "03", smoothing_fwhm=6.0)
    given = {"n_permutations": 10, "report": False}
    with pytest.raises(ValueError, match=r"differ in smoothing_fwhm, runs; .*hm runs"):
        analyze_group(out, **given)
    with pytest.raises(ValueError, match=r"sub-03 differ in smoothing_fwhm;"):
        analyze_group(out, allow_mixed="runs", **given)
    with pytest.raises(ValueError, match="'smothing' is nothing that can differ; th"):
        analyze_group(out, allow_mixed=["runs", "smothing"], **given)
    assert not (out / "group").exists()
    caplog.clear()
    maps = analyze_group(out, allow_mixed=["runs", "smoothing_fwhm"], **given)
    words = "smoothing_fwhm (sub-03 unlike sub-01: 6.0, not None)"
    assert f"participants differ, which is allowed, in {words}" in caplog.text
    assert np.nanmax(maps["n_subjects"].get_fdata()) == 3
    index = (out / "index.html").read_text(encoding="utf-8")
    assert f"<li>{words}</li>\n<li>runs (sub-03 unlike sub-01)</li>" in index
    sidecar = next((out / "group").glob("*_desc-accuracyT_stat.json"))
    (found,) = json.loads(sidecar.read_text("utf-8"))["findings"]
    assert (found["name"], found["grade"]) == ("mixed_subjects", "note")
    imgs = [str(path) for path in sorted(out.rglob("sub-*_desc-accuracy_stat.nii.gz"))]
    again = second_level_test(imgs, n_permutations=10, allow_mixed=True)
    assert "smoothing_fwhm (" in again.notes_[0]
    page = again.generate_report().get_standalone()
    assert "Subjects differ, as was allowed, in smoothing_fwhm (" in page
    everything = analyze_group(out, allow_mixed=True, overwrite=True, **given)
    np.testing.assert_array_equal(everything["t"].get_fdata(), maps["t"].get_fdata())


def test_one_mask_given_to_some_is_a_difference(cohort, two, tmp_path):
    out = shutil.copytree(two, tmp_path / "out")
    mask = nibabel.Nifti1Image(np.ones((4, 4, 3), "uint8"), np.diag([3.0, 3, 3, 1]))
    for name, folder in (("04", "one"), ("07", "two")):
        path = tmp_path / folder / "mask.nii.gz"
        path.parent.mkdir()
        mask.to_filename(path)
        analyze(cohort, out, name, {"mask": str(path)})
    with pytest.raises(ValueError, match="sub-01 and sub-04, sub-07 differ in mask;"):
        analyze_group(out)
    with pytest.warns(UserWarning, match="sign flips"):
        analyze_group(out, participants=["04", "07"], report=False)


def test_sessions_count(cohort, two, tmp_path):
    """As many runs in all, but of other sessions."""
    tree = tmp_path / "raw"
    shutil.copytree(cohort.parents[1], tree)
    for path in sorted(tree.rglob("sub-04_*")):
        session = "1" if "run-1" in path.name or "run-2" in path.name else "2"
        path.rename(path.with_name(path.name.replace("_task", f"_ses-{session}_task")))
    out = shutil.copytree(two, tmp_path / "out")
    analyze(tree / Path("derivatives/fmriprep"), out, "04")
    with pytest.raises(ValueError, match="sub-01 and sub-04 differ in runs;"):
        analyze_group(out)
