"""Ridge regression on class indicators as batched margins."""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._best_classes import (
    BestClasses,
    sort_by_class,
    times_equal_weight,
)
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.algebra._class_sums import is_compact, round_terms
from neuroextrap.margins.algebra._forms import split_by_form
from neuroextrap.margins.algebra._growing_folds import GrowingRegions, ridge_fits
from neuroextrap.margins.algebra._linear import Linear, fill_linear, shares_of_linear
from neuroextrap.margins.algebra._operators import RegionOperators, checked_counts
from neuroextrap.margins.algebra._screen import (
    Screen,
    Terms,
    count_terms,
    may_be_short,
    short_groups,
    whole_tables,
    whole_terms,
)
from neuroextrap.margins.algebra._tall import (
    TallRegion,
    is_tall,
    tall_bytes,
    tall_workspace,
)
from neuroextrap.margins.classifiers._lda import LDAMargins
from neuroextrap.margins.classifiers._nearest_centroid import batch_last


class RidgeMargins(BestClasses, MarginKernel):
    """Out-of-fold ridge regression of the class indicators on a region's features.

    The intercept is free and the penalty is the same in every fold: it comes from
    the region's total, unlabeled scatter (see `ridge_penalty` for ``shrinkage``). The
    margin of a class is its predicted indicator. A fold's fit is never recomputed: the
    out-of-fold prediction is one fixed matrix times the indicators, exactly.

    Where classes are unequal, that would favor the large ones. Then the margin of class
    l at x is ``(x - m)' A (mu_l - m) N / K``, up to a term shared by all classes, with
    A the inverse of the total scatter of the N training samples plus the penalty, mu_l
    the means of the K classes and m the mean of these. If classes are equal, that is
    the predicted indicator minus 1 / K.

    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 4.2 (indicator regression) and eq. 7.64 (leave-one-out by the smoother).
    """

    name = "ridge"
    indicator_bytes = 4
    shrinks = True

    def __init__(self, *, shrinkage: Any = "auto") -> None:
        self.shrinkage = shrinkage

    def __repr__(self) -> str:
        """Show the option."""
        return f"RidgeMargins(shrinkage={self.shrinkage!r})"

    def prepare(self, xs: Any, design: Design) -> Any:
        """Compute each region's out-of-fold operator."""
        forms = split_by_form(xs, design, shrinkage=self.shrinkage)
        return design, len(xs), forms, {}

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, forms, _ = state
        parts = []
        for columns, some, balanced in _by_balance(labelings, design):
            if balanced:
                part = self._equal_margins(state, some)
            else:
                part = _WEIGHED.margins((design, n_regions, forms), some)
            parts.append((columns, part))
        if len(parts) == 1:
            return parts[0][1]
        shape = len(design.test), labelings.n_classes, n_regions, labelings.n_labelings
        margins = np.empty(shape, parts[0][1].dtype)
        for columns, part in parts:
            margins[..., columns] = part.reshape(*shape[:3], -1)
        return margins.reshape(*shape[:2], -1)

    def _equal_margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        """Return margins where classes are equal: the predicted indicators."""
        design, n_regions, forms, _ = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        predictors, parts = _predictors(state), []
        for group, predictor in zip(forms.operators, predictors, strict=True):
            if is_compact(design):
                part = _exact_predictions(predictor, design, labelings, group.dtype)
            else:
                part = _predictions(predictor, group, design, labelings)
            parts.append(part)
        if len(parts) == 1 and len(forms.operators[0].regions) == n_regions:
            return parts[0]
        margins = np.empty((len(design.test), K, n_regions, B), forms.dtype)
        if forms.growing is not None:
            _fill_growing(margins, forms.growing, design, labelings)
        for place, region in forms.tall.items():
            linear = _linear(region, labelings, counts)
            fill_linear(margins[:, :, place], linear, design)
        for part, group in zip(parts, forms.operators, strict=True):
            margins[:, :, group.regions] = part.reshape(-1, K, len(group.regions), B)
        return margins.reshape(-1, K, n_regions * B)

    def stores_margins(self, state: Any) -> bool:
        return not state[2].all_tall

    def counts_in_place(self, design: Design) -> bool:
        return is_compact(design)

    def best_shares(self, state: Any, labelings: Labelings, weights: Any) -> Any:
        design, n_regions, forms, _ = state
        shares = np.empty((n_regions, labelings.n_labelings))
        for columns, some, balanced in _by_balance(labelings, design):
            mass = weights if np.ndim(weights) == 0 else weights[:, columns]
            if balanced:
                part = self._equal_shares(state, some, mass)
            else:
                part = _WEIGHED.best_shares((design, n_regions, forms), some, mass)
            if part is None:
                return None
            shares[:, columns] = part.reshape(n_regions, -1)
        return shares.reshape(-1)

    def _equal_shares(self, state: Any, labelings: Labelings, weights: Any) -> Any:
        """Return the shares of best classes where classes are equal."""
        design, n_regions, forms, screens = state
        if forms.all_tall:
            counts = checked_counts(design, labelings)
            linear = (_linear(x, labelings, counts) for x in forms.tall.values())
            return shares_of_linear(linear, design, labelings, weights)
        if not is_compact(design) or forms.tall or forms.growing is not None:
            return None
        counted, predictors = count_terms(labelings, design), _predictors(state)
        short = may_be_short(labelings, design)
        if counted not in screens:
            screen = whole_tables if short else _screens
            screens[counted] = [screen(x, counted, design) for x in predictors]
        shares = np.empty((n_regions, labelings.n_labelings))
        for group, predictor, of_group in zip(
            forms.operators, predictors, screens[counted], strict=True
        ):
            count = _count_side_by_side if short else _count_one_by_one
            shares[group.regions] = count(
                predictor, of_group, labelings, design, weights, group.dtype
            )
        return times_equal_weight(shares.reshape(-1), weights)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if is_tall(n_features, design):
            of_one = tall_workspace(n_features, design, of_a_point=16)
            return n_regions * of_one
        return super().workspace(n_features, n_regions, design)

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        return tall_bytes(n_features, design, float)


