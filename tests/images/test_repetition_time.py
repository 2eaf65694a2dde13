"""The time between volumes: stated once, or alike."""

import json
from functools import partial

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import SampleOptions, list_images, repetition_times

volume_samples = partial(labeled_samples, samples="volumes")
trial_betas = partial(labeled_samples, samples="lsa")


@pytest.fixture
def series(tmp_path):
    """Return a function that writes a series with a repetition time in its header."""

    def save(zoom=1.0, unit=None, sidecar=None, name="bold.nii.gz"):
        img = nibabel.Nifti1Image(np.ones((2, 2, 2, 6), "float32"), np.eye(4))
        img.header["pixdim"][4] = zoom
        if unit is not None:
            img.header.set_xyzt_units("mm", unit)
        img.to_filename(tmp_path / name)
        if sidecar is not None:
            beside = tmp_path / f"{name.partition('.')[0]}.json"
            text = sidecar if isinstance(sidecar, str) else json.dumps(sidecar)
            beside.write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return save


def times(imgs, t_r=None, **options):
    return repetition_times(list_images(imgs), SampleOptions(t_r=t_r, **options))


@pytest.mark.parametrize(
    ("zoom", "unit", "seconds"),
    [
        (2.5, "sec", 2.5),
        (2500, "msec", 2.5),
        (800_000, "usec", 0.8),
        (0.72, "sec", 0.72),
    ],
)
def test_headers_have_units(series, zoom, unit, seconds):
    assert times(series(zoom, unit)) == pytest.approx([seconds])
    assert times(series(zoom, unit), seconds) == [seconds]


@pytest.mark.parametrize(
    ("zoom", "unit"),
    [(1.0, None), (2.5, None), (0.0, "sec"), (-2.0, "sec"), (np.nan, "sec"), (2, "hz")],
)
def test_headers_that_do_not_tell_are_not_asked(series, zoom, unit):
    path = series(zoom, unit)
    assert times(path, 2.0) == [2.0]
    with pytest.raises(ValueError, match=r"t_r is needed .* nor a sidecar of .*bold"):
        times(path)


def test_sidecars_tell_too(series):
    path = series(sidecar={"RepetitionTime": 1.5, "TaskName": "x"})
    assert times(path) == [1.5]
    assert times(series(1.5, "sec", {"RepetitionTime": 1.5})) == [1.5]
    assert times(series(2, "sec", {"TaskName": "x"}, "plain.nii")) == [2.0]
    assert times(series(2, "sec", [1, 2], "list.nii.gz")) == [2.0]
    assert times(series(2, "sec", {"RepetitionTime": None}, "none.nii.gz")) == [2.0]


@pytest.mark.parametrize(
    ("zoom", "sidecar", "t_r", "said"),
    [
        (2.5, None, 2.0, "t_r says 2 s, its header says 2.5 s"),
        (2.5, 2.0, 2.5, "t_r says 2.5 s, its sidecar says 2 s, its header says 2.5 s"),
        (2.5, 2.0, None, "its sidecar says 2 s, its header says 2.5 s"),
        (2.5, 2500, 2.5, "its sidecar says 2500 s"),
        (2.5, None, 2500.0, "t_r says 2500 s, its header says 2.5 s"),
        (1.0, None, 2.0, "its header says 1 s"),
        (2.5, None, 2.502, "t_r says 2.502 s"),
    ],
)
def test_disagreement_is_refused_with_all_values(series, zoom, sidecar, t_r, said):
    sidecar = None if sidecar is None else {"RepetitionTime": sidecar}
    path = series(zoom, "sec", sidecar)
    with pytest.raises(ValueError, match="repetition times disagree") as error:
        times(path, t_r)
    assert said in str(error.value)
    assert "--no-check-t-r" in str(error.value)
    expected = t_r if t_r is not None else sidecar["RepetitionTime"]
    assert times(path, t_r, check_t_r=False) == [expected]


def test_rounding_is_no_disagreement(series):
    assert times(series(1.3330, "sec"), 1.333) == [1.333]
    assert times(series(0.6667, "sec"), 2 / 3) == [2 / 3]


def test_every_series_has_its_own(series):
    paths = [series(t, "sec", name=f"run-{t}.nii.gz") for t in (2, 3)]
    assert times(paths) == [2.0, 3.0]
    with pytest.raises(ValueError, match=r"run-3.nii.gz.*t_r says 2 s"):
        times(paths, 2.0)


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, True])
def test_nonsense_is_refused(series, bad):
    with pytest.raises(ValueError, match=f"t_r={bad!r} must be a positive number"):
        times(series(2, "sec"), bad)


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        ("{", "is not a readable sidecar"),
        ('{"RepetitionTime": "2"}', "RepetitionTime='2' must be a positive number"),
        ('{"RepetitionTime": -2}', "RepetitionTime=-2 must be"),
        ('{"RepetitionTime": NaN}', "RepetitionTime=nan must be"),
        ('{"RepetitionTime": true}', "RepetitionTime=True must be"),
        ('{"RepetitionTime": [2]}', r"RepetitionTime=\[2\] must be"),
    ],
)
def test_damaged_sidecars_are_refused(series, sidecar, message):
    with pytest.raises(ValueError, match=message) as error:
        times(series(sidecar=sidecar))
    assert "bold.json" in str(error.value)


def test_samples_take_it_from_the_header(series):
    path = series(2000, "msec")
    masker = resolve_masker(nibabel.Nifti1Image(np.ones((2, 2, 2), "int8"), np.eye(4)))
    table = pd.DataFrame({"onset": [4.0], "duration": [4.0], "trial_type": ["face"]})
    assert len(volume_samples(path, table, masker=masker).y) == 2
    assert trial_betas(path, table, masker=masker).y.tolist() == ["face"]
    for read in (volume_samples, trial_betas):
        with pytest.raises(ValueError, match="repetition times disagree"):
            read(path, table, masker=masker, t_r=1.0)
    assert (
        len(volume_samples(path, table, masker=masker, t_r=1, check_t_r=False).y) == 2
    )


def test_labels_of_volumes_need_none(series):
    masker = resolve_masker(nibabel.Nifti1Image(np.ones((2, 2, 2), "int8"), np.eye(4)))
    labels = pd.DataFrame({"trial_type": list("ababab")})
    assert len(volume_samples(series(), labels, masker=masker).y) == 6


def test_series_that_agree_are_told_in_one_line(series, caplog):
    caplog.set_level("INFO", logger="neuroextrap")
    given = {"a": 2.0, "b": 2.0, "c": 1.5}
    paths = [series(t_r, "sec", name=f"{name}.nii.gz") for name, t_r in given.items()]
    assert times(paths) == [2.0, 2.0, 1.5]
    first, second = caplog.messages
    assert first.endswith("a.nii.gz) and 1 more: repetition time 2 s (its header)")
    assert second.endswith("c.nii.gz): repetition time 1.5 s (its header)")
