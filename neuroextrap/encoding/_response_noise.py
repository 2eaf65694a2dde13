"""Noise of test responses that are averages: misfit stays, noise is divided.

The residual of a response is the misfit of the encoder at its stimulus, the same in
all repeats, and noise: with covariances L and N an average of r repeats has L + N / r.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

_FEWEST_WITHIN = 10
"""Noise is told from misfit by at least so many repeats beyond the first."""


def separate_repeats(residuals, stimuli=None):
    """Turn residuals into those of stimuli, and those within stimuli; return both.

    `residuals` are (n_rows, n_features), `stimuli` (n_rows,) say which stimulus each
    belongs to. The first of the rows returned, one for each of K stimuli, are sqrt(r)
    times the mean of its r repeats, of covariance r L + N; the others, n_rows - K, are
    contrasts of its repeats, independent and of covariance N. All are an orthogonal
    transform of the residuals. Also returned is K. Residuals stay as they are, and K is
    n_rows, without `stimuli` or with fewer than 10 repeats beyond the first ones.

    >>> rows, n_stimuli = separate_repeats(np.arange(24.0)[:, None], [0, 1] * 12)
    >>> rows.shape, n_stimuli, float(np.sum(rows**2) - np.sum(np.arange(24.0) ** 2))
    ((24, 1), 2, 0.0)
    """
    n_rows = len(residuals)
    if stimuli is None or n_rows - len(np.unique(stimuli)) < _FEWEST_WITHIN:
        return residuals, n_rows
    _, codes, counts = np.unique(stimuli, return_inverse=True, return_counts=True)
    occurrence = np.empty(n_rows, dtype=int)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    occurrence[np.argsort(codes, kind="stable")] = np.arange(n_rows) - firsts
    total = np.zeros((len(counts), residuals.shape[1]), dtype=residuals.dtype)
    contrasts = []
    for seen in range(counts.max()):
        rows = residuals[occurrence == seen]
        shown = codes[occurrence == seen]
        if seen:
            difference = rows - total[shown] / rows.dtype.type(seen)
            contrasts.append(difference * rows.dtype.type(np.sqrt(seen / (seen + 1))))
        total[shown] += rows
    root = np.sqrt(counts)[:, np.newaxis].astype(residuals.dtype)
    return np.concatenate([total / root, *contrasts]), len(counts)


def response_covariance(residuals, n_stimuli, repeats, method="shrunk"):
    """Estimate the covariance L + N / `repeats` of an average of so many responses.

    `residuals` and `n_stimuli` are as `separate_repeats` returns them, `method` is one
    of `noise_covariance`: both parts are shrunk, each by its own number of rows. In
    directions in which noise alone explains the means of stimuli, L is zero. Where
    repeats were not separated, the covariance of the residuals as they are.
    """
    if n_stimuli == len(residuals) or method == "identity":
        return noise_covariance(residuals, method)
    stimuli = noise_covariance(residuals[:n_stimuli], method)
    noise = noise_covariance(residuals[n_stimuli:], method)
    shown = len(residuals) / n_stimuli
    weight = 1 / repeats - 1 / shown
    if weight >= 0:
        return stimuli / shown + weight * noise
    cholesky(stimuli)  # an error that says what to do where it is singular
    stimuli = stimuli.astype(np.float64)
    values, vectors = eigh(noise.astype(np.float64), stimuli)
    values, back = np.maximum(values, 0), stimuli @ vectors
    # stimuli = back @ back.T, and noise = (back * values) @ back.T
    return (back * (np.maximum(1 - values, 0) / shown + values / repeats)) @ back.T


def cholesky(sigma):
    """Lower factor; an error if a pivot is only rounding, of sigma's precision."""
    precision = np.finfo(np.result_type(sigma, np.float32)).eps
    least = len(sigma) * precision * np.diag(sigma)
    factor, failed = dpotrf(sigma.T, lower=1, clean=0)
    if failed or (np.diag(factor) ** 2 <= least).any():
        raise ValueError(
            f"the noise covariance of {len(sigma)} features is singular; use "
            "covariance='diagonal', fewer features, or more residuals"
        )
    return factor


def noise_covariance(residuals, method="shrunk"):
    """Estimate a region's noise covariance from residuals (n_samples, n_features).

    Residuals of training data are taken to have mean zero. "shrunk" shrinks towards the
    diagonal with an analytic intensity; "ledoit_wolf" and "oas" are scikit-learn's,
    which shrink towards a multiple of the identity.
    """
    if method not in COVARIANCES:
        raise ValueError(
            f"covariance={method!r} is unknown; use one of {', '.join(COVARIANCES)}"
        )
    return COVARIANCES[method](residuals)


def _ledoit_wolf(residuals):
    from sklearn.covariance import ledoit_wolf

    return ledoit_wolf(residuals, assume_centered=True)[0]


def _oas(residuals):
    from sklearn.covariance import oas

    return oas(residuals, assume_centered=True)[0]


COVARIANCES = {
    "shrunk": lambda residuals: schaefer_strimmer_covariance(residuals)[0],
    "ledoit_wolf": _ledoit_wolf,
    "oas": _oas,
    "diagonal": lambda residuals: np.diag(np.mean(np.square(residuals), axis=0)),
    "identity": lambda residuals: np.eye(residuals.shape[1]),
}
