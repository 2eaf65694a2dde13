"""Label-free operators: what a region's data do to any labeling, once and for all.

Every cross-validated ridge or discriminant fit is a fixed linear operation on the
label indicators. It is built here from the centered Gram matrix of a region and
reused for every labeling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import RegionSamples, kept_with, sizes_of
from neuroextrap.margins.algebra._overlapping_grams import round_gram

MAX_INTENSITY = 0.999  # largest Ledoit-Wolf intensity: penalties stay finite
# products may be taken in float32 where the penalty is at least this multiple of the
# mean diagonal of the Gram matrix
FLOAT32_PENALTY = 1e-2
_GRAM_FEATURES = 2**14  # features whose inner products are summed together


def ledoit_wolf_intensity(gram: np.ndarray, n_features: Any) -> Any:
    """Ledoit-Wolf shrinkage intensity, 0..1, from centered Gram matrices.

    ``gram`` has shape (..., n_samples, n_samples), feature means removed, and
    ``n_features`` is the number of features behind each. One feature gives 0.

    Ledoit & Wolf 2004, "A well-conditioned estimator for large-dimensional covariance
    matrices", section 3.3.
    """
    norms = np.diagonal(gram, axis1=-2, axis2=-1)
    return _intensity(norms, np.square(gram).sum(axis=(-2, -1)), n_features)


def _intensity(norms: np.ndarray, squares: Any, n_features: Any) -> Any:
    """Return the intensity from the squared length of each sample, (..., n_samples).

    ``squares`` are the sums of all squared inner products of samples, which are those
    of all squared elements of the scatter matrix of features.
    """
    n = norms.shape[-1]
    p = np.asarray(n_features)
    squared_norm = squares / n**2
    distance = squared_norm - np.square(norms.sum(-1) / n) / p
    noise = (np.square(norms).sum(-1) / n - squared_norm) / n
    apart = (p > 1) & (distance > 0)
    ratio = np.divide(noise, distance, out=np.zeros(apart.shape), where=apart)
    return np.clip(ratio, 0.0, 1.0)


def check_shrinkage(shrinkage: Any) -> None:
    """Raise unless `shrinkage` is "auto" or a finite number >= 0."""
    message = f'shrinkage={shrinkage!r} must be "auto" or a finite number >= 0'
    if isinstance(shrinkage, str):
        if shrinkage != "auto":
            raise ValueError(message)
    elif isinstance(shrinkage, bool) or not isinstance(shrinkage, Real):
        raise TypeError(message)
    elif not 0 <= float(shrinkage) < np.inf:
        raise ValueError(message)


def check_priors(priors: Any) -> None:
    """Raise unless `priors` is "equal" or "frequency"."""
    if priors not in {"equal", "frequency"}:
        raise ValueError(f'priors={priors!r} must be "equal" or "frequency"')


def ridge_penalty(x: np.ndarray, *, shrinkage: Any = "auto") -> float:
    """Ridge penalty of a region from its unlabeled samples (n_samples, n_features).

    It is added to the diagonal of a scatter matrix (a sum of squares, not divided by
    the number of samples). "auto": with delta the Ledoit-Wolf intensity of the total
    scatter (at most 0.999), the penalty is ``delta / (1 - delta)`` times the mean
    scatter of a feature, so that scatter plus penalty is proportional to the
    Ledoit-Wolf estimate. A float multiplies the mean scatter of a feature.
    """
    check_shrinkage(shrinkage)
    gram = centered_gram(x)
    return float(_gram_penalties(gram[None], np.array([x.shape[1]]), shrinkage)[0])


def centered_gram(x: Any, order: Any = None) -> np.ndarray:
    """Inner products of the samples in float64, feature means removed.

    `order` gives other rows than all in their order. Some features at a time, so that
    a region as large as a brain takes no memory but its own.
    """
    x = np.asarray(x)
    gram: Any = 0.0
    for start in range(0, x.shape[1], _GRAM_FEATURES):
        part = x[:, start : start + _GRAM_FEATURES]
        part = np.array(part if order is None else part[order], dtype=float)
        part -= np.add.reduce(part, axis=0) / len(part)
        product = part @ part.T
        gram = product if start == 0 else gram + product
    return gram


def fill_centered_grams(
    xs: Sequence[np.ndarray], out: np.ndarray, n_terms: int | None = None
) -> None:
    """Fill `centered_gram` of every region, (S, n, n).

    Rounded where `n_terms` are to add up without rounding.
    """
    if isinstance(xs, RegionSamples) and xs.fill_grams is not None:
        xs.fill_grams(out, n_terms)
        return
    for x, gram in zip(xs, out, strict=True):
        gram[:] = centered_gram(x)
        if n_terms is not None:
            round_gram(gram, n_terms)


def scatter_penalty(x: np.ndarray, shrinkage: Any) -> tuple[float, np.dtype]:
    """Return the penalty of centered samples (n, p), from p x p products only.

    With it comes a precision that is good enough for products with indicators.
    """
    check_shrinkage(shrinkage)
    norms = np.einsum("np,np->n", x, x)
    squares = np.square(x.T @ x).sum()
    n_features = np.array([x.shape[1]])
    intensity = _intensity(norms[None], np.array([squares]), n_features)
    scatter = norms.sum() / n_features
    (penalty,) = _penalties(scatter, intensity, n_features, len(x), shrinkage)
    single = penalty >= FLOAT32_PENALTY * norms.mean()
    return float(penalty), np.dtype(np.float32 if single else np.float64)


def _penalties(
    scatter: np.ndarray,
    intensity: np.ndarray,
    n_features: np.ndarray,
    n_samples: int,
    shrinkage: Any,
) -> np.ndarray:
    """Return the penalty of each region, from the mean scatter of its features."""
    if not (scatter > 0).all():
        raise ValueError(
            "a region must vary over the samples, got constant or non-finite "
            "features; drop them before computing margins"
        )
    ratio = shrinkage
    if shrinkage == "auto":
        intensity = np.minimum(intensity, MAX_INTENSITY)
        ratio = intensity / (1.0 - intensity)
    penalties = np.broadcast_to(ratio * scatter, scatter.shape)
    if ((penalties == 0) & (n_features >= n_samples)).any():
        raise ValueError(
            f"shrinkage={shrinkage!r} must be > 0 when a region has at least as many "
            f'features as samples ({n_samples}); use "auto"'
        )
    return penalties


def _gram_penalties(
    grams: np.ndarray, n_features: np.ndarray, shrinkage: Any
) -> np.ndarray:
    """Return the penalty of each region, from its centered inner products."""
    scatter = np.trace(grams, axis1=-2, axis2=-1) / n_features
    intensity = np.zeros(len(grams))
    if shrinkage == "auto":
        intensity = ledoit_wolf_intensity(grams, n_features)
    return _penalties(scatter, intensity, n_features, grams.shape[-1], shrinkage)


@dataclass(frozen=True)
class RegionOperators:
    """Residual operators I - H of regions that share one form and one precision.

    ``regions`` says where they lie in the list they came from. Either ``dense`` is
    I - H in float64, shape (n_regions, n_samples, n_samples): the form for many
    features. Or ``factors`` holds one (n_samples, n_features + 1) array per region with
    H = factor @ factor.T: the form for few features and many samples. ``inverses`` has,
    per fold, the inverses (n_regions, n_held, n_held) of the held-out blocks of I - H,
    and ``dtype`` is a precision good enough for products with indicators.
    """

    regions: np.ndarray
    dense: np.ndarray | None
    factors: tuple | None
    inverses: tuple
    dtype: np.dtype

    def residuals(self, indicators: np.ndarray) -> np.ndarray:
        """Apply I - H to (B, n_samples, K); (n_regions, B, n_samples, K) comes out."""
        if self.dense is not None:
            return np.matmul(self.dense[:, None], indicators)
        return np.stack(
            [indicators - u @ (u.T @ indicators) for u in self.factors or ()]
        )

    def residuals_of(self, region: int, indicators: np.ndarray) -> np.ndarray:
        """Apply I - H of the region at this position to (n_samples, K, B)."""
        flat = indicators.reshape(len(indicators), -1)
        if self.dense is not None:
            out = self.dense[region] @ flat
        else:
            u = (self.factors or ())[region]
            out = flat - u @ (u.T @ flat)
        return out.reshape(indicators.shape)

    @cached_property
    def flat_inverses(self) -> np.ndarray:
        """The inverse blocks of all folds in a row, one row a region."""
        n_regions = len(self.regions)
        return np.concatenate([a.reshape(n_regions, -1) for a in self.inverses], axis=1)


def residual_operators(
    xs: Sequence[np.ndarray], design: Design, *, shrinkage: Any = "auto"
) -> list[RegionOperators]:
    """Ridge residual operators of a list of regions, grouped by form and precision.

    The smoother of the centered samples with an unpenalized intercept is
    ``H = K (K + lambda I)^-1 + 11'/n``, lambda from `ridge_penalty`. With many features
    ``I - H`` itself is kept; with fewer features than half the samples, a factor of
    ``H``. Products may be taken in float32 where the penalty is at least 0.01 of the
    mean diagonal of K.
    """
    n = design.n_samples
    n_features = sizes_of(xs)
    grams, penalties = penalized_grams(xs, design, shrinkage=shrinkage)
    traces = np.trace(grams, axis1=1, axis2=2)
    single = penalties >= FLOAT32_PENALTY * traces / n
    thin = (2 * n_features < n) | (penalties == 0)
    everything = None if thin.any() else dense_residuals(xs, grams, penalties)
    groups = []
    for chosen, dtype in ((single, np.float32), (~single, np.float64)):
        wide = np.flatnonzero(chosen & ~thin)
        if len(wide):
            if everything is None:
                dense = _dense_residuals(grams[wide], penalties[wide])
            else:
                dense = everything if len(wide) == len(xs) else everything[wide]
            groups.append(_with_inverses(wide, dense, None, design, dtype))
        for s in np.flatnonzero(chosen & thin):
            factor = _smoother_factor(xs[int(s)], penalties[s])
            thin_region = np.array([s])
            groups.append(_with_inverses(thin_region, None, (factor,), design, dtype))
    return groups


def penalized_grams(
    xs: Sequence[np.ndarray], design: Design, *, shrinkage: Any = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """Return centered Gram matrices (n_regions, n, n) and penalties (n_regions,)."""
    check_shrinkage(shrinkage)
    check_regions(xs, design)
    n_features = sizes_of(xs)
    shape = design.n_samples, design.n_samples
    grams = kept_with(xs, "grams", shape, partial(fill_centered_grams, xs))
    return grams, _gram_penalties(grams, n_features, shrinkage)


def check_regions(xs: Sequence[np.ndarray], design: Design) -> None:
    """Raise unless every region is a non-empty 2-D array over the design's samples."""
    if isinstance(xs, RegionSamples):
        return  # from the task's regions
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

    def fill(out: np.ndarray) -> None:
        out[:] = _dense_residuals(grams, penalties)

    return kept_with(xs, "residuals", grams.shape[1:], fill)


def _dense_residuals(grams: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """I - H = lambda (K + lambda I)^-1 - 11'/n of each region, by Cholesky.

    K has no part along 1; a level as large as its mean eigenvalue is put there, and
    its known share taken off the inverse, so that nothing large cancels.
    """
    from scipy.linalg import lapack

    n = grams.shape[-1]
    out = np.empty_like(grams)
    lower = np.tri(n)
    lower[np.diag_indices(n)] = 0.5
    for gram, penalty, residual in zip(grams, penalties, out, strict=True):
        level = np.trace(gram) / n
        system = gram + level / n
        system[np.diag_indices(n)] += penalty
        root, _ = lapack.dpotrf(system.T, clean=False, overwrite_a=True)
        inverse, info = lapack.dpotri(root, overwrite_c=True)
        if info != 0:
            raise ValueError("a region's scatter is singular; use a larger shrinkage")
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
    scatter = x.T @ x + penalty * np.eye(p)
    values, vectors = np.linalg.eigh(scatter)
    if values[0] <= p * np.finfo(float).eps * values[-1]:
        raise ValueError(
            "a region has collinear features, which needs shrinkage > 0; got a "
            "penalty of 0 or too small to matter"
        )
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
