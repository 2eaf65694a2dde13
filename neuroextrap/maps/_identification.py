"""From win distributions to the named numbers of every region."""

from dataclasses import replace

import numpy as np
from scipy.stats import false_discovery_control, norm

from neuroextrap import stats
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known

#: name -> (what it is, unit); what a sidecar and a report say of a map.
MAP_DESCRIPTIONS = {
    "accuracy": (
        "Identification accuracy among all classes, classes weighted equally; "
        "chance is 1 / number of classes",
        "proportion",
    ),
    "pairwise_accuracy": (
        "Average identification accuracy over all pairs of classes; chance is 0.5",
        "proportion",
    ),
    "implied_information": (
        "Information whose Gaussian-limit accuracy curve fits the observed curve best; "
        "an index of the curve, not a bound",
        "bits",
    ),
    "average_bayes_accuracy_bound": (
        "Lower confidence bound on the average Bayes accuracy among as many random "
        "classes of the same kind; every region by itself",
        "proportion",
    ),
    "average_bayes_accuracy_bound_fwe": (
        "Lower confidence bound on the average Bayes accuracy among as many random "
        "classes of the same kind; simultaneous over regions",
        "proportion",
    ),
    "bayes_accuracy_bound": (
        "Lower confidence bound on the Bayes accuracy for the given classes; every "
        "region by itself",
        "proportion",
    ),
    "bayes_accuracy_bound_fwe": (
        "Lower confidence bound on the Bayes accuracy for the given classes; "
        "simultaneous over regions",
        "proportion",
    ),
    "information_bound": (
        "Lower confidence bound on the mutual information of stimulus and response, "
        "the best over several set sizes with the correction; every region by itself",
        "bits",
    ),
    "information_bound_fwe": (
        "Lower confidence bound on the mutual information of stimulus and response, "
        "the best over several set sizes with the correction; simultaneous over "
        "regions",
        "bits",
    ),
    "n_voxels": (
        "Number of voxels (or vertices) of the region that were analyzed",
        "count",
    ),
    "p_value": ("Permutation p-value of the statistic, every region by itself", "p"),
    "p_value_fwe": (
        "Permutation p-value of the statistic against the maximum over regions "
        "(family-wise error)",
        "p",
    ),
    "p_value_fwe_tail": (
        "As p_value_fwe, its small values from a generalized Pareto tail fitted to the "
        "permuted maxima",
        "p",
    ),
    "p_value_tail": (
        "As p_value, its small values from a generalized Pareto tail fitted to each "
        "region's own permuted statistics",
        "p",
    ),
    "p_value_fdr": (
        "Benjamini-Hochberg adjusted p_value (false discovery rate)",
        "p",
    ),
    "neg_log10_p_fwe": ("-log10 of p_value_fwe", "-log10(p)"),
    "z": ("Standard normal quantile of 1 - p_value", "z"),
}

_LADDER = np.array([2, 5, 10])


def bound_set_sizes(n_classes):
    """Return the pre-declared set sizes of the information bound: 2, 5, 10, 20, ... K.

    Parameters
    ----------
    n_classes : int
        Number of classes K.

    Returns
    -------
    set_sizes : ndarray of int
        Increasing, from 2 (or K) to K.

    Examples
    --------
    >>> from neuroextrap.maps._identification import bound_set_sizes
    >>> bound_set_sizes(96)
    array([ 2,  5, 10, 20, 50, 96])
    """
    decades = 10 ** np.arange(int(np.log10(n_classes)) + 1)
    sizes = np.unique(np.outer(decades, _LADDER))
    return np.append(sizes[sizes < n_classes], n_classes)


def accuracy_statistics(wins, *, n_test, set_sizes):
    """Compute accuracy, pairwise accuracy and implied information of every region.

    Parameters
    ----------
    wins : ndarray, shape (n_regions, K)
        Win distributions; rows of NaN stay NaN.
    n_test : int
        Number of test points, which limits the information that can be resolved.
    set_sizes : array-like of int
        Set sizes of the implied information.

    Returns
    -------
    statistics : dict of ndarray, shape (n_regions,)
        Implied information in bits; where every point beats every distractor it is the
        largest value that the data resolve.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.maps._identification import accuracy_statistics
    >>> found = accuracy_statistics(
    ...     np.array([[0.1, 0.2, 0.7]]), n_test=30, set_sizes=[2, 3]
    ... )
    >>> found["accuracy"], found["pairwise_accuracy"]
    (array([0.7]), array([0.8]))
    """
    n_classes = wins.shape[1]
    information = stats.implied_information(
        stats.average_accuracy(wins, set_sizes), set_sizes
    )
    most = stats.resolution_information(n_classes, n_test, set_sizes)
    ends = round_ties(stats.average_accuracy(wins, [2, n_classes]))
    return {
        "accuracy": ends[:, 1],
        "pairwise_accuracy": ends[:, 0],
        "implied_information": np.minimum(information, most),
    }


