"""Numbers about wins: curves, information, bounds, tests, extrapolation."""

from neuroextrap.stats._accuracy import (
    accuracy_weights,
    average_accuracy,
    default_set_sizes,
)
from neuroextrap.stats._bounds import (
    average_bayes_accuracy_lower_bound,
    bayes_accuracy_lower_bound,
)
from neuroextrap.stats._classical import confusion_information, fano_information
from neuroextrap.stats._drift import information_drift
from neuroextrap.stats._extrapolation import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
    extrapolate_risk,
    extrapolate_wins,
)
from neuroextrap.stats._extremal import (
    max_average_accuracy,
    min_information,
    min_information_standard_error,
)
from neuroextrap.stats._gaussian import gaussian_identification_accuracy
from neuroextrap.stats._implied import implied_information, resolution_information
from neuroextrap.stats._information_bounds import (
    best_information_lower_bound,
    information_lower_bound,
)
from neuroextrap.stats._jackknife import (
    average_accuracy_jackknife,
    implied_information_jackknife,
    jackknife_error,
    leave_one_class_out_accuracy,
)
from neuroextrap.stats._model_bounds import best_model_lower_bound
from neuroextrap.stats._paired import PairedTest, paired_sign_flip_test
from neuroextrap.stats._permutation import count_permutations, permute_labels
from neuroextrap.stats._pvalues import (
    binomial_p_value,
    max_statistic_p_value,
    permutation_p_value,
)
from neuroextrap.stats._risk import average_risk
from neuroextrap.stats._tail import tail_p_value
from neuroextrap.stats._wins import win_distribution

__all__ = [
    # wins and curves
    "accuracy_weights",
    "average_accuracy",
    "average_accuracy_jackknife",
    "average_risk",
    "default_set_sizes",
    "jackknife_error",
    "leave_one_class_out_accuracy",
    "win_distribution",
    # extrapolation
    "EXTRAPOLATION_METHODS",
    "AccuracyExtrapolator",
    "extrapolate_risk",
    "extrapolate_wins",
    # information
    "confusion_information",
    "fano_information",
    "gaussian_identification_accuracy",
    "implied_information",
    "implied_information_jackknife",
    "information_drift",
    "max_average_accuracy",
    "min_information",
    "min_information_standard_error",
    "resolution_information",
    # lower bounds
    "average_bayes_accuracy_lower_bound",
    "bayes_accuracy_lower_bound",
    "best_information_lower_bound",
    "best_model_lower_bound",
    "information_lower_bound",
    # tests
    "binomial_p_value",
    "count_permutations",
    "max_statistic_p_value",
    "permutation_p_value",
    "PairedTest",
    "paired_sign_flip_test",
    "permute_labels",
    "tail_p_value",
]  # fmt: skip
