"""Many samples, few features: margins that are linear in the test points of a region.

Where samples outnumber features (trials of electrophysiology, say), inner products of
samples would take memory and time by the square of their number. Here a labeling enters
through the sums of each class only, the held-out samples' sums taken off those of all,
and what is inverted has the size of the features. Memory is linear in the samples.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins._paths import path_of

_BLOCK_SIZE = 2**17  # margins made together


class ClassSums:
    """Sums over the training samples of each class, for every fold of a design.

    ``x`` (n_samples, n_columns) are the samples of a region in float64; the last
    ``n_squared`` columns are the squares of the first ones.
    """

    def __init__(self, x: np.ndarray, design: Design, n_squared: int = 0) -> None:
        self.n_folds, n_classes = len(design.folds), design.n_classes
        self.x, self.n_squared = np.ascontiguousarray(x), n_squared
        held = np.concatenate(design.held_out)
        sizes = [len(samples) for samples in design.held_out]
        first_row = np.repeat(np.arange(self.n_folds) * n_classes, sizes)
        # one entry for every fold that holds a sample out, sample after sample
        order = np.argsort(held, kind="stable")
        self.samples, self.first_row = held[order], first_row[order]
        n_folds_out = np.bincount(held, minlength=len(x))
        self.is_partition = bool((n_folds_out == 1).all())
        self.edges = np.concatenate([[0], np.cumsum(n_folds_out)])

    def of(self, labelings: Labelings) -> np.ndarray:
        """Sum the training samples by class, shape (F, B, K, p)."""
        K, codes = labelings.n_classes, labelings.codes
        rows = self.first_row + codes[:, self.samples]
        held = self._sums(rows, self.edges, self.n_folds * K)
        held = held.reshape(len(held), self.n_folds, K, -1)
        if self.is_partition:
            total = held.sum(axis=1)
        else:
            total = self._sums(codes, np.arange(len(self.x) + 1), K)
        return np.subtract(total[:, None], held, out=held).swapaxes(0, 1)

    def _sums(self, rows: np.ndarray, edges: np.ndarray, n_rows: int) -> np.ndarray:
        """Add samples to rows, the rows of sample i in every labeling (B, :).

        They are ``rows[:, edges[i] : edges[i + 1]]``; returns (B, n_rows, p).
        """
        from neuroextrap.margins.compiled._class_sums import add_rows

        sums = np.zeros((len(rows), n_rows, self.x.shape[1]))
        add_rows(rows, edges, self.x, sums, self.n_squared)
        return sums


@dataclass(frozen=True)
class LinearRegion:
    """What ridge fits of one region need of its data, whatever the labels.

    ``centered`` (n_test, p) are the test points about the mean of their training
    samples, and ``projected`` the same times the inverse, in a precision good enough
    for margins. ``means`` (F, p) are those means, among samples about the mean of all,
    ``systems`` (F, p, p) the penalized scatter matrices of training samples, and
    ``inverses`` theirs. ``penalty`` is what was added.
    """

    centered: np.ndarray
    projected: np.ndarray
    means: np.ndarray
    systems: np.ndarray
    inverses: np.ndarray
    penalty: float
    sums: ClassSums

    @property
    def dtype(self) -> np.dtype:
        """A precision good enough for margins."""
        return self.projected.dtype

    def class_sums(self, labelings: Labelings, counts: np.ndarray) -> np.ndarray:
        """Sum each class's training samples about their mean, (F, B, K, p).

        ``counts`` (F, B, K) are the numbers of training samples.
        """
        sums = self.sums.of(labelings)
        sums -= counts[..., None] * self.means[:, None, None]
        return sums


def linear_region(
    x: np.ndarray, design: Design, penalty: float, dtype: np.dtype
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
    inverses = _inverses(systems)
    points, projected = np.empty((2, len(design.test), p), dtype)
    for fold, (_, test) in enumerate(design.folds):
        rows = design.fold_slices[fold]
        about_mean = x[test] - means[fold]
        points[rows] = about_mean
        projected[rows] = about_mean @ inverses[fold]
    return LinearRegion(
        points, projected, means, systems, inverses, penalty, ClassSums(x, design)
    )


def _inverses(systems: np.ndarray) -> np.ndarray:
    """Invert symmetric positive definite matrices; raise where one is singular."""
    values, vectors = np.linalg.eigh(systems)
    p = systems.shape[-1]
    if (values[:, 0] <= p * np.finfo(float).eps * values[:, -1]).any():
        raise ValueError(
            "a region has collinear features, which needs shrinkage > 0; got a "
            "penalty of 0 or too small to matter"
        )
    return (vectors / values[:, None]) @ vectors.swapaxes(1, 2)


class Linear(NamedTuple):
    """Margins of a region under some labelings, as weights of its test points.

    ``points`` (n_test, p) are in the order of the design, ``weights`` (F, B, K, p) and
    ``offsets`` (F, B, K). Margins have the precision of the points.
    """

    points: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray

    def of_labeling(self, labeling: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (F, p, K) and offsets (F, K) in the points' precision."""
        precision = self.points.dtype
        weights = self.weights[:, labeling].astype(precision, copy=False)
        offsets = self.offsets[:, labeling].astype(precision, copy=False)
        return weights.swapaxes(1, 2), offsets


