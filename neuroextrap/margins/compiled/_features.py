"""Compiled margins of single features: nearest centroid and naive Bayes.

Nothing here is fast math.
"""

from typing import Any

import numpy as np
from numba import njit

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
