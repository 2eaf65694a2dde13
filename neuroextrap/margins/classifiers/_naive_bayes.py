"""Gaussian naive Bayes as batched margins: sums over features."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import digamma

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._kernel import AdditiveKernel
from neuroextrap.margins.algebra._linear import (
    Linear,
    LinearWhereFew,
    class_sums,
    empty_linear,
    fill_linear,
)
from neuroextrap.margins.algebra._operators import (
    check_priors,
    check_regions,
    checked_counts,
)
from neuroextrap.margins.classifiers._nearest_centroid import training_means
from neuroextrap.stats._validation import batches

_FEATURES = 256  # of a region, handled together
_CONSTANT = (
    "a feature does not vary within a class of training samples; use variance_floor > 0"
)


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

    def __init__(self, *, variance_floor: float = 1e-3, priors: str = "equal") -> None:
        self.variance_floor = variance_floor
        self.priors = priors

    def margins_of_folds(
        self, X: Any, codes: Any, design: Design, folds: Any
    ) -> Iterator[np.ndarray]:
        from neuroextrap.margins.compiled._features import fill_density_fold

        self._check()
        classes = np.eye(design.n_classes)[codes]
        x, floor = self._features(X, design)
        x = np.ascontiguousarray(x.T)
        single = x.astype(np.float32)
        least = np.stack([floor, x.any(axis=1)], axis=1)
        means = training_means(x, classes, design)
        mean_squares = training_means(x * x, classes, design)
        for some in folds:
            part = design.some_folds(some)
            shape = len(x), len(part.test), design.n_classes
            margins = np.empty(shape, dtype=np.float32)
            leveling = np.stack(self._leveling(_counts(codes, part)), axis=1)
            for (_, test), rows, level in zip(
                part.folds, part.fold_slices, leveling, strict=True
            ):
                mean = np.ascontiguousarray(next(means))
                square = np.ascontiguousarray(next(mean_squares))
                points = np.ascontiguousarray(single[:, test])
                given = mean, square, least, level, rows.start
                if not fill_density_fold(points, *given, margins):
                    raise ValueError(_CONSTANT)
            yield margins

    def constant(self, codes: Any, design: Design) -> np.ndarray:
        self._check()
        priors = self._log_priors(_counts(codes, design))
        return priors[design.fold_of_test].astype(np.float32)

    def prepare(self, xs: Any, design: Design) -> Any:
        self._check()
        check_regions(xs, design)
        varying = [np.ptp(x, axis=0) > 0 for x in xs]
        pairs = zip(xs, varying, strict=True)
        return design, [self._parts(x[:, some], design) for x, some in pairs]

    def linear(self, state: Any) -> list[Linear]:
        return [part for (part,) in state[1]]

    def keeps_margins(self, n_features: int, plan: Any) -> bool:
        return plan.pairing or n_features > _FEATURES

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, regions = state
        margins = empty_linear(len(regions), labelings, design, float)
        for place, parts in enumerate(regions):
            fill_linear(margins[:, :, place], parts, labelings, design)
        return margins.reshape(*margins.shape[:2], -1)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        of_part = super().workspace(2 * min(n_features, _FEATURES), 1, design)
        return of_part + 16 * n_regions * design.n_samples * n_features

    def _parts(self, x: np.ndarray, design: Design) -> list[Linear]:
        """Return what makes margins of features with their squares, part by part."""
        parts = []
        for part in batches(max(1, x.shape[1]), _FEATURES):
            features, floor = self._features(x[:, part], design)
            both = np.concatenate([features, features**2], axis=1)
            once = 1.0 if part.start == 0 else 0.0  # priors, with the first part
            rules = partial(self._rules, both, floor, once, design)
            parts.append(Linear(both, rules, as_slice(design.test)))
        return parts

    def _rules(
        self, both: Any, floor: Any, prior: float, design: Design, labelings: Labelings
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and offsets of densities, linear in features and squares."""
        from neuroextrap.margins.compiled._features import fill_densities

        counts = checked_counts(design, labelings)
        moments = class_sums(both, design, labelings)  # (F, B, K, 2 p)
        scales, gains = self._leveling(counts)
        added = len(floor) * gains + prior * self._log_priors(counts)
        by_labeling = counts, scales, added
        counts, scales, offsets = (a.transpose(2, 0, 1).copy() for a in by_labeling)
        sums = moments.swapaxes(0, 1).reshape(offsets.size, -1)
        n, scale, level = (a.reshape(-1) for a in (counts, scales, offsets))
        if not fill_densities(sums, n, scale, floor, level):
            raise ValueError(_CONSTANT)
        return moments, offsets.swapaxes(0, 1)

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


def _counts(codes: Any, design: Design) -> np.ndarray:
    """Return the training counts (F, K) of one labeling."""
    labelings = Labelings(np.asarray(codes)[np.newaxis], design.n_classes)
    return checked_counts(design, labelings)[:, :, 0]
