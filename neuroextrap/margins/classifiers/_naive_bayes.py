"""Gaussian naive Bayes as batched margins: sums over features."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import digamma

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._kernel import AdditiveKernel
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._linear import (
    ClassSums,
    Linear,
    LinearWhereFew,
    fill_linear,
)
from neuroextrap.margins.algebra._operators import (
    check_priors,
    check_regions,
    checked_counts,
)
from neuroextrap.margins.classifiers._nearest_centroid import training_means

REGION_FEATURES = 256  # features handled together for many labelings
LABELINGS = 64  # labelings handled together
_BATCH_SIZE = 2**18  # numbers in the indicators of a batch of several labelings
# features and their squares: class sums, test points (n_test, 2 p), floors of variances
_Tall = tuple[ClassSums, np.ndarray, np.ndarray]


class GaussianNBMargins(LinearWhereFew, AdditiveKernel):
    """Out-of-fold log densities of independent Gaussian features.

    The margin of class l is the sum over features of ``-((x - mean_l)**2 / var_l + log
    var_l) / 2``, plus the log prior of the class once; means and variances (divided by
    the count) are those of its training samples. A constant feature adds nothing. No
    class variance falls below ``variance_floor`` times the feature's variance over all
    samples; with 0, a feature that is constant within a class is an error. The prior of
    a class is 1 / K, and densities are leveled so that a class does not gain by the
    less noise of its mean and variance, on average over normal samples; with
    ``priors="frequency"`` they are not, and the prior is the share of the class among
    the training samples.

    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning", section
    6.6.3. Huang, Tong & Zhao 2010, "Bias-corrected diagonal discriminant rules for
    high-dimensional classification", section 2.
    """

    name = "gaussian_nb"
    marginal = True
    indicator_bytes = 8
    of_a_point, columns = 8, 2  # samples, and their squares

    def __init__(self, *, variance_floor: float = 1e-3, priors: str = "equal") -> None:
        self.variance_floor = variance_floor
        self.priors = priors

    def margins_of_folds(
        self, X: Any, codes: Any, design: Design, folds: Any
    ) -> Iterator[np.ndarray]:
        self._check()
        classes = _members(codes, design)[0]
        x, floor = self._features(X, design)
        x = np.ascontiguousarray(x.T)
        single, floor = x.astype(np.float32), floor[:, np.newaxis]
        varies = x.any(axis=1, keepdims=True)
        means = training_means(x, classes, design)
        mean_squares = training_means(x * x, classes, design)
        for some in folds:
            part = design.some_folds(some)
            shape = len(x), len(part.test), design.n_classes
            margins = np.empty(shape, dtype=np.float32)
            leveling = zip(*self._leveling(_members(codes, part)[1]), strict=True)
            for (_, test), rows in zip(part.folds, part.fold_slices, strict=True):
                scale, gain = next(leveling)
                mean = next(means)
                variance = next(mean_squares) - mean * mean
                np.maximum(variance, floor, out=variance)
                _check_variance(variance)
                variance *= np.where(varies, scale, 1.0)
                _fill_log_density(single[:, test], mean, variance, margins[:, rows])
                if gain.any():
                    margins[:, rows] += (varies * gain)[:, np.newaxis]
            yield margins

    def constant(self, codes: Any, design: Design) -> np.ndarray:
        self._check()
        _, counts = _members(codes, design)
        return self._log_priors(counts)[design.fold_of_test].astype(np.float32)

    def prepare(self, xs: Any, design: Design) -> Any:
        self._check()
        check_regions(xs, design)
        xs = [x if np.ptp(x, axis=0).all() else x[:, np.ptp(x, axis=0) > 0] for x in xs]
        tall = {
            place: self._tall(x, design)
            for place, x in enumerate(xs)
            if path_of(self.name, x.shape[1], design) == "linear"
        }
        return design, xs, tall

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, regions, tall = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, len(regions), B))
        priors, (scales, gains) = self._log_priors(counts), self._leveling(counts)
        constants = [priors + x.shape[1] * gains for x in regions]
        for place, region in tall.items():
            linear = _linear(region, labelings, counts, scales, constants[place])
            fill_linear(margins[:, :, place], linear, design)
        others = [place for place in range(len(regions)) if place not in tall]
        if others:
            members = labelings.one_hot(np.float64)
        for start in range(0, B if others else 0, LABELINGS):
            batch = slice(start, start + LABELINGS)
            flat = members[:, :, batch].reshape(len(members), -1)
            flat_counts = counts[:, :, batch].reshape(len(counts), -1)
            flat_scales = scales[:, :, batch].reshape(len(counts), -1)
            flats = flat, flat_counts, flat_scales
            for place in others:
                scores = self._region_scores(regions[place], *flats, design)
                of_points = constants[place][design.fold_of_test, :, batch]
                scores = scores.reshape(len(scores), K, -1) + of_points
                margins[:, :, place, batch] = scores
        return margins.reshape(len(design.test), K, -1)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if path_of(self.name, n_features, design) == "linear":
            return super().workspace(n_features, n_regions, design)
        n = design.n_samples
        features = 4 * n * min(n_features, REGION_FEATURES)
        return 8 * (features + 3 * max(n * design.n_classes, _BATCH_SIZE))

    def _region_scores(
        self, x: Any, members: Any, counts: Any, scales: Any, design: Design
    ) -> np.ndarray:
        """Sum log densities over a region's features, shape (n_test, c)."""
        scores = np.zeros((len(design.test), members.shape[1]))
        for start in range(0, x.shape[1], REGION_FEATURES):
            part, floor = self._features(x[:, start : start + REGION_FEATURES], design)
            statistics = _statistics(part, floor, members, counts, scales, design)
            for fold, (mean, variance) in enumerate(statistics):
                test = part[design.folds[fold][1]]
                rows = design.fold_slices[fold]
                scores[rows] += _region_log_density(test, mean, variance)
        return scores

    def _tall(self, x: Any, design: Design) -> _Tall:
        """Prepare a region of few features beside many samples."""
        x, floor = self._features(x, design)
        both = np.concatenate([x, x * x], axis=1)
        sums = ClassSums(both, design, n_squared=x.shape[1])
        return sums, both[as_slice(design.test)], floor

    def _check(self) -> None:
        """Raise unless the options are in range."""
        if not 0 <= self.variance_floor < np.inf:
            raise ValueError(
                f"variance_floor={self.variance_floor!r} must be finite and >= 0; use "
                "the default 1e-3"
            )
        check_priors(self.priors)

    def _features(self, x: Any, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """Center features and return their least class variance, (n_features,)."""
        x = np.asarray(x, dtype=float)
        rows = slice(None) if design.unlabeled is None else design.unlabeled
        x = x - x[rows].mean(axis=0)
        variance = np.square(x[rows]).mean(axis=0)
        # a constant feature gets variance 1 in every class: log density 0
        return x, np.where(variance > 0, self.variance_floor * variance, 1.0)

    def _leveling(self, counts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return by what variances are multiplied, and what is added per feature.

        So that inverse variances and log densities of new samples are those of the
        rarest class, on average over normal samples; fewer than four count as four.
        """
        if self.priors == "frequency":
            return np.ones_like(counts), np.zeros_like(counts)
        n = np.maximum(counts, 4.0)
        inverse = n / (n - 3.0)
        largest = inverse.max(axis=1, keepdims=True)
        level = largest * (1.0 + 1.0 / n) + digamma((n - 1.0) / 2.0) + np.log(2.0 / n)
        scales = inverse / largest
        gains = level - level.max(axis=1, keepdims=True) + np.log(scales)
        return scales, 0.5 * gains

    def _log_priors(self, counts: Any) -> np.ndarray:
        """Log prior of each class, the shape of `counts` (F, K, ...)."""
        if self.priors == "equal":
            return np.full(counts.shape, np.log(1.0 / counts.shape[1]))
        return np.log(counts / counts.sum(axis=1, keepdims=True))


def _linear(
    region: _Tall, labelings: Any, counts: Any, scales: Any, constants: Any
) -> Linear:
    """Return log posteriors, which are linear in points and squares."""
    sums, points, floor = region
    moments = sums.of(labelings)  # (F, B, K, 2 p)
    moments /= counts.swapaxes(1, 2)[..., None]
    mean, variance = np.split(moments, 2, axis=3)
    variance -= mean * mean
    np.maximum(variance, floor, out=variance)
    _check_variance(variance)
    variance *= scales.swapaxes(1, 2)[..., np.newaxis]
    level = np.log(variance).sum(axis=3)
    precision = np.divide(1.0, variance, out=variance)
    level += np.einsum("fbkp,fbkp,fbkp->fbk", mean, mean, precision)
    mean *= precision
    precision *= -0.5
    offsets = constants.swapaxes(1, 2) - 0.5 * level
    return Linear(points, moments, offsets)


def _check_variance(variance: np.ndarray) -> None:
    """Raise unless every feature varies within every class."""
    if not variance.min() > 0:
        raise ValueError(
            "a feature does not vary within a class of training samples; use "
            "variance_floor > 0"
        )


def _members(codes: Any, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Return indicators (n_samples, K) and training counts (F, K) of one labeling."""
    labelings = Labelings(np.asarray(codes)[None], design.n_classes)
    counts = checked_counts(design, labelings)
    return labelings.one_hot(np.float64)[:, :, 0], counts[:, :, 0]


def _statistics(
    x: Any, floor: Any, members: Any, counts: Any, scales: Any, design: Design
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield means and variances (p, c) of classes (times labelings), by fold."""
    squares = x * x
    sums, square_sums = x.T @ members, squares.T @ members
    for fold, (held, _) in enumerate(design.fold_views):
        mean = (sums - x[held].T @ members[held]) / counts[fold]
        variance = (square_sums - squares[held].T @ members[held]) / counts[fold]
        variance -= mean * mean
        np.maximum(variance, floor[:, None], out=variance)
        _check_variance(variance)
        variance *= scales[fold]
        yield mean, variance


def _fill_log_density(test: Any, mean: Any, variance: Any, out: Any) -> None:
    """Write log densities of each feature; test (p, m), the others (p, K)."""
    precision = (-0.5 / variance).astype(np.float32)
    level = (-0.5 * np.log(variance)).astype(np.float32)
    np.subtract(test[..., np.newaxis], mean.astype(np.float32)[:, np.newaxis], out=out)
    out *= out
    out *= precision[:, np.newaxis]
    out += level[:, np.newaxis]


def _region_log_density(test: Any, mean: Any, variance: Any) -> np.ndarray:
    """Log density summed over features: test (m, p), the others (p, c) -> (m, c)."""
    level = np.log(variance).sum(axis=0)
    precision = np.divide(1.0, variance, out=variance)
    weighted = mean * precision
    level += np.einsum("pc,pc->c", mean, weighted)
    scores = 2.0 * (test @ weighted) - (test * test) @ precision
    return 0.5 * (scores - level)
