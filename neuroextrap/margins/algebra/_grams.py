"""Inner products of the samples of regions, and penalties: what no label enters.

Sums of numbers rounded to whole multiples of a power of two are exact in any order: so
margins of sums by class have the same bits whatever else is in their batch, and classes
that tie stay tied.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import blas

from neuroextrap.margins._kernel import kept_with
from neuroextrap.stats._validation import brief

MAX_INTENSITY = 0.999  # largest Ledoit-Wolf intensity: penalties stay finite
# products may be taken in float32 where the penalty is at least this multiple of the
# mean diagonal of the Gram matrix
FLOAT32_PENALTY = 1e-2
_GRAM_FEATURES = 2**14  # features whose inner products are summed together
_DIGITS = 52  # of a float64, the sign and one digit of safety aside


def ledoit_wolf_intensity(gram: np.ndarray, n_features: Any) -> Any:
    """Ledoit-Wolf shrinkage intensity, 0..1, of centered Gram matrices (..., n, n).

    ``n_features`` is the number of features behind each; one gives 0. (Ledoit & Wolf
    2004, "A well-conditioned estimator for large-dimensional covariance matrices",
    section 3.3.)
    """
    norms = np.diagonal(gram, axis1=-2, axis2=-1)
    return _intensity(norms, np.square(gram).sum(axis=(-2, -1)), n_features)


def _intensity(norms: np.ndarray, squares: Any, n_features: Any) -> Any:
    """Return the intensity from squared lengths, and sums of squared products."""
    n = norms.shape[-1]
    p = np.asarray(n_features)
    squared_norm = squares / n**2
    distance = squared_norm - np.square(norms.sum(-1) / n) / p
    noise = (np.square(norms).sum(-1) / n - squared_norm) / n
    apart = (p > 1) & (distance > 0)
    ratio = np.divide(noise, distance, out=np.zeros(apart.shape), where=apart)
    return np.clip(ratio, 0.0, 1.0)


_LARGEST = 1e30  # of a shrinkage: all else vanishes beside it


def check_shrinkage(shrinkage: Any, *more: str) -> None:
    """Raise unless `shrinkage` is one of the words, or a finite number >= 0."""
    words = "".join(f'"{word}", ' for word in more)
    given = brief(shrinkage)
    message = f'shrinkage={given} must be {words}"auto" or a finite number >= 0'
    if isinstance(shrinkage, str):
        if shrinkage != "auto":
            raise ValueError(message)
    elif isinstance(shrinkage, bool) or not isinstance(shrinkage, Real):
        raise TypeError(message)
    elif not 0 <= float(shrinkage) <= _LARGEST:
        raise ValueError(message)


def ridge_penalty(x: np.ndarray, *, shrinkage: Any = "auto") -> float:
    """Ridge penalty of a region from its unlabeled samples (n_samples, n_features).

    It is added to the diagonal of a scatter matrix (a sum of squares). "auto": with
    delta the Ledoit-Wolf intensity (at most 0.999), ``delta / (1 - delta)`` times the
    mean scatter of a feature, so that scatter plus penalty is proportional to the
    Ledoit-Wolf estimate. A float multiplies the mean scatter.
    """
    check_shrinkage(shrinkage)
    gram = centered_gram(x)
    return float(gram_penalties(gram[None], np.array([x.shape[1]]), shrinkage)[0])


def centered_gram(x: Any) -> np.ndarray:
    """Inner products of the samples in float64, feature means removed."""
    return _grams([np.asarray(x)])[0]


def centered_grams(xs: Sequence[np.ndarray]) -> np.ndarray:
    """Return `centered_gram` of every region, (S, n, n), kept with their samples."""
    return kept_with(xs, "grams", lambda: _grams(xs))


def rounded_grams(xs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the same rounded so that 4 n^2 numbers add up exactly."""
    n_terms = 4 * len(xs[0]) ** 2
    return kept_with(xs, "rounded grams", lambda: _grams(xs, n_terms))


def _grams(xs: Sequence[np.ndarray], n_terms: int = 0) -> np.ndarray:
    """Return inner products, rounded if asked, from some features at a time."""
    from neuroextrap.margins.compiled._class_sums import fill_centered, fill_symmetric

    grams = np.empty((len(xs), len(xs[0]), len(xs[0])))
    for x, gram in zip(xs, grams, strict=True):
        for start in range(0, x.shape[1], _GRAM_FEATURES):
            features = np.ascontiguousarray(x[:, start : start + _GRAM_FEATURES].T)
            part = np.empty(features.shape)
            fill_centered(features, part)
            blas.dsyrk(1.0, part.T, start > 0, gram.T, lower=True, overwrite_c=True)
        shift = 0.0
        if n_terms:  # no product is larger than those on the diagonal
            shift = _shift(float(gram.diagonal().max()), n_terms)
        fill_symmetric(gram, shift)
    return grams


def round_terms(terms: np.ndarray, n_terms: int) -> np.ndarray:
    """Round float64 terms (n_regions, ...) in place: n of a region add up exactly.

    The error of one is at most 2^-52 times their number times the largest of the
    region.
    """
    for region in terms:  # one of them stays in cache
        shift = _shift(max(region.max(), -region.min()), n_terms)
        region += shift
        region -= shift
    return terms


def _shift(largest: float, n_terms: int) -> float:
    """Return 1.5 * 2^52 units: added and subtracted, it rounds to whole units."""
    _, exponent = math.frexp(largest)
    digits = _DIGITS - (n_terms - 1).bit_length()
    return math.ldexp(1.5, exponent - digits + 52)


def allows_single(penalties: Any, norms: Any) -> Any:
    """Return whether products may be taken in float32, from the mean squared norms."""
    return penalties >= FLOAT32_PENALTY * norms


def scatter_penalty(
    x: np.ndarray, shrinkage: Any, rows: np.ndarray | None = None
) -> tuple[float, np.dtype]:
    """Return penalty and precision of centered samples (n, p), or of some `rows`."""
    check_shrinkage(shrinkage)
    n_samples, mean_norm = len(x), np.einsum("np,np->n", x, x).mean()
    if rows is not None:
        x = x[rows] - x[rows].mean(axis=0)
    norms = np.einsum("np,np->n", x, x)
    squares = np.square(x.T @ x).sum()
    n_features = np.array([x.shape[1]])
    intensity = _intensity(norms[None], np.array([squares]), n_features)
    scatter = norms.sum() / n_features
    (penalty,) = _penalties(scatter, intensity, n_features, n_samples, shrinkage)
    single = allows_single(penalty, mean_norm)
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


def gram_of(gram: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """Return the centered inner products (..., n, n) of some samples, None for all."""
    if rows is None:
        return gram
    some = gram[..., rows[:, np.newaxis], rows]
    some = some - some.mean(axis=-1, keepdims=True)
    return some - some.mean(axis=-2, keepdims=True)


def gram_penalties(
    grams: np.ndarray,
    n_features: np.ndarray,
    shrinkage: Any,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the penalty of each region, or of some `rows`, from inner products."""
    n_samples, grams = grams.shape[-1], gram_of(grams, rows)
    scatter = np.trace(grams, axis1=-2, axis2=-1) / n_features
    intensity = np.zeros(len(grams))
    if shrinkage == "auto":
        intensity = ledoit_wolf_intensity(grams, n_features)
    return _penalties(scatter, intensity, n_features, n_samples, shrinkage)
