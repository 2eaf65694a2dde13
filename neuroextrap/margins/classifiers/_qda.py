"""Quadratic discriminant analysis as batched margins, refitted per labeling."""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.algebra._grams import (
    MAX_INTENSITY,
    centered_gram,
    check_shrinkage,
    gram_of,
    gram_penalties,
    ledoit_wolf_intensity,
)
from neuroextrap.margins.algebra._operators import (
    check_priors,
    check_regions,
    checked_counts,
)

MIN_INTENSITY = 1e-4
LABELINGS = 32  # labelings handled together; changes no result


class QDAMargins(MarginKernel):
    """Out-of-fold quadratic discriminant analysis with shrunk class covariances.

    With S_l the covariance of class l's training samples (divided by their count), mu
    the mean variance of a feature over all samples and delta the intensity, the class
    covariance is ``(1 - delta) S_l + delta mu I`` and the margin its Gaussian log
    density without the constant. ``shrinkage="auto"`` is the Ledoit-Wolf intensity of
    the region's total scatter times the number of classes, between 1e-4 and 0.999; a
    float s > 0 is delta = s / (1 + s). With equal priors, a class of n training samples
    loses what the less noise of its mean gains, on average over all labelings: half of
    1 / n_min - 1 / n times the trace of its covariance, divided by the shrunk one.
    ``priors="frequency"`` adds the log share of the class.

    Friedman 1989, "Regularized discriminant analysis", eqs. 5 and 18.
    """

    name = "qda"
    indicator_bytes = 0
    shrinks = True
    #: many small steps hold the interpreter, so threads would wait for one another
    prefer = "processes"

    def __init__(self, *, shrinkage: Any = "auto", priors: str = "equal") -> None:
        self.shrinkage = shrinkage
        self.priors = priors

    def prepare(self, xs: Any, design: Design) -> Any:
        check_priors(self.priors)
        check_regions(xs, design)
        regions = []
        for x in xs:
            gram = centered_gram(x)
            intensity, variance = qda_shrinkage(
                gram_of(gram, design.unlabeled),
                x.shape[1],
                design.n_classes,
                self.shrinkage,
            )
            regions.append((gram, x.shape[1], intensity, variance))
        return design, regions

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, regions = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, len(regions), B))
        gains = 1.0 / counts.min(axis=1, keepdims=True) - 1.0 / counts
        gains *= self.priors == "equal"
        for start in range(0, B, LABELINGS):
            batch = slice(start, start + LABELINGS)
            for fold, (train, test) in enumerate(design.folds):
                rows = design.fold_slices[fold]
                for label in range(K):
                    members = _members(labelings.codes[batch], train, label)
                    gain = gains[fold, label, batch]
                    for s, region in enumerate(regions):
                        scores = _log_density(region, members, test, gain)
                        margins[rows, label, s, batch] = scores.T
        if self.priors == "frequency":
            shares = counts / counts.sum(axis=1, keepdims=True)
            margins += np.log(shares)[design.fold_of_test][:, :, None]
        return margins.reshape(len(design.test), K, -1)


def qda_shrinkage(
    gram: np.ndarray, n_features: int, n_classes: int, shrinkage: Any
) -> tuple[float, float]:
    """Return the intensity delta and the target variance mu of a region."""
    check_shrinkage(shrinkage)
    (scatter,) = gram_penalties(gram[np.newaxis], np.array([n_features]), 1.0)
    variance = scatter / len(gram)
    if shrinkage == "auto":
        intensity = n_classes * ledoit_wolf_intensity(gram, n_features)
        return float(np.clip(intensity, MIN_INTENSITY, MAX_INTENSITY)), variance
    if shrinkage == 0:
        raise ValueError(
            'shrinkage=0 must be > 0 for quadratic discriminants; use "auto" or a '
            "positive number"
        )
    return shrinkage / (1.0 + shrinkage), variance


def _members(
    codes: np.ndarray, train: np.ndarray, label: int
) -> tuple[np.ndarray, np.ndarray]:
    """Training samples of a class and weights (0: padding), both (B, d)."""
    inside = codes[:, train] == label
    first = np.argsort(~inside, axis=1, kind="stable")
    first = first[:, : inside.sum(axis=1).max()]
    weights = np.take_along_axis(inside, first, axis=1).astype(float)
    return np.asarray(train)[first], weights


def _log_density(
    region: tuple, members: tuple, test: np.ndarray, gain: np.ndarray
) -> np.ndarray:
    """Log density of test points under one class, (B, n_test), leveled by ``gain``."""
    gram, n_features, intensity, variance = region
    samples, weights = members
    ridge = intensity * variance
    counts = weights.sum(axis=1)
    scale = (1.0 - intensity) / (ridge * counts)[:, None, None]

    # inner products with the class mean taken off: within the class, and with tests
    within = gram[samples[:, :, None], samples[:, None, :]]
    cross = gram[samples[:, :, None], test]
    shares = (weights / counts[:, None])[:, :, None]
    to_mean = within @ shares  # with the class mean, (B, d, 1)
    mean_norm = shares.swapaxes(1, 2) @ to_mean  # (B, 1, 1)
    tests = shares.swapaxes(1, 2) @ cross  # (B, 1, m)
    distances = np.diagonal(gram)[test] - 2.0 * tests[:, 0] + mean_norm[:, 0]
    within += mean_norm - to_mean - to_mean.swapaxes(1, 2)
    within *= weights[:, :, None] * weights[:, None, :]
    cross += mean_norm - to_mean - tests
    cross *= weights[:, :, None]

    # (ridge I + a A'A)^-1 and its determinant from d x d matrices
    system = np.eye(samples.shape[1]) + scale * within
    explained = (cross * np.linalg.solve(system, cross)).sum(axis=1)
    quadratic = (distances - scale[:, 0] * explained) / ridge
    log_determinant = np.linalg.slogdet(system)[1] + n_features * np.log(ridge)
    if gain.any():
        left = system.shape[1] - np.trace(np.linalg.inv(system), axis1=1, axis2=2)
        gain = gain * left / (ridge * scale[:, 0, 0] * np.maximum(counts - 1.0, 1.0))
    return -0.5 * (quadratic + (log_determinant + gain)[:, None])
