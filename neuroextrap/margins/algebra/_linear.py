"""Many samples, few features: margins that are linear in the test points of a region.

A labeling enters through the sums of each class only, the held-out samples' sums taken
off those of all; what is inverted has the size of the features.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import Counts, MarginKernel
from neuroextrap.margins._paths import path_of
from neuroextrap.margins._wins import NAN_MARGINS, count_type
from neuroextrap.stats._validation import batches

_BLOCK_SIZE = 2**17  # margins, or weights, made together
_IN_CACHE = 2**15  # margins


class Linear(NamedTuple):
    """Margins of test points: ``rows`` of ``samples`` (n, p), in their precision.

    ``rules`` make weights (F, B, K, p) and offsets (F, B, K) of labelings. Rows are
    taken when margins are made: there may be many times as many as samples.
    """

    samples: np.ndarray
    rules: Callable[[Labelings], tuple[np.ndarray, np.ndarray]]
    rows: slice | np.ndarray = slice(None)


def sorted_samples(labelings: Labelings) -> Any:
    """Return the samples of every labeling by class, for compiled sums."""
    from neuroextrap.margins.compiled._class_sums import Sorted

    every = np.arange(labelings.codes.shape[1])
    return labelings.keep("sorted", lambda: Sorted(*labelings.sorted_by_class(every)))


def class_sums(
    x: np.ndarray, design: Design, labelings: Labelings, means: Any = 0.0
) -> np.ndarray:
    """Sum training samples of x (n_samples, p) by fold and class, (F, B, K, p).

    About ``means`` of folds (F, p) or a number.
    """
    from neuroextrap.margins.compiled._class_sums import fill_training_sums

    shape = labelings.n_labelings, len(design.folds), labelings.n_classes, x.shape[1]
    sums, means = np.empty(shape), np.broadcast_to(means, (shape[1], shape[3]))
    held, edges = design.flat_folds[:2]
    given = np.ascontiguousarray(x), means.copy(), labelings.codes
    fill_training_sums(*given, held, edges, sums)
    return sums.swapaxes(0, 1)


@dataclass(frozen=True)
class LinearRegion:
    """What ridge fits of one region need of its data, whatever the labels.

    ``points`` (n_test, p) are test points about their training ``means`` (F, p), in a
    precision good enough for margins; times the ``inverses`` of ``systems`` (F, p, p),
    the scatter matrices plus the ``penalty``, unless `by_features`.
    """

    points: np.ndarray
    by_features: bool
    means: np.ndarray
    systems: np.ndarray
    inverses: np.ndarray
    penalty: float
    samples: np.ndarray


def linear_region(
    x: np.ndarray, design: Design, penalty: float, dtype: np.dtype, *, by_features: bool
) -> LinearRegion:
    """Prepare one region of centered samples (n, p) for any labeling."""
    n, p = x.shape
    n_folds = len(design.folds)
    scatter = x.T @ x
    means = np.empty((n_folds, p))
    systems = np.empty((n_folds, p, p))
    for fold, held in enumerate(design.held_out):
        part = x[held]
        n_train = n - len(held)
        means[fold] = -part.sum(axis=0) / n_train  # the sum of all samples is zero
        systems[fold] = scatter - part.T @ part
        systems[fold] -= n_train * np.outer(means[fold], means[fold])
        np.einsum("ii->i", systems[fold])[:] += penalty
    values, vectors = regular_eigen(systems)
    inverses = (vectors / values[:, None]) @ vectors.swapaxes(1, 2)
    points = (x[design.test] - means[design.fold_of_test]).astype(dtype)
    if not by_features:
        for fold, (_, test) in enumerate(design.folds):
            about_mean = x[test] - means[fold]
            points[design.fold_slices[fold]] = about_mean @ inverses[fold]
    return LinearRegion(points, by_features, means, systems, inverses, penalty, x)


def regular_eigen(systems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors of positive definite (..., p, p)."""
    values, vectors = np.linalg.eigh(systems)
    p = systems.shape[-1]
    if (values[..., 0] <= p * np.finfo(float).eps * values[..., -1]).any():
        raise ValueError(
            "a region has collinear features, which needs shrinkage > 0; got a "
            "penalty of 0 or too small to matter"
        )
    return values, vectors


def empty_linear(
    n_regions: int, labelings: Labelings, design: Design, dtype: Any
) -> np.ndarray:
    """Return room for margins (n_test, K, n_regions, B), laid out as they are made."""
    shape = labelings.n_labelings, labelings.n_classes, len(design.test)
    return np.empty((n_regions, *shape), dtype).transpose(3, 2, 0, 1)


def fill_linear(
    margins: np.ndarray, parts: Sequence[Linear], labelings: Labelings, design: Design
) -> None:
    """Fill the margins (n_test, K, B) of a region with the sums of its parts."""
    for place, linear in enumerate(parts):
        for some, rows, scores, offsets in _scores(linear, labelings, design):
            out = margins[rows, :, some].transpose(2, 1, 0)
            if place:
                scores += out
            np.add(scores, offsets[..., np.newaxis], out=out)


