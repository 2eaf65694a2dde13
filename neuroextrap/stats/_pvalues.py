"""p-values: from counts, permutation, maximum statistic, binomial; many e-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri

from neuroextrap.stats._validation import (
    FloatArray,
    batches,
    check_integer,
    check_real,
    real_array,
)

LEVEL = 0.05
"""The one level of significance: of findings, reports, figures and summaries."""
_BATCH_NUMBERS = 2**24  # null scores sorted at once


def p_value_from_counts(n_reached: ArrayLike, n_permutations: int) -> FloatArray:
    """Return (1 + n_reached) / (1 + n_permutations), the one such formula."""
    return np.asarray((1 + np.asarray(n_reached)) / (1 + n_permutations))


def permutation_p_value(score: ArrayLike, null_scores: ArrayLike) -> FloatArray:
    """Compute the permutation p-value (1 + #{null >= score}) / (1 + n_permutations).

    It is exact if the observed labeling is as likely as each permuted one under the
    null hypothesis, and both went through the same arithmetic.

    Parameters
    ----------
    score : array-like of shape (...)
        Observed statistic, larger for stronger effects; NaN gives NaN.
    null_scores : array-like of shape (n_permutations, ...)
        The same statistic of permuted labels; trailing axes broadcast. Where it is
        float32 (as ``save_null`` writes it), scores are compared at that precision, so
        that ties remain ties.

    Returns
    -------
    p_value : ndarray of shape (...)
        At least 1 / (n_permutations + 1).

    Raises
    ------
    ValueError
        If there is no permutation, shapes do not broadcast, or a null score is
        NaN where the observed one is not.

    References
    ----------
    Phipson & Smyth 2010, "Permutation p-values should never be zero", eq. 2.

    Examples
    --------
    >>> permutation_p_value(3.0, [1.0, 2.0, 3.0, 0.0])
    array(0.4)
    """
    observed = _at_precision_of(null_scores, score)
    null = real_array(null_scores, "null_scores", "n_permutations, ...")
    try:
        np.broadcast_shapes(observed.shape, null.shape[1:])
    except ValueError:
        raise ValueError(
            f"score of shape {observed.shape} does not broadcast with null_scores "
            f"{null.shape} after its first axis"
        ) from None
    # scores of more axes than those of one permutation: none of them is permutations
    more = max(0, observed.ndim - (null.ndim - 1))
    null = null.reshape(len(null), *[1] * more, *null.shape[1:])
    unknown = np.isnan(null)
    if unknown.any() and (unknown & ~np.isnan(observed)).any():
        raise ValueError("null_scores hold NaN where score is a number; drop them")
    if null[0].size == 1:
        n_reached = _count_reached(observed, null.ravel())
    else:
        n_reached = np.count_nonzero(null >= observed, axis=0)
    p = p_value_from_counts(n_reached, len(null))
    return np.where(np.isnan(observed), np.nan, p)


def _count_reached(scores: FloatArray, null: FloatArray) -> NDArray[np.intp]:
    """Count how many of the null scores (n_permutations,) are as large as scores."""
    return np.asarray(len(null) - np.searchsorted(np.sort(null), scores))


def _at_precision_of(null_scores: ArrayLike, scores: ArrayLike) -> FloatArray:
    """Return scores as float64, rounded to float32 first where the null scores are."""
    single = getattr(null_scores, "dtype", None) == np.float32
    values = real_array(scores, "scores")
    return values.astype(np.float32).astype(np.float64) if single else values


def max_statistic_p_value(scores: ArrayLike, null_maxima: ArrayLike) -> FloatArray:
    """Compute family-wise p-values from the null distribution of the maximum.

    They are (1 + number of maxima >= score) / (1 + n_permutations), where each maximum
    is taken over all regions under one permutation, the same in every region.

    Parameters
    ----------
    scores : array-like of shape (...)
        Observed statistic of each region; NaN gives NaN.
    null_maxima : array-like of shape (n_permutations,)
        Largest statistic over the regions, one per permutation.

    Returns
    -------
    p_value : ndarray of shape (...)
        Probability, if all null hypotheses were true, that any region would score
        this high.

    Raises
    ------
    ValueError
        If `null_maxima` is not one-dimensional, is empty or holds NaN.

    References
    ----------
    Westfall & Young 1993, "Resampling-based multiple testing". Nichols & Holmes
    2002, "Nonparametric permutation tests for functional neuroimaging".

    Examples
    --------
    >>> max_statistic_p_value([0.9, 0.2], [0.3, 0.4, 0.5])
    array([0.25, 1.  ])
    """
    values = real_array(scores, "scores")
    maxima = real_array(null_maxima, "null_maxima", "n_permutations,")
    if np.isnan(maxima).any():
        raise ValueError("null_maxima must not hold NaN: drop regions without scores")
    p = p_value_from_counts(_count_reached(values, maxima), len(maxima))
    return np.where(np.isnan(values), np.nan, p)


def step_down_p_value(scores: ArrayLike, null_scores: ArrayLike) -> FloatArray:
    """Compute step-down p-values, adjusted for the maximum over the regions left.

    The largest score is compared with the permuted maxima over all regions, the second
    largest with the maxima over all regions but the first, and so on, no p-value being
    smaller than that of a larger score. The family-wise error is controlled as by
    :func:`max_statistic_p_value`, and no p-value is larger: where some regions are
    active, the others are compared with fewer. It needs the permuted scores of every
    region (``keep`` of the analyses writes them).

    Parameters
    ----------
    scores : array-like of shape (n_regions,)
        Observed statistics, comparable between regions; NaN gives NaN.
    null_scores : array-like of shape (n_permutations, n_regions)
        The same statistics of permuted labels, one labeling a row for all regions. It
        may be memory-mapped; a few rows are read at a time. Where it is float32 (as
        ``save_null`` writes it), scores are compared at that precision, so that ties
        remain ties.

    Returns
    -------
    p_value : ndarray of shape (n_regions,)
        At least 1 / (n_permutations + 1).

    Raises
    ------
    ValueError
        If there is no permutation, the shapes disagree, or a null score is NaN where
        the observed one is not.

    References
    ----------
    Westfall & Young 1993, "Resampling-based multiple testing", algorithm 2.8. Ge,
    Dudoit & Speed 2003, "Resampling-based multiple testing for microarray data
    analysis".

    Examples
    --------
    >>> null = [[0.1, 0.4, 0.2], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]]
    >>> step_down_p_value([0.9, 0.3, 0.35], null)
    array([0.25, 0.75, 0.5 ])
    """
    values = _at_precision_of(null_scores, scores)
    null = np.asarray(check_real(null_scores, "null_scores"))
    if values.ndim != 1 or null.shape[1:] != values.shape or not len(null):
        raise ValueError(
            "scores must have shape (n_regions,) and null_scores (n_permutations, "
            "n_regions), with at least one permutation; got "
            f"{values.shape} and {null.shape}"
        )
    finite = np.flatnonzero(~np.isnan(values))
    order = np.argsort(values[finite], kind="stable")
    n_reached = np.zeros(len(order), dtype=np.int64)
    for part in batches(len(null), _BATCH_NUMBERS // max(1, len(order))):
        some = np.asarray(null[part], dtype=np.float64)[:, finite]
        if np.isnan(some).any():
            raise ValueError("null_scores hold NaN where score is a number; drop them")
        n_reached += count_left(some, values[finite], order)
    adjusted = np.full(values.shape, np.nan)
    adjusted[finite] = step_down_from_counts(n_reached, order, len(null))
    return adjusted


def count_left(
    permuted: FloatArray, score: FloatArray, order: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Count how often the maximum over regions up to each in `order` reaches it."""
    maxima = np.maximum.accumulate(permuted[:, order], axis=1)
    return np.asarray((maxima >= score[order]).sum(axis=0))


