"""Many samples, few features: margins that are linear in the test points of a region.

A labeling enters through the sums of each class only, the held-out samples' sums taken
off those of all; what is inverted has the size of the features.
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
    """Sums over training samples x (n_samples, p) of each class, for every fold.

    The last ``n_squared`` columns of ``x`` are the squares of the first ones.
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
        """Add sample i to rows ``rows[:, edges[i] : edges[i + 1]]`` (B, n_rows, p)."""
        from neuroextrap.margins.compiled._class_sums import add_rows

        sums = np.zeros((len(rows), n_rows, self.x.shape[1]))
        add_rows(rows, edges, self.x, sums, self.n_squared)
        return sums


@dataclass(frozen=True)
class LinearRegion:
    """What ridge fits of one region need of its data, whatever the labels.

    ``centered`` (n_test, p) are test points about their training ``means`` (F, p),
    ``projected`` the same times the ``inverses`` of ``systems`` (F, p, p), the scatter
    matrices plus the ``penalty``, in a precision good enough for margins.
    """

    centered: np.ndarray
    projected: np.ndarray
    means: np.ndarray
    systems: np.ndarray
    inverses: np.ndarray
    penalty: float
    sums: ClassSums

    def class_sums(self, labelings: Labelings, counts: np.ndarray) -> np.ndarray:
        """Sum each class's ``counts`` (F, B, K) samples about their mean."""
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
    values, vectors = regular_eigen(systems)
    inverses = (vectors / values[:, None]) @ vectors.swapaxes(1, 2)
    points, projected = np.empty((2, len(design.test), p), dtype)
    for fold, (_, test) in enumerate(design.folds):
        rows = design.fold_slices[fold]
        about_mean = x[test] - means[fold]
        points[rows] = about_mean
        projected[rows] = about_mean @ inverses[fold]
    return LinearRegion(
        points, projected, means, systems, inverses, penalty, ClassSums(x, design)
    )


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


class Linear(NamedTuple):
    """Points (n_test, p), weights (F, B, K, p) and offsets (F, B, K) of a region."""

    points: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray


def fill_linear(margins: np.ndarray, linear: Linear, design: Design) -> None:
    """Fill the margins (n_test, K, B) of a region."""
    blocks, precision = _blocks(design), linear.points.dtype
    for labeling in range(margins.shape[2]):
        weights = linear.weights[:, labeling].astype(precision, copy=False)
        weights = weights.swapaxes(1, 2)
        offsets = linear.offsets[:, labeling].astype(precision, copy=False)
        out = margins[:, :, labeling]
        direct = out.flags.c_contiguous and out.dtype == precision
        for fold, rows in blocks:
            points = linear.points[rows]
            if direct:
                np.matmul(points, weights[fold], out=out[rows])
                out[rows] += offsets[fold]
            else:
                out[rows] = points @ weights[fold] + offsets[fold]


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

    Then a feature of a point takes ``of_a_point`` bytes, a margin ``of_a_margin``.
    """

    of_a_point, of_a_margin, columns = 16, 8, 1

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if path_of(self.name, n_features, design) != "linear":
            return super().workspace(n_features, n_regions, design)
        p, n_folds = self.columns * n_features, len(design.folds)
        systems = 4 * n_folds * p**2
        sums = 3 * n_folds * design.n_classes * p
        held = sum(len(held) for held in design.held_out)
        points = self.of_a_point * len(design.test) * p
        shared = systems + sums + design.n_samples * p + 7 * held
        return n_regions * (points + 8 * shared)

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        is_linear = path_of(self.name, n_features, design) == "linear"
        return self.of_a_margin if is_linear else None


def centered(x: Any) -> np.ndarray:
    """Return samples (n, p) in float64, the mean of every feature removed."""
    x = np.array(x, dtype=float, order="C")
    x -= x.mean(axis=0)
    return x