def fill_linear(margins: np.ndarray, linear: Linear, design: Design) -> None:
    """Fill the margins (n_test, K, B) of a region."""
    blocks = _blocks(design)
    for labeling in range(margins.shape[2]):
        weights, offsets = linear.of_labeling(labeling)
        out = margins[:, :, labeling]
        direct = out.flags.c_contiguous and out.dtype == linear.points.dtype
        for fold, rows in blocks:
            points = linear.points[rows]
            if direct:
                np.matmul(points, weights[fold], out=out[rows])
                out[rows] += offsets[fold]
            else:
                out[rows] = points @ weights[fold] + offsets[fold]


def _blocks(design: Design) -> list[tuple[int, slice]]:
    """Return (fold, rows) of blocks of about equally many test points of a fold."""
    blocks = []
    for fold, rows in enumerate(design.fold_slices):
        n_points = rows.stop - rows.start
        n_blocks = -(-n_points * design.n_classes // _BLOCK_SIZE)
        edges = np.linspace(rows.start, rows.stop, max(1, n_blocks) + 1).astype(int)
        blocks += [(fold, slice(int(a), int(b))) for a, b in pairwise(edges)]
    return blocks


def _workspace(n_features: int, design: Design, *, of_a_point: int) -> int:
    """Count the bytes of a region's operators, and of a labeling's sums.

    ``of_a_point`` are the bytes that a feature of a test point takes.
    """
    n_folds = len(design.folds)
    systems = 4 * n_folds * n_features**2
    sums = 3 * n_folds * design.n_classes * n_features
    held = sum(len(held) for held in design.held_out)
    points = of_a_point * len(design.test) * n_features
    return points + 8 * (systems + sums + design.n_samples * n_features + 7 * held)


class LinearWhereFew(MarginKernel):
    """A classifier that is linear in the test points where features are few.

    Then a feature of a test point takes ``of_a_point`` bytes, a margin ``of_a_margin``,
    and every feature makes ``columns``.
    """

    of_a_point, of_a_margin, columns = 16, 8, 1

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if path_of(self.name, n_features, design) != "linear":
            return super().workspace(n_features, n_regions, design)
        n_columns = self.columns * n_features
        each = _workspace(n_columns, design, of_a_point=self.of_a_point)
        return n_regions * each

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        is_linear = path_of(self.name, n_features, design) == "linear"
        return self.of_a_margin if is_linear else None


def centered(x: Any) -> np.ndarray:
    """Return samples (n, p) in float64, the mean of every feature removed."""
    x = np.array(x, dtype=float, order="C")
    x -= x.mean(axis=0)
    return x
