"""Crossing curves and what limits them."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from neuroextrap.learning_curves import (
    compare_learning_curves,
    information_learning_curve,
    limiting_factor,
)

SIZES = np.array([2, 4, 8, 16])


def _curve(means, noise=0.0, sizes=SIZES, seed=0, n_splits=20):
    rng = np.random.default_rng(seed)
    values = np.asarray(means)[:, None] + noise * rng.standard_normal(
        (len(means), n_splits)
    )
    return Bunch(
        train_sizes=np.asarray(sizes),
        information=values,
        n_groups=20,
        label_entropy=1.0,
    )


def test_winner_lead_and_crossing():
    curves = {
        "two": _curve([0.2, 0.5, 0.52, 0.52]),
        "four": _curve([-1, 0.1, 0.6, 0.9]),
    }
    found = compare_learning_curves(curves)
    assert found.best == ["two", "two", "four", "four"]
    np.testing.assert_allclose(found.lead, [1.2, 0.4, 0.08, 0.38])
    np.testing.assert_array_equal(found.share, 1)
    assert found.crossings == [
        {"between": (4, 8), "before": "two", "after": "four", "decided": True}
    ]
    assert found.limited_by == {"two": "bias", "four": "variance"}


def test_two_sizes_can_be_compared():
    curves = {
        "two": _curve([0.2, 0.5], sizes=[2, 4]),
        "four": _curve([-1, 0.1, 0.3, 0.4]),
    }
    found = compare_learning_curves(curves)
    assert found.train_sizes.tolist() == [2, 4]
    assert found.best == ["two", "two"]
    assert found.limited_by == {"two": None, "four": "variance"}


def test_standard_error_of_the_lead_is_corrected_for_shared_subjects():
    first, second = _curve([1.0] * 4, 0.1, seed=1), _curve([0.0] * 4, 0.1, seed=2)
    found = compare_learning_curves({"a": first, "b": second})
    gap = first.information - second.information
    tested = [max(size, 20 - size) / size for size in SIZES]  # as if half trained
    twin = gap.std(axis=1, ddof=1) * np.sqrt(1 / 20 + np.array(tested))
    np.testing.assert_allclose(found.standard_error, twin)


def test_curves_are_compared_at_their_common_sizes():
    long, short = _curve([0.1, 0.2, 0.3, 0.4]), _curve([0.3] * 3, seed=1)
    short.train_sizes = long.train_sizes[1:]
    part = {"a": _curve([0.2, 0.3, 0.4]), "b": short}
    part["a"].information = long.information[1:]
    part["a"].train_sizes = short.train_sizes
    found = compare_learning_curves({"a": long, "b": short})
    twin = compare_learning_curves(part)
    np.testing.assert_array_equal(found.train_sizes, short.train_sizes)
    np.testing.assert_array_equal(found.lead, twin.lead)
    assert found.crossings == twin.crossings


def test_noise_decides_nothing():
    curves = {"a": _curve([0.1] * 4, 1.0, seed=1), "b": _curve([0.1] * 4, 1.0, seed=2)}
    found = compare_learning_curves(curves)
    assert not found.decided.any()
    assert np.all((found.share > 0.1) & (found.share < 0.9))
    assert not any(crossing["decided"] for crossing in found.crossings)


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0.1, 0.68, 0.7, 0.7], "bias"),
        ([0.1, 0.3, 0.5, 0.7], "variance"),
        ([-5, -3, -2, -1], "nothing yet"),
        ([-5, 0.3, -0.1, -0.2], "variance"),
        ([-np.inf, -np.inf, 0.1, 0.2], "variance"),
        ([-np.inf, 0.2, 0.2, 0.2], "bias"),
        ([-0.01, -0.01, -0.01, -0.01], "nothing yet"),
        ([0.2, 0.9, 0.95, 0.98], "label entropy"),
        ([1, 1, 1, 1], "label entropy"),
    ],
)
def test_limiting_factor(means, expected):
    assert limiting_factor(_curve(means)) == expected


def _measured(seed, signal):
    """A learning curve of two labels in 10 subjects of 6 scans."""
    rng = np.random.default_rng(seed)
    labels = np.tile([0, 1], 30)
    scans = signal * rng.normal(size=(2, 20))[labels] + rng.normal(size=(60, 20))
    subjects = np.repeat(np.arange(10), 6)
    return information_learning_curve(
        scans,
        labels,
        subjects,
        train_sizes=[3, 5, 7, 9],
        n_splits=8,
        pattern=None,
        prior_weight=None,
    )


@pytest.mark.filterwarnings("ignore:.*below -1 bit")
@pytest.mark.parametrize("seed", range(12))
def test_more_subjects_are_not_recommended_for_noise(seed):
    assert limiting_factor(_measured(seed, 0.0)) == "nothing yet"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_missing_at_the_entropy_of_the_labels(seed):
    assert limiting_factor(_measured(seed, 4.0)) == "label entropy"


def test_a_weak_signal_that_all_splits_show_is_something():
    assert limiting_factor(_curve([0.02, 0.1, 0.2, 0.3], 0.1)) == "variance"
    assert limiting_factor(_curve([0.0, 0.05, 0.06, 0.06], 0.1)) == "nothing yet"


def test_input_is_checked():
    good = _curve([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="at least 2 curves, got 1"):
        compare_learning_curves({"a": good})
    with pytest.raises(ValueError, match="curves 'a' and 'b' differ"):
        compare_learning_curves({"a": good, "b": _curve([0.1] * 4, n_splits=3)})
    with pytest.raises(ValueError, match="no training size in common"):
        compare_learning_curves({"a": good, "b": _curve([0.1] * 3, sizes=[5, 6, 7])})
    single = _curve([0.1, 0.2, 0.3, 0.4], n_splits=1)
    with pytest.raises(ValueError, match="n_splits of at least 2"):
        compare_learning_curves({"a": single, "b": single})
    endless = _curve([-np.inf, 0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match="'b' holds infinite information"):
        compare_learning_curves({"a": good, "b": endless})
    with pytest.raises(ValueError, match="at least 2 splits per size, got 1"):
        limiting_factor(single)
    with pytest.raises(ValueError, match="at least 3 training sizes"):
        limiting_factor(_curve([0.1, 0.2], sizes=[2, 3]))
