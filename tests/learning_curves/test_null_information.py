"""Scans without signal: information is not positive, regularized hardly negative."""

import numpy as np
import pytest

from neuroextrap.learning_curves import CanonicalVariates, information_learning_curve


def _null_information(n_data_sets, prior_weight):
    """Mean information over splits, of many data sets with independent labels."""
    found = []
    for seed in range(n_data_sets):
        X = np.random.default_rng(seed).standard_normal((180, 40))
        y, groups = np.tile([0, 1], 90), np.repeat(np.arange(18), 10)
        curve = information_learning_curve(
            X,
            y,
            groups,
            classifier=CanonicalVariates(n_components=4),
            prior_weight=prior_weight,
            train_sizes=[4, 15],
            n_splits=8,
            pattern=None,
            random_state=seed,
        )
        found.append(curve.information.mean(axis=1))
        assert np.all(curve.information <= curve.label_entropy)
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(n_data_sets)


@pytest.mark.parametrize("n_data_sets", [5, pytest.param(80, marks=pytest.mark.slow)])
def test_independent_labels(n_data_sets):
    raw, raw_error = _null_information(n_data_sets, None)
    shrunk, error = _null_information(n_data_sets, "cross-validated")
    assert np.all(raw < 3 * raw_error)
    assert raw[0] < 0
    assert np.all(shrunk < 3 * error)
    assert np.all(shrunk > -0.03)
    if n_data_sets >= 80:
        assert np.all(raw < -3 * raw_error)
        assert np.all(shrunk < -2 * error)
        assert np.all(shrunk > raw)
