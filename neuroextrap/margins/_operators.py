"""Label-free operators: what a region's data do to any labeling, once and for all.

Every cross-validated ridge or discriminant fit is a fixed linear operation on the
label indicators. It is built here from the centered Gram matrix of a region and
reused for every labeling.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

MAX_INTENSITY = 0.999
FLOAT32_PENALTY = 1e-2
_GRAM_FEATURES = 2**14


def ledoit_wolf_intensity(gram, n_features):
    """Ledoit-Wolf shrinkage intensity from a centered Gram matrix.

    Parameters
    ----------
    gram : ndarray, shape (..., n_samples, n_samples)
        Inner products of the samples, feature means removed.
    n_features : int or ndarray, shape (...)
        Number of features p behind each Gram matrix.

    Returns
    -------
    intensity : ndarray, shape (...)
        Weight of the scaled identity, between 0 and 1. One feature gives 0.

    References
    ----------
    Ledoit & Wolf 2004, "A well-conditioned estimator for large-dimensional
    covariance matrices", section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((20, 50))
    >>> x -= x.mean(0)
    >>> float(ledoit_wolf_intensity(x @ x.T, 50))
    0.868
    """
    n = gram.shape[-1]
    p = np.asarray(n_features)
    norms = np.diagonal(gram, axis1=-2, axis2=-1)
    squared_norm = np.square(gram).sum(axis=(-2, -1)) / n**2
    distance = squared_norm - np.square(norms.sum(-1) / n) / p
    noise = (np.square(norms).sum(-1) / n - squared_norm) / n
    some = (p > 1) & (distance > 0)
    ratio = np.divide(noise, distance, out=np.zeros(some.shape), where=some)
    return np.clip(ratio, 0.0, 1.0)


def check_shrinkage(shrinkage):
    """Raise unless `shrinkage` is "auto" or a finite number >= 0."""
    allowed = 'shrinkage must be "auto" or a finite number >= 0'
    if isinstance(shrinkage, str):
        if shrinkage != "auto":
            raise ValueError(f"{allowed}, got {shrinkage!r}")
    elif isinstance(shrinkage, bool) or not isinstance(shrinkage, Real):
        raise TypeError(f"{allowed}, got {shrinkage!r}")
    elif not 0 <= float(shrinkage) < np.inf:
        raise ValueError(f"{allowed}, got {shrinkage!r}")


def ridge_penalty(x, *, shrinkage="auto"):
    """Ridge penalty of a region from its unlabeled samples.

    Parameters
    ----------
    x : ndarray, shape (n_samples, n_features)
        Samples of one region.
    shrinkage : "auto" or float, default "auto"
        "auto": with delta the Ledoit-Wolf intensity of the total scatter (at most
        0.999), the penalty is ``delta / (1 - delta)`` times the mean scatter of a
        feature, so that scatter plus penalty is proportional to the Ledoit-Wolf
        estimate. A float multiplies the mean scatter of a feature.

    Returns
    -------
    penalty : float
        The number lambda added to the diagonal of a scatter matrix (a sum of
        squares, not divided by the number of samples).

    Raises
    ------
    TypeError
        If `shrinkage` is neither a string nor a real number.
    ValueError
        If `shrinkage` is negative, not finite or an unknown word, if `x` is
        constant, or if the penalty is 0 with at least as many features as samples.

    References
    ----------
    Ledoit & Wolf 2004, "A well-conditioned estimator for large-dimensional
    covariance matrices", section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((20, 50))
    >>> ridge_penalty(x, shrinkage=0.5)
    9.07
    """
    check_shrinkage(shrinkage)
    gram = centered_gram(x)
    return float(_penalties(gram[None], np.array([x.shape[1]]), shrinkage)[0])


def centered_gram(x, order=None):
    """Inner products of the samples in float64, feature means removed.

    `order` gives other rows than all in their order. Some features at a time, so that
    a region as large as a brain takes no memory but its own.
    """
    x = np.asarray(x)
    gram = np.zeros((len(x) if order is None else len(order),) * 2)
    for start in range(0, x.shape[1], _GRAM_FEATURES):
        some = x[:, start : start + _GRAM_FEATURES]
        some = np.array(some if order is None else some[order], dtype=float)
        some -= some.mean(axis=0)
        gram += some @ some.T
    return gram


def _penalties(grams, n_features, shrinkage):
    """Return the penalty of each region, shape (n_regions,)."""
    scatter = np.trace(grams, axis1=-2, axis2=-1) / n_features
    if not (scatter > 0).all():
        raise ValueError(
            "a region must vary over the samples, got constant or non-finite "
            "features; drop them before computing margins"
        )
    ratio = shrinkage
    if shrinkage == "auto":
        intensity = ledoit_wolf_intensity(grams, n_features)
        intensity = np.minimum(intensity, MAX_INTENSITY)
        ratio = intensity / (1.0 - intensity)
    penalties = np.broadcast_to(ratio * scatter, scatter.shape)
    if ((penalties == 0) & (n_features >= grams.shape[-1])).any():
        raise ValueError(
            f"shrinkage must be > 0 when a region has at least as many features as "
            f"samples ({grams.shape[-1]}), got {shrinkage!r}"
        )
    return penalties


@dataclass(frozen=True)
class RegionOperators:
    """Residual operators I - H of regions that share one form and one precision.

    Parameters
    ----------
    regions : ndarray of int, shape (n_regions,)
        Positions of the regions in the list they came from.
    dense : ndarray, shape (n_regions, n_samples, n_samples), or None
        I - H in float64 (the form for many features).
    factors : tuple of ndarray, shape (n_samples, n_features + 1), or None
        H = factor @ factor.T (the form for few features and many samples).
    inverses : tuple of ndarray, shape (n_regions, n_held, n_held)
        Per fold, the inverse of the held-out block of I - H.
    dtype : numpy.dtype
        Precision good enough for products with indicators.
    """

    regions: np.ndarray
    dense: np.ndarray | None
    factors: tuple | None
    inverses: tuple
    dtype: np.dtype

    def residuals(self, indicators):
        """Apply I - H to the indicators of labelings.

        Parameters
        ----------
        indicators : ndarray, shape (B, n_samples, K)

        Returns
        -------
        residuals : ndarray, shape (n_regions, B, n_samples, K)
        """
        if self.dense is not None:
            return np.matmul(self.dense[:, None], indicators)
        return np.stack(
            [indicators - u @ (u.T @ indicators) for u in self.factors or ()]
        )

    def residuals_of(self, region, indicators):
        """Apply one region's I - H to indicators with the labelings last.

        Parameters
        ----------
        region : int
            Position in ``regions``.
        indicators : ndarray, shape (n_samples, K, B)

        Returns
        -------
        residuals : ndarray, shape (n_samples, K, B)
        """
        flat = indicators.reshape(len(indicators), -1)
        if self.dense is not None:
            out = self.dense[region] @ flat
        else:
            u = (self.factors or ())[region]
            out = flat - u @ (u.T @ flat)
        return out.reshape(indicators.shape)

    @cached_property
    def flat_inverses(self):
        """The inverse blocks of all folds in a row, one row a region."""
        n_regions = len(self.regions)
        return np.concatenate([a.reshape(n_regions, -1) for a in self.inverses], axis=1)


def residual_operators(xs, design, *, shrinkage="auto"):
    """Ridge residual operators of a list of regions, grouped by form and precision.

    The smoother of the centered samples with an unpenalized intercept is
    ``H = K (K + lambda I)^-1 + 11'/n``. With many features ``I - H`` itself is
    kept; with fewer features than half the samples, a factor of ``H``.

    Parameters
    ----------
    xs : list of ndarray, shape (n_samples, n_features_s)
        Samples of each region.
    design : Design
        Folds; only the held-out samples of each matter here.
    shrinkage : "auto" or float, default "auto"
        See `ridge_penalty`.

    Returns
    -------
    operators : list of RegionOperators
        Products may be taken in float32 where the penalty is at least 0.01 of
        the mean diagonal of K.
    """
    check_shrinkage(shrinkage)
    check_regions(xs, design)
    n = design.n_samples
    n_features = np.array([x.shape[1] for x in xs])
    grams = np.empty((len(xs), n, n))
    for gram, x in zip(grams, xs, strict=True):
        gram[:] = centered_gram(x)
    penalties = _penalties(grams, n_features, shrinkage)
    traces = np.trace(grams, axis1=1, axis2=2)
    single = penalties >= FLOAT32_PENALTY * traces / n
    thin = (2 * n_features < n) | (penalties == 0)
    groups = []
    for chosen, dtype in ((single, np.float32), (~single, np.float64)):
        wide = np.flatnonzero(chosen & ~thin)
        if len(wide):
            chosen_grams = grams if len(wide) == len(xs) else grams[wide]
            dense = _dense_residuals(chosen_grams, penalties[wide])
            groups.append(_with_inverses(wide, dense, None, design, dtype))
        for s in np.flatnonzero(chosen & thin):
            factor = _smoother_factor(xs[s], penalties[s])
            groups.append(_with_inverses([s], None, (factor,), design, dtype))
    return groups


def check_regions(xs, design):
    """Raise unless every region is a non-empty 2-D array over the design's samples."""
    for x in xs:
        if np.ndim(x) != 2 or len(x) != design.n_samples or not np.shape(x)[1]:
            raise ValueError(
                f"each region must have shape ({design.n_samples}, n_features >= 1), "
                f"got {np.shape(x)}"
            )


