"""Maps of pairs of models trained on disjoint halves, and how well they agree."""

import numpy as np

from neuroextrap.learning_curves._sensitivity import sensitivity_factor
from neuroextrap.models._canonical_variates import CanonicalVariates

# features per batch of the back-projection: small enough for the processor's cache
_BATCH_SIZE = 4096


def check_pattern(pattern, classifier):
    """Raise for unknown patterns, and for canonical maps of other classifiers."""
    if pattern not in ("sensitivity", "log_sensitivity", "canonical", None):
        raise ValueError(
            f"pattern={pattern!r} must be 'sensitivity', 'log_sensitivity', 'canonical'"
            " or None; choose one"
        )
    if pattern == "canonical" and not isinstance(classifier, CanonicalVariates):
        raise TypeError(
            f"pattern='canonical' needs CanonicalVariates, not "
            f"{type(classifier).__name__}; use pattern='sensitivity' or None"
        )


def pattern_factor(run, model, members, pattern):
    """Return the columns from which the map of a model is made.

    Shape (n_coordinates, n_columns), in the coordinates of the model trained on
    `members`. Back-projected to features, the map is the column itself (canonical) or
    the sum of squares over the columns (sensitivity averaged over the members'
    samples).
    """
    if pattern == "canonical":
        if not len(model.canonical_maps_):
            return np.zeros((run.X.shape[1], 1))
        return model.canonical_maps_[:1].T
    rows = np.isin(run.groups, members)
    of = "posterior" if pattern == "sensitivity" else "log_posterior"
    labels = run.classes[run.codes[rows]]
    return sensitivity_factor(model, run.X[rows], labels, of=of)[0]


def align_sign(first, second):
    """Return the sign that turns the second model's first canonical direction around.

    It is decided by the class means in canonical coordinates, which say what the
    direction does to the labels, and never by the maps that are compared.
    """
    agreement = np.sum(first.class_means_[:, :1] * second.class_means_[:, :1])
    return -1.0 if agreement < 0 else 1.0


def feature_maps(run, factors, pattern):
    """Make the maps of many models, back-projected together.

    Returns shape (n_models, n_features) from one factor per model.
    """
    stacked = np.concatenate(factors, axis=1)
    starts = np.cumsum([0] + [factor.shape[1] for factor in factors[:-1]])
    n_features = stacked.shape[0] if run.back is None else run.back.shape[1]
    maps = np.empty((len(factors), n_features))
    for start in range(0, n_features, _BATCH_SIZE):
        batch = slice(start, start + _BATCH_SIZE)
        columns = stacked[batch] if run.back is None else run.back[:, batch].T @ stacked
        if pattern != "canonical":
            columns = np.add.reduceat(columns * columns, starts, axis=1)
        maps[:, batch] = columns.T
    return maps


def standardize_maps(maps):
    """Give every map (row) mean 0 and standard deviation 1.

    Constant maps, which agree with nothing, become NaN.
    """
    centered = maps - maps.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centered**2, axis=1, keepdims=True))
    varies = spread > 1e-12 * np.abs(maps).max(axis=1, keepdims=True)
    return centered / np.where(varies, spread, np.nan)
