"""In which form a region's ridge fits are done, by its shape and the design."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.margins.algebra._growing_folds import GrowingRegions, growing_chains
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    check_regions,
    dense_residuals,
    penalized_grams,
    residual_operators,
    scatter_penalty,
)
from neuroextrap.margins.algebra._tall import TallRegion, centered, is_tall, tall_region

# a penalty this small beside the mean squared norm leaves too little of float64
_SMALLEST_PENALTY = 1e-6


class Forms(NamedTuple):
    """Regions by the form of their fits; every region is in one of them.

    ``operators`` are residual operators of regions, ``growing`` what fits growing
    training sets (or None), and ``tall`` regions of few features by their place in the
    list they came from.
    """

    operators: list[RegionOperators]
    growing: GrowingRegions | None
    tall: dict[int, TallRegion]

    @property
    def all_tall(self) -> bool:
        """Whether all regions have few features."""
        return not self.operators and self.growing is None

    @property
    def dtype(self) -> np.dtype:
        """Precision of margins that are good enough for every form."""
        if self.growing is not None:
            return np.dtype(float)
        dtypes = [group.dtype for group in self.operators]
        dtypes += [region.dtype for region in self.tall.values()]
        return np.result_type(*dtypes)


def split_by_form(
    xs: Sequence[np.ndarray],
    design: Design,
    *,
    shrinkage: Any,
    solves_classes: bool = False,
) -> Forms:
    """Prepare the ridge fits of regions, each in the form that suits it.

    Few features beside many samples are tall. Training sets that grow share one
    factorization, unless there is next to no penalty. All others get operators.
    `solves_classes` is that of :func:`is_tall`.
    """
    check_regions(xs, design)
    tall = {}
    for place, x in enumerate(xs):
        if is_tall(x.shape[1], design, solves_classes=solves_classes):
            samples = centered(x)
            penalty, dtype = scatter_penalty(samples, shrinkage)
            tall[place] = tall_region(samples, design, penalty, dtype)
    rest = np.array([i for i in range(len(xs)) if i not in tall], dtype=int)
    if not len(rest):
        return Forms([], None, tall)
    others = xs if not tall else [xs[int(i)] for i in rest]
    operators, growing = _operators_or_growing(others, design, shrinkage)
    operators = [replace(o, regions=rest[o.regions]) for o in operators]
    if growing is not None:
        growing = growing._replace(regions=rest[growing.regions])
    return Forms(operators, growing, tall)


def _operators_or_growing(
    xs: Sequence[np.ndarray], design: Design, shrinkage: Any
) -> tuple[list[RegionOperators], GrowingRegions | None]:
    """Return residual operators of regions, or what fits growing training sets."""
    chains = design.keep("chains", lambda: growing_chains(design))
    if not chains:
        return residual_operators(xs, design, shrinkage=shrinkage), None
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
    return operators, GrowingRegions(grown, dense, chains)
