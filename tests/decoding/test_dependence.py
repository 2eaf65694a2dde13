"""Scans of blocks: what the bounds count, and when a reader is warned."""

import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.decoding._dependence import neighbor_correlation
from neuroextrap.stats import bayes_accuracy_lower_bound

N_SETS = 150


def block_design(n_runs=4, n_classes=2, n_scans=5, noise=1.0, seed=0):
    """One block of each class in each run, with noise common to its scans."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(n_classes), n_scans), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes * n_scans)
    blocks = np.arange(len(y)) // n_scans
    X = noise * rng.normal(size=(blocks[-1] + 1, 6))[blocks]
    return X + rng.normal(size=(len(y), 6)), y, runs, blocks


def test_bounds_count_blocks_not_scans():
    X, y, runs, blocks = block_design()
    light = IdentificationSearchLight(blocks=blocks, bounds="folds")
    light.fit(X, y, groups=runs)
    assert (light.results_.n_repeats == 1).all()
    accuracy = light.region_scores_["accuracy"]
    expected = bayes_accuracy_lower_bound(
        accuracy, n_classes=2, n_repeats=np.ones((4, 2))
    )
    np.testing.assert_allclose(
        light.region_scores_["bayes_accuracy_bound"], expected, rtol=1e-12
    )


def test_blocks_of_unequal_length_weigh_the_same():
    X, y, runs, blocks = block_design(n_classes=3, seed=1)
    keep = np.ones(len(y), dtype=bool)
    keep[[0, 1, 7, 31]] = False
    light = IdentificationSearchLight(blocks=blocks[keep], bounds="folds")
    light.fit(X[keep], y[keep], groups=runs[keep])
    margins = light.region_margins(0)
    codes, tested = light.test_codes_, blocks[keep]  # folds are runs in order
    best = margins == margins.max(axis=1, keepdims=True)
    correct = best[np.arange(len(codes)), codes] / best.sum(axis=1)
    shares = [correct[tested == block].mean() for block in np.unique(tested)]
    bound_accuracy = light.results_.bound_wins[0, -1]
    np.testing.assert_allclose(bound_accuracy, np.mean(shares), rtol=1e-12)


def test_blocks_in_training_and_test_bound_nothing():
    X, y, runs, blocks = block_design()
    order = np.random.default_rng(0).permutation(len(y))
    folds = [(order[:20], order[20:]), (order[20:], order[:20])]
    light = IdentificationSearchLight(blocks=blocks, cv=folds).fit(X, y, groups=runs)
    assert not any("bound" in name for name in light.region_scores_)
    assert any("samples in training and test set" in note for note in light.notes_)


def test_declared_blocks_keep_the_bound_below_the_truth():
    """Twenty dependent scans a block, nothing to decode: the truth is chance."""
    missed = 0
    for seed in range(N_SETS):
        X, y, runs, blocks = block_design(n_scans=20, noise=3.0, seed=seed)
        light = IdentificationSearchLight(blocks=blocks).fit(X, y, groups=runs)
        missed += light.region_scores_["bayes_accuracy_bound"][0] > 0.5
    assert missed / N_SETS <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / N_SETS)


def test_scans_without_blocks_are_warned_about():
    X, y, runs, _ = block_design(noise=2.0)
    with pytest.warns(UserWarning, match="neighboring samples of one class correlate"):
        IdentificationSearchLight().fit(X, y, groups=runs)


def test_independent_trials_in_the_order_of_their_classes_are_not():
    for seed in range(50):
        X, y, runs, _ = block_design(noise=0.0, seed=seed)
        signal = np.random.default_rng(seed).normal(size=(2, 6))
        offsets = 5 * np.random.default_rng(seed + 1).normal(size=(4, 6))
        X = X + 3 * signal[y] + offsets[runs]
        assert neighbor_correlation(X, y, runs) is None


def test_few_neighbors_say_nothing():
    X = np.random.default_rng(0).normal(size=(6, 3))
    assert neighbor_correlation(X, np.array([0, 0, 1, 1, 0, 0]), None) is None


@pytest.mark.real_data
def test_volumes_of_real_blocks_are_found_and_their_averages_are_not(real_data):
    import nibabel
    import pandas as pd

    folder = real_data("haxby2001_subject1")
    table = pd.read_csv(
        folder / "attributes_literal.txt", sep=r"\s+", names=["label", "run"]
    )
    mask = nibabel.load(folder / "mask.nii.gz").get_fdata() > 0
    X = nibabel.load(folder / "bold.nii.gz").get_fdata()[mask].T
    keep = (table["label"] != "rest").to_numpy()
    codes = np.unique(table["label"][keep], return_inverse=True)[1]
    runs = table["run"][keep].to_numpy()
    assert neighbor_correlation(X[keep], codes, runs) > 0.3
    cells = pd.DataFrame(X[keep]).groupby([runs, codes]).mean()
    run, code = (cells.index.get_level_values(i).to_numpy() for i in (0, 1))
    assert neighbor_correlation(cells.to_numpy(), code, run) is None
