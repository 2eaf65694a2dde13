"""The loop of threshold-free cluster enhancement, which numba compiles."""

import numpy as np


def enhance(integral, pairs, joined, powers):
    """Grow clusters downward from the peaks; return each feature's integral.

    `integral` (n,) is the integral of height ** H from 0 to each feature's height,
    `pairs` (n_pairs, 2) are neighbors in falling order of `joined` (n_pairs,), the
    integral at the height at which the two are in one cluster, and `powers` (n + 1,)
    are extents raised to their exponent.

    Clusters are trees. What a cluster has gathered since it was formed is kept at its
    root, less what is kept at the roots above, so that a feature's value is the sum on
    its way to the root.
    """
    n = len(integral)
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    reached = integral.copy()  # down to where a root has been counted
    gathered = np.zeros(n)
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        gathered[a] += powers[size[a]] * (reached[a] - joined[k])
        gathered[b] += powers[size[b]] * (reached[b] - joined[k])
        gathered[b] -= gathered[a]
        reached[a] = joined[k]
        parent[b] = a
        size[a] += size[b]
    total = np.empty(n)
    for i in range(n):
        a, value = i, gathered[i]
        while parent[a] != a:
            a = parent[a]
            value += gathered[a]
        total[i] = value + powers[size[a]] * reached[a]
    return total
