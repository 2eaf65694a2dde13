"""Splits by subject, evaluated in parallel; predictions of a split in bits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from neuroextrap.learning_curves._sensitivity import feature_maps, pattern_factor
from neuroextrap.models._canonical_space import check_priors
from neuroextrap.stats._null_counts import tie_floor
from neuroextrap.stats._validation import (
    check_flags,
    check_n_jobs,
    nats_per_unit,
    real_array,
    warn,
)


def _class_numbers(y, classes, n_classes):
    """Return the column number of every label."""
    names = np.arange(n_classes) if classes is None else np.atleast_1d(classes)
    if names.shape != (n_classes,):
        raise ValueError(
            f"{len(names)} classes given for probabilities of {n_classes} columns; "
            "give one class per column"
        )
    columns = pd.Index(names)
    if not columns.is_unique:
        raise ValueError(
            f"classes holds {names[columns.duplicated()].tolist()[0]!r} more than once;"
            " give every column a class of its own"
        )
    codes = columns.get_indexer(y)
    if (codes < 0).any() and classes is None:
        raise ValueError(
            f"y must hold column numbers 0..{n_classes - 1} when classes is None; "
            "give classes to use labels"
        )
    if (codes < 0).any():
        raise ValueError(
            f"y holds the label {y[codes < 0].tolist()[0]!r}, absent from classes "
            f"{names.tolist()}; add it or leave these samples out"
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
    unbounded below, see :func:`information_learning_curve`.

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


_MAX_DRAWS = 1000
# At as many residual degrees of freedom as components the noise seems to vanish in some
# direction, and posteriors are certain; at twice as many, distances to class means are
# overestimated about twofold, which the weight of the prior makes up for.
_PER_COMPONENT = 2
# fixed, so that results do not depend on the number of workers
_SPLITS_PER_TASK = 10


def check_train_sizes(train_sizes, n_groups):
    """Return increasing training sizes, 2 to n_groups - 1 if None."""
    if train_sizes is None:
        if n_groups < 3:
            raise ValueError(
                f"{n_groups} groups given; a learning curve from 2 training groups up "
                "needs at least 3; give more groups, or train_sizes=[1]"
            )
        return np.arange(2, n_groups)
    sizes = np.unique(np.atleast_1d(train_sizes))
    if sizes.dtype.kind not in "iu" or sizes[0] < 1 or sizes[-1] >= n_groups:
        raise ValueError(
            f"train_sizes={np.asarray(train_sizes).tolist()} must be whole numbers "
            f"between 1 and {n_groups - 1}; {n_groups} groups are given, leave at "
            "least one to test"
        )
    return sizes


def draw_split(seed, size, split, holds, *, twin, least=1):
    """Draw the order of groups of one split: the first `size` train, the next its twin.

    Draws are thrown away in which fewer than `least` training groups hold a class, or
    none of the twin's does; `holds` is (n_groups, n_classes).
    """
    rng = np.random.default_rng([seed, size, split])
    for _ in range(_MAX_DRAWS):
        order = rng.permutation(len(holds))
        enough = holds[order[:size]].sum(axis=0).min() >= least
        if enough and (not twin or holds[order[size : 2 * size]].any(axis=0).all()):
            return order
    raise ValueError(
        f"no {size} training groups that hold every class"
        + (" twice" if least > 1 else "")
        + f" were found in {_MAX_DRAWS} draws; use larger train_sizes"
        + (" or pattern=None (which needs no second half)" if twin else "")
        + (" or prior_weight=None (which leaves no group out)" if least > 1 else "")
    )


def residual_freedom(run, size):
    """Return the fewest residual degrees of freedom of `size` training groups."""
    n_scans = int(np.sort(np.bincount(run.groups))[:size].sum())
    n_means = size - 1 if run.centered else 0  # the labels' means hold one
    return max(0, n_scans - len(run.classes) - n_means)


def default_train_sizes(run, n_left_out):
    """Return all training sizes that leave enough to estimate the noise."""
    sizes = check_train_sizes(None, len(run.group_names))
    freedom = np.array([residual_freedom(run, size) for size in sizes])
    inner = np.array([residual_freedom(run, size - n_left_out) for size in sizes])
    needed = 1
    if run.is_canonical:
        components = min(run.classifier.n_components, run.X.shape[1])
        needed = _PER_COMPONENT * components
    enough = (freedom >= needed) & (inner >= 1)
    if enough.any():
        return sizes[enough]
    warn(
        f"train_sizes=None: even {sizes[-1]} training groups leave only "
        f"{freedom[-1]} residual degrees of freedom, fewer than the {needed} that "
        "this classifier should have; the curve has this one size: give more groups, "
        "fewer n_components or coarser labels"
    )
    return sizes[-1:]


def train(run, members):
    """Fit a fresh classifier on the samples of the groups `members`."""
    rows = np.flatnonzero(np.isin(run.groups, members))
    model = clone(run.classifier)
    options = {"groups": run.groups[rows]} if run.takes_groups else {}
    with warnings.catch_warnings():
        # recorded split by split and reported once at the end of the curve
        warnings.filterwarnings("ignore", message="n_components=.* lowered")
        return model.fit(run.X[rows], run.classes[run.codes[rows]], **options)


def log_posterior(model, X):
    """Return natural logarithms of predicted probabilities; minus infinity for zero."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(X))
        return np.log(model.predict_proba(X))