class _WeighedRidge(LDAMargins):
    """Ridge regression of unequal classes: another rule for the sums of lda."""

    rule = "ridge"


_WEIGHED = _WeighedRidge()


def _by_balance(
    labelings: Labelings, design: Design
) -> list[tuple[Any, Labelings, bool]]:
    """Split labelings by whether classes train equally often, in every fold.

    Returns (columns, labelings, whether they do) of one or both; kept for the next
    region. So margins depend on nothing but their own labeling.
    """

    def make() -> list[tuple[Any, Labelings, bool]]:
        counts = checked_counts(design, labelings)
        equal = (counts == counts[:, :1]).all(axis=(0, 1))
        if equal.all() or not equal.any():
            return [(slice(None), labelings, bool(equal.all()))]
        return [
            (columns, labelings.some(columns), balanced)
            for balanced in (True, False)
            for columns in [np.flatnonzero(equal == balanced)]
        ]

    return labelings.keep("by balance", make)


def _predictors(state: Any) -> list[Any]:
    """Return what gives the predicted indicators of the groups of regions."""
    design, _, forms, kept = state
    if "predictors" not in kept:
        kept["predictors"] = [_predictor(group, design) for group in forms.operators]
    return kept["predictors"]


def _screens(predictor: np.ndarray, counted: Terms, design: Design) -> list[Screen]:
    """Round the terms of regions, one by one."""
    return [whole_terms(x, counted, design) for x in predictor]


def _count_one_by_one(
    predictor: np.ndarray,
    screens: list[Screen],
    labelings: Labelings,
    design: Design,
    weights: Any,
    dtype: np.dtype,
) -> np.ndarray:
    """Return the shares (S, B) of best classes of regions."""
    shares = [
        _count(terms, screen, labelings, design, weights, dtype)
        for terms, screen in zip(predictor, screens, strict=True)
    ]
    return np.stack(shares)


def _count_side_by_side(
    predictor: np.ndarray,
    tables: np.ndarray,
    labelings: Labelings,
    design: Design,
    weights: Any,
    dtype: np.dtype,
) -> np.ndarray:
    """Return the shares (S, B) of best classes, several labelings at a time."""
    from neuroextrap.margins.compiled._leads import leads_memory
    from neuroextrap.margins.compiled._screen import fill_shares_side_by_side

    n_test, n_samples = predictor.shape[1:]
    by_class = sort_by_class(labelings, design, np.arange(n_samples), weights)
    work = leads_memory(n_samples, n_test, 1, labelings.n_classes)
    shares = np.empty((len(predictor), labelings.n_labelings))
    fill_shares_side_by_side(
        predictor,
        (tables, count_terms(labelings, design).n_most),
        (short_groups(labelings, design), by_class),
        np.empty(1, dtype),
        work,
        shares,
    )
    return shares


