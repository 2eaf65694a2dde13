"""Lower bounds against their formulas, corrections and refusals."""

import itertools
import math

import numpy as np
import pytest

from neuroextrap.stats import (
    TestDesign,
    average_bayes_accuracy_lower_bound,
    bayes_accuracy_lower_bound,
    information_lower_bound,
    min_information,
)


def bound(accuracy=0.9, **changes):
    """Call with defaults: 100 classes, one repeat, all classes."""
    arguments = {"n_classes": 100, "n_repeats": 1, "set_sizes": 100} | changes
    return average_bayes_accuracy_lower_bound(accuracy, **arguments)


def test_published_margins():
    margins = [
        0.9 - bound(n_repeats=1),
        0.5 - bound(0.5, n_repeats=10),
        0.9 - bound(n_classes=1000, set_sizes=1000),
    ]
    np.testing.assert_allclose(margins, [0.173, 0.128, 0.055], atol=5e-4)
    old = 0.9 - bound(n_classes=1000, set_sizes=1000, method="chebyshev")
    np.testing.assert_allclose(old, 0.147, atol=5e-4)


def test_formulas():
    np.testing.assert_allclose(
        bound(n_repeats=4, confidence_level=0.9, set_sizes=20),
        0.9 - math.sqrt(1.25 * math.log(10) / 200),
    )
    np.testing.assert_allclose(
        bound(n_repeats=4, method="chebyshev"),
        0.9 - math.sqrt(math.log(80) / 800) - 1 / math.sqrt(0.1 * 100),
    )
    np.testing.assert_allclose(
        bayes_accuracy_lower_bound(0.9, n_classes=8, n_repeats=12),
        0.9 - math.sqrt(math.log(20) / (2 * 96)),
    )


@pytest.mark.parametrize("counts", [(3, 1, 1), (1, 5, 1), (1, 1, 7), (3, 5, 7)])
def test_counts_divide_alpha(counts):
    n_models, n_regions, n_set_sizes = counts
    together = bound(
        n_models=n_models, n_regions=n_regions, n_set_sizes=n_set_sizes, set_sizes=20
    )
    level = 1 - 0.05 / math.prod(counts)
    np.testing.assert_allclose(together, bound(set_sizes=20, confidence_level=level))


def test_chebyshev_models_share_the_class_event():
    many = bound(n_classes=1000, set_sizes=1000, n_models=6, method="chebyshev")
    expected = 0.9 - math.sqrt(math.log(4 * 6 / 0.05) / 2000) - 0.1
    np.testing.assert_allclose(many, expected)
    level = 1 - 0.05 / 6
    regions = bound(n_classes=1000, set_sizes=1000, n_regions=6, method="chebyshev")
    one = bound(
        n_classes=1000, set_sizes=1000, confidence_level=level, method="chebyshev"
    )
    np.testing.assert_allclose(regions, one)


def test_unequal_repeats_are_the_mean_of_reciprocals():
    repeats = np.tile([1, 2, 4, 8], 25)
    noise = (1 + 0.5 + 0.25 + 0.125) / 4
    expected = 0.9 - math.sqrt((1 + noise) * math.log(20) / 200)
    np.testing.assert_allclose(bound(n_repeats=repeats), expected)
    np.testing.assert_allclose(bound(n_repeats=np.full(100, 3)), bound(n_repeats=3))


def test_folds():
    folds = np.repeat([[2], [2], [4]], 100, axis=1)
    s = (2 * math.sqrt(0.5) + 2 * math.sqrt(0.5) + 4 * math.sqrt(0.25)) / 8
    expected = 0.9 - math.sqrt((1 + s**2) * math.log(20) / 200)
    np.testing.assert_allclose(bound(n_repeats=folds), expected)
    s = 0.5 * math.sqrt(0.5) + 0.5 * math.sqrt(0.25)
    expected = 0.9 - math.sqrt((1 + s**2) * math.log(20) / 200)
    np.testing.assert_allclose(
        bound(n_repeats=folds, fold_weights=[0.25, 0.25, 0.5]), expected
    )
    # equal folds: one over the repeats per fold, whatever the number of folds
    np.testing.assert_allclose(
        bound(n_repeats=np.full((5, 100), 3)), bound(n_repeats=3)
    )


def test_never_below_chance_and_missing_stays_missing():
    values = bound([[0.9, 0.02], [np.nan, 0.5]], set_sizes=[2, 100], n_repeats=10)
    expected = 0.9 - math.sqrt(1.1 * math.log(20) / 200)
    np.testing.assert_allclose(values[:, 0], [expected, np.nan])
    assert values[0, 1] == 0.01
    assert bayes_accuracy_lower_bound(0.1, n_classes=8, n_repeats=1) == 0.125
    assert np.isnan(bayes_accuracy_lower_bound(np.nan, n_classes=8, n_repeats=1))