def cross_validated_weight(run, members):
    """Choose the weight of the prior by leaving out one training group at a time."""
    ratios = []
    for member in members:
        others = members[members != member]
        rows = run.groups == member
        logs = log_posterior(train(run, others), run.X[rows])
        ratios.append(log_ratio(logs, run.codes[rows], run.priors))
    return best_prior_weight(np.exp(np.concatenate(ratios)))


def score_split(run, model, members, prior_weight):
    """Score the predictions for all groups but `members`, which trained the model."""
    rows = ~np.isin(run.groups, members)
    codes, priors = run.codes[rows], run.priors
    logs = log_posterior(model, run.X[rows])
    chosen = prior_weight == "cross-validated"
    weight = cross_validated_weight(run, members) if chosen else prior_weight or 0.0
    if weight > 0:
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(np.log1p(-weight) + logs, np.log(weight * priors))
    indicator = codes[:, None] == np.arange(len(priors))
    return {
        "information": np.mean(log_ratio(logs, codes, priors)) / np.log(2),
        "error_rate": _error_rate(logs, indicator),
        "baseline_error_rate": _error_rate(np.log(priors)[None], indicator),
        "prior_weight": weight,
        "probabilities": indicator.T.astype(np.float64) @ np.exp(logs),
        "counts": indicator.sum(axis=0),
    }


def _error_rate(scores, indicator):
    """Return the share of samples whose label is not on top; ties count in part."""
    best = scores.max(axis=1, keepdims=True)
    top = scores >= tie_floor(best, 1 + np.abs(best))
    hit = np.sum(indicator * top, axis=1) / top.sum(axis=1)
    return float(1 - hit.mean())


def evaluate_splits(run, sizes, chosen, *, z=False):
    """Return arrays (n_sizes, n_splits, ...) by name; with `z` of maps, not scores."""
    check_n_jobs(chosen.n_jobs)
    starts = range(0, chosen.n_splits, _SPLITS_PER_TASK)
    tasks = [
        (int(size), range(start, min(start + _SPLITS_PER_TASK, chosen.n_splits)))
        for size in sizes
        for start in starts
    ]
    how = {"prior_weight": chosen.prior_weight, "pattern": chosen.pattern, "z": z}
    done = Parallel(n_jobs=chosen.n_jobs)(
        delayed(_evaluate_task)(run, size, splits, **how) for size, splits in tasks
    )
    of_sizes = [done[i : i + len(starts)] for i in range(0, len(done), len(starts))]
    return {
        name: np.array([np.concatenate([task[name] for task in of]) for of in of_sizes])
        for name in done[0]
    }


def _evaluate_task(run, size, splits, *, prior_weight, pattern, z):
    """Evaluate a range of splits of one size, on one BLAS thread."""
    twin = pattern is not None and 2 * size <= len(run.group_names)
    # a training group left out must leave every class to the others
    least = 2 if prior_weight == "cross-validated" else 1
    rows, factors = [], []
    with threadpool_limits(1):
        for split in splits:
            order = draw_split(run.seed, size, split, run.holds, twin=twin, least=least)
            model = train(run, order[:size])
            row = {} if z else score_split(run, model, order[:size], prior_weight)
            used = float(model.n_components_) if run.is_canonical else np.nan
            rows.append(row | {"n_components": used})
            if twin:
                factors += _twin_factors(run, model, order, size, pattern)
        maps = _agreement(run, factors, pattern, z=z) if twin else {}
    unknown = {"reproducibility": np.full(len(splits), np.nan)}
    return {n: np.array([row[n] for row in rows]) for n in rows[0]} | unknown | maps


def _twin_factors(run, model, order, size, pattern):
    """Return the factors of the maps of a model and of its twin on disjoint groups."""
    members, others = order[:size], order[size : 2 * size]
    twin = train(run, others)
    first = pattern_factor(run, model, members, pattern)
    second = pattern_factor(run, twin, others, pattern)
    if pattern == "canonical":  # the sign of a direction is that of its class means
        agreement = np.sum(model.class_means_[:, :1] * twin.class_means_[:, :1])
        second = -second if agreement < 0 else second
    return [first, second]


def _agreement(run, factors, pattern, *, z):
    """Return the correlations of pairs of maps, and with `z` the sum of Z maps."""
    maps = feature_maps(run, factors, pattern)
    centered = maps - maps.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centered**2, axis=1, keepdims=True))
    varies = spread > 1e-12 * np.abs(maps).max(axis=1, keepdims=True)
    maps = centered / np.where(varies, spread, np.nan)
    first, second = maps[::2], maps[1::2]
    correlations = np.mean(first * second, axis=1)
    if not z:
        return {"reproducibility": correlations}
    noise = np.sqrt(np.maximum(1 - correlations, np.finfo(np.float64).eps))
    z_maps = (first + second) / (np.sqrt(2) * noise[:, None])
    return {"reproducibility": correlations, "z_sum": z_maps.sum(axis=0)[None]}
