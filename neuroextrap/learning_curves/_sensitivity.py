"""Sensitivity maps: how much the predictions change with every voxel."""

import numpy as np

from neuroextrap.learning_curves._linear_scores import (
    linear_scores,
    posterior_of_scores,
)
from neuroextrap.models._canonical_variates import CanonicalVariates

_OF = ("posterior", "log_posterior")


def sensitivity_map(classifier, X, y, *, of="posterior", label=None):
    """Mean squared derivative of the true label's posterior with respect to voxels.

    Parameters
    ----------
    classifier : fitted classifier
        ``CanonicalVariates`` (closed form), ``VoxelwiseGaussian`` with pooled
        variance, or any scikit-learn classifier whose posterior is a softmax (or
        normalized sigmoids) of linear scores, such as LogisticRegression or
        LinearDiscriminantAnalysis, also behind StandardScaler or PCA in a Pipeline.
    X : array of shape (n_samples, n_features)
        Samples to average over.
    y : array of shape (n_samples,)
        Their labels.
    of : {"posterior", "log_posterior"}
        Differentiate p(g|x), the definition, or log p(g|x), which the paper's
        closed form prints.
    label : label, optional
        Average over the samples of this label only. None: over all.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative; in units of squared probability (or squared nats) per squared
        unit of X. It has no sign: look at the canonical maps for that.

    Raises
    ------
    TypeError
        A classifier whose posterior is not such a function of linear scores.
    ValueError
        An unknown option, or a label that the classifier or the samples lack.

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
    """Factor F of the map, ``s = exp(2 c) * sum of squares of the rows of F``.

    The map is the diagonal of ``M D D' M' / N``; with ``D' / sqrt(N) = Q R`` it is
    that of ``F F'`` for ``F = M R'``. The scale is kept apart, so that the shape of
    the map survives where every posterior is so close to one that its derivative
    is no floating point number any more.

    Parameters
    ----------
    classifier : fitted classifier
        As in :func:`sensitivity_map`.
    X : array of shape (n_samples, n_features)
        Samples.
    y : array of shape (n_samples,)
        Labels.
    of : {"posterior", "log_posterior"}
        What is differentiated.
    label : label, optional
        Average over this label only.

    Returns
    -------
    factor : ndarray of shape (n_features, n_directions)
        One column of zeros when there is no direction.
    log_scale : float
        c, natural logarithm.
    """
    if of not in _OF:
        raise ValueError(
            f"of={of!r} is unknown; allowed: 'posterior', 'log_posterior'."
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
            f"saw; it knows {classes.tolist()}."
        )
    codes = np.searchsorted(classes, y)
    if label is None:
        return X, codes
    mine = y == label
    if not mine.any():
        raise ValueError(
            f"label={label!r} has no sample in y; it holds {np.unique(y).tolist()}."
        )
    return X[mine], codes[mine]


def _wrong_weights(log_posterior, codes, of):
    """Weights p(h|x) of the wrong classes, times p(g|x) for ``of="posterior"``.

    d log p(g|x) = sum over h of p(h|x) (d f_g - d f_h): the right class drops out,
    so nothing cancels where its posterior is almost one. The largest weight is one;
    the logarithm of the factor taken out comes second.
    """
    logs = log_posterior.copy()
    rows = np.arange(len(codes))
    own = logs[rows, codes]
    logs[rows, codes] = -np.inf
    if of == "posterior":
        logs += own[:, None]
    log_scale = logs.max()
    return np.exp(logs - log_scale), float(log_scale)


def _canonical_slopes(model, X, codes, of):
    """Eigenimages (d, p) and derivatives in canonical space, (n_samples, d).

    The coordinate itself cancels: d log p(g|c) / dc = cbar_g - sum_h p(h|c) cbar_h.
    """
    weights, log_scale = _wrong_weights(model.predict_log_proba(X), codes, of)
    means = model.class_means_
    slopes = np.einsum("jh,jhd->jd", weights, means[codes][:, None] - means)
    return model.canonical_maps_, slopes, log_scale


def _linear_slopes(classifier, X, codes, of):
    """Weights of the linear scores (K, p) and derivatives by them, (n_samples, K)."""
    maps, scores, link = linear_scores(classifier, X)
    log_posterior, gain = posterior_of_scores(scores, link)
    weights, log_scale = _wrong_weights(log_posterior, codes, of)
    slopes = -weights * gain
    rows = np.arange(len(codes))
    slopes[rows, codes] = weights.sum(axis=1) * gain[rows, codes]
    return maps, slopes, log_scale
