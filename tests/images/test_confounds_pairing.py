"""Confounds belong to runs by their names, as events do; nothing of them is lost."""

from functools import partial
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.maskers import NiftiMasker

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import Request, build_parser

volume_samples = partial(labeled_samples, samples="volumes")
trial_betas = partial(labeled_samples, samples="lsa")

N, T_R = 24, 2.0
READERS = [labeled_samples, volume_samples, trial_betas]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three runs with events and random confounds, each under BIDS names."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("study")
    files = {"bold": [], "events": [], "confounds": []}
    for run in (1, 2, 10):
        name = f"sub-01_task-x_run-{run}"
        paths = {
            "bold": folder / f"{name}_bold.nii.gz",
            "events": folder / f"{name}_events.tsv",
            "confounds": folder / f"{name}_desc-confounds_timeseries.tsv",
        }
        data = 100 + rng.normal(size=(2, 2, 2, N))
        nibabel.Nifti1Image(data, np.eye(4)).to_filename(paths["bold"])
        table = pd.DataFrame(
            {"onset": [2.0, 24.0], "duration": 8.0, "trial_type": ["face", "cat"]}
        )
        table.to_csv(paths["events"], sep="\t", index=False)
        motion = pd.DataFrame(rng.normal(size=(N, 2)), columns=["x", "y"])
        motion.to_csv(paths["confounds"], sep="\t", index=False)
        for kind, path in paths.items():
            files[kind].append(str(path))
    return files


def _read(read, study, confounds):
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4))
    options = {"masker": resolve_masker(mask), "confounds": confounds, "t_r": T_R}
    return read(study["bold"], study["events"], **options).data


@pytest.mark.parametrize("read", READERS)
def test_files_may_come_in_any_order(study, read):
    right = _read(read, study, study["confounds"])
    shuffled = [study["confounds"][i] for i in (2, 0, 1)]
    np.testing.assert_array_equal(_read(read, study, shuffled), right)
    # what a wrong order would give: tables in memory have no names
    frames = [pd.read_csv(path, sep="\t") for path in study["confounds"]]
    np.testing.assert_array_equal(_read(read, study, frames), right)
    assert not np.allclose(_read(read, study, frames[::-1]), right)


def test_maskers_that_clean_themselves_get_them_in_order(study):
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4))
    masker = resolve_masker(NiftiMasker(mask, standardize=None, detrend=True))
    right, other = (
        volume_samples(
            study["bold"], study["events"], masker=masker, t_r=T_R, confounds=confounds
        )
        for confounds in (study["confounds"], study["confounds"][::-1])
    )
    np.testing.assert_array_equal(other.data, right.data)


@pytest.mark.parametrize("read", READERS)
def test_confounds_of_other_runs_are_refused(study, read, tmp_path):
    other = str(tmp_path / "sub-01_task-x_run-3_confounds.tsv")
    first, second, _ = study["confounds"]
    with pytest.raises(ValueError, match="disagree in run: 10 and 3; give the conf"):
        _read(read, study, [first, second, other])
    with pytest.raises(ValueError, match="disagree in run: 1 and 2"):
        _read(read, study, [second, None, first])
    one = {"bold": study["bold"][0], "events": study["events"][0]}
    with pytest.raises(ValueError, match="disagree in run: 1 and 2"):
        _read(read, one, second)
    with pytest.raises(ValueError, match="each of the 1 series of images, got 2"):
        _read(read, one, [first, second])


@pytest.mark.parametrize("read", READERS)
def test_one_table_is_not_that_of_several_runs(study, read, tmp_path):
    plain = tmp_path / "motion.tsv"
    text = Path(study["confounds"][0]).read_text()
    plain.write_text(text)
    linked = tmp_path / "again.tsv"
    linked.symlink_to(plain)
    frame = pd.read_csv(plain, sep="\t")
    for same, kind in (
        ([plain, plain, plain], "file"),
        ([None, str(plain), linked], "file"),
        ([frame] * 3, "table"),
        ([frame.to_numpy()] * 2 + [None], "table"),
    ):
        with pytest.raises(ValueError, match=rf"is the same {kind} as confounds\["):
            _read(read, study, same)
    _read(read, study, [None, None, plain])  # without entities: by order


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_imaginary_parts_are_not_dropped(study, read, make):
    values = make(np.ones((N, 2)) * 1j + np.arange(2 * N).reshape(N, 2))
    with pytest.raises(TypeError, match=r"confounds\[1\] must be real numbers"):
        _read(read, study, [None, values, None])


@pytest.mark.parametrize("read", READERS)
def test_masks_are_not_ignored(study, read):
    values = np.random.default_rng(0).normal(size=(N, 2))
    masked = np.ma.masked_array(values, mask=np.arange(2 * N).reshape(N, 2) == 3)
    with pytest.raises(TypeError, match=r"confounds\[0\] is a masked array; fill"):
        _read(read, study, [masked, None, None])
    nothing = np.ma.masked_array(values, mask=False)
    np.testing.assert_array_equal(
        _read(read, study, [nothing, None, None]),
        _read(read, study, [values, None, None]),
    )
    np.testing.assert_array_equal(
        _read(read, study, [values.tolist(), None, None]),
        _read(read, study, [values, None, None]),
    )


def test_at_the_command_line(study, tmp_path):
    mask = tmp_path / "mask.nii.gz"
    nibabel.Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4)).to_filename(mask)

    def samples(confounds):
        words = ["--imgs", *study["bold"], "--events", *study["events"]]
        words += ["--t-r", str(T_R), "--mask", str(mask), "--confounds", *confounds]
        args = build_parser().parse_args(["searchlight", str(tmp_path), *words])
        return Request(args).read()[0].data

    right = samples(study["confounds"])
    turned = study["confounds"][::-1]
    np.testing.assert_array_equal(samples(turned), right)
    plain = [str(tmp_path / f"{number}.tsv") for number in range(3)]
    for path, copy in zip(turned, plain, strict=True):
        Path(copy).write_text(Path(path).read_text())
    assert not np.allclose(samples(plain), right)  # names that tell nothing
