"""Bases of D(u) and their moments (k - 1) int h(u) u^(k-2) du."""

import numpy as np


class SplineBasis:
    """Linear splines max(u - a, 0), knots a geometric in 1 - a, the first at 0.

    Parameters
    ----------
    n_basis : int
        Number of splines.
    n_classes : int
        Number of classes K: the knots are 1 - K^(-j / n_basis), j = 0, 1, ...
    """

    def __init__(self, n_basis, n_classes):
        self.knots = 1 - float(n_classes) ** (-np.arange(n_basis) / n_basis)

    def __call__(self, u):
        """Basis functions at u, shape (m, n_basis)."""
        return np.maximum(np.asarray(u, float)[:, None] - self.knots, 0)

    def moments(self, set_sizes):
        """(k - 1)/k - a + a^k / k for each size and knot."""
        k = np.asarray(set_sizes, float)[:, None]
        return (k - 1) / k - self.knots + self.knots**k / k


def basis_moments(basis, set_sizes):
    """Moments of a basis at each set size.

    Parameters
    ----------
    basis : callable
        u of shape (m,) -> (m, n_basis); its own ``moments(set_sizes)`` is used
        where it has one. Otherwise u = exp(-x / (k - 1)) turns the integral into the
        mean of h over a unit exponential x, summed by Gauss-Legendre panels.
    set_sizes : array_like of shape (n_sizes,)
        Numbers of classes k >= 2.

    Returns
    -------
    ndarray of shape (n_sizes, n_basis)
        (k - 1) int_0^1 h(u) u^(k-2) du.
    """
    if hasattr(basis, "moments"):
        return np.asarray(basis.moments(set_sizes), float)
    nodes, weights = _exponential_quadrature()
    power = np.asarray(set_sizes, float) - 1
    rows = [weights @ np.asarray(basis(np.exp(-nodes / p)), float) for p in power]
    return np.array(rows)


def _exponential_quadrature(n_panels=96, n_nodes=12):
    """Nodes and weights for means over a unit exponential variable."""
    edges = np.r_[0.0, np.geomspace(1e-6, 45.0, n_panels)]
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    half = np.diff(edges)[:, None] / 2
    nodes = edges[:-1, None] + half * (x + 1)
    return nodes.ravel(), (half * w * np.exp(-nodes)).ravel()
