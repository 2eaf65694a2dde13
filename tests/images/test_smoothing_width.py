"""Widths of smoothing that would never end, or mean nothing, are refused at once."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from nibabel import Nifti1Image

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import second_level_test
from neuroextrap.images import labeled_samples, resolve_masker

MASK = Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4))
SERIES = Nifti1Image(np.random.default_rng(2).normal(size=(2, 2, 2, 20)), np.eye(4))
EVENTS = pd.DataFrame(
    {"onset": [0.0, 20.0], "duration": 10.0, "trial_type": ["face", "cat"]}
)

volume_samples = partial(labeled_samples, samples="volumes")
NO_WIDTHS = [np.inf, -np.inf, np.nan, -4, 0, 0.0, 1e9, 100.1, np.float32(np.inf)]
NO_NUMBERS = ["fast", "4", True, [4, 4, 4], np.array([4.0]), 1j]


def _fit(width):
    light = IdentificationSearchLight(MASK)
    light.fit_events([SERIES], [EVENTS], t_r=2.0, smoothing_fwhm=width)


def _cohort(width):
    analyze_participants("no_such_folder", "out", smoothing_fwhm=width)


@pytest.mark.parametrize("call", [_fit, _cohort])
@pytest.mark.parametrize("width", NO_WIDTHS)
def test_widths(call, width):
    with pytest.raises(ValueError, match=r"smoothing_fwhm=.* positive .* at most 100"):
        call(width)


@pytest.mark.parametrize("call", [_fit, _cohort])
@pytest.mark.parametrize("width", NO_NUMBERS)
def test_types(call, width):
    with pytest.raises(TypeError, match="must be None or a number of mm"):
        call(width)


@pytest.mark.parametrize("width", [1e9, 101])
def test_width_of_variances(width):
    data = np.random.default_rng(0).normal(size=(2, 2, 2, 6))
    maps = Nifti1Image(data, np.eye(4))
    with pytest.raises(ValueError, match=r"variance_fwhm=.* at most 100"):
        second_level_test(maps, variance_fwhm=width, n_permutations=10)


@pytest.mark.parametrize("word", ["inf", "nan", "-4", "1e9"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_at_the_command_line(word, dry, tmp_path, capsys):
    files = {name: tmp_path / name for name in ("bold.nii.gz", "e.tsv", "mask.nii")}
    SERIES.to_filename(files["bold.nii.gz"])
    MASK.to_filename(files["mask.nii"])
    EVENTS.to_csv(files["e.tsv"], sep="\t", index=False)
    words = ["--imgs", files["bold.nii.gz"], "--events", files["e.tsv"], "--t-r", "2"]
    words += ["--mask", files["mask.nii"], f"--smoothing-fwhm={word}", *dry]
    out = tmp_path / "out"
    assert main(["searchlight", str(out), *map(str, words)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "--smoothing-fwhm" in line
    assert not out.exists()


@pytest.mark.parametrize("read", [labeled_samples, volume_samples])
@pytest.mark.parametrize("word", ["psc", "zscore", "zscore_sample", "no", "True"])
def test_scalings_that_are_not_done(read, word):
    with pytest.raises(ValueError, match=r"standardize='.*' must be True \(z-scores"):
        read(SERIES, EVENTS, masker=resolve_masker(MASK), t_r=2.0, standardize=word)
    light = IdentificationSearchLight(MASK)
    with pytest.raises(ValueError, match="percent signal change"):
        light.fit_events([SERIES], [EVENTS], t_r=2.0, standardize=word)
