"""Multi-class shrinkage discriminant analysis as batched margins, exactly.

A ``rule`` says which margins are made of ridge fits: with "equal" priors of the classes
or their "frequency" among the training samples, or those of "ridge" regression.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._paths import path_of
from neuroextrap.margins._wins import count_type
from neuroextrap.margins.algebra._linear import (
    Linear,
    LinearRegion,
    LinearWhereFew,
    class_sums,
    count_linear,
    empty_linear,
    fill_linear,
    sorted_samples,
)
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    are_unequal,
    check_priors,
    checked_counts,
    level_margins,
    prepare_fits,
    test_edges,
)

SINGULAR = "a within-class scatter is singular or not finite; use a larger shrinkage"


def prior_constants(counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what priors add to the margins of a class, shape (n_folds, K, B)."""
    if rule != "frequency":
        return np.zeros_like(counts)
    sizes = counts.sum(axis=1, keepdims=True)
    return np.log(counts / sizes) / (sizes - counts.shape[1])


def fixed_constants(counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what is added to the margins of a class whatever the region, (F, K, ...).

    Priors, half of 1 / d, and, since Q 1 = d, the 1 / N of the mean of the training
    samples; of counts d (F, K, ...). With ridge regression the weight N / (K d) of the
    class.
    """
    sizes = counts.sum(axis=1, keepdims=True)
    if rule == "ridge":
        return sizes / (counts.shape[1] * counts)
    return prior_constants(counts, rule) + (0.5 / counts - 1.0 / sizes)


def noise_weights(explained: np.ndarray, counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what noise costs where a share (S, F) of random labels is explained.

    On average over all labelings, Q is ``(1 - h) D + h d d' / N``, h the share.
    """
    if rule == "ridge":
        return np.asarray(
            explained * counts[:, :, 0].sum(axis=1) / counts.shape[1] ** 2
        )
    return np.asarray(0.5 * explained / (1.0 - explained))


def _linear_rules(
    region: LinearRegion, design: Design, rule: str, labelings: Labelings
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and offsets of a region with few features, as `Linear` has."""
    counts = checked_counts(design, labelings)
    n, offsets = counts.swapaxes(1, 2), prior_constants(counts, rule).swapaxes(1, 2)
    make = _from_features if region.by_features else _from_classes
    if rule == "ridge":
        make = _of_ridge
    sums = class_sums(region.samples, design, labelings, region.means)
    weights, more = make(region, sums, n)
    return weights, offsets + more


def _from_features(
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (F, B, K, p) of centered points, offsets, by p x p matrices."""
    shifts = sums / n[..., None]
    within = region.systems[:, None] - sums.swapaxes(2, 3) @ shifts
    total = np.einsum("fpp->fp", region.systems)[:, None]
    weights = shifts @ _inverses(within, total)
    return weights, -0.5 * np.einsum("fbkp,fbkp->fbk", weights, shifts)


def _inverses(matrices: np.ndarray, diagonals: np.ndarray) -> np.ndarray:
    """Return inverses (F, B, n, n), unless pivots are rounding errors of a difference.

    ``diagonals`` (F, B or 1, n) are those of the first term of the difference.
    """
    try:
        pivots = np.einsum("fbii->fbi", np.linalg.cholesky(matrices)) ** 2
    except np.linalg.LinAlgError:
        raise ValueError(SINGULAR) from None
    if not (pivots > 10 * matrices.shape[2] * np.finfo(float).eps * diagonals).all():
        raise ValueError(SINGULAR)
    return np.linalg.inv(matrices)


def _of_ridge(
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by ridge regression: none is inverted."""
    scales = fixed_constants(n.swapaxes(1, 2), "ridge").swapaxes(1, 2)
    middle = sums.swapaxes(2, 3) @ scales[..., None] / n.shape[2]
    sums *= scales[..., None]
    products = (sums @ (region.inverses[:, None] @ middle))[..., 0]
    return sums, -products / n.mean(axis=2, keepdims=True)


def _from_classes(
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by K x K matrices."""
    moments = -(sums @ region.inverses[:, None]) @ sums.swapaxes(2, 3)
    np.einsum("fbkk->fbk", moments)[:] += n
    inverses = _inverses(moments, n)
    offsets = 0.5 / n - 0.5 * np.einsum("fbkk->fbk", inverses)
    return inverses @ sums, offsets


# labelings times regions handled together: keeps the work in cache, changes no result
_BATCH = 64


class LDAMargins(LinearWhereFew):
    """Out-of-fold linear discriminant analysis with a ridge-shrunk covariance.

    With W the within-class sum of squares of the N training samples, m their mean and
    mu_l the mean of class l, the margin of class l at x is ``(x - m)' V (mu_l - m) -
    (mu_l - m)' V (mu_l - m) / 2``, ``V`` the inverse of ``W + lambda I``: the log
    posterior under equal class priors, up to the factor 1 / (N - K) and a term shared
    by all classes. The penalty lambda is `ridge_penalty`; the result equals refitting.
    ``priors="frequency"`` adds ``log(class share of the training samples) / (N - K)``.
    With equal priors, a class of n training samples loses what the less noise of its
    mean gains, on average over all labelings: ``(1 / n_min - 1 / n) h / (1 - h) / 2``,
    with h the trace of the smoother over N - 1.

    Hastie, Tibshirani & Buja 1994, "Flexible discriminant analysis by optimal scoring",
    section 3. Huang, Tong & Zhao 2010, "Bias-corrected diagonal discriminant rules for
    high-dimensional classification", section 2 (unequal classes). Treder 2019,
    "Cross-validation in high-dimensional spaces", section 3 (folds without refitting).
    """

    name = "lda"
    indicator_bytes = 8
    counts_sums = True
    shrinks = True
    labelings_at_once = 64

    def __init__(self, *, shrinkage: Any = "auto", priors: str = "equal") -> None:
        self.shrinkage = shrinkage
        self.priors = priors

    @property
    def rule(self) -> str:
        """Which margins are made of ridge fits."""
        return self.priors

    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        check_priors(self.priors)
        fits = prepare_fits(self.name, xs, design, self.shrinkage)
        return design, len(xs), fits, {}

    def linear(self, state: Any) -> Sequence[Linear]:
        design, _, fits, _ = state
        given = design, self.rule
        regions = fits.linear.values()
        return [Linear(x.points, partial(_linear_rules, x, *given)) for x in regions]

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, fits, kept = state
        counts = checked_counts(design, labelings)
        trained = _Trained(design, labelings, counts, self.rule)
        margins = empty_linear(n_regions, labelings, design, fits.dtype)
        if fits.operators:  # whose margins of one point lie together
            margins = np.empty(margins.shape, fits.dtype)
        # the labelings of one design are all compiled or none, so that equal ones get
        # equal margins to the last bit; no region of few features is left here
        path = path_of("lda", np.inf, design, labelings.n_together, penalized=False)
        for group in fits.operators:
            if path == "class sums" and group.inverses:
                counts_of_none = np.empty((2, 0, 0, 0), count_type(design.n_classes))
                _fill_class_sums(group, trained, margins, counts_of_none)
            else:
                _fill_fits(margins, group, trained)
        for place, linear in zip(fits.linear, self.linear(state), strict=True):
            fill_linear(margins[:, :, place], [linear], labelings, design)
        flat = margins.reshape(*margins.shape[:2], -1)
        if self.rule != "frequency" and are_unequal(counts):
            if "explained" not in kept:
                kept["explained"] = fits.explained(n_regions, design)
            weights = noise_weights(kept["explained"], counts, self.rule)
            level_margins(flat, weights, counts, design)
        return flat

    def count(
        self, state: Any, labelings: Labelings, design: Design, out: np.ndarray
    ) -> None:
        _, _, fits, _ = state
        self.count_operators(state, labelings, out)
        for place, linear in zip(fits.linear, self.linear(state), strict=True):
            count_linear(linear, labelings, design, out[:, place])

    def count_operators(
        self, state: Any, labelings: Labelings, out: np.ndarray
    ) -> None:
        """Count the margins of regions with operators, (2, S, B, n_test)."""
        design, _, fits, _ = state
        counts = checked_counts(design, labelings)
        trained = _Trained(design, labelings, counts, self.rule)
        for group in fits.operators:
            nothing = np.empty((0, 0, 0, 0), group.dtype)
            _fill_class_sums(group, trained, nothing, out)


class _Trained(NamedTuple):
    """Labelings in the folds of a design, their training counts (F, K, B), a rule."""

    design: Design
    labelings: Labelings
    counts: np.ndarray
    rule: str

    def compiled(self) -> Any:
        """Return the labelings for compiled loops, with an even number of classes."""
        from neuroextrap.margins.compiled._lda_labelings import Group

        fixed = fixed_constants(self.counts, self.rule)
        even = (0, 0), (0, self.counts.shape[1] % 2), (0, 0)
        members, edges = sorted_samples(self.labelings)
        return Group(
            members,
            edges,
            self.labelings.codes.astype(np.int64),
            np.pad(self.counts, even),
            np.pad(fixed, even),
            self.rule == "ridge",
        )


def _fill_class_sums(
    group: RegionOperators, trained: _Trained, margins: np.ndarray, out: np.ndarray
) -> None:
    """Fill margins (n_test, K, n_regions, B) of a group of regions, one by one.

    Or count what they beat and tie, (2, n_regions, B, n_test): one has no size.
    """
    from neuroextrap.margins.compiled._lda_labelings import (
        TOGETHER,
        Folds,
        Region,
        fill_labelings,
    )

    design = trained.design
    labelings = trained.labelings.keep(("compiled", trained.rule), trained.compiled)
    folds = design.keep("compiled folds", lambda: Folds(*design.flat_folds))
    n_tested = max(len(test) for _, test in design.folds)
    scores = np.empty((n_tested, design.n_classes, TOGETHER), group.dtype)
    for (place, dense), inverses in zip(group.each(), group.flat_inverses, strict=True):
        region = Region(dense, inverses, place)
        if not fill_labelings(region, folds, labelings, scores, margins, out):
            raise ValueError(SINGULAR)


def _fill_fits(margins: np.ndarray, group: RegionOperators, trained: _Trained) -> None:
    """Fill the margins of a group of regions, all of them under a few labelings."""
    from neuroextrap.margins.compiled._lda_labelings import fill_fits

    design, labelings, counts, _ = trained
    n_regions, indicators = len(group.regions), np.eye(design.n_classes)
    width = max(1, _BATCH // n_regions)
    for start in range(0, labelings.n_labelings, width):
        part = slice(start, start + width)
        codes = labelings.codes[part]
        some = Labelings(codes, design.n_classes)
        given = trained._replace(labelings=some, counts=counts[:, :, part]).compiled()
        out = np.empty((len(design.test), design.n_classes, n_regions * len(codes)))
        fits = *group.fits(indicators[codes], design), test_edges(design)
        if not fill_fits(*fits, given, design.test, out):
            raise ValueError(SINGULAR)
        # single precision where the penalty allows it, to the last bit the same for a
        # region in whatever company
        of_part = out.astype(group.dtype).reshape(*out.shape[:2], n_regions, -1)
        margins[:, :, as_slice(group.regions), part] = of_part
