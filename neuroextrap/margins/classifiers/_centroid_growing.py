"""The nearest centroid in folds whose training sets grow, from inner products.

A fold's sums over the samples of each class are those of the fold before and the
samples tested there. Inner products are rounded so that all sums are exact
(``algebra/_class_sums.py``), in whatever order they are taken.
"""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._cyclic_windows import CompiledWindows, cyclic_windows
from neuroextrap.margins.algebra._growing_folds import Chain, growing_chains


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
        _fill(out, grams, design, codes, (twice, inverse))


def _fill(
    out: np.ndarray, grams: np.ndarray, design: Design, codes: np.ndarray, factors: Any
) -> None:
    """Fill the margins (n_test, K, S) of a labeling, over a circle or over chains."""
    windows = compiled_windows(design)
    if windows is None:
        from neuroextrap.margins.compiled._centroid import fill_growing_margins

        growth = design.keep("growth", lambda: _growth(design))
        fill_growing_margins(grams, codes.astype(np.uint32), growth, factors, out)
        return
    from neuroextrap.margins.compiled._centroid import fill_window_margins

    samples, of_folds = windows
    if not np.array_equal(samples, np.arange(len(samples))):
        grams, codes = grams[:, samples[:, np.newaxis], samples], codes[samples]
    fill_window_margins(grams, codes.astype(np.uint32), of_folds, factors, out)


def compiled_windows(design: Design) -> tuple[np.ndarray, CompiledWindows] | None:
    """Return folds as windows in a circle for compiled loops, None if they are not.

    With them comes the order (n,) in which samples have to lie.
    """

    def make() -> tuple[np.ndarray, CompiledWindows] | None:
        windows = cyclic_windows(design, chains_of(design))
        if windows is None:
            return None
        rows = np.array([rows.start for rows in design.fold_slices], np.uint32)
        edges = windows.edges.astype(np.uint32)
        return windows.samples, CompiledWindows(edges, windows.fold, rows)

    return design.keep("windows", make)


def fill_others(
    margins: np.ndarray, grams: np.ndarray, design: Design, labelings: Labelings
) -> None:
    """Fill the margins (n, K, S) of folds that train on the samples of all others.

    One labeling; inner products have the samples of one fold after the other.
    """
    from neuroextrap.margins.compiled._centroid import fill_other_margins

    counts = labelings.training_counts(design)[:, :, 0].astype(float)
    codes = labelings.codes[0, design.order].astype(np.uint32)
    edges = np.array([0, *(rows.stop for rows in design.fold_slices)], np.uint32)
    fill_other_margins(grams, codes, edges, (2.0 / counts, 1.0 / counts**2), margins)


def _growth(design: Design) -> Any:
    """Return the chains of a design for compiled loops."""
    from neuroextrap.margins.compiled._centroid import Growth

    chains, slices = chains_of(design), design.fold_slices
    first = [design.folds[chain.first_fold][0] for chain in chains]
    return Growth(
        np.concatenate(first).astype(np.uint32),
        np.cumsum([0, *(len(samples) for samples in first)]),
        np.array([*(chain.first_fold for chain in chains), len(slices)]),
        design.test.astype(np.uint32),
        np.array([0, *(rows.stop for rows in slices)]),
    )