def step_down_from_counts(
    n_reached: NDArray[np.int64], order: NDArray[np.intp], n_permutations: int
) -> FloatArray:
    """Turn the counts of :func:`count_left` into step-down p-values (n_regions,)."""
    p = p_value_from_counts(n_reached, n_permutations)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(p[::-1])[::-1]
    return adjusted


def z_from_p(p_value: ArrayLike, n_permutations: int) -> FloatArray:
    """Return finite normal scores of permutation p-values, 1 as half a step less."""
    largest = 1 - 0.5 / (n_permutations + 1)
    return np.asarray(-ndtri(np.minimum(np.asarray(p_value, dtype=float), largest)))


def binomial_p_value(n_correct: ArrayLike, n_test: int, n_classes: int) -> FloatArray:
    """Compute the chance that guessing gets at least this many test points right.

    The p-value is P(Binomial(n_test, 1 / n_classes) >= n_correct). It is valid for one
    split into training and test set only, with independent test points and equally many
    of them in each class, and never for cross-validated predictions. With classes of
    unequal size, even a classifier that ignores the data exceeds the nominal level.

    Parameters
    ----------
    n_correct : array-like of int of shape (...)
        Number of correct predictions, with ties broken once at random; NaN gives NaN.
    n_test : int
        Number of test points, a multiple of `n_classes`.
    n_classes : int
        Number of classes, at least 2.

    Returns
    -------
    p_value : ndarray of shape (...)
        Larger than 0, at most 1.

    Raises
    ------
    TypeError, ValueError
        If a number is not whole or out of range, or if the classes cannot have equally
        many test points.

    References
    ----------
    Zheng 2017, thesis, section 2.5 (with P(X >= S) for the printed P(X > S)).

    Examples
    --------
    >>> binomial_p_value(15, 20, 2)
    array(0.0206947)
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    n_test = check_integer(n_test, "n_test", minimum=n_classes)
    if n_test % n_classes:
        raise ValueError(
            f"n_test must be a multiple of n_classes (equally many test points per "
            f"class); got {n_test} and {n_classes}: use a permutation test"
        )
    correct = real_array(n_correct, "n_correct")
    valid = (correct == np.rint(correct)) & (correct >= 0) & (correct <= n_test)
    if not (np.isnan(correct) | valid).all():
        raise ValueError(
            f"n_correct must be whole numbers of 0..{n_test} (break ties at random, "
            "once); use a permutation test for averaged scores"
        )
    at_least_one = np.maximum(correct, 1)
    p = betainc(at_least_one, n_test - at_least_one + 1, 1 / n_classes)
    return np.where(correct == 0, 1.0, p)


def e_value_false_discovery_rate(e_values: ArrayLike) -> FloatArray:
    """Return the smallest false discovery rate at which each region is reported.

    The e-BH procedure reports the j regions of largest e-value for the largest j with
    ``e_(j) >= n / (j alpha)``; its false discovery rate is at most alpha whatever the
    dependence of the regions, where the Benjamini-Hochberg procedure on p-values needs
    assumptions on it. Here the smallest such alpha is returned for every region, the
    counterpart of an adjusted p-value.

    Parameters
    ----------
    e_values : array-like of shape (n_regions,)
        E-values of the null hypotheses; NaN gives NaN and is not counted.

    Returns
    -------
    rate : ndarray of shape (n_regions,)
        Between 0 and 1.

    Raises
    ------
    ValueError
        If `e_values` are not one-dimensional, or one is negative.

    References
    ----------
    Wang & Ramdas 2022, "False discovery rate control with e-values", Journal of the
    Royal Statistical Society B 84.

    Examples
    --------
    >>> e_value_false_discovery_rate([100.0, 0.5, 30.0, 2.0])
    array([0.04      , 1.        , 0.06666667, 0.66666667])
    """
    values = real_array(e_values, "e_values", "n_regions,", least=0)
    if (values < 0).any():
        raise ValueError("e_values must be at least 0; logs of them must be undone")
    rate = np.full(values.shape, np.nan)
    finite = np.flatnonzero(~np.isnan(values))
    order = finite[np.argsort(-values[finite], kind="stable")]
    with np.errstate(divide="ignore"):
        level = len(finite) / (np.arange(1, len(finite) + 1) * values[order])
    rate[order] = np.minimum(1, np.minimum.accumulate(level[::-1])[::-1])
    return rate
