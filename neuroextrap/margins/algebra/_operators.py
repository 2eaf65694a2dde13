"""What a region's data do to any labeling: ridge fits and label-free operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._kernel import kept_with
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._grams import (
    allows_single,
    centered_grams,
    check_shrinkage,
    gram_penalties,
    scatter_penalty,
)
from neuroextrap.margins.algebra._linear import (
    LinearRegion,
    centered,
    linear_region,
    regular_eigen,
)

# a penalty this small beside the mean squared norm leaves too little of float64
_SMALLEST_PENALTY = 1e-6
_SINGULAR = "a region's scatter is singular; use a larger shrinkage"


class Fits(NamedTuple):
    """Regions by the way of their fits, ``linear`` by their place in the list."""

    operators: list[RegionOperators]
    linear: dict[int, LinearRegion]

    def explained(self, n_regions: int, design: Design) -> np.ndarray:
        """Return the share tr(H) / (N - 1) of random labels that is explained."""
        n_left = design.n_samples - 1 - np.array([len(h) for h in design.held_out])
        traces = np.empty((n_regions, len(n_left)))  # of I - H of the training samples
        pairs = (pair for group in self.operators for pair in group.each())
        for region, dense in pairs:
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
        dtypes = [group.dtype for group in self.operators]
        dtypes += [region.points.dtype for region in self.linear.values()]
        return np.result_type(*dtypes)


def prepare_fits(
    classifier: str, xs: Sequence[np.ndarray], design: Design, shrinkage: Any
) -> Fits:
    """Prepare the ridge fits of regions, each in the way that the table says."""
    check_regions(xs, design)
    paths = [path_of(classifier, x.shape[1], design) for x in xs]
    linear = {}
    for place, path in enumerate(paths):
        if path == "linear":
            samples = centered(xs[place])
            penalty, dtype = scatter_penalty(samples, shrinkage, design.unlabeled)
            few = classifier == "lda" and samples.shape[1] <= 2 * design.n_classes
            given = samples, design, penalty, dtype
            linear[place] = linear_region(*given, by_features=few)
    places = np.array([i for i in range(len(xs)) if i not in linear], dtype=int)
    operators: list[RegionOperators] = []
    if len(places) and paths[places[0]] == "growing folds":
        places, operators = _growing_regions(xs, places, design, shrinkage)
    operators += residual_operators(xs, design, shrinkage=shrinkage, places=places)
    return Fits(operators, linear)


def _some(xs: Sequence[np.ndarray], places: np.ndarray) -> Sequence[np.ndarray]:
    """Return regions at some places; where these are all, with what is kept."""
    return xs if len(places) == len(xs) else [xs[int(i)] for i in places]


def _growing_regions(
    xs: Sequence[np.ndarray], places: np.ndarray, design: Design, shrinkage: Any
) -> tuple[np.ndarray, list[RegionOperators]]:
    """Return places with next to no penalty, and operators of all other regions."""
    grams, penalties = penalized_grams(_some(xs, places), design, shrinkage=shrinkage)
    norms = np.trace(grams, axis1=1, axis2=2) / design.n_samples
    large = penalties >= _SMALLEST_PENALTY * norms
    if not large.any():
        return places, []
    grown, grams = places[large], grams if large.all() else grams[large]
    dense = dense_residuals(_some(xs, grown), grams, penalties[large])
    operators = RegionOperators(grown, dense, None, (), np.dtype(float))
    return places[~large], [operators]


def compiled_chains(design: Design) -> Any:
    """Return the chains of a design for compiled loops."""
    from neuroextrap.margins.compiled._growing_folds import Chains

    chains = design.chains
    first = [design.folds[chain.first_fold][0] for chain in chains]
    held = [chain.held for chain in chains]
    return Chains(
        np.concatenate(first).astype(np.uint32),
        np.cumsum([0, *map(len, first)]),
        np.concatenate(held),
        np.cumsum([0, *map(len, held)]),
        np.concatenate([chain.edges[-2::-1] for chain in chains]),
        np.concatenate([chain.edges[:0:-1] for chain in chains]),
        np.array([*(chain.first_fold for chain in chains), len(design.folds)]),
        design.test.astype(np.uint32),
        test_edges(design),
    )


def test_edges(design: Design) -> np.ndarray:
    """Return where the test points of every fold begin, and where the last end."""
    return np.array([0, *(points.stop for points in design.fold_slices)])


def check_priors(priors: Any) -> None:
    """Raise unless `priors` is "equal" or "frequency"."""
    if priors not in {"equal", "frequency"}:
        raise ValueError(f'priors={priors!r} must be "equal" or "frequency"')


@dataclass(frozen=True)
class RegionOperators:
    """Residual operators I - H of ``regions`` that share one form and one precision.

    Either ``dense`` is I - H in float64, (S, n, n), or, for few features, ``factors``
    holds one (n, n_features + 1) array per region with H = factor @ factor.T.
    ``inverses`` has, per fold, those (S, n_held, n_held) of the held-out blocks, or
    none where training sets grow.
    """

    regions: np.ndarray
    dense: Any
    factors: tuple | None
    inverses: tuple
    dtype: np.dtype

    def residuals(self, indicators: np.ndarray) -> np.ndarray:
        """Apply I - H to (B, n_samples, K); (n_regions, B, n_samples, K) comes out."""
        if self.factors is None:
            return np.matmul(self.dense[:, None], indicators)
        return np.stack([indicators - u @ (u.T @ indicators) for u in self.factors])

    def fits(
        self, indicators: np.ndarray, design: Design
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit (B, n_samples, K): errors (S * B, n_test, K), moments (S * B, F, K, K).

        Errors are those of test points, moments the products of the indicators with the
        residuals of training samples: of all, of which the held-out ones are taken off.
        """
        residuals = self.residuals(indicators)
        total = indicators.swapaxes(1, 2) @ residuals
        S, B, _, K = residuals.shape
        errors = np.empty((S, B, len(design.test), K))
        moments = np.repeat(total[:, :, np.newaxis], len(design.folds), axis=2)
        flat = errors.reshape(S * B, -1, K), moments.reshape(S * B, -1, K, K)
        if not self.inverses:
            _fill_growing(self.dense, residuals, design, *flat)
        for fold, inverse in enumerate(self.inverses):
            held, rows = design.fold_views[fold]
            inside = residuals[:, :, held]
            missed = inverse[:, np.newaxis] @ inside
            moments[:, :, fold] -= inside.swapaxes(2, 3) @ missed
            errors[:, :, design.fold_slices[fold]] = missed[:, :, rows]
        return flat

    def each(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield where a region lies, and I - H (n_samples, n_samples) of it."""
        if self.factors is None:
            yield from zip(self.regions, self.dense, strict=True)
            return
        for region, u in zip(self.regions, self.factors, strict=True):
            yield region, np.eye(len(u)) - u @ u.T

    @cached_property
    def flat_inverses(self) -> np.ndarray:
        """The inverse blocks of all folds in a row, one row a region."""
        n_regions = len(self.regions)
        return np.concatenate([a.reshape(n_regions, -1) for a in self.inverses], axis=1)


def _fill_growing(
    dense: Any, residuals: Any, design: Design, errors: Any, moments: Any
) -> None:
    """Fill the fits of folds whose training sets grow, compiled."""
    from neuroextrap.margins.compiled._growing_folds import fill_growing_fits

    chains = design.keep("compiled chains", partial(compiled_chains, design))
    residuals = residuals.reshape(-1, *residuals.shape[2:])
    if not fill_growing_fits(dense, residuals, chains, errors, moments):
        raise ValueError(_SINGULAR)


def residual_operators(
    xs: Sequence[np.ndarray],
    design: Design,
    *,
    shrinkage: Any = "auto",
    places: np.ndarray | None = None,
) -> list[RegionOperators]:
    """Ridge residual operators of regions (at some places), by form and precision.

    The smoother of the centered samples with an unpenalized intercept is
    ``H = K (K + lambda I)^-1 + 11'/n``, lambda from `ridge_penalty`. With fewer
    features than half the samples, a factor of ``H`` is kept instead of ``I - H``.
    """
    places = np.arange(len(xs)) if places is None else places
    if not len(places):
        return []
    xs, n = _some(xs, places), design.n_samples
    grams, penalties = penalized_grams(xs, design, shrinkage=shrinkage)
    traces = np.trace(grams, axis1=1, axis2=2)
    single = allows_single(penalties, traces / n)
    thin = (2 * np.array([x.shape[1] for x in xs]) < n) | (penalties == 0)
    everything = None if thin.any() else dense_residuals(xs, grams, penalties)
    groups = []
    for chosen, dtype in ((single, np.float32), (~single, np.float64)):
        wide = np.flatnonzero(chosen & ~thin)
        if len(wide):
            if everything is None:
                dense = _dense_residuals(grams[wide], penalties[wide])
            else:
                dense = everything[as_slice(wide)]
            groups.append(_with_inverses(places[wide], dense, None, design, dtype))
        for s in np.flatnonzero(chosen & thin):
            factors = (_smoother_factor(xs[int(s)], penalties[s]),)
            groups.append(_with_inverses(places[[s]], None, factors, design, dtype))
    return groups


def penalized_grams(
    xs: Sequence[np.ndarray], design: Design, *, shrinkage: Any = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """Return centered Gram matrices (n_regions, n, n) and penalties (n_regions,)."""
    check_shrinkage(shrinkage)
    check_regions(xs, design)
    grams = centered_grams(xs)
    n_features = np.array([x.shape[1] for x in xs])
    return grams, gram_penalties(grams, n_features, shrinkage, design.unlabeled)


def check_regions(xs: Sequence[np.ndarray], design: Design) -> None:
    """Raise unless every region is a non-empty 2-D array over the design's samples."""
    for x in xs:
        if np.ndim(x) != 2 or len(x) != design.n_samples or not np.shape(x)[1]:
            raise ValueError(
                f"each region must have shape ({design.n_samples}, n_features >= 1), "
                f"got {np.shape(x)}"
            )


def dense_residuals(
    xs: Sequence[np.ndarray], grams: np.ndarray, penalties: np.ndarray
) -> np.ndarray:
    """Return I - H of all regions (n_regions, n, n), kept with their samples."""
    name = f"residuals {penalties.tobytes().hex()}"
    return kept_with(xs, name, lambda: _dense_residuals(grams, penalties))


def _dense_residuals(grams: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """I - H = lambda (K + lambda I)^-1 - 11'/n of each region, by Cholesky.

    K has no part along 1: its mean eigenvalue is put there, and its known share taken
    off the inverse, so that nothing large cancels.
    """
    n, out = grams.shape[-1], np.empty_like(grams)
    lower = np.tri(n) - 0.5 * np.eye(n)
    for gram, penalty, residual in zip(grams, penalties, out, strict=True):
        level = np.trace(gram) / n
        system = gram + level / n
        np.einsum("ii->i", system)[:] += penalty
        root, _ = lapack.dpotrf(system.T, clean=False, overwrite_a=True)
        inverse, info = lapack.dpotri(root, overwrite_c=True)
        if info != 0:
            raise ValueError(_SINGULAR)
        half = np.multiply(inverse.T, penalty)
        half *= lower
        np.add(half, half.T, out=residual)
        residual -= penalty / (penalty + level) / n
    return out


def _smoother_factor(x: np.ndarray, penalty: float) -> np.ndarray:
    """Return U with H = U U', shape (n_samples, n_features + 1)."""
    n, p = x.shape
    x = np.asarray(x, dtype=float)
    x = x - x.mean(axis=0)
    values, vectors = regular_eigen(x.T @ x + penalty * np.eye(p))
    root = np.full((n, p + 1), 1.0 / np.sqrt(n))
    root[:, 1:] = x @ (vectors / np.sqrt(values))
    return root


def _with_inverses(
    regions: np.ndarray, dense: Any, factors: Any, design: Design, dtype: Any
) -> RegionOperators:
    """Attach the inverse held-out blocks of I - H, fold by fold."""
    blocks = []
    for held, _ in design.fold_views:
        if dense is not None:
            block = dense[:, held][:, :, held]
        else:
            block = np.stack([-u[held] @ u[held].T for u in factors])
            np.einsum("sii->si", block)[:] += 1.0
        blocks.append(block)
    if len({block.shape for block in blocks}) == 1:  # one call instead of one a fold
        inverses = list(np.linalg.inv(np.stack(blocks)))
    else:
        inverses = [np.linalg.inv(block) for block in blocks]
    return RegionOperators(regions, dense, factors, tuple(inverses), np.dtype(dtype))


def checked_counts(design: Design, labelings: Labelings) -> np.ndarray:
    """Count training samples, float64 (n_folds, K, B); raise if a class has none."""
    counts = labelings.training_counts(design)
    if counts.min() < 1:
        fold = int(np.argwhere(counts.min(axis=(1, 2)) < 1)[0, 0])
        raise ValueError(
            "every class must be in the training samples of every fold, but one is "
            f"missing in fold {fold + 1}; use fewer folds or drop the class"
        )
    return counts.astype(float)


def are_unequal(counts: np.ndarray) -> bool:
    """Return whether classes have unequal counts (F, K, B) in a fold of a labeling."""
    return bool((counts != counts[:, :1]).any())


def level_margins(
    margins: np.ndarray, weights: np.ndarray, counts: np.ndarray, design: Design
) -> None:
    """Take off the less noise of larger classes: 1 / n costs ``weights`` (S, F)."""
    noise = 1.0 / counts.astype(float)
    noise -= noise.max(axis=1, keepdims=True)
    for fold, rows in enumerate(design.fold_slices):
        gains = weights[:, fold, np.newaxis] * noise[fold, :, np.newaxis]
        margins[rows] += gains.reshape(len(gains), -1)
