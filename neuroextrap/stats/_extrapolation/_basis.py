"""Bases of D(u) and their moments (k - 1) int h(u) u^(k-2) du."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._normal_mixture import (
    MEAN_RANGE,
    power_table,
    table_means,
)

Basis = Callable[[np.ndarray], np.ndarray]


class SplineBasis:
    """Linear splines max(u - a, 0), knots a geometric in 1 - a, the first at 0.

    The knots are 1 - K^(-j / n_basis), j = 0, 1, ..., with K the number of classes.
    """

    def __init__(self, n_basis: int, n_classes: int):
        self.knots = 1 - float(n_classes) ** (-np.arange(n_basis) / n_basis)

    def __call__(self, u: ArrayLike) -> np.ndarray:
        """Return the basis functions at u (m,), shape (m, n_basis)."""
        return np.maximum(np.asarray(u, float)[:, None] - self.knots, 0)

    def moments(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return (k - 1)/k - a + a^k / k for each size and knot, (n_sizes, n_basis)."""
        k = np.asarray(set_sizes, float)[:, None]
        return (k - 1) / k - self.knots + self.knots**k / k


class ProbitBasis:
    """Distributions of Phi(N(mean, sd^2)), whose moments are curves of the limit.

    One for each of `sds`; the means are such that each has the accuracy `accuracy`
    among `n_classes`, so that what is fitted is how they share the slope there.
    """

    def __init__(self, accuracy: float, n_classes: int, sds: Sequence[float]):
        table, grid = power_table([n_classes]), np.linspace(*MEAN_RANGE, 401)
        self.sds = np.array(sds)
        curves = [table_means(table, grid, 0 * grid + np.log(sd))[:, 0] for sd in sds]
        self.means = np.array(
            [np.interp(accuracy, np.maximum.accumulate(c), grid) for c in curves]
        )

    def __call__(self, u: ArrayLike) -> np.ndarray:
        """Return the basis functions at u (m,), shape (m, n_basis)."""
        z = special.ndtri(np.asarray(u, float))[:, None]
        return special.ndtr((z - self.means) / self.sds)

    def moments(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return one minus the accuracy of each, shape (n_sizes, n_basis)."""
        table = power_table(set_sizes)
        return 1 - table_means(table, self.means, np.log(self.sds)).T


def basis_moments(basis: Basis, set_sizes: ArrayLike) -> np.ndarray:
    """Return moments (k - 1) int_0^1 h(u) u^(k-2) du of a basis at each set size.

    Shape (n_sizes, n_basis). The basis maps u (m,) to (m, n_basis); its own
    ``moments(set_sizes)`` is used where it has one. Otherwise u = exp(-x / (k - 1))
    turns the integral into the mean of h over a unit exponential x, summed by
    Gauss-Legendre panels.
    """
    if hasattr(basis, "moments"):
        return np.asarray(basis.moments(set_sizes), float)
    nodes, weights = _exponential_quadrature()
    power = np.asarray(set_sizes, float) - 1
    rows = [weights @ np.asarray(basis(np.exp(-nodes / p)), float) for p in power]
    return np.array(rows)


def _exponential_quadrature(
    n_panels: int = 96, n_nodes: int = 12
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for means over a unit exponential variable."""
    edges = np.r_[0.0, np.geomspace(1e-6, 45.0, n_panels)]
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    half = np.diff(edges)[:, None] / 2
    nodes = edges[:-1, None] + half * (x + 1)
    return nodes.ravel(), (half * w * np.exp(-nodes)).ravel()
