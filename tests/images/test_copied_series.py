"""Runs that are versions of one acquisition are refused, whatever they are called."""

from functools import partial
from itertools import combinations

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import check_series_apart

trial_betas = partial(labeled_samples, samples="lsa")

SHAPE, N, T_R = (5, 5, 4), 60, 2.0
MASKER = resolve_masker(nibabel.Nifti1Image(np.ones(SHAPE, "uint8"), np.eye(4)))


def events(seed):
    names = np.random.default_rng(seed).permutation(list("abab"))
    onsets = 6.0 + 24 * np.arange(4)
    return pd.DataFrame({"onset": onsets, "duration": 12.0, "trial_type": names})


def noise(seed, n=N):
    return np.random.default_rng(seed).normal(size=(*SHAPE, n))


def acquired(seed):
    """A run: noise that depends on its past, a drift, and the brain's pattern."""
    pattern = 50 * np.abs(np.random.default_rng(0).normal(size=(*SHAPE, 1)))
    data = noise(seed)
    for volume in range(1, N):
        data[..., volume] += 0.4 * data[..., volume - 1]
    return 500 + pattern + data + 3 * np.linspace(0, 1, N)


VERSIONS = {
    "echo": lambda run: 0.6 * run + 0.4 * noise(99),
    "smoothed": lambda run: gaussian_filter(run, (0.6, 0.6, 0.6, 0)),
    "begins later": lambda run: np.concatenate([run[..., 4:], 500 + noise(98, 4)], -1),
    "z-scored": lambda run: (
        (run - run.mean(-1, keepdims=True)) / run.std(-1)[..., None]
    ),
    "the same": lambda run: run,
}


def read(series, reader):
    imgs = [nibabel.Nifti1Image(each, np.eye(4)) for each in series]
    tables = [events(number % 3) for number in range(len(imgs))]
    return reader(imgs, tables, masker=MASKER, t_r=T_R)


@pytest.mark.parametrize("reader", [labeled_samples, trial_betas])
@pytest.mark.parametrize("version", VERSIONS)
def test_versions_of_a_run_are_refused(version, reader):
    runs = [acquired(seed) for seed in (1, 2, 3)]
    assert len(set(read(runs, reader).runs)) == 3
    message = r"imgs\[1\] and imgs\[3\] are one acquisition"
    with pytest.raises(ValueError, match=message):
        read([*runs, VERSIONS[version](runs[1])], reader)
    with pytest.raises(ValueError, match=r"imgs\[0\] and imgs\[1\] are one acq"):
        read([runs[0], VERSIONS[version](runs[0])], reader)


@pytest.mark.parametrize("size", [1.0, 4.0])
def test_runs_of_one_task_are_no_copies(size):
    """The same events at the same times, with responses larger than all noise."""
    course = np.convolve(np.tile([0.0] * 6 + [1.0] * 6, 5), [0.1, 0.3, 0.3, 0.2, 0.1])
    pattern = np.random.default_rng(5).normal(size=200)
    rng = np.random.default_rng(1)
    shared = size * course[:N, None] * pattern
    runs = [shared + rng.normal(size=(N, 200)) for _ in range(8)]
    check_series_apart(runs, range(8))


def test_a_model_without_noise_is_no_copy():
    course, rng = np.random.default_rng(2).normal(size=(N, 3)), np.random.default_rng(3)
    check_series_apart([course @ rng.normal(size=(3, 100))] * 2, "ab")


def test_chance_makes_no_copies():
    rng = np.random.default_rng(4)
    for n_volumes, n_columns in [(20, 8), (30, 20), (120, 8)]:
        runs = rng.normal(size=(40, n_volumes, n_columns))
        for one, two in combinations(runs, 2):
            check_series_apart([one, two], "ab")


def test_holes_do_not_hide_a_copy():
    run = noise(7).reshape(-1, N).T
    holes = run.copy()
    holes[:, ::3] = np.nan
    holes[:, 1::3] = 5.0
    with pytest.raises(ValueError, match="a and b are one acquisition"):
        check_series_apart([run, holes], "ab")


def test_runs_of_one_table_are_named_by_it():
    data = np.concatenate([acquired(1), acquired(2), acquired(2)], axis=-1)
    names = np.tile(np.repeat(list("ab"), N // 2), 3)
    table = pd.DataFrame({"trial_type": names, "run": np.repeat([4, 7, 9], N)})
    with pytest.raises(ValueError, match="run 7 and run 9 are one acquisition"):
        labeled_samples(nibabel.Nifti1Image(data, np.eye(4)), table, masker=MASKER)
