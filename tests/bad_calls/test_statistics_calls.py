"""Bad calls of statistics, regions, groups, learning curves, datasets and pictures."""

import numpy as np
import pytest

from neuroextrap import datasets, group, plotting, stats
from neuroextrap.learning_curves import CanonicalVariates, information_learning_curve
from neuroextrap.regions import coordinate_spheres
from tests.bad_calls.calls import BadCall, assert_good_message, options
from tests.bad_calls.seam import nearest_features

V, T = ValueError, TypeError
NAN = float("nan")
RNG = np.random.default_rng(0)
WINS = np.full((2, 4), 0.25)
MARGINS, COLUMNS = RNG.normal(size=(12, 4)), np.tile(np.arange(4), 3)
BOUND = {"n_classes": 4, "n_repeats": 3}
SCORES = RNG.normal(size=(6, 5))
NULLS = [RNG.normal(size=(9, 5)) for _ in range(6)]
SCANS, LABELS = RNG.normal(size=(24, 6)), np.tile(["a", "b"], 12)
SUBJECTS = np.repeat(np.arange(6), 4)


def call(function, *args, **fixed):
    """Return a call of a function whose other arguments are good."""

    def make(**bad):
        return function(*args, **(fixed | bad))

    return make


def curve(X=SCANS, y=LABELS, groups=SUBJECTS, **parameters):
    """Compute a short learning curve."""
    return information_learning_curve(X, y, groups, **({"n_splits": 2} | parameters))


def spoiled(values, value, row=3):
    """Return a copy with one entry changed."""
    copy = np.array(values, dtype=object)
    copy[row] = value
    return copy


