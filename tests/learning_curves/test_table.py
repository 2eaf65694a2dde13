"""Curves as tables."""

import numpy as np
from sklearn.utils import Bunch

from tests.learning_curves.seam import learning_curve_table


def test_columns_and_note():
    curve = Bunch(
        train_sizes=np.array([2, 3]),
        information=np.array([[-1.0, -2.0], [0.5, 0.7]]),
        error_rate=np.array([[0.3, 0.4], [0.1, 0.2]]),
        baseline_error_rate=np.full((2, 2), 0.5),
        reproducibility=np.array([[0.2, 0.4], [np.nan, np.nan]]),
        n_components=np.full((2, 2), 4.0),
        prior_weight=np.zeros((2, 2)),
    )
    table = learning_curve_table(curve)
    np.testing.assert_allclose(table.information, [-1.5, 0.6])
    np.testing.assert_allclose(
        table.information_spread, np.array([1, 0.2]) / np.sqrt(2)
    )
    np.testing.assert_allclose(table.reproducibility, [0.3, np.nan])
    np.testing.assert_allclose(table.error_rate, [0.35, 0.15])
    assert table.note[0].startswith("negative information although")
    assert table.note[1] == ""


def test_infinite_information_has_no_spread():
    one = np.array([[0.5, 0.5]])
    curve = Bunch(
        train_sizes=np.array([2]),
        information=np.array([[-np.inf, 0.0]]),
        error_rate=one,
        baseline_error_rate=one,
        reproducibility=one,
        n_components=one,
        prior_weight=one,
    )
    table = learning_curve_table(curve)
    assert table.information[0] == -np.inf
    assert np.isnan(table.information_spread[0])
    single = {key: curve[key][:, :1] for key in curve if key != "train_sizes"}
    table = learning_curve_table(Bunch(train_sizes=curve.train_sizes, **single))
    assert np.isnan(table.error_rate_spread[0])
