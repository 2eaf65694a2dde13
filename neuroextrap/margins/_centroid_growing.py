"""The nearest centroid in folds whose training sets grow, from inner products.

A fold's sums over the samples of each class are those of the fold before and the
samples tested there. Inner products are rounded so that all sums are exact
(``_class_sums.py``): compiled loops and numpy give the same bits.
"""

from typing import Any

import numpy as np

from neuroextrap.margins._compiled import has_numba
from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._growing_folds import Chain, growing_chains


def chains_of(design: Design) -> tuple[Chain, ...]:
    """Return the chains of a design, kept with it."""
    return design.keep("chains", lambda: growing_chains(design))


def fill_growing(
    margins: np.ndarray, grams: np.ndarray, design: Design, labelings: Labelings
) -> None:
    """Fill the margins (n_test, K, S, B) from rounded inner products (S, n, n)."""
    counts = labelings.training_counts(design).astype(float)
    for labeling, codes in enumerate(labelings.codes):
        twice = 2.0 / counts[:, :, labeling]
        inverse = 1.0 / counts[:, :, labeling] ** 2
        out = margins[..., labeling]
        if has_numba():
            _fill_compiled(out, grams, design, codes, (twice, inverse))
            continue
        for chain in chains_of(design):
            _fill(out, grams, design, codes, chain, (twice, inverse))


def _fill(
    out: np.ndarray,
    grams: np.ndarray,
    design: Design,
    codes: np.ndarray,
    chain: Chain,
    factors: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill the margins (n_test, K, S) of a chain's folds."""
    folds = range(chain.first_fold, chain.first_fold + chain.n_folds)
    classes = np.eye(design.n_classes)
    new = design.folds[folds.start][0]
    cross = np.zeros((*grams.shape[:2], design.n_classes))
    squares = np.zeros((len(grams), design.n_classes))
    for fold in folds:
        members = classes[codes[new]]
        added = grams[:, :, new] @ members  # (S, n, K): all samples with new ones
        within = added[:, new] + 2 * cross[:, new]
        squares += np.einsum("sik,ik->sk", within, members)
        cross += added
        new = design.folds[fold][1]
        twice, inverse = factors[0][fold], factors[1][fold]
        of_fold = cross[:, new] * twice - (squares * inverse)[:, np.newaxis]
        out[design.fold_slices[fold]] = of_fold.transpose(1, 2, 0)


def _fill_compiled(
    out: np.ndarray, grams: np.ndarray, design: Design, codes: np.ndarray, factors: Any
) -> None:
    """Fill the same in compiled loops over regions and chains."""
    from neuroextrap.margins._centroid_kernel import Growth, fill_growing_margins

    def make() -> tuple[np.ndarray, ...]:
        chains, slices = chains_of(design), design.fold_slices
        first = [design.folds[chain.first_fold][0] for chain in chains]
        return (
            np.concatenate(first).astype(np.uint32),
            np.cumsum([0, *(len(samples) for samples in first)]),
            np.array([*(chain.first_fold for chain in chains), len(slices)]),
            design.test.astype(np.uint32),
            np.array([0, *(rows.stop for rows in slices)]),
        )

    growth = Growth(*design.keep("growth", make))
    fill_growing_margins(grams, codes.astype(np.uint32), growth, factors, out)