def test_information_is_the_inverse_of_the_accuracy_bound():
    curve, sizes = np.array([[0.99, 0.9, 0.6], [0.6, 0.2, 0.05]]), [2, 20, 100]
    design = {"n_classes": 100, "n_repeats": 2, "set_sizes": sizes}
    bits = information_lower_bound(curve, **design)
    accuracies = average_bayes_accuracy_lower_bound(curve, **design)
    for (i, j), k in zip(np.ndindex(2, 3), itertools.cycle(sizes), strict=False):
        np.testing.assert_allclose(bits[i, j], min_information(accuracies[i, j], k))
    best = TestDesign(100, 2).best_information_bound(curve, sizes)
    corrected = information_lower_bound(curve, n_set_sizes=3, **design)
    np.testing.assert_array_equal(best, corrected.max(axis=-1))
    assert (best <= bits.max(axis=-1)).all()
    assert best[1] == 0


def test_warns_where_nothing_can_be_above_chance():
    with pytest.warns(UserWarning, match="leaves nothing above chance"):
        bound(n_classes=8, set_sizes=[2, 8], n_regions=70_000, accuracy=[1, 1])


def test_a_design_counts_and_never_warns():
    design = TestDesign(8, 1, n_models=2, n_regions=5, n_set_sizes=3)
    assert design.n_bounds == 30
    assert design.alpha == pytest.approx(0.05)
    assert design.log_term == pytest.approx(math.log(600))
    assert design.is_vacuous
    assert design.best_bound() == design.best_bound(8) == 1 / 8
    assert not TestDesign(96, 1).is_vacuous
    np.testing.assert_array_equal(
        design.average_bayes_accuracy_bound([1.0, 1.0], [2, 8]), [1 / 2, 1 / 8]
    )


def test_a_design_gives_the_bounds_of_the_functions():
    counts = {"n_models": 2, "n_regions": 3, "n_set_sizes": 2}
    folds = np.random.default_rng(0).integers(1, 4, size=(3, 50))
    design = TestDesign(50, folds, confidence_level=0.9, **counts)
    given = {"n_classes": 50, "n_repeats": folds, "confidence_level": 0.9} | counts
    curve, sizes = [0.99, 0.9], [5, 50]
    for name, bound_of in (
        ("average_bayes_accuracy_bound", average_bayes_accuracy_lower_bound),
        ("information_bound", information_lower_bound),
    ):
        np.testing.assert_array_equal(
            getattr(design, name)(curve, sizes),
            bound_of(curve, set_sizes=sizes, **given),
        )
    given.pop("n_set_sizes")
    np.testing.assert_array_equal(
        TestDesign(
            50, folds, confidence_level=0.9, n_models=2, n_regions=3
        ).bayes_accuracy_bound(0.9),
        bayes_accuracy_lower_bound(0.9, **given),
    )


def test_weights_of_folds_reach_every_bound():
    repeats = np.array([[1] * 40, [4] * 40, [9] * 40])
    weights = np.array([0.2, 0.3, 0.5])
    design = TestDesign(40, repeats, fold_weights=weights)
    assert design.noise == pytest.approx((weights @ [1, 1 / 2, 1 / 3]) ** 2)
    # without weights, folds count by their test points
    assert TestDesign(40, repeats).noise == pytest.approx(
        (1 / 14 + 2 / 14 + 3 / 14) ** 2
    )
    given = {"n_classes": 40, "n_repeats": repeats, "fold_weights": weights}
    curve, sizes = [0.99, 0.9], [5, 40]
    np.testing.assert_array_equal(
        information_lower_bound(curve, set_sizes=sizes, **given),
        design.information_bound(curve, sizes),
    )
    assert bayes_accuracy_lower_bound(0.9, **given) == pytest.approx(
        0.9 - math.sqrt(design.noise * math.log(20) / 80)
    )
    never = TestDesign(40, repeats, fold_weights=[0, 0, 1])
    assert never.noise == pytest.approx(1 / 9)


def test_the_best_information_keeps_regions_apart_and_its_method():
    design = TestDesign(50, 2)
    curves = np.array([[0.99, 0.95, 0.9], [0.9, 0.7, 0.4]])
    sizes = [5, 20, 50]
    for method in ("subgaussian", "hybrid"):
        together = TestDesign(50, 2, n_set_sizes=3)
        each = together.information_bound(curves, sizes, method=method)
        found = design.best_information_bound(curves, sizes, method=method)
        np.testing.assert_array_equal(found, [max(row) for row in each])
    assert design.best_bound(5) == pytest.approx(
        1 - math.sqrt(1.5 * math.log(20) / 100)
    )