def _count(
    terms: np.ndarray,
    screen: Screen,
    labelings: Labelings,
    design: Design,
    weights: Any,
    dtype: np.dtype,
) -> np.ndarray:
    """Return the shares (B,) of best classes of a region."""
    from neuroextrap.margins.compiled._screen import fill_screened_shares

    by_class = sort_by_class(labelings, design, np.arange(design.n_samples), weights)
    shares = np.empty(labelings.n_labelings)
    fill_screened_shares(terms, screen, by_class, np.empty(1, dtype), shares)
    return shares


def _linear(region: TallRegion, labelings: Labelings, counts: np.ndarray) -> Linear:
    """Return the predictions of a region of few features; counts (F, K, B)."""
    n = counts.swapaxes(1, 2)
    sums = region.class_sums(labelings, n)
    return Linear(region.projected, sums, n / n.sum(axis=2, keepdims=True))


def _fill_growing(
    margins: np.ndarray, growing: GrowingRegions, design: Design, labelings: Labelings
) -> None:
    """Fill the predictions of regions in folds whose training sets grow."""
    regions = as_slice(growing.regions)
    for labeling, codes in enumerate(labelings.codes):
        indicators = np.eye(labelings.n_classes)[codes]
        fits = ridge_fits(growing, indicators, design, compiled=True)
        predicted = indicators[design.test] - fits.errors
        margins[:, :, regions, labeling] = predicted.transpose(1, 2, 0)


def _predictor(group: RegionOperators, design: Design) -> np.ndarray | None:
    """Return C with out-of-fold predictions C @ Y, (n_regions, n_test, n_samples).

    In float64, rounded to exact sums, where samples are few. None where there are many,
    and few features: then a factor of C is smaller.
    """
    exact, dense = is_compact(design), group.dense
    if dense is None and not exact:
        return None
    if dense is None:
        dense = np.stack([np.eye(len(u)) - u @ u.T for u in group.factors or ()])
    shape = (len(group.regions), len(design.test), design.n_samples)
    predictor = np.empty(shape, float if exact else group.dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        block = -group.inverses[fold][:, rows] @ dense[:, held]
        block[:, :, held] = 0.0  # exactly: a held-out label never enters
        predictor[:, design.fold_slices[fold]] = block
    return round_terms(predictor, design.n_samples) if exact else predictor


def _predictions(
    predictor: np.ndarray | None, group: Any, design: Design, labelings: Labelings
) -> np.ndarray:
    """Return the margins (n_test, K, n_regions * B) of a group of regions."""
    K, B = labelings.n_classes, labelings.n_labelings
    flat = labelings.one_hot(group.dtype).reshape(design.n_samples, K * B)
    if predictor is None:
        predictions = _thin_predictions(group, design, flat)
    else:
        predictions = predictor @ flat
    return batch_last(predictions, (len(design.test), K, B))


def _exact_predictions(
    predictor: np.ndarray, design: Design, labelings: Labelings, dtype: np.dtype
) -> np.ndarray:
    """Return the same from rounded predictors, whose sums are exact."""
    from neuroextrap.margins.compiled._class_sums import fill_sums_of_labelings

    shape = len(design.test), labelings.n_classes, len(predictor), labelings.n_labelings
    margins = np.empty(shape, dtype)
    by_class = sort_by_class(labelings, design, np.arange(design.n_samples))
    for region, of_region in enumerate(predictor):
        table, out = np.ascontiguousarray(of_region.T), margins[:, :, region]
        fill_sums_of_labelings(table, by_class.members, by_class.edges, out)
    return margins.reshape(*shape[:2], -1)


def _thin_predictions(group: Any, design: Design, flat: np.ndarray) -> np.ndarray:
    """Out-of-fold predictions from the factor of H, shape (1, n_test, K * B)."""
    factor = group.factors[0].astype(group.dtype)
    scores = factor.T @ flat
    predictions = np.empty((1, len(design.test), flat.shape[1]), group.dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        inverse = group.inverses[fold][0, rows].astype(group.dtype)
        residual = inverse @ (flat[held] - factor[held] @ scores)
        predictions[0, design.fold_slices[fold]] = flat[held][rows] - residual
    return predictions
