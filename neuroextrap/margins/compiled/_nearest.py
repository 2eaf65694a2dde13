"""Compiled distances to the nearest training sample of each class."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def fill_nearest(
    order: Any, distances: Any, codes: Any, counts: Any, fold_of_test: Any, out: Any
) -> None:
    """Fill minus the distances (n_test, K, S, B) to the nearest sample of each class.

    ``order`` and ``distances`` (S, n_test, n) are the samples from near to far,
    ``codes`` (B, n) their classes and ``counts`` (F, K, B) those that train. The mean
    over all subsets of m among n samples of a class: in C(n - j, m - 1) of them, of all
    C(n, m), sample j from 1 is the nearest.
    """
    n_test, n_classes = out.shape[:2]
    passed, share = np.empty(n_classes), np.empty(n_classes)
    for t in range(n_test):
        for b in range(len(codes)):
            classes, n = codes[b], counts[fold_of_test[t], :, b]
            m = n.min()
            for s in range(len(order)):
                margins, n_left = out[t, :, s, b], n_classes
                margins[:], passed[:], share[:] = 0.0, 0.0, m / n
                for i in range(order.shape[2]):
                    k = classes[order[s, t, i]]
                    if passed[k] > n[k] - m:
                        continue
                    margins[k] -= share[k] * distances[s, t, i]
                    passed[k] += 1.0
                    share[k] *= (n[k] - passed[k] - m + 1.0) / (n[k] - passed[k])
                    n_left -= passed[k] > n[k] - m
                    if n_left == 0:
                        break
