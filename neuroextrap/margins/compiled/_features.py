"""Compiled steps of single features: their densities, and their sums over regions."""

from typing import Any

import numpy as np
from numba import njit

_compile = njit(cache=True, nogil=True, error_model="numpy")


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def fill_densities(
    moments: Any, counts: Any, scales: Any, floor: Any, offsets: Any
) -> bool:
    """Turn sums into log densities; False where a feature does not vary in a class.

    ``moments`` (n, 2 p) are sums of features and of their squares over ``counts`` (n,)
    samples, no variance is below its ``floor`` (p,), and all are multiplied by
    ``scales`` (n,). Moments become weights of features and squares; ``offsets`` (n,)
    lose what does not depend on them.
    """
    variances = np.empty(len(floor))
    for row in range(len(moments)):
        inverse, scale = 1.0 / counts[row], scales[row]
        means, squares = moments[row, : len(floor)], moments[row, len(floor) :]
        least, level, product = np.inf, 0.0, 1.0
        for j in range(len(floor)):
            mean = means[j] * inverse
            variance = max(squares[j] * inverse - mean * mean, floor[j])
            least = min(least, variance)
            variances[j] = variance * scale
            squares[j] = 1.0 / variances[j]
            means[j] = mean * squares[j]
        if not least > 0.0:
            return False
        for j in range(len(floor)):
            level += means[j] * means[j] * variances[j]
            product *= variances[j]  # one logarithm of many, within range
            if not 1e-150 < product < 1e150:
                level += np.log(product)
                product = 1.0
            squares[j] *= -0.5
        offsets[row] -= 0.5 * (level + np.log(product))
    return True


@_compile
def fill_density_fold(
    points: Any,
    means: Any,
    squares: Any,
    least: Any,
    leveling: Any,
    start: int,
    out: Any,
) -> bool:
    """Fill the log densities (p, ., K) of every feature of points (p, n_test).

    Those of the first point lie at ``start``. From means and mean squares (p, K) of
    training samples; ``least`` (p, 2) are the least variance of a feature and whether
    it varies, ``leveling`` (2, K) what a variance is multiplied by, and what is added.
    False as above.
    """
    n_classes = out.shape[2]
    center, precision, level = np.empty((3, n_classes), np.float32)
    for p in range(len(points)):
        for k in range(n_classes):
            mean = means[p, k]
            variance = max(squares[p, k] - mean * mean, least[p, 0])
            if not variance > 0.0:
                return False
            gain = 0.0
            if least[p, 1] > 0.0:
                variance, gain = variance * leveling[0, k], leveling[1, k]
            center[k], precision[k] = mean, -0.5 / variance
            level[k] = gain - 0.5 * np.log(variance)
        for t in range(points.shape[1]):
            value, row = points[p, t], out[p, start + t]
            for k in range(n_classes):
                distance = value - center[k]
                row[k] = distance * distance * precision[k] + level[k]
    return True


@_compile
def fill_member_sums(
    edges: Any, members: Any, weights: Any, rows: Any, out: Any
) -> None:
    """Fill the sums (n_regions, c) of each region's weighted rows (p, c), in order."""
    for region in range(len(out)):
        total, a = out[region], edges[region]
        total[:] = 0.0
        while edges[region + 1] - a >= 4:
            first, second = rows[members[a]], rows[members[a + 1]]
            third, fourth = rows[members[a + 2]], rows[members[a + 3]]
            u, v, w, x = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            for i in range(len(total)):
                value = total[i] + u * first[i] + v * second[i]
                total[i] = value + w * third[i] + x * fourth[i]
            a += 4
        while a < edges[region + 1]:
            row, weight = rows[members[a]], weights[a]
            for i in range(len(total)):
                total[i] += weight * row[i]
            a += 1