@pytest.mark.parametrize("method", ["subgaussian", "hybrid"])
def test_the_best_of_several_models_is_the_largest_corrected_bound(method):
    curves = np.array([[[0.9, 0.5], [0.6, 0.7]], [[0.8, 0.6], [0.9, 0.2]]])
    design = TestDesign(200, 2, n_models=2)
    bounds = design.average_bayes_accuracy_bound(curves, [10, 200], method=method)
    best = design.average_bayes_accuracy_bound(
        curves.max(axis=0), [10, 200], method=method
    )
    np.testing.assert_array_equal(bounds.max(axis=0), best)
    alone = TestDesign(200, 2).average_bayes_accuracy_bound(
        curves.max(axis=0), [10, 200], method=method
    )
    assert (best < alone).all()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"accuracy": 90}, ValueError, "accuracy must lie in"),
        (
            {"accuracy": [0.9], "set_sizes": [2, 3]},
            ValueError,
            "one value per set size",
        ),
        ({"set_sizes": 101}, ValueError, "set_sizes must be whole"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1"),
        ({"n_repeats": np.nan}, ValueError, "n_repeats must be at least 1"),
        ({"n_repeats": [1, 2]}, ValueError, "n_repeats must be a number"),
        (
            {"n_repeats": np.eye(2).repeat(50, axis=1)},
            ValueError,
            "no bound holds when a fold lacks a class",
        ),
        ({"fold_weights": [1.0]}, ValueError, "fold_weights needs"),
        (
            {"n_repeats": np.ones((2, 100)), "fold_weights": [1.0]},
            ValueError,
            "one weight per fold",
        ),
        (
            {"n_repeats": np.ones((2, 100)), "fold_weights": [1.0, 1.0]},
            ValueError,
            "sum to 1",
        ),
        ({"confidence_level": 95}, ValueError, "confidence_level must lie strictly"),
        ({"method": "normal"}, ValueError, "must be one of"),
        ({"method": "chebyshev", "set_sizes": 20}, ValueError, "all classes"),
        ({"n_models": 0}, ValueError, "n_models must be"),
        ({"n_regions": 2.5}, TypeError, "n_regions must be"),
        ({"n_set_sizes": True}, TypeError, "n_set_sizes must be"),
        ({"n_classes": 1}, ValueError, "must be"),
    ],
)
def test_refuses(changes, error, message):
    with pytest.raises(error, match=message):
        bound(**changes)


def test_other_bounds_refuse():
    with pytest.raises(ValueError, match="set_sizes=5 must be a sequence"):
        TestDesign(10, 1).best_information_bound(0.9, 5)
    with pytest.raises(ValueError, match="accuracy must lie in"):
        bayes_accuracy_lower_bound(2, n_classes=8, n_repeats=1)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        bayes_accuracy_lower_bound(0.5, n_classes=8, n_repeats=0)
    with pytest.raises(TypeError, match="n_classes must be"):
        bayes_accuracy_lower_bound(0.5, n_classes="8", n_repeats=1)
    with pytest.raises(ValueError, match="n_regions must be"):
        information_lower_bound(
            0.9, n_classes=10, n_repeats=1, set_sizes=5, n_regions=0
        )


def test_set_sizes_that_leave_nothing_above_chance_are_named():
    """With 8 classes, each tested once, the margin is .61: above 1/2, below 2/3."""
    with pytest.warns(UserWarning, match=r"margin 0\.61 .* sizes \[2\]: more classes"):
        average_bayes_accuracy_lower_bound(
            [0.9, 0.9, 0.9], n_classes=8, n_repeats=1, set_sizes=[2, 3, 8]
        )


def test_where_nothing_can_be_shown_the_best_bound_is_chance_of_the_set_size():
    design = TestDesign(8, 1, n_models=2, n_regions=5, n_set_sizes=3)
    assert [design.best_bound(size) for size in (2, 5, 8)] == [1 / 2, 1 / 5, 1 / 8]


def test_a_class_has_one_test_point_or_more():
    with pytest.raises(ValueError, match="n_repeats"):
        TestDesign(3, [2, 0.5, 1])
    assert TestDesign(3, 0.5).n_classes == 3


def test_two_classes_are_enough():
    bound = bayes_accuracy_lower_bound(0.9, n_classes=2, n_repeats=200)
    assert bound == pytest.approx(0.9 - np.sqrt(np.log(20) / (2 * 2 * 200)))
