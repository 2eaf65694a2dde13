"""Information in bits from predicted probabilities, and its regularization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.models._canonical_space import check_priors
from neuroextrap.stats._validation import check_flags, nats_per_unit, real_array


def _class_numbers(y, classes, n_classes):
    """Return the column number of every label."""
    y = np.asarray(y)
    if classes is None:
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= n_classes:
            raise ValueError(
                f"y must hold column numbers 0..{n_classes - 1} when classes is None; "
                "give classes to use labels"
            )
        return y
    classes = np.atleast_1d(classes)
    if classes.shape != (n_classes,):
        raise ValueError(
            f"{len(classes)} classes given for probabilities of {n_classes} columns; "
            "give one class per column"
        )
    order = np.argsort(classes)
    codes = order[np.searchsorted(classes, y, sorter=order).clip(max=n_classes - 1)]
    unknown = classes[codes] != y
    if unknown.any():
        raise ValueError(
            f"y holds the label {y[unknown].tolist()[0]!r}, absent from classes "
            f"{classes.tolist()}; add it or leave these samples out"
        )
    return codes


def label_entropy(priors):
    """Return the entropy of the labels in bits (Kjems et al. 2002, eq. 12)."""
    priors = check_priors(priors, np.size(priors))
    return float(-np.sum(priors * np.log(priors)) / np.log(2))


def prediction_information(
    probabilities: ArrayLike,
    y: Any,
    *,
    priors: Any,
    classes: ArrayLike | None = None,
    log: bool = False,
    base: float = 2,
) -> float:
    """Compute the mutual information of labels and predicted probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted probability p(g|x) of every class for every test sample.
    y : array-like of shape (n_samples,)
        True labels: column numbers, or members of ``classes``.
    priors : array-like of shape (n_classes,)
        Known class probabilities p(g).
    classes : array-like of shape (n_classes,), or None, default=None
        Label of every column. If None, ``y`` holds column numbers.
    log : bool, default=False
        Whether ``probabilities`` are natural logarithms.
    base : float, default=2
        Base of the result's logarithm; 2 gives bits.

    Returns
    -------
    float
        Mean of ``log p(g|x) / p(g)`` over the samples. A true class that was given
        probability zero makes it minus infinity: regularize the predictions.

    Raises
    ------
    ValueError
        For shapes that do not fit, unknown labels, or priors that are no probabilities.

    Notes
    -----
    At most the label entropy when the labels occur as often as ``priors`` say, and
    unbounded below. Negative information together with an error rate below that of
    guessing the most common label means overfitting: the classifier picks the right
    label often, but is far too confident when it is wrong.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 9-11.

    Examples
    --------
    >>> from neuroextrap.learning_curves import prediction_information
    >>> probabilities = [[0.5, 0.5], [1.0, 0.0]]
    >>> prediction_information(probabilities, [1, 0], priors=[0.5, 0.5])
    0.5
    """
    check_flags(log=log)
    probabilities, y = real_array(probabilities, "probabilities"), np.atleast_1d(y)
    if probabilities.ndim != 2 or len(probabilities) != len(y):
        raise ValueError(
            f"probabilities of shape {probabilities.shape} given for {len(y)} labels; "
            "give one row per label and one column per class"
        )
    priors = check_priors(priors, probabilities.shape[1])
    codes = _class_numbers(y, classes, len(priors))
    with np.errstate(divide="ignore"):
        logs = probabilities if log else np.log(probabilities)
    return float(np.mean(log_ratio(logs, codes, priors)) / nats_per_unit(base))


def log_ratio(log_posterior, codes, priors):
    """Return log p(g|x) / p(g) of the true class of every sample, in nats."""
    return log_posterior[np.arange(len(codes)), codes] - np.log(priors)[codes]


def macroscopic_log_posterior(log_likelihood, priors):
    """Return log p(g|x) of log p(x|g) (n_samples, n_classes), by Bayes' rule."""
    from scipy.special import log_softmax

    log_likelihood = np.asarray(log_likelihood, dtype=np.float64)
    priors = check_priors(priors, log_likelihood.shape[-1])
    return log_softmax(log_likelihood + np.log(priors), axis=-1)


def best_prior_weight(ratio):
    """Maximize the concave ``mean log((1 - e) ratio + e)``, e in 0..1."""

    def slope(weight):
        return np.mean((1 - ratio) / ((1 - weight) * ratio + weight))

    if ratio.mean() <= 1:
        return 1.0
    with np.errstate(over="ignore", divide="ignore"):  # an infinite slope is right
        if slope(0.0) <= 0:
            return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return 0.5 * (low + high)