def _dense_residuals(grams, penalties):
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


def _smoother_factor(x, penalty):
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


def _with_inverses(regions, dense, factors, design, dtype):
    """Attach the inverse held-out blocks of I - H, fold by fold."""
    inverses = []
    for held, _ in design.fold_views:
        if dense is not None:
            block = dense[:, held][:, :, held]
        else:
            block = np.stack([-u[held] @ u[held].T for u in factors])
            np.einsum("sii->si", block)[:] += 1.0
        inverses.append(np.linalg.inv(block))
    return RegionOperators(
        np.asarray(regions), dense, factors, tuple(inverses), np.dtype(dtype)
    )


def checked_counts(design, labelings):
    """Training samples of each class in each fold and labeling, none of them 0.

    Parameters
    ----------
    design : Design
        Folds over n samples.
    labelings : Labelings
        B labelings of K classes.

    Returns
    -------
    counts : ndarray of float64, shape (n_folds, K, B)

    Raises
    ------
    ValueError
        If a class is absent from the training samples of a fold.
    """
    counts = labelings.training_counts(design)
    if counts.min() < 1:
        fold = int(np.argwhere(counts.min(axis=(1, 2)) < 1)[0, 0])
        raise ValueError(
            "every class must be in the training samples of every fold, but one is "
            f"missing in fold {fold + 1}; use fewer folds or drop the class"
        )
    return counts.astype(float)
