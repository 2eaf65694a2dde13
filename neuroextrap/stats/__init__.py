"""Numbers about wins: curves, information, bounds, tests, extrapolation."""

from neuroextrap.stats._accuracy import average_accuracy, average_risk, win_distribution
from neuroextrap.stats._arrangements import paired_sign_flip_test
from neuroextrap.stats._bounds import (
    accuracy_upper_bound,
    average_bayes_accuracy_lower_bound,
    bayes_accuracy_lower_bound,
    information_lower_bound,
)
from neuroextrap.stats._classical import confusion_information, fano_information
from neuroextrap.stats._extrapolation._auto import extrapolate_wins
from neuroextrap.stats._extrapolation._extrapolator import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
)
from neuroextrap.stats._extrapolation._regressions import extrapolate_risk
from neuroextrap.stats._extremal import max_average_accuracy, min_information
from neuroextrap.stats._forward import (
    forward_bayes_accuracy_lower_bound,
    forward_e_value,
)
from neuroextrap.stats._gaussian_limit import (
    gaussian_identification_accuracy,
    implied_information,
    information_drift,
    resolution_information,
)
from neuroextrap.stats._jackknife import (
    average_accuracy_interval,
    average_accuracy_jackknife,
    implied_information_interval,
    implied_information_jackknife,
)
from neuroextrap.stats._null_counts import tail_p_value
from neuroextrap.stats._permutation import permute_labels
from neuroextrap.stats._planning import required_classes, required_repeats
from neuroextrap.stats._pvalues import (
    binomial_p_value,
    e_value_false_discovery_rate,
    max_statistic_p_value,
    permutation_p_value,
    step_down_p_value,
)
from neuroextrap.stats._subject_bounds import required_subjects
from neuroextrap.stats._test_design import TestDesign
from neuroextrap.stats._true_discoveries import (
    true_discoveries,
    true_discovery_thresholds,
)

__all__ = [
    "AccuracyExtrapolator",
    "EXTRAPOLATION_METHODS",
    "TestDesign",
    "accuracy_upper_bound",
    "average_accuracy",
    "average_accuracy_interval",
    "average_accuracy_jackknife",
    "average_bayes_accuracy_lower_bound",
    "average_risk",
    "bayes_accuracy_lower_bound",
    "binomial_p_value",
    "confusion_information",
    "e_value_false_discovery_rate",
    "extrapolate_risk",
    "extrapolate_wins",
    "fano_information",
    "forward_bayes_accuracy_lower_bound",
    "forward_e_value",
    "gaussian_identification_accuracy",
    "implied_information",
    "implied_information_interval",
    "implied_information_jackknife",
    "information_drift",
    "information_lower_bound",
    "max_average_accuracy",
    "max_statistic_p_value",
    "min_information",
    "paired_sign_flip_test",
    "permutation_p_value",
    "permute_labels",
    "required_classes",
    "required_repeats",
    "required_subjects",
    "resolution_information",
    "step_down_p_value",
    "tail_p_value",
    "true_discoveries",
    "true_discovery_thresholds",
    "win_distribution",
]
