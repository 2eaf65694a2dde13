"""Whether neighboring samples look like scans of one block."""

import numpy as np

from neuroextrap.stats._warn import warn

_FEWEST_PAIRS = 8
_SMALLEST_CORRELATION = 0.05
_ERRORS = 3.0
_MOST_FEATURES = 2000


def warn_about_scans(X, labels):
    """Warn when neighbors of one class and run are alike beyond their class.

    Scans of one block share their noise, so that counting each as an independent sample
    makes p-values and lower bounds too good. What class and run have in common is
    removed from the samples `X` of shape (n_samples, n_features) first. Nothing is said
    when blocks are given.
    """
    if labels.blocks is not None:
        return
    correlation = neighbor_correlation(X, labels.codes, labels.groups)
    if correlation is None:
        return
    warn(
        f"neighboring samples of one class correlate ({correlation:.2f} beyond what "
        "their class and run have in common), as scans of one block or overlapping "
        "trials do; taken as independent, they make p-values too small and lower "
        "bounds too large: average them, or give blocks=... with one number a block"
    )


def neighbor_correlation(X, codes, groups):
    """Return the mean correlation of neighbors of one class and run; None if small."""
    groups = np.zeros(len(codes), dtype=int) if groups is None else groups
    first = np.flatnonzero((codes[1:] == codes[:-1]) & (groups[1:] == groups[:-1]))
    if len(first) < _FEWEST_PAIRS:
        return None
    every = -(-X.shape[1] // _MOST_FEATURES)
    rest = np.asarray(X[:, ::every], dtype=np.float64)
    for column in (groups, codes):
        _, member, size = np.unique(column, return_inverse=True, return_counts=True)
        sums = np.zeros((len(size), rest.shape[1]))
        np.add.at(sums, member, rest)
        rest = rest - (sums / size[:, None])[member]
    spread = rest.std(axis=0)
    rest = rest[:, spread > 0] / spread[spread > 0]
    if not rest.shape[1]:
        return None
    products = np.einsum("if,if->i", rest[first], rest[first + 1]) / rest.shape[1]
    mean, error = products.mean(), products.std(ddof=1) / np.sqrt(len(products))
    surely = mean - _ERRORS * error > _SMALLEST_CORRELATION
    return float(mean) if surely else None
