"""Classifiers trained on all samples of a region, for samples that are new."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginSource
from neuroextrap.margins.algebra._grams import ridge_penalty

LINEAR = ("nearest_centroid", "ridge", "lda")
"""Names of the classifiers that are linear."""


class LinearRule(NamedTuple):
    """Scores ``x @ weights + offsets``: weights (n_features, K), offsets (K,)."""

    weights: np.ndarray
    offsets: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of samples (n, n_features), shape (n, K)."""
        return x @ self.weights + self.offsets


def linear_rule(
    kernel: MarginSource, x: np.ndarray, codes: np.ndarray
) -> LinearRule | None:
    """Train a linear classifier, None if it is another, on samples (n, n_features).

    The scores are its margins, up to a term shared by all classes.
    """
    kind, x = kernel.name, np.asarray(x, dtype=float)
    if kind not in LINEAR:
        return None
    counts = np.bincount(codes)
    n, n_classes = len(x), len(counts)
    means = np.stack([x[codes == c].mean(axis=0) for c in range(n_classes)])
    about, rest = x - x.mean(axis=0), x - means[codes]
    apart = (means - means.mean(axis=0)).T
    noise = 1.0 / counts - 1.0 / counts.min()
    if kind == "nearest_centroid":
        cost = x.var(axis=0, ddof=1).sum()
        return LinearRule(2 * means.T, cost * noise - np.square(means).sum(axis=1))
    penalty = ridge_penalty(x, shrinkage=getattr(kernel, "shrinkage", "auto"))
    explained = _explained(about, penalty)
    if kind == "ridge":
        share = n / n_classes
        weights = share * _solve(about, penalty, apart)
        offsets = share * explained / n_classes * noise - means.mean(axis=0) @ weights
        return LinearRule(weights, offsets)
    weights = _solve(rest, penalty, apart)
    offsets = -0.5 * (apart * weights).sum(axis=0) - means.mean(axis=0) @ weights
    if getattr(kernel, "priors", "equal") == "frequency":
        return LinearRule(weights, offsets + np.log(counts) / (n - n_classes))
    return LinearRule(weights, offsets + 0.5 * explained / (1 - explained) * noise)


def regression_rule(x: np.ndarray, targets: np.ndarray, shrinkage: Any) -> LinearRule:
    """Fit ridge regression of targets (n, n_columns), with a free intercept."""
    x = np.asarray(x, dtype=float)
    location, mean = x.mean(axis=0), targets.mean(axis=0)
    about = x - location
    penalty = ridge_penalty(x, shrinkage=shrinkage)
    weights = _solve(about, penalty, about.T @ (targets - mean))
    return LinearRule(weights, mean - location @ weights)


def margins_of_new(
    kernel: Any, x: np.ndarray, codes: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """Return the margins (n_new, K) of new samples, none of which affects another's."""
    rule = linear_rule(kernel, x, codes)
    if rule is not None:
        return rule.scores(np.asarray(new, dtype=float))
    n, n_new = len(x), len(new)
    fold = np.arange(n), np.arange(n, n + n_new)
    design = Design((fold,), n + n_new, int(codes.max()) + 1, unlabeled=fold[0])
    labels = np.concatenate([codes, np.zeros(n_new, dtype=codes.dtype)])
    labelings = Labelings(labels[np.newaxis], design.n_classes)
    state = kernel.prepare([np.concatenate([x, new])], design)
    return np.asarray(kernel.margins(state, labelings)[:, :, 0])


def _solve(x: np.ndarray, penalty: float, b: np.ndarray) -> np.ndarray:
    """Return (x'x + penalty I)^-1 b, by the smaller of x'x and xx'."""
    n, p = x.shape
    if p <= n or not penalty:
        return np.linalg.solve(x.T @ x + penalty * np.eye(p), b)
    inner = np.linalg.solve(x @ x.T + penalty * np.eye(n), x @ b)
    return (b - x.T @ inner) / penalty


def _explained(x: np.ndarray, penalty: float) -> float:
    """Return the trace of the smoother of centered samples over their number - 1."""
    values = np.linalg.svd(x, compute_uv=False) ** 2
    values = values[values > 1e-12 * values[0]]
    return float((values / (values + penalty)).sum() / (len(x) - 1))
