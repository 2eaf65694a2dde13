"""p-values beyond the number of permutations: a generalized Pareto tail."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._pvalues import permutation_p_value
from neuroextrap.stats._validation import FloatArray, check_level

_LARGEST_P = 0.10
_FEWEST = 10  # exceedances for a fit
_EPSILON = 2.0**-52
# Anderson-Darling statistics that one in twenty samples of 100 exceed, against the
# median shape that the moments give such samples (true shapes -1, ..., 0.3)
_SHAPE = np.array([-0.996, -0.748, -0.501, -0.253, -0.111, -0.018, 0.069, 0.148, 0.218])
_CRITICAL = np.array([26.85, 11.83, 3.144, 0.934, 0.894, 0.954, 1.053, 1.220, 1.560])


def tail_p_value(
    score: ArrayLike, null_scores: ArrayLike, *, start: float = 0.751
) -> tuple[FloatArray, np.ndarray]:
    """Compute permutation p-values, small ones refined by a generalized Pareto tail.

    The largest null scores, above the lowest of the quantiles `start`, `start` +
    0.01, ..., 0.999 where the Anderson-Darling test at 0.05 accepts the fit, are
    described by a generalized Pareto distribution, by the method of moments. Only
    p-values below 0.10 of scores above that threshold are replaced; 500 permutations
    are enough. The distribution must be continuous: where no threshold is accepted (few
    distinct null scores, for example), permutation p-values stay and the flag
    says so.

    Parameters
    ----------
    score : array-like of shape (...)
        Observed statistic, larger for stronger effects; NaN gives NaN.
    null_scores : array-like of shape (n_permutations,) or (n_permutations, ...)
        Permuted statistics: one distribution for all scores (for example the
        maxima over regions), or one for each.
    start : float, default=0.751
        Lowest quantile tried. Maxima are fitted well from the default on; for a
        null distribution with a normal tail it makes p-values near 0.001 about two
        thirds of what they should be on average; take 0.9 there.

    Returns
    -------
    p_value : ndarray of shape (...)
        Never below 1 / (n_permutations + 1) ** 2, past which so many values tell
        nothing.
    good_fit : ndarray of bool of shape () or (...)
        Whether a threshold was accepted, for each null distribution.

    Raises
    ------
    ValueError
        If `start` is not inside (0, 1), there is no permutation, or `null_scores` are
        not finite or have trailing axes other than those of `score`.

    References
    ----------
    Winkler et al. 2016, "Faster permutation inference in brain imaging", section
    2.5. Hosking & Wallis 1987, "Parameter and quantile estimation for the
    generalized Pareto distribution", eq. 2 (moments).

    Examples
    --------
    >>> import numpy as np
    >>> null = np.random.default_rng(0).exponential(size=1000)
    >>> p, good = tail_p_value([0.1, 10.0], null)
    >>> bool(good), bool(1e-6 < p[1] < 5e-4)
    (True, True)
    """
    start = check_level(start, "start")
    observed = np.asarray(score, dtype=np.float64)
    null = np.asarray(null_scores, dtype=np.float64)
    plain = permutation_p_value(
        observed, null if null.ndim != 1 else null.reshape(-1, *(1,) * observed.ndim)
    )
    if null.ndim != 1 and null.shape[1:] != observed.shape:
        raise ValueError(
            f"null_scores must have shape (n_permutations,) or (n_permutations, "
            f"*{observed.shape}); got {null.shape}"
        )
    if not np.isfinite(null).all():
        raise ValueError("null_scores must be finite: drop regions without scores")
    fit = _fit_tails(np.sort(null.reshape(len(null), -1), axis=0), start)
    threshold, scale, shape, share = (each.reshape(null.shape[1:]) for each in fit)
    good = np.isfinite(threshold)
    replaced = good & (plain < _LARGEST_P) & (observed > threshold)
    excess = np.where(replaced, observed - threshold, 0.0)
    tail = share * survival(excess, scale, shape)
    tail = np.maximum(tail, 1 / (len(null) + 1) ** 2)
    return np.where(replaced, tail, plain), good


def survival(excess: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    """Return the chance that a generalized Pareto excess is larger (shape xi)."""
    heavy = np.where(np.abs(shape) < 1e-12, 1e-12, shape)
    with np.errstate(divide="ignore"):
        return np.exp(-np.log1p(np.maximum(heavy * excess / scale, -1)) / heavy)


def fit_moments(excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scale and shape xi of excesses (n, n_columns) by their moments."""
    mean, variance = excess.mean(axis=0), excess.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean**2 / variance
    return mean * (ratio + 1) / 2, (1 - ratio) / 2


def anderson_darling(
    excess: FloatArray, scale: FloatArray, shape: FloatArray
) -> FloatArray:
    """Return the statistic of increasing excesses (n, n_columns) for a fit."""
    n = len(excess)
    # moments may put the upper end of a bounded tail below the largest excess
    above = np.clip(survival(excess, scale, shape), _EPSILON, 1 - _EPSILON)
    order = (2 * np.arange(1, n + 1) - 1)[:, np.newaxis]
    logs = np.log1p(-above) + np.log(above[::-1])
    return np.asarray(-n - (order * logs).sum(axis=0) / n)


def _fit_tails(ordered: FloatArray, start: float) -> FloatArray:
    """Return threshold, scale, shape, share above of each increasing column."""
    n = len(ordered)
    fits = np.full((4, ordered.shape[1]), np.nan)
    open_ = np.ones(ordered.shape[1], dtype=bool)
    for quantile in np.append(np.arange(start, 0.995, 0.01), 0.999):
        below = int(np.ceil(quantile * n))
        if n - below < _FEWEST or not open_.any():
            break
        columns = ordered[:, open_]
        threshold = (columns[below - 1] + columns[below]) / 2
        excess = columns[below:] - threshold
        scale, shape = fit_moments(excess)
        statistic = anderson_darling(excess, scale, shape)
        accepted = statistic < np.interp(shape, _SHAPE, _CRITICAL)
        share = np.full(len(threshold), (n - below) / n)
        where = np.flatnonzero(open_)[accepted]
        fits[:, where] = np.stack([threshold, scale, shape, share])[:, accepted]
        open_[where] = False
    return fits