def bound_statistics(wins, *, n_repeats, confidence_level=0.95):
    """Compute the lower confidence bounds of every region.

    Parameters
    ----------
    wins : ndarray, shape (n_regions, K)
        Win distributions, averaged over folds with fixed weights if there are several;
        rows of NaN stay NaN.
    n_repeats : int or ndarray, shape (K,) or (n_folds, K)
        Test points of every class (in every fold).
    confidence_level : float
        Of the bounds.

    Returns
    -------
    statistics : dict of ndarray, shape (n_regions,)
        Accuracies as proportions, information in bits. Names ending in ``_fwe`` hold
        for all analyzed regions at once.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.maps._identification import bound_statistics
    >>> perfect = np.eye(96)[[95]]
    >>> found = bound_statistics(perfect, n_repeats=1)
    >>> sorted(found)[:2]
    ['average_bayes_accuracy_bound', 'average_bayes_accuracy_bound_fwe']
    >>> found["average_bayes_accuracy_bound"].round(2)
    array([0.82])
    """
    n_analyzed = int((~np.isnan(wins[:, 0])).sum())
    sizes = bound_set_sizes(wins.shape[1])
    curves = stats.average_accuracy(wins, sizes)
    design = stats.TestDesign(
        wins.shape[1], n_repeats, confidence_level=confidence_level
    )
    together = replace(design, n_regions=max(1, n_analyzed))
    pointwise = _bounds(curves, sizes, design)
    simultaneous = _bounds(curves, sizes, together)
    return pointwise | {f"{name}_fwe": value for name, value in simultaneous.items()}


def _bounds(curves, sizes, design):
    """Return the three bounds of every region; curves (n_regions, n_sizes) up to K."""
    accuracy = curves[:, -1]
    return {
        "average_bayes_accuracy_bound": design.average_bayes_accuracy_bound(
            accuracy, sizes[-1]
        ),
        "bayes_accuracy_bound": design.bayes_accuracy_bound(accuracy),
        "information_bound": design.best_information_bound(curves, sizes),
    }


_PERMUTATION_MAPS = (
    "p_value",
    "p_value_fwe",
    "p_value_fwe_tail",
    "p_value_fdr",
    "neg_log10_p_fwe",
    "z",
)


def permutation_statistics(score, n_reached, maxima):
    """Compute p-values of every region from the counts of a permutation run.

    Parameters
    ----------
    score : ndarray, shape (n_regions,)
        Observed statistic; NaN stays NaN.
    n_reached : ndarray of int, shape (n_regions,)
        Number of permutations whose statistic reaches the observed one.
    maxima : ndarray, shape (n_permutations,)
        Largest statistic over regions of every permutation.

    Returns
    -------
    statistics : dict of ndarray, shape (n_regions,)
        ``p_value`` is (1 + n_reached) / (1 + n_permutations).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.maps._identification import permutation_statistics
    >>> found = permutation_statistics(
    ...     np.array([0.9, 0.4]), np.array([0, 3]), np.array([0.5, 0.6, 0.4, 0.7])
    ... )
    >>> found["p_value"], found["p_value_fwe"]
    (array([0.2, 0.8]), array([0.2, 1. ]))
    """
    known = ~np.isnan(score)
    if not known.any():  # a shard without tasks
        return {name: np.full(known.shape, np.nan) for name in _PERMUTATION_MAPS}
    counts = NullCounts(score[known], n_reached[known], maxima)
    p, p_fwe = counts.p_value(), counts.p_value_fwe()
    p_tail, _ = stats.tail_p_value(score[known], maxima)
    return spread_known(
        known,
        {
            "p_value": p,
            "p_value_fwe": p_fwe,
            "p_value_fwe_tail": p_tail,
            "p_value_fdr": false_discovery_control(p) if len(p) else p,
            "neg_log10_p_fwe": -np.log10(p_fwe),
            "z": norm.isf(p),
        },
    )


def local_tail_p_values(score, null):
    """Refine every region's small p-values by a tail of its own null distribution.

    Parameters
    ----------
    score : ndarray, shape (n_regions,)
        Observed statistic; NaN stays NaN.
    null : ndarray, shape (n_permutations, n_regions)
        Permuted statistics; memory-mapped is fine.

    Returns
    -------
    p_value : ndarray, shape (n_regions,)
        NaN where the score is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.maps._identification import local_tail_p_values
    >>> null = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    >>> p = local_tail_p_values(np.array([5.0, np.nan]), null)
    >>> bool(p[0] < 1 / 501), bool(np.isnan(p[1]))
    (True, True)
    """
    p = np.full(len(score), np.nan)
    step = max(1, 2**23 // len(null))
    for start in range(0, len(score), step):
        some = start + np.flatnonzero(~np.isnan(score[start : start + step]))
        if len(some):
            # the file is float32: compare at its precision
            observed = score[some].astype(np.float32).astype(float)
            p[some] = stats.tail_p_value(observed, null[:, some].astype(float))[0]
    return p
