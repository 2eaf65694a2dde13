"""Ridge fits of growing training sets: one factorization serves all of them.

In forward tests each training set is the one before with the samples tested last. With
the samples in this order, M = G + lambda I their penalized inner products and M = L L',
the factor of every training set is a leading block of L, and the rows of L below it
are what predicts the samples tested next.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neuroextrap.margins._design import Design


class Chain(NamedTuple):
    """Consecutive folds whose training sets grow by what was tested.

    ``samples`` in the order in which they come; fold ``first_fold + t`` trains on those
    before ``edges[t]`` and tests those from there to ``edges[t + 1]``.
    """

    first_fold: int
    samples: np.ndarray
    edges: np.ndarray


class GrowingRegions(NamedTuple):
    """Regions whose folds are fitted along the chains of a design.

    ``regions`` says where they lie in the list they came from; ``grams`` (S, n, n) and
    ``penalties`` (S,) are theirs.
    """

    regions: np.ndarray
    grams: np.ndarray
    penalties: np.ndarray
    chains: tuple[Chain, ...]


class RidgeFit(NamedTuple):
    """What the training samples of one fold say, for S regions and K classes.

    ``predicted`` (S, n_test, K) indicators of the test points, ``residual`` (S, K, K)
    inner products of the training indicators with their residuals.
    """

    predicted: np.ndarray
    residual: np.ndarray


def growing_chains(design: Design) -> tuple[Chain, ...]:
    """Return the chains that make up a design; none where training sets do not grow."""
    starts = [0]
    for fold, ((train, test), (longer, _)) in enumerate(pairwise(design.folds)):
        grown = np.append(train, test)
        if len(grown) != len(longer) or not np.array_equal(
            np.sort(grown), np.sort(longer)
        ):
            starts.append(fold + 1)
    if len(starts) == len(design.folds):
        return ()
    chains = []
    for first, stop in pairwise([*starts, len(design.folds)]):
        parts = [design.folds[first][0], *(f[1] for f in design.folds[first:stop])]
        edges = np.cumsum([len(part) for part in parts])
        chains.append(Chain(first, np.concatenate(parts), edges))
    return tuple(chains)


def ridge_fits(
    grams: np.ndarray, penalties: np.ndarray, indicators: np.ndarray, chain: Chain
) -> Iterator[RidgeFit]:
    """Fit class indicators by ridge regression, with a free intercept, fold by fold.

    ``grams`` (S, n, n) are inner products of the samples about any origin, penalties
    (S,), ``indicators`` (n, K).
    """
    lower, solved = _factors(grams, penalties, indicators, chain)
    n_classes, start = indicators.shape[1], 0
    products = np.zeros((len(grams), n_classes + 1, n_classes + 1))
    for edge, stop in pairwise(chain.edges):
        # [Y 1]' M^-1 [Y 1] of the training samples: add those tested last
        block = solved[:, :, start:edge]
        products += block @ block.swapaxes(1, 2)
        past = lower[:, edge:stop, :edge] @ solved[:, :, :edge].swapaxes(1, 2)
        intercept = products[:, -1:, :-1] / products[:, -1:, -1:]
        predicted = past[:, :, :-1] + (1 - past[:, :, -1:]) * intercept
        residual = products[:, :-1, :-1] - products[:, :-1, -1:] * intercept
        yield RidgeFit(predicted, residual * penalties[:, None, None])
        start = edge


def _factors(
    grams: np.ndarray, penalties: np.ndarray, indicators: np.ndarray, chain: Chain
) -> tuple[np.ndarray, np.ndarray]:
    """Return L (S, n, n) and the transpose of L^-1 [Y 1], (S, K + 1, n).

    Both come from one factorization, of M with the indicators as further rows. Their
    own block of it does not matter, as long as it is large enough.
    """
    n, n_columns = len(chain.samples), indicators.shape[1] + 1
    bordered = np.zeros((len(grams), n + n_columns, n + n_columns))
    bordered[:, :n, :n] = grams[:, chain.samples[:, None], chain.samples]
    bordered[:, n:-1, :n] = indicators[chain.samples].T
    bordered[:, -1, :n] = 1
    diagonal = np.einsum("sii->si", bordered)
    diagonal[:, :n] += penalties[:, None]
    diagonal[:, n:] = 4 * n / penalties[:, None]
    factor = np.linalg.cholesky(bordered)
    return factor[:, :n, :n], factor[:, n:, :n]
