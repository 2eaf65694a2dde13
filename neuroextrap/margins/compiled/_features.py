"""Compiled margins of single features, and sums of samples.

Nothing here is fast math: features, samples and classes are added in their order.
"""

from typing import Any

import numpy as np
from numba import njit

_NUMBERS = 2**14  # of samples that stay in cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def fill_centroid_fold(features: Any, test: Any, means: Any, out: Any) -> None:
    """Fill (2 x - mu) mu of a fold, (n_features, n_test, K), in float32.

    ``features`` (n_features, n_samples), ``means`` (n_features, K).
    """
    n_classes = means.shape[1]
    for p in range(len(features)):
        row, mean = features[p], means[p]
        for i in range(len(test)):
            twice, scores = np.float32(2.0) * row[test[i]], out[p, i]
            for k in range(n_classes):
                scores[k] = (twice - mean[k]) * mean[k]


@_compile
def fill_density_fold(
    test: Any, mean: Any, precision: Any, level: Any, out: Any
) -> None:
    """Fill (x - mean)^2 precision + level of a fold, (n_features, n_test, K).

    ``test`` (n_features, n_test), the rest (n_features, K), all in float32.
    """
    n_classes = mean.shape[1]
    for p in range(len(test)):
        means, weights, levels = mean[p], precision[p], level[p]
        for i in range(test.shape[1]):
            x, scores = test[p, i], out[p, i]
            for k in range(n_classes):
                away = x - means[k]
                scores[k] = away * away * weights[k] + levels[k]


@_compile
def add_rows(rows: Any, edges: Any, x: Any, sums: Any, n_squared: int) -> None:
    """Add samples ``x`` (n, p) to rows of the sums (B, n_rows, p) of every labeling.

    Sample i is added to ``rows[b, edges[i] : edges[i + 1]]`` of labeling b; some
    samples at a time, which stay in cache for all labelings. The last ``n_squared``
    columns are the squares of the first: they are not read.
    """
    n_read = x.shape[1] - n_squared
    together = max(1, _NUMBERS // n_read)
    for start in range(0, len(x), together):
        samples = range(start, min(start + together, len(x)))
        for b in range(len(rows)):
            for i in samples:
                sample = x[i, :n_read]
                for a in range(edges[i], edges[i + 1]):
                    out = sums[b, rows[b, a]]
                    for j in range(n_read):
                        out[j] += sample[j]
                    for j in range(n_squared):
                        out[n_read + j] += sample[j] * sample[j]
