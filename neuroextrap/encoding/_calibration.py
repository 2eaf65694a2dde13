"""Posteriors that are as certain as identified training responses show to be right."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

_FEWEST = 4
"""Temperatures are learned from at least as many responses."""
_RANGE = (-3.0, 5.0)
"""Of the logarithm of the temperature, about that of the squared distances."""
_CALIBRATION = 20.0
"""Weight of calibration in the large beside the likelihood, which is flat about its
best: nats for each squared difference of mean largest posterior and accuracy."""


def temperature(margins, codes, n_features):
    """Return the temperature T by which margins become calibrated log likelihoods.

    Margins take the estimated covariance for the true one, and predictions for free of
    error, so that a posterior made of them as they are is too certain, the more so the
    fewer training data there are for the `n_features` voxels. T maximizes the mean log
    posterior of the true candidates `codes` (n,) of `margins` (n, K), less a penalty
    for a mean largest posterior that is not the accuracy. Margins come from responses
    whose predictions and covariance were made without them. 1 for fewer than four.

    Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural networks".
    """
    if len(codes) < _FEWEST:
        return 1.0
    true = margins[np.arange(len(codes)), codes]
    # were all as it is taken to be, -2 M of the true candidate would be chi-squared
    start = max(-2 * true.mean() / n_features, np.finfo(float).tiny)

    accuracy = np.mean(margins.argmax(axis=1) == codes)

    def loss(log_ratio):
        logs = log_softmax(np.exp(-log_ratio) / start * margins, axis=1)
        likelihood = logs[np.arange(len(codes)), codes].mean()
        excess = np.exp(logs.max(axis=1)).mean() - accuracy
        # held where nothing is ever confused, which any small temperature explains
        return log_ratio**2 / len(true) - likelihood + _CALIBRATION * excess**2

    return start * float(
        np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x)
    )
