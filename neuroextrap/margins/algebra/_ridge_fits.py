"""Ridge fits of the class indicators of regions, by the way that suits each.

In forward tests each training set is the one before with the samples tested last, so
that the samples held out become fewer: one factorization serves all of them. With
R = I - H the residual operator of all samples and o the held-out ones, the out-of-fold
errors are E = R_oo^-1 (R Y)_o. With held-out samples in the reversed order of their
tests and R_oo = U'U, the factor of every fold is a leading block of U, and the samples
tested next are the last of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._grams import scatter_penalty
from neuroextrap.margins.algebra._linear import LinearRegion, centered, linear_region
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    check_regions,
    dense_residuals,
    penalized_grams,
    residual_operators,
)

# a penalty this small beside the mean squared norm leaves too little of float64
_SMALLEST_PENALTY = 1e-6
_SINGULAR = "a region's scatter is singular; use a larger shrinkage"


class GrowingRegions(NamedTuple):
    """Regions whose folds are fitted along the chains of a design.

    ``regions`` says where they lie in the list they came from; ``dense`` (S, n, n) are
    their residual operators.
    """

    regions: np.ndarray
    dense: np.ndarray


class Fits(NamedTuple):
    """Regions by the way of their fits; every region is in one of them.

    ``operators`` are residual operators of regions, ``growing`` what fits growing
    training sets (or None), and ``linear`` regions of few features by their place in
    the list they came from.
    """

    operators: list[RegionOperators]
    growing: GrowingRegions | None
    linear: dict[int, LinearRegion]

    def explained(self, n_regions: int, design: Design) -> np.ndarray:
        """Return the share of labels without meaning that fits explain, (S, F).

        On average over all labelings: tr(H) / (N - 1) of the N training samples.
        """
        n_left = design.n_samples - 1 - np.array([len(h) for h in design.held_out])
        traces = np.empty((n_regions, len(n_left)))  # of I - H of the training samples
        every = list(zip(*self.growing, strict=True)) if self.growing else []
        for group in self.operators:
            every += [(r, group.dense_of(s)) for s, r in enumerate(group.regions)]
        for region, dense in every:
            for fold, (held, _) in enumerate(design.fold_views):
                rows = dense[held]
                lost = np.trace(np.linalg.solve(rows[:, held], rows @ rows.T))
                traces[region, fold] = np.trace(dense) - lost
        for place, linear in self.linear.items():
            left = linear.penalty * np.einsum("fii->f", linear.inverses)
            traces[place] = n_left - linear.inverses.shape[1] + left
        return np.asarray(1.0 - traces / n_left)

    @property
    def dtype(self) -> np.dtype:
        """Precision of margins that are good enough for every way."""
        if self.growing is not None:
            return np.dtype(float)
        dtypes = [group.dtype for group in self.operators]
        dtypes += [region.dtype for region in self.linear.values()]
        return np.result_type(*dtypes)


def prepare_fits(
    classifier: str, xs: Sequence[np.ndarray], design: Design, shrinkage: Any
) -> Fits:
    """Prepare the ridge fits of regions, each in the way that the table says.

    Training sets that grow share one factorization unless there is next to no penalty.
    """
    check_regions(xs, design)
    paths = [path_of(classifier, x.shape[1], design) for x in xs]
    linear = {}
    for place, path in enumerate(paths):
        if path == "linear":
            samples = centered(xs[place])
            penalty, dtype = scatter_penalty(samples, shrinkage, design.unlabeled)
            linear[place] = linear_region(samples, design, penalty, dtype)
    rest = np.array([i for i in range(len(xs)) if i not in linear], dtype=int)
    if not len(rest):
        return Fits([], None, linear)
    others = xs if not linear else [xs[int(i)] for i in rest]
    growing: GrowingRegions | None = None
    if paths[rest[0]] == "growing folds":
        operators, growing = _operators_or_growing(others, design, shrinkage)
    else:
        operators = residual_operators(others, design, shrinkage=shrinkage)
    operators = [replace(o, regions=rest[o.regions]) for o in operators]
    if growing is not None:
        growing = growing._replace(regions=rest[growing.regions])
    return Fits(operators, growing, linear)


def _operators_or_growing(
    xs: Sequence[np.ndarray], design: Design, shrinkage: Any
) -> tuple[list[RegionOperators], GrowingRegions | None]:
    """Return residual operators of regions, or what fits growing training sets."""
    grams, penalties = penalized_grams(xs, design, shrinkage=shrinkage)
    norms = np.trace(grams, axis1=1, axis2=2) / design.n_samples
    large = penalties >= _SMALLEST_PENALTY * norms
    grown, rest = np.flatnonzero(large), np.flatnonzero(~large)
    operators: list[RegionOperators] = []
    if len(rest):
        few = [xs[int(i)] for i in rest]
        operators = residual_operators(few, design, shrinkage=shrinkage)
        operators = [replace(o, regions=rest[o.regions]) for o in operators]
    if not len(grown):
        return operators, None
    if len(rest):
        xs, grams = [xs[int(i)] for i in grown], grams[grown]
    dense = dense_residuals(xs, grams, penalties[grown])
    return operators, GrowingRegions(grown, dense)


class RidgeFits(NamedTuple):
    """What the training samples of each of F folds say, for S regions and K classes.

    ``errors`` (S, n_test, K) are the indicators of the test points minus those
    predicted, ``residual`` (S, F, K, K) inner products of the training indicators with
    their residuals.
    """

    errors: np.ndarray
    residual: np.ndarray


def growing_fits(
    growing: GrowingRegions, indicators: np.ndarray, design: Design
) -> RidgeFits:
    """Fit class indicators (n, K) by ridge regression, with a free intercept."""
    from neuroextrap.margins.compiled._growing import fill_growing_fits

    n_regions, n_classes = len(growing.dense), indicators.shape[1]
    residuals = growing.dense @ indicators
    errors = np.empty((n_regions, len(design.test), n_classes))
    moments = np.empty((n_regions, len(design.folds), n_classes, n_classes))
    # Y'RY of all samples, of which the held-out ones are taken off
    moments[:] = (indicators.T @ residuals)[:, np.newaxis]
    chains = design.keep("compiled chains", lambda: _compiled_chains(design))
    if not fill_growing_fits(growing.dense, residuals, chains, errors, moments):
        raise ValueError(_SINGULAR)
    return RidgeFits(errors, moments)


def _compiled_chains(design: Design) -> Any:
    """Return the chains of a design for compiled loops."""
    from neuroextrap.margins.compiled._growing import Chains

    chains = design.chains
    return Chains(
        np.concatenate([chain.held for chain in chains]),
        np.cumsum([0, *(len(chain.held) for chain in chains)]),
        np.concatenate([chain.edges[-2::-1] for chain in chains]),
        np.concatenate([chain.edges[:0:-1] for chain in chains]),
        np.array([*(chain.first_fold for chain in chains), len(design.folds)]),
        np.array([0, *(points.stop for points in design.fold_slices)]),
    )
