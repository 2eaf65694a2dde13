"""Damped Newton steps for many two-parameter problems at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

Derivatives = tuple[np.ndarray, np.ndarray, np.ndarray]
Objective = Callable[[np.ndarray, np.ndarray], Derivatives]


def minimize_pairs(
    objective: Objective,
    start: ArrayLike,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    max_iter: int = 300,
    tol: float = 1e-9,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize many functions of two bounded parameters, each by damped Newton.

    ``objective(parameters, rows)`` with parameters (m, 2) of the problems `rows` (m,)
    returns values (m,), gradients (m, 2) and Hessians (m, 2, 2); `start` (n, 2) lies
    within the bounds `lower` and `upper` (2,). A problem is done when a step is as
    small as `tol`, or what it gains is smaller than the square of it. Returns
    minimizers (n, 2) and whether each met the tolerance (n,).
    """
    points = np.clip(np.array(start, float), lower, upper)
    rows = np.arange(len(points))
    damping = np.full(len(points), 1e-3)
    value, gradient, hessian = objective(points, rows)
    converged = np.zeros(len(points), bool)
    for _ in range(max_iter):
        step = _newton_step(points[rows], gradient, hessian, damping, lower, upper)
        trial = np.clip(points[rows] + step, lower, upper)
        new = objective(trial, rows)
        better = new[0] <= value
        gain = np.abs(np.einsum("ij,ij->i", gradient, trial - points[rows]))
        small = np.abs(trial - points[rows]).max(1) < tol
        small |= gain <= tol**2 + 1e-16 * np.abs(value)
        points[rows[better]] = trial[better]
        value = np.where(better, new[0], value)
        gradient = np.where(better[:, None], new[1], gradient)
        hessian = np.where(better[:, None, None], new[2], hessian)
        damping = np.where(better, damping * 0.1, damping * 10)
        done = small | (damping > 1e12)
        converged[rows[done]] = True
        keep = ~done
        rows, damping, value = rows[keep], damping[keep], value[keep]
        gradient, hessian = gradient[keep], hessian[keep]
        if not rows.size:
            break
    return points, converged


def _newton_step(
    points: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    damping: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """Solve the damped systems, parameters held at a bound they push against."""
    held = ((points <= lower) & (gradient > 0)) | ((points >= upper) & (gradient < 0))
    a, b, c = hessian[:, 0, 0], hessian[:, 0, 1], hessian[:, 1, 1]
    b = np.where(held.any(1), 0, b)
    a, c = np.where(held[:, 0], 1, a), np.where(held[:, 1], 1, c)
    g, h = np.where(held, 0, gradient).T
    center, radius = (a + c) / 2, np.hypot((a - c) / 2, b)
    size = np.maximum(np.abs(center) + radius, 1e-300)
    shift = np.maximum(0, 1e-10 * size - (center - radius))
    a, c = a + shift + damping * np.abs(a), c + shift + damping * np.abs(c)
    det = a * c - b * b
    return np.clip(np.stack([b * h - c * g, b * g - a * h], 1) / det[:, None], -2, 2)
