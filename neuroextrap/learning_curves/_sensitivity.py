"""Sensitivity maps: how much the predictions change with every voxel."""

import numpy as np

from neuroextrap.learning_curves._linear_scores import (
    linear_scores,
    posterior_of_scores,
)
from neuroextrap.models._canonical_variates import CanonicalVariates


def sensitivity_map(classifier, X, y, *, of="posterior", label=None):
    """Compute the mean squared derivative of the true label's posterior by voxel.

    Parameters
    ----------
    classifier : fitted classifier
        ``CanonicalVariates`` (closed form), ``VoxelwiseGaussian`` with pooled
        variance, or any scikit-learn classifier whose posterior is a softmax (or
        normalized sigmoids) of linear scores, such as LogisticRegression or
        LinearDiscriminantAnalysis, also behind StandardScaler or PCA in a Pipeline.
    X : array-like of shape (n_samples, n_features)
        Samples to average over.
    y : array-like of shape (n_samples,)
        Label of every sample.
    of : {"posterior", "log_posterior"}, default="posterior"
        Differentiate p(g|x), the definition, or log p(g|x), which the paper's
        closed form prints.
    label : label or None, default=None
        Average over the samples of this label only. If None, over all.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative; in units of squared probability (or squared nats) per squared
        unit of X. It has no sign: look at the canonical maps for that.

    Raises
    ------
    TypeError
        For a classifier whose posterior is not such a function of linear scores.
    ValueError
        For an unknown option, or a label that the classifier or the samples lack.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 14-15 and 24-26 (eq. 25 lacks the factor
    p(g|x) of the definition, eq. 26 divides by all samples).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.learning_curves import CanonicalVariates, sensitivity_map
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 30)
    >>> X = rng.standard_normal((60, 4))
    >>> X[:, 2] += 2 * y
    >>> model = CanonicalVariates().fit(X, y)
    >>> int(np.argmax(sensitivity_map(model, X, y)))
    2
    """
    factor, log_scale = sensitivity_factor(classifier, X, y, of=of, label=label)
    return np.exp(2 * log_scale) * np.sum(factor**2, axis=1)


def sensitivity_factor(classifier, X, y, *, of="posterior", label=None):
    """Return F (n_features, n_directions) and c, which make the map.

    The map is ``exp(2 c)`` times the row sums of F^2, the diagonal of ``M D D' M' /
    N``; with ``D' / sqrt(N) = Q R`` it is that of ``F F'`` for ``F = M R'``. The scale
    c (natural logarithm) is kept apart, so that the shape of the map survives where
    every posterior is so close to one that its derivative is no floating point number
    any more. F is one column of zeros when there is no direction.
    """
    if of not in ("posterior", "log_posterior"):
        raise ValueError(
            f"of={of!r} must be 'posterior' or 'log_posterior'; choose one"
        )
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    X, codes = _select(classifier, X, y, label)
    if isinstance(classifier, CanonicalVariates):
        maps, slopes, log_scale = _canonical_slopes(classifier, X, codes, of)
    else:
        maps, slopes, log_scale = _linear_slopes(classifier, X, codes, of)
    if not len(maps):
        return np.zeros((X.shape[1], 1)), 0.0
    triangle = np.linalg.qr(slopes / np.sqrt(len(X)), mode="r")
    return maps.T @ triangle.T, log_scale


def _select(classifier, X, y, label):
    """Return samples of the wanted label and their class numbers."""
    classes = np.asarray(classifier.classes_)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y holds the label {y[unknown].tolist()[0]!r}, which the classifier never "
            f"saw; it knows {classes.tolist()}, so leave the others out"
        )
    codes = np.searchsorted(classes, y)
    if label is None:
        return X, codes
    of_label = y == label
    if not of_label.any():
        raise ValueError(
            f"label={label!r} has no sample in y, which holds {np.unique(y).tolist()}; "
            "choose one of these"
        )
    return X[of_label], codes[of_label]


def _wrong_weights(log_posterior, codes, of):
    """Return weights p(h|x) of the wrong classes, times p(g|x) for ``of="posterior"``.

    d log p(g|x) = sum over h of p(h|x) (d f_g - d f_h): the right class drops out, so
    nothing cancels where its posterior is almost one. The largest weight is one; the
    logarithm of the factor taken out comes second.
    """
    logs = log_posterior.copy()
    rows = np.arange(len(codes))
    right = logs[rows, codes]
    logs[rows, codes] = -np.inf
    if of == "posterior":
        logs += right[:, None]
    log_scale = logs.max()
    return np.exp(logs - log_scale), float(log_scale)


def _canonical_slopes(model, X, codes, of):
    """Return eigenimages (d, p), derivatives by coordinates (n, d), and log scale.

    The coordinate itself cancels: d log p(g|c) / dc = cbar_g - sum_h p(h|c) cbar_h.
    """
    weights, log_scale = _wrong_weights(model.predict_log_proba(X), codes, of)
    means = model.class_means_
    slopes = np.einsum("jh,jhd->jd", weights, means[codes][:, None] - means)
    return model.canonical_maps_, slopes, log_scale


def _linear_slopes(classifier, X, codes, of):
    """Return weights of scores (K, p), derivatives by scores (n, K), and log scale."""
    maps, scores, link = linear_scores(classifier, X)
    log_posterior, gain = posterior_of_scores(scores, link)
    weights, log_scale = _wrong_weights(log_posterior, codes, of)
    slopes = -weights * gain
    rows = np.arange(len(codes))
    slopes[rows, codes] = weights.sum(axis=1) * gain[rows, codes]
    return maps, slopes, log_scale
