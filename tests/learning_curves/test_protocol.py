"""The four set-ups of the paper."""

import numpy as np
import pytest

from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    protocol_learning_curves,
)
from tests.learning_curves.seam import (
    agnostic_labels,
    center_groups,
    protocol_setups,
    scale_scans,
)


def _tracing(n_subjects=5, seed=0):
    """One baseline scan, eight of tracing, one of baseline."""
    rng = np.random.default_rng(seed)
    y = np.tile(["rest"] + ["trace"] * 8 + ["rest"], n_subjects)
    groups = np.repeat(np.arange(n_subjects), 10)
    X = (
        50
        + rng.standard_normal((len(y), 80))
        + 2.0 * (y == "trace")[:, None] * (np.arange(80) < 8)
    )
    return X, y, groups


def test_table_1():
    _, y, groups = _tracing(n_subjects=2)
    setups = protocol_setups(y, groups)
    assert [s.n_components for s in setups] == [4, 4, 4, 10]
    np.testing.assert_array_equal(setups[0].rows[:4], [0, 1, 2, 9])
    np.testing.assert_array_equal(
        setups[0].labels[:4], ["rest", "trace", "trace", "rest"]
    )
    np.testing.assert_array_equal(setups[1].labels, [0, 1, 2, 3] * 2)
    for setup in setups[2:]:
        np.testing.assert_array_equal(setup.labels, agnostic_labels(groups))


def test_curves_equal_the_steps_done_by_hand():
    X, y, groups = _tracing()
    options = {"n_splits": 4, "train_sizes": [4], "pattern": None}
    options["prior_weight"] = 0.3
    curves = protocol_learning_curves(X, y, groups, **options)
    rows = protocol_setups(y, groups)[0].rows
    scaled = scale_scans(X)[rows]
    scaled = center_groups(scaled, groups[rows])
    twin = information_learning_curve(
        scaled,
        y[rows],
        groups[rows],
        center=None,
        classifier=CanonicalVariates(n_components=4),
        **options,
    )
    first = curves["two labels, balanced"]
    np.testing.assert_allclose(first.information, twin.information, atol=1e-9)
    assert first.information.mean() > 0.3
    assert [len(c.classes) for c in curves.values()] == [2, 4, 10, 10]


def test_significant_directions_only():
    rng = np.random.default_rng(0)
    _, y, groups = _tracing()
    X = rng.standard_normal((len(y), 80))
    curves = protocol_learning_curves(
        X,
        y,
        groups,
        scale=None,
        significance_level=1e-9,
        n_splits=3,
        train_sizes=[4],
        pattern=None,
        per_label=2,
    )
    first = curves["two labels, balanced"]
    np.testing.assert_allclose(first.information, 0, atol=1e-12)


def test_input_is_checked():
    X, y, groups = _tracing()
    with pytest.raises(ValueError, match="has 2 scans labeled 'rest'"):
        protocol_setups(y, groups, per_label=3)
    with pytest.raises(ValueError, match="scale='max' must be"):
        protocol_learning_curves(X, y, groups, scale="max")
    with pytest.raises(ValueError, match="clearly positive"):
        protocol_learning_curves(X - X.mean(axis=1, keepdims=True), y, groups)
