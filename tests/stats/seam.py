"""All private names of the package that the tests of statistics use."""

from neuroextrap.stats import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
    _forward,
    _linear_scores,
    _rearrangement_test,
    extrapolate_wins,
)
from neuroextrap.stats._accuracy import (
    accuracy_weights,
    average_accuracy,
    default_set_sizes,
    warn_if_reversed,
)
from neuroextrap.stats._arrangements import (
    NameExchanges,
    _equal_rows,
    count_sign_flips,
    flipped,
    named_share,
    permuted,
    sign_flips,
    two_sample_exchange_test,
)
from neuroextrap.stats._bound_methods import clopper_pearson_lower, kl_lower
from neuroextrap.stats._classical import _relevant_responses
from neuroextrap.stats._extrapolation import _auto, _gaussian, _method, _mple
from neuroextrap.stats._extrapolation._auto import (
    Auto,
    Logistic,
    pitman_yor_accuracy,
)
from neuroextrap.stats._extrapolation._gaussian import (
    Gaussian,
    GaussianMixture,
    invert_gaussian_accuracy,
    minimize_pairs,
)
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    LeftOut,
    PointWins,
    UniformWins,
    WinSample,
    half_of_classes,
    log_spaced_set_sizes,
)
from neuroextrap.stats._extrapolation._mixtures import (
    binomial_table,
    power_table,
    simplex_least_squares,
    table_derivatives,
    table_means,
)
from neuroextrap.stats._extrapolation._mple import (
    _angle_grid,
    binomial_columns,
    knot_distances,
    maximize_likelihood,
    pair_proposer,
    peaks_over_columns,
    uniform_columns,
)
from neuroextrap.stats._extrapolation._point_methods import (
    Tail,
    calibrate_log_lose,
    compress,
    cross_validated_bandwidth,
    fit_generalized_pareto,
    pair_lag_counts,
    split_ties,
    tail_log_lose,
)
from neuroextrap.stats._extrapolation._prediction_intervals import measured_logit_error
from neuroextrap.stats._extrapolation._regressions import (
    Moment,
    ProbitBasis,
    RadialBasis,
    SplineBasis,
    basis_moments,
    equispaced_set_sizes,
    radial_columns,
    radial_knots,
)
from neuroextrap.stats._extremal import extremal_channel
from neuroextrap.stats._forward import LAMBDAS, ForwardDesign
from neuroextrap.stats._jackknife import (
    jackknife_error,
    leave_one_class_out_accuracy,
    lost_point_error,
)
from neuroextrap.stats._label_checks import (
    check_labels,
    check_plain_types,
    checked_entries,
    plain_types_checked,
)
from neuroextrap.stats._linear_scores import Mean, Median, linear_test
from neuroextrap.stats._null_counts import (
    LargestValues,
    NullCounts,
    _fit_tail,
    largest_heights,
    n_largest,
    packed_largest,
    round_ties,
    spread_known,
    standardized_by_maxima,
    standardized_by_region,
    tie_floor,
    unpacked_largest,
)
from neuroextrap.stats._permutation import _count, _units, shift_rows
from neuroextrap.stats._pvalues import z_from_p
from neuroextrap.stats._rearrangement_test import (
    Corrections,
    Part,
    enhance,
    find_clusters,
    permute,
    rearrangement_test,
    threshold_free_enhancement,
)
from neuroextrap.stats._shared_options import (
    as_options,
    described_by,
    takes_fields,
    takes_options,
)
from neuroextrap.stats._subject_bounds import (
    _largest_growth,
    population_accuracy_lower_bound,
    subjects_accuracy_lower_bound,
)
from neuroextrap.stats._true_discoveries import DiscoveryBounds
from neuroextrap.stats._validation import (
    check_n_jobs,
    check_numbers,
    one_line,
    random_generator,
)
