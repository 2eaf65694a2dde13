"""Ridge regression of target vectors as batched margins and correlations."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import Batch, MarginKernel
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    residual_operators,
)
from neuroextrap.margins.classifiers._ridge import (
    InnerFolds,
    candidate_penalties,
    inner_fold_bytes,
    out_of_fold,
)
from neuroextrap.margins.running._checkpoint import array_hash

METRICS = ("cosine", "correlation", "euclidean")
"""How a decoded vector is compared with candidates."""


class FixedPenalties:
    """Regions whose penalties come from their samples."""

    def __init__(self, xs: Sequence[np.ndarray], design: Design, kernel: Any) -> None:
        self.design, self.n_regions = design, len(xs)
        self._groups = residual_operators(xs, design, shrinkage=kernel.shrinkage)
        self.dtype = np.result_type(*(group.dtype for group in self._groups))
        self._operators: dict[int, np.ndarray] = {}

    def decoded(self, labelings: Labelings, vectors: Any, name: str) -> np.ndarray:
        """Decode targets about training means, (n_regions, n_test, B, n_columns)."""
        n_columns, n_test = vectors.shape[1], len(self.design.test)
        few = labelings.n_together * n_columns <= n_test
        out = np.empty(
            (self.n_regions, n_test, n_columns * labelings.n_labelings), self.dtype
        )
        for number, group in enumerate(self._groups):
            flat = _flat(labelings, vectors, group.dtype, name)
            # a factor of C is smaller where features are few, and C more than it is
            # worth where columns are
            thin = group.factors and 2 * n_test > group.factors[0].shape[1]
            if few or thin:
                means = training_means(labelings, self.design, vectors, name)
                part = _few_decoded(group, self.design, flat)
                means = means.reshape(len(means), -1)[self.design.fold_of_test]
                part -= means.astype(part.dtype)
            else:
                part = self._centered(number) @ flat
            if len(part) == self.n_regions:
                out = part
            else:
                out[group.regions] = part
        return out.reshape(self.n_regions, n_test, -1, n_columns)

    def _centered(self, number: int) -> np.ndarray:
        """Return C minus the training means, (n_regions, n_test, n_samples)."""
        if number not in self._operators:
            group, design = self._groups[number], self.design
            operator = out_of_fold(group, design, group.dtype)
            for rows, (train, _) in zip(design.fold_slices, design.folds, strict=True):
                operator[:, rows, train] -= 1 / len(train)
            self._operators[number] = operator
        return self._operators[number]


class TargetMargins(MarginKernel):
    """Out-of-fold ridge regression of target vectors on a region's features.

    A label is the number of one of K candidates, the rows of ``targets`` (K,
    n_columns). Decoded vectors and candidates are taken about the mean target of the
    fold's training samples; the margin of a candidate is its ``metric`` with the
    decoded vector: cosine, correlation over columns, or minus the squared distance.

    Batches have the correlation of decoded and true targets over test points, averaged
    over columns, and margins: what is ``tested`` ("correlation" or "wins") of all
    labelings, the rest of the observed one. Where `shrinkage` is "inner_folds" or
    several numbers, every fold chooses its penalty by leaving out one of the ``units``
    (n_samples,) after the other.
    """

    name = "targets"
    shrinks = True
    marginal = True
    correlates = True

    def __init__(
        self,
        targets: np.ndarray,
        *,
        metric: str = "cosine",
        shrinkage: Any = "auto",
        tested: str = "wins",
        units: np.ndarray | None = None,
    ) -> None:
        self.targets = targets
        self.metric, self.shrinkage = metric, shrinkage
        self.tested, self.units = tested, units
        self.candidate_penalties = candidate_penalties(shrinkage)
        if self.candidate_penalties:
            self.most_regions = 4
        # of what is decoded, or of margins, which may be those of one labeling only
        share = 8 if tested == "correlation" else 1
        self.n_outputs = max(targets.shape[1], len(targets) // share)
        self.indicator_bytes = 12 * max(1, -(-targets.shape[1] // len(targets)))
        self._coordinates = _coordinates(targets, metric)

    def __repr__(self) -> str:
        """Show the options and a hash of the targets; part of a run's identity."""
        units = None if self.units is None else array_hash(self.units)
        return (
            f"TargetMargins({array_hash(self.targets)}, metric={self.metric!r}, "
            f"shrinkage={self.candidate_penalties or self.shrinkage!r}, "
            f"tested={self.tested!r}, units={units})"
        )

    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        decoders = InnerFolds if self.candidate_penalties else FixedPenalties
        return decoders(xs, design, self)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if self.candidate_penalties:
            n_penalties = len(self.candidate_penalties)
            return inner_fold_bytes(n_penalties, n_regions, design)
        return super().workspace(n_features, n_regions, design)

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, vectors = state.design, self._coordinates
        n_columns = state.n_regions * labelings.n_labelings
        margins = np.empty((len(design.test), len(vectors), n_columns), state.dtype)
        name = "targets" if vectors is self.targets else "coordinates"
        decoded = state.decoded(labelings, vectors, name)
        weights, constants = labelings.keep(
            ("rules", decoded.dtype),
            lambda: _rules(vectors, labelings, design, self.metric, decoded.dtype),
        )
        for rows, of_fold, last in zip(
            design.fold_slices, weights, constants, strict=True
        ):
            scores = decoded[:, rows].swapaxes(1, 2) @ of_fold
            scores -= last[:, np.newaxis]
            of_points = scores.transpose(2, 3, 0, 1)
            margins[rows] = of_points.reshape(*of_points.shape[:2], n_columns)
        return margins

    def batches(self, xs: Sequence[np.ndarray], plan: Any) -> Iterator[Batch]:
        state, first = self.prepare(xs, plan.design), 0
        by_correlation = self.tested == "correlation"
        for labelings in plan.batches():
            observed = _first(labelings) if labelings.n_labelings > 1 else labelings
            correlation = margins = None
            if first == 0 or by_correlation:
                every = labelings if by_correlation else observed
                correlation = self.correlations(state, every)
            if first == 0 or not by_correlation:
                every = observed if by_correlation else labelings
                margins = self.margins(state, every)
            yield Batch(margins, first, labelings.n_labelings, correlation)
            first += labelings.n_labelings

    def correlations(self, state: Any, labelings: Labelings) -> np.ndarray:
        """Correlate decoded with true targets, (n_regions, B); 0 without variance."""
        design = state.design
        decoded = state.decoded(labelings, self.targets, "targets")
        true = labelings.keep(
            "true",
            lambda: _true(labelings, design, self.targets).astype(decoded.dtype),
        )
        n_regions, n_test, B, n_columns = decoded.shape
        decoded = decoded.reshape(n_regions, n_test, -1)
        products = np.einsum("sic,ic->sc", decoded, true)
        squares = np.einsum("sic,sic->sc", decoded, decoded)
        squares -= np.square(decoded.sum(axis=1)) / n_test
        varies = squares > 0
        values = np.where(varies, products, 0) / np.sqrt(np.where(varies, squares, 1))
        return values.reshape(n_regions, B, n_columns).mean(axis=2, dtype=float)

    def decoded(self, x: np.ndarray, plan: Any) -> np.ndarray:
        """Return what is decoded from a region, (n_test, n_columns), as targets are."""
        design, labelings = plan.design, _first(next(iter(plan.batches())))
        means = training_means(labelings, design, self.targets, "targets")
        state = self.prepare([x], design)
        values = state.decoded(labelings, self.targets, "targets")[0]
        return (values + means[design.fold_of_test])[:, 0]

    def chosen_shrinkage(
        self, x: np.ndarray, plan: Any, design: Design | None = None
    ) -> np.ndarray:
        """Return the multiples that the folds of a plan, or a `design`, choose."""
        observed = _first(next(iter(plan.batches())))
        folds = InnerFolds([x], design or plan.design, self)
        return np.array(self.candidate_penalties)[folds.chosen(observed)[0, :, 0]]

    def shrinkage_of_all(self, x: np.ndarray, plan: Any) -> Any:
        """Return the shrinkage of a fit of all samples of a region."""
        if not self.candidate_penalties:
            return self.shrinkage
        everything = np.arange(len(x)), np.arange(0)
        design = Design((everything,), len(x), plan.design.n_classes)
        return float(self.chosen_shrinkage(x, plan, design)[0])

    def margins_of_decoded(self, decoded: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the scores (n, K) of vectors decoded by a fit of all samples."""
        scored = self.targets
        if self.metric == "correlation":
            scored, decoded = (
                a - a.mean(axis=1, keepdims=True) for a in (scored, decoded)
            )
        mean = scored[codes].mean(axis=0)
        (weights,), constants = _rule(scored, mean[np.newaxis], self.metric)
        return (decoded - mean) @ weights.T - constants


def _first(labelings: Labelings) -> Labelings:
    """Return the first labeling by itself, kept as what is made of it is."""
    return labelings.keep("first", lambda: labelings.some(np.arange(1)))


def _coordinates(targets: np.ndarray, metric: str) -> np.ndarray:
    """Return vectors with the same scores, at most as many columns as rows."""
    if metric == "correlation":
        targets = targets - targets.mean(axis=1, keepdims=True)
    if targets.shape[1] <= len(targets):
        return targets
    left, values, _ = np.linalg.svd(targets, full_matrices=False)
    return left * values


def _few_decoded(group: RegionOperators, design: Design, flat: Any) -> np.ndarray:
    """Return predictions (n_regions, n_test, n_columns) of few columns, without C."""
    residuals = group.residuals(flat[np.newaxis])[:, 0]
    out = np.empty((len(residuals), len(design.test), flat.shape[1]), group.dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        errors = group.inverses[fold][:, rows] @ residuals[:, held]
        out[:, design.fold_slices[fold]] = flat[held][rows] - errors
    return out


def _flat(
    labelings: Labelings, vectors: np.ndarray, dtype: Any, name: str
) -> np.ndarray:
    """Return the vectors of all samples, (n_samples, B * n_columns), columns last."""
    return labelings.keep(
        (name, np.dtype(dtype)),
        lambda: vectors.astype(dtype)[labelings.codes.T].reshape(
            labelings.codes.shape[1], -1
        ),
    )


def training_means(
    labelings: Labelings, design: Design, vectors: np.ndarray, name: str
) -> np.ndarray:
    """Return the mean vectors of training samples, (n_folds, B, n_columns)."""

    def make() -> np.ndarray:
        counts = labelings.training_counts(design).astype(float)
        sums = np.einsum("fkb,kc->fbc", counts, vectors, optimize=True)
        return sums / counts.sum(axis=1)[..., np.newaxis]

    return labelings.keep(("means", name), make)


def _true(labelings: Labelings, design: Design, targets: np.ndarray) -> np.ndarray:
    """Return unit targets about training means, (n_test, B * n_columns)."""
    true = _flat(labelings, targets, float, "exact targets")[design.test]
    means = training_means(labelings, design, targets, "targets")
    true -= means.reshape(len(means), -1)[design.fold_of_test]
    true -= true.mean(axis=0)
    length = np.sqrt(np.square(true).sum(axis=0))
    return true / np.where(length > 1e-12 * np.abs(targets).max(), length, np.inf)


def _rules(
    vectors: np.ndarray, labelings: Labelings, design: Design, metric: str, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (F, 1 or B, n_columns, K) and constants (F, 1 or B, K).

    One where all labelings have the same training means; scores are vector @ weights -
    constants.
    """
    counts = labelings.training_counts(design)
    means = training_means(labelings, design, vectors, "coordinates")
    if (counts == counts[..., :1]).all():
        means = means[:, :1]
    rules = [_rule(vectors, of_fold, metric) for of_fold in means]
    weights = np.array([weights.swapaxes(1, 2) for weights, _ in rules], dtype)
    return weights, np.array([constants for _, constants in rules], dtype)


def _rule(
    vectors: np.ndarray, means: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (B, K, n_columns) and constants (B, K) about B means."""
    about = vectors - means[:, np.newaxis]
    squares = np.square(about).sum(axis=2)
    if metric == "euclidean":
        return 2 * about, squares
    lengths = np.sqrt(np.where(squares > 0, squares, np.inf))
    return about / lengths[..., np.newaxis], np.zeros_like(squares)
