"""Compiled loops over samples and test points, one at a time.

Nothing here is fast math: samples and classes are added in their order.
"""

from typing import Any

import numpy as np
from numba import njit

_NUMBERS = 2**14  # of samples that stay in cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


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


@_compile
def fill_shares(products: Any, offsets: Any, truth: Any, shares: Any) -> bool:
    """Fill a point's share where its class is best, of margins (n, K); False if NaN.

    Margins are ``products`` plus ``offsets`` (K,). T other classes that share the best
    margin make the share 1 / (T + 1).
    """
    n_points, n_classes = products.shape
    n_nan = 0
    for i in range(n_points):
        row = products[i]
        own = row[truth[i]] + offsets[truth[i]]
        n_above: Any = np.int32(0)
        n_equal: Any = np.int32(0)
        n_bad: Any = np.int32(0)
        for k in range(n_classes):
            margin = row[k] + offsets[k]
            n_above += np.int32(margin > own)
            n_equal += np.int32(margin == own)
            n_bad += np.int32(np.isnan(margin))
        n_nan += n_bad
        shares[i] = 1.0 / n_equal if n_above == 0 else 0.0
    return n_nan == 0
