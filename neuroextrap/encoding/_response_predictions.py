"""How well held-out responses are predicted, voxel by voxel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.design._findings import tell
from neuroextrap.design._series import exchanged, findings_of_series
from neuroextrap.stats._null_counts import NullCounts, spread_known, tie_floor
from neuroextrap.stats._plain_types import plain_types_checked
from neuroextrap.stats._validation import real_array


@plain_types_checked
def prediction_scores(
    responses: ArrayLike,
    predictions: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    noise_variance: ArrayLike | None = None,
    n_permutations: int = 0,
    exchange: str | int = "rows",
    random_state: int | np.random.Generator | None = 0,
) -> dict[str, np.ndarray]:
    """Compute explained variance and correlation of held-out responses by voxel.

    ::

        r2 = 1 - sum(y - f) ^ 2 / sum(y - mean(y)) ^ 2

    of `responses` y and `predictions` f (n_test, n_features). With the variance of the
    noise in the responses as they are (single ones, or averages over repeats), known
    from repeats, the noise ceiling is the proportion of the responses' variance that a
    perfect model would explain, and scores are divided by what that model would
    reach ::

        noise_ceiling = max(0, 1 - noise_variance / Var(y))
        r2_normalized = r2 / noise_ceiling
        correlation_normalized = correlation / sqrt(noise_ceiling)

    The permutation test asks whether predictions are related to responses at all:
    predictions are permuted over responses within `groups` (runs), in the same way in
    every voxel, and the largest correlation over voxels gives the family-wise p-value.
    Single rows ("rows") must be exchangeable under the null hypothesis, which those of
    a film or a story are not: there p-values are far too small, and a warning says so.
    ``exchange="shifts"`` shifts the predictions of each run as a whole, circularly,
    against its responses; this holds for stationary series that are long compared with
    the time over which they correlate. A number exchanges blocks of so many rows: for
    clips of that length in random order it is exact, for parts of one series
    approximate, and only if blocks are long compared with that time.

    Returns a dict of ndarray (n_features,): r2, correlation (NaN where something is
    constant); with a noise variance noise_ceiling, r2_normalized and
    correlation_normalized (not limited to 1; NaN where the ceiling is zero); with
    permutations p_value and p_value_fwe of the correlation (one-sided). ValueError
    where shapes differ, a value is not finite, or `exchange` is unknown. (Nichols &
    Holmes 2002; Schoppe et al. 2016, normalized correlation; Harris 2020, "A shift test
    for independence in generic time series".)

    >>> y = np.array([[1.0], [2.0], [3.0]])
    >>> scores = prediction_scores(y, y + 1)
    >>> scores["correlation"], scores["r2"]
    (array([1.]), array([-0.5]))
    """
    Y, F = real_array(responses, "responses"), real_array(predictions, "predictions")
    if Y.shape != F.shape or Y.ndim != 2:
        raise ValueError(
            f"responses {Y.shape} and predictions {F.shape} must both have shape "
            "(n_test, n_features)"
        )
    if not (np.isfinite(Y).all() and np.isfinite(F).all()):
        raise ValueError("responses and predictions must be finite; drop these voxels")
    total = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(total > 0, 1 - ((Y - F) ** 2).sum(axis=0) / total, np.nan)
    y, f = standardized(Y), standardized(F)
    scores = {"r2": r2, "correlation": np.einsum("tv,tv->v", y, f)}
    if noise_variance is not None:
        scores |= _normalized(scores, Y, noise_variance)
    if n_permutations:
        orders = exchanged(
            np.arange(len(Y)),
            exchange=exchange,
            groups=groups,
            n_permutations=n_permutations,
            random_state=random_state,
        )
        tell(findings_of_series(Y, F, groups, exchange=exchange))
        scores |= p_values_of_correlation(y, f, scores["correlation"], orders)
    return scores


def _normalized(scores, Y, noise_variance):
    """Noise ceiling of responses, and scores divided by what it allows."""
    noise = real_array(noise_variance, "noise_variance")
    if noise.shape != Y.shape[1:] or not (np.isfinite(noise) & (noise >= 0)).all():
        raise ValueError(
            f"noise_variance must hold {Y.shape[1]} finite variances of at least 0, "
            f"one per feature, got shape {noise.shape}"
        )
    total = Y.var(axis=0, ddof=1) if len(Y) > 1 else np.zeros(Y.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ceiling = np.where(total > 0, np.maximum(1 - noise / total, 0), np.nan)
        attainable = np.where(ceiling > 0, ceiling, np.nan)
        return {
            "noise_ceiling": ceiling,
            "r2_normalized": scores["r2"] / attainable,
            "correlation_normalized": scores["correlation"] / np.sqrt(attainable),
        }


def standardized(values):
    """Columns of mean zero and length one; NaN where constant."""
    centered = values - values.mean(axis=0)
    length = np.sqrt((centered**2).sum(axis=0))
    varies = np.ptp(values, axis=0) > 0
    return centered / np.where(varies & (length > 0), length, np.nan)


def p_values_of_correlation(y, f, observed, orders):
    """Count permuted correlations that reach the observed ones."""
    known = ~np.isnan(observed)
    y, f = y[:, known], f[:, known]
    counts = NullCounts.start(tie_floor(observed[known], 1.0), len(orders))
    for index, order in enumerate(orders):
        permuted = np.einsum("tv,tv->v", y, f[order])
        counts.add(permuted[:, np.newaxis], index)
    p_values = {"p_value": counts.p_value(), "p_value_fwe": counts.p_value_fwe()}
    return spread_known(known, p_values)
