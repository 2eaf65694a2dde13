"""Posteriors that are as certain as training residuals show them to be right."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from neuroextrap.encoding._margins import mahalanobis_margins, response_covariance
from neuroextrap.models._splitters import deal_folds

_N_FOLDS = 10
_FEWEST = 4
"""Temperatures are learned from the residuals of at least as many stimuli."""
_N_TRIALS = 1000
_RANGE = (-3.0, 5.0)
"""Of the logarithm of the temperature, about that of the squared distances."""


class RegionFold(NamedTuple):
    """What identifies the test responses of one fold (or test set) in one region.

    ``predictions`` (K, n_features); ``residuals`` (n_residuals, n_features), of which
    the first ``n_stimuli`` are those of stimuli, as `separate_repeats` returns them.
    """

    predictions: np.ndarray
    residuals: np.ndarray
    n_stimuli: int


def temperature(fold, repeats, covariance):
    """Return the temperature by which margins become calibrated log likelihoods.

    Margins take the estimated covariance for the true one, so that a posterior made of
    them as they are is too certain, the more so the fewer residuals there are. The
    temperature T is learned from training data alone: the residuals of one tenth of the
    stimuli are added to predictions of candidates drawn at random, and identified by
    the covariance of the other residuals; T maximizes the mean log posterior
    of the candidates that were drawn. `repeats` is the number of responses averaged
    into a test response, `covariance` a method of `noise_covariance`. 1 where
    there are residuals of fewer than four stimuli.

    Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural networks".
    """
    if fold.n_stimuli < _FEWEST:
        return 1.0
    trials = list(_trials(fold, repeats, covariance))
    margins = np.concatenate([margins for margins, _ in trials])
    true = margins[
        np.arange(len(margins)), np.concatenate([codes for _, codes in trials])
    ]
    # were the covariance the true one, -2 M of the true candidate would be chi-squared
    start = max(-2 * true.mean() / fold.predictions.shape[1], np.finfo(float).tiny)

    def loss(log_ratio):
        scale = np.exp(-log_ratio) / start
        posterior = scale * true - logsumexp(scale * margins, axis=1)
        # held where nothing is ever confused, which any small temperature explains
        return log_ratio**2 / len(true) - posterior.mean()

    return start * float(
        np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x)
    )


def _trials(fold, repeats, covariance):
    """Yield margins (n, K) of made responses, and the candidate that each is of (n,).

    A made response is a prediction and the residual of an average of `repeats`
    responses (at most as many as a training stimulus has), which is the mean residual
    of a stimulus and, for fewer repeats than it has, a share of a contrast of repeats.
    """
    predictions, residuals, n_stimuli = fold
    means, contrasts = residuals[:n_stimuli], residuals[n_stimuli:]
    shown = len(residuals) / n_stimuli
    repeats = min(repeats, shown) if len(contrasts) else 1
    rng = np.random.default_rng(0)
    stimulus_folds = deal_folds(n_stimuli, _N_FOLDS, rng)
    contrast_folds = np.array_split(
        rng.permutation(len(contrasts)), len(stimulus_folds)
    )
    n_draws = -(-_N_TRIALS // n_stimuli)
    for of_means, of_contrasts in zip(stimulus_folds, contrast_folds, strict=True):
        rows = rng.choice(of_means, n_draws * len(of_means))
        errors = means[rows] / np.sqrt(shown)
        if len(of_contrasts):
            noise = contrasts[rng.choice(of_contrasts, len(rows))]
            errors = errors + np.sqrt(1 / repeats - 1 / shown) * noise
        kept = [np.delete(means, of_means, 0), np.delete(contrasts, of_contrasts, 0)]
        sigma = response_covariance(
            np.concatenate(kept), len(kept[0]), repeats, covariance
        )
        codes = rng.integers(len(predictions), size=len(rows))
        yield (
            mahalanobis_margins(predictions[codes] + errors, predictions, sigma),
            codes,
        )