def count_linear(
    one: Linear, labelings: Labelings, design: Design, out: np.ndarray
) -> None:
    """Count what margins beat and tie, (2, B, n_test), while they are in cache."""
    from neuroextrap.margins.compiled._counting import count_beaten

    y = tested_codes(labelings, design)
    for some, rows, scores, offsets in _scores(one, labelings, design):
        counts = out[0, some], out[1, some]
        if count_beaten(scores, offsets, y[some], rows.start, 0.0, *counts):
            raise ValueError(NAN_MARGINS)


def tested_codes(labelings: Labelings, design: Design) -> np.ndarray:
    """Return the classes of test points, (B, n_test), kept with the labelings."""

    def make() -> np.ndarray:
        return np.ascontiguousarray(labelings.codes[:, design.test])

    return labelings.keep("tested codes", make)


def _scores(
    linear: Linear, labelings: Labelings, design: Design
) -> Iterator[tuple[slice, slice, np.ndarray, np.ndarray]]:
    """Yield (labelings, test points, scores, offsets) of blocks that stay in cache.

    Margins are the scores (B, K, n) of these plus the offsets (B, K).
    """
    points = linear.samples[linear.rows]
    blocks = design.keep("blocks", partial(_blocks, design))
    n_weights = len(design.folds) * labelings.n_classes * points.shape[1]
    parts = batches(labelings.n_labelings, _BLOCK_SIZE // max(1, n_weights))
    for part in parts:
        some = labelings
        if len(parts) > 1:
            make = partial(labelings.some, np.arange(part.start, part.stop))
            some = labelings.keep(("some", part.start, part.stop), make)
        rules = linear.rules(some)
        weights, offsets = (a.astype(points.dtype, copy=False) for a in rules)
        offsets = np.ascontiguousarray(offsets)
        for fold, rows in blocks:
            n_scores = (rows.stop - rows.start) * labelings.n_classes
            for few in batches(some.n_labelings, _IN_CACHE // max(1, n_scores)):
                scores = weights[fold, few] @ points[rows].T
                columns = slice(part.start + few.start, part.start + few.stop)
                yield columns, rows, scores, offsets[fold, few]


def _blocks(design: Design) -> list[tuple[int, slice]]:
    """Return (fold, rows) of about equally many test points of a fold."""
    blocks = []
    for fold, rows in enumerate(design.fold_slices):
        n_points = rows.stop - rows.start
        n_blocks = -(-n_points * design.n_classes // _BLOCK_SIZE)
        edges = np.linspace(rows.start, rows.stop, max(1, n_blocks) + 1).astype(int)
        blocks += [(fold, slice(int(a), int(b))) for a, b in pairwise(edges)]
    return blocks


class LinearWhereFew(MarginKernel):
    """A classifier that is linear in the test points where features are few.

    Then a margin takes ``of_a_margin`` bytes. Margins that are sums by class are
    counted while they are in cache, too, where the classifier `counts_sums`.
    """

    of_a_margin = 8
    counts_sums = False

    @abstractmethod
    def linear(self, state: Any) -> Sequence[Linear]:
        """Return what makes the margins of regions where classes are equal."""

    def keeps_margins(self, n_features: int, plan: Any) -> bool:
        path = path_of(self.name, n_features, plan.design, plan.batch_width)
        counted = path == "linear" or (path == "class sums" and self.counts_sums)
        return plan.pairing or not (counted and plan.trains_classes_equally)

    def counts(self, xs: Sequence[np.ndarray], plan: Any) -> Iterator[Counts]:
        design, first, n_test = plan.design, 0, len(plan.design.test)
        state, count = self.prepare(xs, design), count_type(design.n_classes)
        for labelings in plan.batches(counted=True):
            n_labelings = labelings.n_labelings
            out = np.empty((2, len(xs), n_labelings, n_test), count)
            self.count(state, labelings, design, out)
            beaten, tied = out.reshape(2, -1, n_test)
            yield beaten.T, tied.T, first, n_labelings
            first += n_labelings

    def count(
        self, state: Any, labelings: Labelings, design: Design, out: np.ndarray
    ) -> None:
        """Count what margins that are not kept beat and tie, (2, S, B, n_test)."""
        for place, one in enumerate(self.linear(state)):
            count_linear(one, labelings, design, out[:, place])

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if path_of(self.name, n_features, design) != "linear":
            return super().workspace(n_features, n_regions, design)
        p, n_folds = n_features, len(design.folds)
        systems = 4 * n_folds * p**2 if self.shrinks else 0
        sums = 3 * max(_BLOCK_SIZE, n_folds * design.n_classes * p)
        held = sum(len(held) for held in design.held_out)
        points = self.of_a_margin * len(design.test) * p
        shared = systems + design.n_samples * p + 7 * held
        return n_regions * (points + 8 * shared) + 8 * sums

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        is_linear = path_of(self.name, n_features, design) == "linear"
        return self.of_a_margin if is_linear else None


def centered(x: Any) -> np.ndarray:
    """Return samples (n, p) in float64, the mean of every feature removed."""
    x = np.array(x, dtype=float, order="C")
    x -= x.mean(axis=0)
    return x
