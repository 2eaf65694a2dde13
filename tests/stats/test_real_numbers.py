"""Complex numbers are an error everywhere, not a warning about what was dropped."""

import numpy as np
import pytest

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight

RNG = np.random.default_rng(0)
M, Y = RNG.normal(size=(12, 4)), np.tile(np.arange(4), 3)
W = stats.win_distribution(M, Y)
A, SIZES, ERRORS = np.array([0.6, 0.5]), [2, 4], 1 - np.eye(4)
NULL = RNG.normal(size=200)
DESIGN = {"n_classes": 4, "n_repeats": 3}
CURVE = {"n_classes": 100, "n_repeats": 3, "set_sizes": [50, 100]}
CORRECT = np.full((3, 4), 3.0)
RUNS = np.repeat([0, 1, 2], 4)


def fit(X, y):
    return IdentificationSearchLight().fit(X, y, groups=RUNS)


CALLS = {
    "win_distribution": (stats.win_distribution, (M, Y), {}),
    "average_risk": (stats.average_risk, (M, Y, ERRORS, SIZES), {}),
    "jackknife": (stats.average_accuracy_jackknife, (M, Y, SIZES), {}),
    "information_jackknife": (stats.implied_information_jackknife, (M, Y, SIZES), {}),
    "interval": (stats.average_accuracy_interval, (M, Y, SIZES), {}),
    "information_interval": (stats.implied_information_interval, (M, Y, SIZES), {}),
    "average_accuracy": (stats.average_accuracy, (W, SIZES), {}),
    "implied_information": (stats.implied_information, (A, SIZES), {}),
    "information_drift": (stats.information_drift, (A, SIZES), {}),
    "confusion_information": (stats.confusion_information, (Y, Y), {}),
    "fano_information": (stats.fano_information, (A, 4), {}),
    "min_information": (stats.min_information, (A, 4), {}),
    "max_average_accuracy": (stats.max_average_accuracy, (A, 4), {}),
    "bayes_bound": (stats.bayes_accuracy_lower_bound, (A,), DESIGN),
    "upper_bound": (stats.accuracy_upper_bound, (A[1:],), DESIGN),
    "average_bound": (stats.average_bayes_accuracy_lower_bound, (A,), CURVE),
    "information_bound": (stats.information_lower_bound, (A,), CURVE),
    "forward_bound": (stats.forward_bayes_accuracy_lower_bound, (CORRECT, 4), {}),
    "forward_e_value": (stats.forward_e_value, (CORRECT, 4, 0.25), {}),
    "e_values": (stats.e_value_false_discovery_rate, (A,), {}),
    "permutation_p": (stats.permutation_p_value, (0.5, NULL), {}),
    "max_statistic_p": (stats.max_statistic_p_value, (A, NULL), {}),
    "step_down_p": (stats.step_down_p_value, (A, np.stack([NULL, NULL], 1)), {}),
    "thresholds": (stats.true_discovery_thresholds, (NULL[:, None],), {}),
    "true_discoveries": (stats.true_discoveries, (A, A), {}),
    "tail_p": (stats.tail_p_value, (0.5, NULL), {}),
    "binomial_p": (stats.binomial_p_value, (3, 8, 4), {}),
    "sign_flips": (stats.paired_sign_flip_test, (M,), {}),
    "permute_labels": (stats.permute_labels, (Y,), {"n_permutations": 3}),
    "extrapolator": (stats.AccuracyExtrapolator().fit, (M, Y), {}),
    "extrapolator_wins": (stats.AccuracyExtrapolator().fit_wins, (W, 12), {}),
    "extrapolate_wins": (stats.extrapolate_wins, (W[None], 12, [8]), {}),
    "searchlight": (fit, (M, Y), {}),
}
ARRAYS = [
    (name, place)
    for name, (_, arguments, _) in CALLS.items()
    for place, value in enumerate(arguments)
    if isinstance(value, np.ndarray)
]


@pytest.mark.parametrize(("name", "place"), ARRAYS)
def test_complex_numbers_are_refused(name, place):
    function, arguments, options = CALLS[name]
    arguments = list(arguments)
    arguments[place] = arguments[place] + 0j
    with pytest.raises(TypeError, match=r"must be real numbers|give numbers or text"):
        function(*arguments, **options)
