"""Ridge fits of growing training sets: one factorization serves all of them.

In forward tests each training set is the one before with the samples tested last, so
that the samples held out become fewer. With R = I - H the residual operator of all
samples and o the held-out ones, the out-of-fold errors are E = R_oo^-1 (R Y)_o. With
held-out samples in the reversed order of their tests and R_oo = L L', the factor of
every fold is a leading block of L, and the samples tested next are the last of it.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design


class Chain(NamedTuple):
    """Consecutive folds whose training sets grow by what was tested.

    ``held`` are the samples that the first fold holds out, those tested last first.
    Counted from the last fold, which is 0, fold t holds out those before
    ``edges[t + 1]`` and tests those from ``edges[t]`` on.
    """

    first_fold: int
    held: np.ndarray
    edges: np.ndarray

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.edges) - 1


class GrowingRegions(NamedTuple):
    """Regions whose folds are fitted along the chains of a design.

    ``regions`` says where they lie in the list they came from; ``dense`` (S, n, n) are
    their residual operators.
    """

    regions: np.ndarray
    dense: np.ndarray
    chains: tuple[Chain, ...]


class RidgeFits(NamedTuple):
    """What the training samples of each of F folds say, for S regions and K classes.

    ``errors`` (S, n_test, K) are the indicators of the test points minus those
    predicted, ``residual`` (S, F, K, K) inner products of the training indicators with
    their residuals.
    """

    errors: np.ndarray
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
        tested = [test for _, test in design.folds[first:stop]][::-1]
        others = np.setdiff1d(design.held_out[stop - 1], tested[0])
        edges = np.cumsum([len(others), *(len(test) for test in tested)])
        chains.append(Chain(first, np.concatenate([others, *tested]), edges))
    return tuple(chains)


def ridge_fits(
    growing: GrowingRegions, indicators: np.ndarray, design: Design, *, compiled: bool
) -> RidgeFits:
    """Fit class indicators (n, K) by ridge regression, with a free intercept.

    ``compiled`` loops and numpy are equal up to rounding in float64.
    """
    n_regions, n_classes = len(growing.dense), indicators.shape[1]
    residuals = growing.dense @ indicators
    errors = np.empty((n_regions, len(design.test), n_classes))
    moments = np.empty((n_regions, len(design.folds), n_classes, n_classes))
    # Y'RY of all samples, of which the held-out ones are taken off
    moments[:] = (indicators.T @ residuals)[:, np.newaxis]
    fits = RidgeFits(errors, moments)
    if compiled:
        _fill_compiled(growing, residuals, design, fits)
    else:
        for chain in growing.chains:
            _fill(growing.dense, residuals, chain, design, fits)
    return fits


def _fill(
    dense: np.ndarray, residuals: np.ndarray, chain: Chain, design: Design, out: Any
) -> None:
    """Fill the errors of a chain's folds; take held-out samples off the moments."""
    lower, solved = _factors(dense, residuals, chain.held)
    block = solved[:, : chain.edges[0]]
    products = block.swapaxes(1, 2) @ block
    for t, (start, stop) in enumerate(pairwise(chain.edges)):
        fold = chain.first_fold + chain.n_folds - 1 - t
        block = solved[:, start:stop]
        products += block.swapaxes(1, 2) @ block
        out.residual[:, fold] -= products
        upper = lower[:, start:stop, start:stop].swapaxes(1, 2)
        out.errors[:, design.fold_slices[fold]] = np.linalg.solve(upper, block)


def _factors(
    dense: np.ndarray, residuals: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return L (S, h, h) and L^-1 (R Y)_o, (S, h, K).

    Both come from one factorization, of R_oo with the residuals as further rows. Their
    own block of it does not matter, as long as it is large enough.
    """
    n_held, n_classes = len(held), residuals.shape[2]
    size = n_held + n_classes
    bordered = np.zeros((len(dense), size, size))
    bordered[:, :n_held, :n_held] = dense[:, held[:, np.newaxis], held]
    bordered[:, n_held:, :n_held] = residuals[:, held].swapaxes(1, 2)
    # the squared lengths of the rows of (L^-1 R Y)' are those of indicators at most
    np.einsum("sii->si", bordered)[:, n_held:] = 4 * dense.shape[1]
    factor = np.linalg.cholesky(bordered)
    return factor[:, :n_held, :n_held], factor[:, n_held:, :n_held].swapaxes(1, 2)


def _fill_compiled(
    growing: GrowingRegions, residuals: np.ndarray, design: Design, out: RidgeFits
) -> None:
    """Fill the same in a compiled loop over regions and chains."""
    from neuroextrap.margins.compiled._growing import Chains, fill_chains

    def make() -> Any:
        chains = growing.chains
        return Chains(
            np.concatenate([chain.held for chain in chains]),
            np.cumsum([0, *(len(chain.held) for chain in chains)]),
            np.array([*(chain.first_fold for chain in chains), len(design.folds)]),
            np.concatenate([chain.edges for chain in chains]),
            np.array([0, *(rows.stop for rows in design.fold_slices)]),
        )

    chains = design.keep("compiled chains", make)
    if not fill_chains(growing.dense, residuals, chains, *out):
        raise ValueError("a region's scatter is singular; use a larger shrinkage")
