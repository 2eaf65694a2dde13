"""The arithmetic of canonical variates in a singular value basis."""

import numbers

import numpy as np

from neuroextrap.stats._validation import brief, check_choice, check_number, real_array

_BASES = ("svd", "generalizable")
# smallest share of within-class variance, in the direction of the data where it is
# smallest, that still counts as an invertible within-class scatter
_SINGULAR = 1e-10


def check_options(n_components, basis, significance_level):
    """Raise a ValueError for options outside their allowed values, before any work."""
    check_choice(basis, "basis", _BASES)
    if n_components is not None and (
        not isinstance(n_components, numbers.Integral) or n_components < 1
    ):
        raise ValueError(
            f"n_components={brief(n_components)} must be a positive integer or None; "
            "None chooses it from the data"
        )
    level = 0.5 if significance_level is None else significance_level
    if not 0 < check_number(level, "significance_level") < 1:
        raise ValueError(
            f"significance_level={brief(significance_level)} must lie between 0 and 1, "
            "or be None; None keeps every canonical direction"
        )


def check_classes(classes, n_samples):
    """Ask for at least two sorted `classes`, and for more samples than classes."""
    if len(classes) < 2:
        raise ValueError(
            "Canonical variates need samples of at least 2 classes; y holds one "
            f"class, {classes.tolist()[0]!r}"
        )
    if n_samples <= len(classes):
        raise ValueError(
            f"{n_samples} samples of {len(classes)} classes leave no within-class "
            "degree of freedom; train on more samples per class"
        )


def class_priors(priors, codes):
    """Class probabilities (n_classes,): `priors` or else frequencies of `codes`."""
    counts = np.bincount(codes)
    return counts / len(codes) if priors is None else check_priors(priors, len(counts))


def check_priors(priors, n_classes, name="priors"):
    """Known class probabilities as float64, (n_classes,): positive, their sum one."""
    priors = real_array(priors, name)
    if priors.shape != (n_classes,):
        raise ValueError(
            f"{name} of shape {priors.shape} given; {n_classes} classes need shape "
            f"({n_classes},), in the order of the sorted labels"
        )
    if not (np.all(priors > 0) and abs(priors.sum() - 1) < 1e-8):
        raise ValueError(
            f"{name}={priors.tolist()} must be positive and sum to 1; divide them by "
            "their sum"
        )
    return priors


def leading_svd(centered, n_components=None):
    """Leading singular vectors of centered samples, without the null directions.

    Returns left (n_samples, rank), values (rank,) decreasing, and right (rank,
    n_features). A few come from inner products of the samples, several times faster,
    where these squares are precise enough.
    """
    n_samples, n_features = centered.shape
    if n_components is not None and 2 * n_components < min(n_samples, n_features):
        factors = _leading_of_inner_products(centered, n_components)
        if factors is not None:
            return factors
    left, values, right = np.linalg.svd(centered, full_matrices=False)
    if values.size == 0 or values[0] == 0:
        return left[:, :0], values[:0], right[:0]
    tolerance = 10 * max(centered.shape) * np.finfo(np.float64).eps
    kept = slice(
        min(int(np.sum(values > tolerance * values[0])), n_components or n_samples)
    )
    return left[:, kept], values[kept], right[kept]


def _leading_of_inner_products(centered, n_components):
    """Leading singular vectors from inner products; None where too imprecise."""
    from scipy.linalg import eigh

    n_samples, n_features = centered.shape
    small = centered if n_samples <= n_features else centered.T
    products = small @ small.T
    last = len(products) - 1
    squares, vectors = eigh(
        products, subset_by_index=[last - n_components + 1, last], overwrite_a=True
    )
    squares, vectors = squares[::-1], vectors[:, ::-1]
    if squares[-1] <= 1e-6 * squares[0]:
        return None
    values = np.sqrt(squares)
    others = (vectors.T @ small) / values[:, None]
    if n_samples <= n_features:
        return vectors, values, others
    return others.T, values, vectors.T


def _weighted_class_means(left, codes):
    """Class means times the root of the class counts, (n_classes, n_components)."""
    indicator = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    return (indicator / np.sqrt(indicator.sum(axis=0))).T @ left


def supported_components(left, codes):
    """Count the leading components whose within-class scatter is invertible.

    `left` (n_samples, n_components) is orthonormal with mean zero: the smallest
    eigenvalue is one minus the largest squared canonical correlation.
    """
    means = _weighted_class_means(left, codes)
    for kept in range(left.shape[1], 0, -1):
        if 1 - np.linalg.norm(means[:, :kept], 2) ** 2 > _SINGULAR:
            return kept
    return 0


def canonical_directions(left, codes):
    """Directions, correlations and class means of whitened samples, see above."""
    means = _weighted_class_means(left, codes)
    n_directions = min(len(means) - 1, left.shape[1])
    scaled, correlations, rotation = np.linalg.svd(means, full_matrices=False)
    correlations = correlations[:n_directions]
    counts = np.bincount(codes)
    class_means = scaled[:, :n_directions] * correlations / np.sqrt(counts)[:, None]
    # the class mean farthest out becomes positive (the last of equals)
    size = np.abs(class_means)
    far = size >= (1 - 1e-6) * size.max(axis=0)
    last = len(size) - 1 - np.argmax(far[::-1], axis=0)
    picked = np.take_along_axis(class_means, last[None], axis=0)[0]
    signs = np.where(picked < 0, -1.0, 1.0)
    return rotation[:n_directions].T * signs, correlations, class_means * signs


def direction_p_values(correlations, *, n_samples, n_components, n_classes):
    """Bartlett's sequential test that a direction and all later ones are null."""
    from scipy.special import chdtrc

    order = np.arange(len(correlations))
    log_terms = -np.log1p(-(correlations**2))
    tails = np.cumsum(log_terms[::-1])[::-1]
    statistic = (n_samples - 1 - (n_components + n_classes) / 2) * tails
    freedom = (n_components - order) * (n_classes - 1 - order)
    return np.where(statistic > 0, chdtrc(freedom, np.maximum(statistic, 0)), 1.0)


def generalizable_singular_values(left, values, groups=None, *, n_components=None):
    """Re-estimate singular values by leaving out groups (None: single samples).

    Each group is projected on the leading singular vectors of the others; the root of
    the sum of squares of the coordinates on the i-th vectors replaces the i-th singular
    value. Returns the leading `n_components` (None: all), each at least a thousandth of
    its old value.
    """
    n_components = len(values) if n_components is None else n_components
    groups = np.arange(len(left)) if groups is None else groups
    coordinates = left * values
    squares = np.zeros(n_components)
    for group in np.unique(groups):
        out = groups == group
        _, _, basis = leading_svd(coordinates[~out], n_components)
        projections = coordinates[out] @ basis.T
        squares[: projections.shape[1]] += np.sum(projections**2, axis=0)
    return np.maximum(np.sqrt(squares), 1e-3 * values[:n_components])
