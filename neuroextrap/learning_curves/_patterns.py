"""Maps of pairs of models trained on disjoint halves, and how well they agree."""

import numpy as np

from neuroextrap.learning_curves._sensitivity import sensitivity_factor
from neuroextrap.models._canonical_variates import CanonicalVariates

# voxels in one block of the back-projection: small enough for the cache
_BLOCK = 4096


def check_pattern(pattern, classifier):
    """Refuse unknown patterns, and canonical maps of other classifiers.

    Parameters
    ----------
    pattern : str or None
        Kind of map.
    classifier : classifier
        Whose map it is.

    Raises
    ------
    ValueError
        An unknown pattern.
    TypeError
        ``pattern="canonical"`` for a classifier without canonical maps.
    """
    allowed = ("sensitivity", "log_sensitivity", "canonical", None)
    if pattern not in allowed:
        raise ValueError(
            f"pattern={pattern!r} is unknown; allowed: 'sensitivity', "
            "'log_sensitivity', 'canonical', None."
        )
    if pattern == "canonical" and not isinstance(classifier, CanonicalVariates):
        raise TypeError(
            f"pattern='canonical' needs CanonicalVariates, not "
            f"{type(classifier).__name__}; use pattern='sensitivity' or None."
        )


def pattern_factor(problem, model, members, pattern):
    """Columns from which the map of a model is made, in the model's coordinates.

    Parameters
    ----------
    problem : Problem
        Samples.
    model : fitted classifier
        Trained on ``members``.
    members : array of int
        Its training groups; sensitivities are averaged over their samples.
    pattern : {"sensitivity", "log_sensitivity", "canonical"}
        Kind of map.

    Returns
    -------
    ndarray of shape (n_coordinates, n_columns)
        Back-projected to features, the map is the column itself (canonical) or the
        sum of squares over the columns (sensitivity).
    """
    if pattern == "canonical":
        if not len(model.canonical_maps_):
            return np.zeros((problem.X.shape[1], 1))
        return model.canonical_maps_[:1].T
    rows = np.isin(problem.groups, members)
    of = "posterior" if pattern == "sensitivity" else "log_posterior"
    labels = problem.classes[problem.codes[rows]]
    return sensitivity_factor(model, problem.X[rows], labels, of=of)[0]


def align_sign(first, second):
    """Sign that turns the second model's first canonical direction to the first's.

    Decided by the class means in canonical coordinates, which say what the
    direction does to the labels, and never by the maps that are compared.

    Parameters
    ----------
    first, second : CanonicalVariates
        Trained on disjoint groups, the same classes.

    Returns
    -------
    float
        1.0 or -1.0.
    """
    agreement = np.sum(first.class_means_[:, :1] * second.class_means_[:, :1])
    return -1.0 if agreement < 0 else 1.0


def feature_maps(problem, factors, pattern):
    """Make the maps of many models, back-projected together.

    Parameters
    ----------
    problem : Problem
        Holds the rotation back to features.
    factors : list of ndarray of shape (n_coordinates, n_columns)
        One a model.
    pattern : {"sensitivity", "log_sensitivity", "canonical"}
        Kind of map.

    Returns
    -------
    ndarray of shape (n_models, n_features)
        The maps.
    """
    stacked = np.concatenate(factors, axis=1)
    starts = np.cumsum([0] + [factor.shape[1] for factor in factors[:-1]])
    n_features = stacked.shape[0] if problem.back is None else problem.back.shape[1]
    maps = np.empty((len(factors), n_features))
    for start in range(0, n_features, _BLOCK):
        block = slice(start, start + _BLOCK)
        columns = (
            stacked[block]
            if problem.back is None
            else (problem.back[:, block].T @ stacked)
        )
        if pattern != "canonical":
            columns = np.add.reduceat(columns * columns, starts, axis=1)
        maps[:, block] = columns.T
    return maps


def standardize_maps(maps):
    """Remove the mean of every map and divide by its standard deviation.

    Parameters
    ----------
    maps : ndarray of shape (n_maps, n_features)
        Maps.

    Returns
    -------
    ndarray of shape (n_maps, n_features)
        Constant maps, which agree with nothing, become NaN.
    """
    centered = maps - maps.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centered**2, axis=1, keepdims=True))
    varies = spread > 1e-12 * np.abs(maps).max(axis=1, keepdims=True)
    return centered / np.where(varies, spread, np.nan)
