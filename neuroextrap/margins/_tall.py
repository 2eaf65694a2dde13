"""Many samples, few features: fits from sums over the samples of each class.

Where samples outnumber features (trials of electrophysiology, say), inner products of
samples would take memory and time by the square of their number. Here a labeling enters
through the sums of each class only, the held-out samples' sums taken off those of all,
and what is inverted has the size of the features. Memory is linear in the samples.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap.margins._design import Design

# fewer samples are in good hands elsewhere: many labelings at once, compiled
MIN_SAMPLES = 1024


def is_tall(n_features: float, design: Design) -> bool:
    """Whether a region has few features beside the samples that a fold holds out."""
    n_held = np.mean([len(held) for held in design.held_out])
    n = design.n_samples
    return bool(n >= MIN_SAMPLES and n_features <= n_held and 2 * n_features < n)


class HeldOutSums:
    """Sums over the training samples of each class, for every fold of a design."""

    def __init__(self, design: Design) -> None:
        sizes = [len(held) for held in design.held_out]
        self.n_folds, self.n_classes = len(sizes), design.n_classes
        self.held = np.concatenate(design.held_out)
        self.first_row = np.repeat(np.arange(self.n_folds), sizes) * self.n_classes
        self.is_partition = np.array_equal(
            np.sort(self.held), np.arange(design.n_samples)
        )

    def of(self, x: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Sum the training samples of ``x`` (n, p) by class, shape (F, K, p)."""
        K = self.n_classes
        rows = self.first_row + codes[self.held]
        held = _sums(rows, self.held, x, self.n_folds * K)
        held = held.reshape(self.n_folds, K, -1)
        if self.is_partition:
            total = held.sum(axis=0)
        else:
            total = _sums(codes, np.arange(len(x)), x, K)
        return total - held


def _sums(rows: np.ndarray, samples: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
    """Add the samples that share a row, shape (n, p)."""
    members = (np.ones(len(rows), dtype=x.dtype), (rows, samples))
    return scipy.sparse.csr_array(members, shape=(n, len(x))) @ x


@dataclass(frozen=True)
class TallRegion:
    """What ridge fits of one region need of its data, whatever the labels.

    ``x`` (n, p) are the centered samples, ``means`` (F, p) those of the training
    samples, ``systems`` (F, p, p) their penalized scatter matrices, ``inverses`` those
    of the systems, and ``projected`` (n_test, p) the test points, about the mean of
    their training samples, times the inverse. ``dtype`` is a precision good enough for
    margins.
    """

    x: np.ndarray
    means: np.ndarray
    systems: np.ndarray
    inverses: np.ndarray
    projected: np.ndarray
    sums: HeldOutSums
    dtype: np.dtype

    def class_sums(self, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sum each class's training samples about their mean, (F, K, p).

        ``counts`` (F, K) are the numbers of training samples.
        """
        sums = self.sums.of(self.x, codes)
        return sums - counts[:, :, None] * self.means[:, None]


def tall_region(
    x: np.ndarray, design: Design, penalty: float, dtype: np.dtype
) -> TallRegion:
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
    projected = np.empty((len(design.test), p))
    for fold, (_, test) in enumerate(design.folds):
        rows = design.fold_slices[fold]
        np.matmul(x[test] - means[fold], inverses[fold], out=projected[rows])
    sums = HeldOutSums(design)
    projected = projected.astype(dtype)
    return TallRegion(x, means, systems, inverses, projected, sums, dtype)


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


def tall_workspace(n_features: int, design: Design) -> int:
    """Count the bytes of a region's operators, and of a labeling's sums."""
    n_folds, n_test = len(design.folds), len(design.test)
    systems = 4 * n_folds * n_features**2
    sums = 4 * n_folds * design.n_classes * n_features
    samples = (2 * design.n_samples + n_test) * n_features
    held = 4 * sum(len(held) for held in design.held_out)
    return 8 * (systems + sums + samples + held)


def centered(x: Any) -> np.ndarray:
    """Return samples (n, p) in float64, the mean of every feature removed."""
    x = np.array(x, dtype=float)
    x -= x.mean(axis=0)
    return x
