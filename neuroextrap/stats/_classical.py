"""The classical rivals: Fano's inequality and the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, xlogy
from scipy.stats.contingency import crosstab

from neuroextrap.stats._validation import (
    FloatArray,
    check_accuracy,
    check_choice,
    check_n_classes,
    check_real,
    nats_per_unit,
)


def fano_information(
    accuracy: ArrayLike, n_classes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return Fano's lower bound on information from an accuracy.

    ``log K - h(e) - e log(K - 1)`` with error e = 1 - accuracy and K equally
    likely classes; 0 at or below chance. Never above log K, and never above
    :func:`min_information` for randomly drawn classes.

    Parameters
    ----------
    accuracy : array-like of shape (...)
        Accuracy among `n_classes` classes; NaN gives NaN.
    n_classes : float or array-like of shape (...)
        Number of classes K, at least 2; broadcasts.
    base : float, default=2
        Unit of the result: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    information : ndarray of shape (...)
        In [0, log K].

    Raises
    ------
    ValueError
        If accuracies lie outside [0, 1], a number of classes is below two, or
        `base` is not above 1.

    References
    ----------
    Cover & Thomas 2006, "Elements of information theory", theorem 2.10.1.

    Examples
    --------
    >>> fano_information([0.125, 0.5, 1.0], 8)
    array([0.      , 0.596...,  3.      ])
    """
    unit = nats_per_unit(base)
    given = check_accuracy(accuracy), check_n_classes(n_classes)
    values, k = np.broadcast_arrays(*given)
    error = 1 - values
    entropy = entr(error) + entr(values)
    information = np.maximum(np.log(k) - entropy - error * np.log(k - 1), 0)
    return np.asarray(np.where(error >= 1 - 1 / k, 0.0, information) / unit)


def confusion_information(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    correction: str | None = None,
    base: float = 2,
) -> FloatArray:
    """Return the mutual information of a confusion table.

    The plug-in estimate from the joint frequencies of true and predicted (or
    otherwise discrete) labels. It is biased upwards by about (rows - 1)(columns
    - 1) / (2 n) nats and never exceeds log K; the corrections subtract an
    estimate of the bias and may go below zero.

    Parameters
    ----------
    y_true : array-like of shape (n,), or of shape (n_stimuli, n_responses)
        True labels (stimuli). Without `y_pred`: the table of counts itself, one row per
        stimulus, as a searchlight's ``confusion_matrix(region)`` gives it; counts may
        be fractions, where ties were shared.
    y_pred : array-like of shape (n,) or None, default=None
        Predicted labels, or any discrete response.
    correction : None, "miller_madow" or "panzeri_treves", default=None
        Bias correction. Miller-Madow counts the occupied cells; Panzeri-Treves
        also estimates how many responses could occur for each stimulus.
    base : float, default=2
        Unit of the result: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    information : ndarray of shape ()
        Not negative without correction.

    Raises
    ------
    ValueError
        If the labels differ in length or are empty, the table has negative or no
        counts, `correction` or `base` is not one of those allowed, or a correction is
        requested for proportions, which do not say how many points there are.

    References
    ----------
    Miller 1955, "Note on the bias of information estimates". Panzeri & Treves
    1996, "Analytical estimates of limited sampling biases in different
    information measures", eqs. 11-14.

    Examples
    --------
    >>> confusion_information(["a", "a", "b", "b"], [0, 0, 1, 1])
    array(1.)
    >>> confusion_information([[9, 1], [1, 9]]).round(3)
    np.float64(0.531)
    """
    unit = nats_per_unit(base)
    check_choice(correction, "correction", (None, "miller_madow", "panzeri_treves"))
    if y_pred is None:
        counts: Any = _check_table(y_true, whole=correction is not None)
    else:
        counts = _contingency(y_true, y_pred)
    n = counts.sum()
    joint = xlogy(counts, counts).sum()
    margins = sum(xlogy(each, each).sum() for each in (counts.sum(0), counts.sum(1)))
    plug_in = max((joint - margins) / n + np.log(n), 0.0)
    return np.asarray((plug_in - _bias(counts, correction)) / unit)


def _check_table(table: ArrayLike, *, whole: bool) -> FloatArray:
    """Return counts without empty rows and columns; `whole` is asked of rows."""
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2:
        raise ValueError(
            "y_true without y_pred must be a table of counts of shape (n_stimuli, "
            f"n_responses), got shape {counts.shape}; give y_pred, or the confusion "
            "matrix"
        )
    if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.any()):
        raise ValueError(
            "a table of counts must be finite, not negative and not all zero, got "
            f"{counts.min(initial=0)} to {counts.max(initial=0)}; give the confusion "
            "matrix of one region"
        )
    per_row = counts.sum(axis=1)
    if whole and (np.abs(per_row - np.rint(per_row)) > 1e-6).any():
        raise ValueError(
            "a correction needs whole numbers of test points in every row, got "
            f"{per_row[np.abs(per_row - np.rint(per_row)).argmax()]:.6g}; give counts "
            "instead of proportions, or correction=None"
        )
    return counts[per_row > 0][:, counts.any(axis=0)]


def _contingency(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.intp]:
    """Count pairs of labels as (n_true_labels, n_predicted_labels)."""
    true = np.asarray(check_real(y_true, "y_true"))
    predicted = np.asarray(check_real(y_pred, "y_pred"))
    if true.ndim != 1 or true.shape != predicted.shape or not true.size:
        raise ValueError(
            "y_true and y_pred must be one-dimensional, of one length and not "
            f"empty; got shapes {true.shape} and {predicted.shape}"
        )
    return crosstab(true, predicted).count


def _bias(counts: NDArray, correction: str | None) -> float:
    """Return the bias in nats, from the cells that are occupied, or could be."""
    if correction is None:
        return 0.0
    occupied = np.count_nonzero(counts)
    if correction == "panzeri_treves":
        occupied = sum(_relevant_responses(row) for row in counts)
    rows, columns = counts.shape
    return float(occupied - rows - columns + 1) / (2 * counts.sum())


def _relevant_responses(row: NDArray) -> int:
    """Estimate how many responses have positive probability for one stimulus.

    The number of unseen ones, which share a small mass, whose expected count of
    occupied cells is nearest to the observed one, up to the first turn away.
    """
    n, seen = round(row.sum()), row[row > 0]
    occupied = len(seen)
    expected = occupied - ((1 - seen / n) ** n).sum()
    distance, best = abs(occupied - expected), occupied
    for unseen in range(1, len(row) - occupied + 1):
        mass = unseen * (1 - (n / (n + occupied)) ** (1 / n))
        shrunk = (1 - mass) * (seen + 1) / (n + occupied)
        expected = (1 - (1 - shrunk) ** n).sum()
        expected += unseen * (1 - (1 - mass / unseen) ** n)
        if abs(occupied - expected) >= distance:
            break
        distance, best = abs(occupied - expected), occupied + unseen
    return best