CALLS = [
    *options("average_accuracy", call(stats.average_accuracy, WINS), [
        ("set_sizes", [1], V, "set_sizes", "1"),
        ("set_sizes", [5], V, "set_sizes", "5"),
        ("set_sizes", [], V, "set_sizes", "(0,)"),
        ("set_sizes", [2.5], V, "set_sizes", "2.5"),
        ("set_sizes", [NAN], V, "set_sizes", "nan"),
    ]),
    *options("average_accuracy", call(stats.average_accuracy, set_sizes=[2]), [
        ("wins", [0.5], V, "wins"),
        ("wins", [0.9, 0.9], V, "wins", "1.8"),
        ("wins", [-0.5, 1.5], V, "wins"),
        ("wins", [NAN, 1.0], V, "wins", "NaN"),
    ]),
    *options("jackknife", call(stats.average_accuracy_jackknife, set_sizes=[2],
                               margins=MARGINS, y_true=COLUMNS), [
        ("margins", MARGINS[0], V, "margins", "(4,)"),
        ("margins", MARGINS * NAN, V, "margins", "NaN"),
        ("y_true", COLUMNS[:5], V, "y_true", "(5,)"),
        ("y_true", COLUMNS + 1, V, "y_true", "4"),
        ("y_true", COLUMNS + 0.5, V, "y_true", "0.5"),
        ("y_true", COLUMNS.astype(str), V, "y_true"),
    ]),
    *options("implied_information", call(stats.implied_information, [0.5],
                                         set_sizes=[4]), [
        ("set_sizes", [1], V, "set_sizes", "1"),
        ("base", 1, V, "base", "1"),
    ]),
    *options("implied_information", call(stats.implied_information, set_sizes=[4]), [
        ("accuracy", [1.5], V, "accuracy", "1.5"),
        ("accuracy", [-0.5], V, "accuracy", "-0.5"),
    ]),
    *options("gaussian", call(stats.gaussian_identification_accuracy, set_sizes=[4]), [
        ("information", -1.0, V, "information", "-1.0"),
    ]),
    *options("bayes_bound", call(stats.bayes_accuracy_lower_bound, 0.5, **BOUND), [
        ("confidence_level", 0, V),
        ("confidence_level", 1.0, V),
        ("method", "magic", V),
        ("n_classes", 1, V),
        ("n_classes", 2.5, T),
        ("n_repeats", 0, V, "n_repeats", "0"),
        ("n_models", 0, V),
        ("n_regions", 0, V),
        ("n_regions", True, T),
    ]),
    *options("average_bound", call(stats.average_bayes_accuracy_lower_bound, 0.5,
                                   set_sizes=[4], **BOUND), [
        ("set_sizes", [9], V, "set_sizes", "9"),
        ("method", "magic", V),
    ]),
    *options("permutation_p", call(stats.permutation_p_value, 0.5), [
        ("null_scores", [], V, "null_scores"),
        ("null_scores", [NAN, 1], V, "null_scores", "NaN"),
    ]),
    *options("max_p", call(stats.max_statistic_p_value, [0.5]), [
        ("null_maxima", [], V, "null_maxima"),
        ("null_maxima", [NAN], V, "null_maxima", "NaN"),
    ]),
    *options("permute_labels", call(stats.permute_labels, y=LABELS, n_permutations=9), [
        ("n_permutations", 0, V),
        ("n_permutations", 2.5, T),
        ("groups", SUBJECTS[:3], V, "groups"),
        ("random_state", -1, V),
        ("random_state", "x", T),
        ("y", ["a"], V, "y"),
    ]),
    *options("binomial", call(stats.binomial_p_value, n_correct=3, n_test=9,
                              n_classes=4), [
        ("n_correct", 10, V, "n_test", "multiple"),
        ("n_test", 0, V),
        ("n_classes", 1, V),
    ]),
    *options("confusion_information", call(stats.confusion_information, COLUMNS), [
        ("y_pred", COLUMNS[:3], V, "y_pred"),
    ]),
    *options("confusion_information", call(stats.confusion_information, COLUMNS,
                                           COLUMNS), [
        ("correction", "magic", V),
        ("base", 0, V),
    ]),
    *options("extrapolator", lambda **bad: stats.AccuracyExtrapolator(**bad).fit(
        MARGINS, COLUMNS), [("method", "magic", V)]),
    *options("extrapolate_wins", call(stats.extrapolate_wins, WINS, 12, [9]), [
        ("method", "magic", V),
    ]),
    *options("spheres", call(coordinate_spheres, RNG.normal(size=(9, 3))), [
        ("radius", 0, V),
        ("radius", NAN, V),
        ("radius", "8", V),
        ("radius", None, V),
    ]),
    *options("spheres", call(coordinate_spheres, radius=3.0), [
        ("coordinates", np.ones((9, 2)), V, "coordinates", "(9, 2)"),
        ("coordinates", np.full((9, 3), NAN), V, "coordinates", "NaN"),
    ]),
    *options("nearest", call(nearest_features, RNG.normal(size=(9, 3))), [
        ("n_nearest", 0, V),
        ("n_nearest", 10, V),
    ]),
    *options("sign_flip", call(group.sign_flip_test, imgs=SCORES, n_permutations=20), [
        ("imgs", SCORES[:1], V, "imgs", "1"),
        ("imgs", SCORES[0], V, "imgs", "(5,)"),
        ("imgs", SCORES.astype(complex), T, "imgs", "complex128"),
        ("imgs", np.ma.masked_greater(SCORES, 1), T, "imgs", "masked"),
        ("imgs", SCORES.astype(str), T, "imgs", "<U"),
        ("baseline", NAN, V, "baseline", "nan"),
        ("statistic", "median", V),
        ("n_permutations", 0, V),
        ("n_permutations", 2.5, V),
        ("two_sided", "x", T),
        ("random_state", -1, V),
        ("mask", np.ones(3), V, "mask"),
    ]),
    *options("prevalence", call(group.prevalence_test, SCORES, NULLS,
                                n_permutations=20), [
        ("gamma", 1.0, V),
        ("gamma", -0.1, V),
        ("confidence_level", 1, V),
        ("n_permutations", 0, V),
        ("random_state", "x", T),
    ]),
    *options("prevalence", call(group.prevalence_test, SCORES), [
        ("null_scores", NULLS[:2], V, "null_scores", "2"),
        ("null_scores", [n[:, :2] for n in NULLS], V, "null_scores", "2"),
    ]),
    *options("curve", curve, [
        ("X", SCANS[0], V, "X", "(6,)"),
        ("X", SCANS.astype(complex), T, "X", "complex128"),
        ("X", np.ma.masked_greater(SCANS, 1), T, "X", "masked"),
        ("X", SCANS * NAN, V, "X", "NaN"),
        ("y", LABELS[:5], V, "y", "5"),
        ("y", spoiled(LABELS, None), V, "y", "None", "3"),
        ("y", spoiled(LABELS, NAN), V, "y", "nan", "3"),
        ("y", spoiled(LABELS, 3), T, "y", "int", "str"),
        ("groups", SUBJECTS[:5], V, "groups", "5"),
        ("groups", spoiled(SUBJECTS, None), V, "groups", "None", "3"),
        ("groups", np.zeros(24), V, "groups"),
        ("n_splits", 0, V),
        ("n_splits", 2.5, T),
        ("train_sizes", [99], V, "train_sizes", "99"),
        ("train_sizes", [0], V, "train_sizes", "0"),
        ("center", "median", V),
        ("scale", "max", V),
        ("pattern", "magic", V),
        ("n_jobs", 0, V),
        ("n_jobs", "2", T),
        ("random_state", -1, V),
        ("memory", 3, T),
        ("classifier", "lda", T),
    ]),
    *options("canonical", lambda **bad: CanonicalVariates(**bad).fit(SCANS, LABELS), [
        ("n_components", 0, V),
        ("basis", "pca", V),
        ("significance_level", 2, V),
    ]),
    *options("gaussian_code", call(datasets.gaussian_code_accuracy, 5, 1.0, [4]), [
        ("n_draws", 0, V),
        ("random_state", -1, V),
    ]),
    BadCall("bivariate(2)", lambda: datasets.BivariateNormalProblem(2.0), V,
            ("correlation", "2.0")),
    BadCall("plot_accuracy_curve", lambda: plotting.plot_accuracy_curve(
        [2, 3], [0.5]), V, ("accuracy",)),
    BadCall("plot_learning_curves(panel)", lambda: plotting.plot_learning_curves(
        {}, panel="magic"), V, ("panel", "magic")),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", CALLS, ids=lambda bad: bad.name)
def test_a_bad_call_says_what_to_do(bad):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        bad.call()
    assert type(caught.value) is bad.error, repr(caught.value)
    assert_good_message(str(caught.value), bad.says)
