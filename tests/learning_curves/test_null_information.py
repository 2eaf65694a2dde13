"""Scans without signal: information is not positive, regularized hardly negative."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

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


def _groups_of(X):
    """Return the groups that samples of the test below are from."""
    return set(np.abs(X[:, 0]).round(6).tolist())


class _Recording(GaussianNB):
    """Notes the groups that train it, and that it is asked about."""

    def fit(self, X, y):
        self.groups_ = _groups_of(X)
        return super().fit(X, y)

    def predict_log_proba(self, X):
        assert self.groups_.isdisjoint(_groups_of(X))
        asked.append((self.groups_, _groups_of(X)))
        return super().predict_log_proba(X)


asked = []


def test_no_group_is_on_both_sides():
    y, groups = np.tile([0, 1], 30), np.repeat(np.arange(6), 10)
    X = np.random.default_rng(0).standard_normal((60, 6))
    X[:, 0] = (2 * y - 1) * (groups + 1)
    asked.clear()
    given = {"classifier": _Recording(), "train_sizes": [3, 5], "n_splits": 4}
    information_learning_curve(
        X, y, groups, prior_weight="cross-validated", pattern=None, **given
    )
    whole = [sorted(len(part) for part in both) for both in asked if len(both[1]) > 1]
    # beside every split, one group after another is left out for the weight
    assert len(asked) == 4 * (1 + 3) + 4 * (1 + 5)
    assert whole == [[3, 3]] * 4
