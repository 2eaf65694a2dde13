"""Maps of classifiers: linear scores, sensitivities, patterns of models compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from neuroextrap.design._folds import codes_of
from neuroextrap.learning_curves._voxelwise_gaussian import VoxelwiseGaussian
from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import brief, check_choice, real_array

# features per batch of the back-projection: small enough for the processor's cache
_BATCH_SIZE = 4096


def linear_scores(classifier, X):
    """Return weights (n_classes, n_features), scores (n_samples, n_classes) and link.

    Weights are the derivatives of the scores; two classes have minus and plus half the
    log odds. The link ("softmax" or "sigmoids") is the one that gives the posteriors.
    """
    if isinstance(classifier, VoxelwiseGaussian):
        if classifier.variance != "pooled":
            raise TypeError(
                "VoxelwiseGaussian(variance='class') has no linear scores; use "
                "variance='pooled'"
            )
        variances = np.where(classifier.variances_ > 0, classifier.variances_, np.inf)
        return classifier.means_ / variances, classifier.predict_log_proba(X), "softmax"
    steps, last = _linear_steps(classifier)
    weights = np.asarray(last.coef_, dtype=np.float64)
    scores = np.asarray(classifier.decision_function(X), dtype=np.float64)
    for step in reversed(steps):
        weights = _through(step, weights)
    if scores.ndim == 1:
        scores = np.stack([-0.5 * scores, 0.5 * scores], axis=1)
        weights = np.concatenate([-0.5 * weights, 0.5 * weights])
    return weights, scores, _find_link(classifier, X, scores)


def posterior_of_scores(scores, link):
    """Return log posteriors of linear scores, and their slopes by the own score."""
    from scipy.special import expit, log_expit, log_softmax, logsumexp

    if link == "softmax":
        return log_softmax(scores, axis=1), np.ones_like(scores)
    parts = log_expit(scores)
    return parts - logsumexp(parts, axis=1, keepdims=True), expit(-scores)


def _linear_steps(classifier):
    """Return transformers of a pipeline, if it is one, and what has linear scores."""
    steps = getattr(classifier, "steps", [(None, classifier)])
    chain = [step for _, step in steps if step is not None and step != "passthrough"]
    *transformers, last = chain
    needed = ("coef_", "decision_function", "predict_proba")
    missing = [name for name in needed if not hasattr(last, name)]
    if missing:
        raise TypeError(
            f"{type(last).__name__} has no {', '.join(missing)}: sensitivity maps "
            "need posteriors of linear scores (CanonicalVariates, LogisticRegression, "
            "LinearDiscriminantAnalysis, ...); use pattern=None for learning curves "
            "without maps"
        )
    return transformers, last


def _through(step, weights):
    """Return derivatives with respect to the input of a linear transformer."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    if isinstance(step, StandardScaler):
        return weights if step.scale_ is None else weights / step.scale_
    if isinstance(step, PCA):
        if step.whiten:
            weights = weights / np.sqrt(step.explained_variance_)
        return weights @ step.components_
    raise TypeError(
        f"the pipeline step {type(step).__name__} cannot be differentiated here; "
        "use StandardScaler or PCA"
    )


def _find_link(classifier, X, scores):
    """Return the name of the link that reproduces the classifier's posteriors."""
    posterior = classifier.predict_proba(X)
    for name in ("softmax", "sigmoids"):
        if np.allclose(
            np.exp(posterior_of_scores(scores, name)[0]), posterior, atol=1e-6
        ):
            return name
    raise TypeError(
        f"the posteriors of {type(classifier).__name__} are no softmax and no "
        "normalized sigmoids of its decision function, so that their derivative is not "
        "known; use another classifier"
    )


def sensitivity_map(
    classifier: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    of: str = "posterior",
    label: Any = None,
) -> np.ndarray:
    """Compute the mean squared derivative of the true label's posterior by voxel.

    Parameters
    ----------
    classifier : fitted classifier
        Any with ``predict_proba``. In closed form: ``CanonicalVariates``; classifiers
        whose posterior is a softmax (or normalized sigmoids) of linear scores, such as
        LogisticRegression or LinearDiscriminantAnalysis, also behind StandardScaler or
        PCA in a Pipeline; Gaussian classes (``VoxelwiseGaussian``, GaussianNB,
        QuadraticDiscriminantAnalysis). Of all others by differences of posteriors on
        both sides of every sample, 2 n_features predictions.
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
        For a classifier without posteriors.
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
    X, y = real_array(X, "X"), check_labels(y, "y")
    if X.ndim != 2 or len(X) != len(y) or not len(X):
        raise ValueError(
            f"X of shape {X.shape} must have a row for each of the {len(y)} labels of y"
        )
    if not hasattr(classifier, "classes_"):
        raise TypeError(
            f"classifier must be fitted to labels, got {brief(classifier)}; fit it"
        )
    check_choice(of, "of", ("posterior", "log_posterior"))
    X, codes = _select(classifier, X, y, label)
    try:
        factor, log_scale = sensitivity_factor(classifier, X, codes, of)
    except TypeError:  # no scores whose derivatives are known
        return _mean_squared_slopes(classifier, X, codes, of)
    return np.exp(2 * log_scale) * np.sum(factor**2, axis=1)


def sensitivity_factor(classifier, X, codes, of):
    """Return F (n_features, n_directions) and c: the map is e^2c times row sums of F^2.

    The diagonal of ``M D D' M' / N`` is that of ``F F'`` for ``F = M R'`` with ``D' /
    sqrt(N) = Q R``. The scale c is kept apart, so that the shape of the map survives
    where every posterior is so close to one that its derivative is no floating point
    number any more.
    """
    if isinstance(classifier, CanonicalVariates):
        weights, log_scale = _wrong_weights(classifier.predict_log_proba(X), codes, of)
        maps, means = classifier.canonical_maps_, classifier.class_means_
        # the coordinate cancels: d log p(g|c) / dc = cbar_g - sum_h p(h|c) cbar_h
        slopes = np.einsum("jh,jhd->jd", weights, means[codes][:, None] - means)
    else:
        maps, scores, link = linear_scores(classifier, X)
        log_posterior, gain = posterior_of_scores(scores, link)
        weights, log_scale = _wrong_weights(log_posterior, codes, of)
        slopes, rows = -weights * gain, np.arange(len(codes))
        slopes[rows, codes] = weights.sum(axis=1) * gain[rows, codes]
    if not len(maps):
        return np.zeros((X.shape[1], 1)), 0.0
    triangle = np.asarray(np.linalg.qr(slopes / np.sqrt(len(X)), mode="r"))
    return maps.T @ triangle.T, log_scale


def _select(classifier, X, y, label):
    """Return samples of the wanted label and their class numbers."""
    codes = codes_of(classifier.classes_, y)
    if label is None:
        return X, codes
    of_label = y == label if np.isscalar(label) else np.zeros(len(y), bool)
    if not of_label.any():
        raise ValueError(
            f"label={brief(label)} has no sample in y, which holds "
            f"{np.unique(y).tolist()}; choose one of these"
        )
    return X[of_label], codes[of_label]


def _wrong_weights(log_posterior, codes, of):
    """Return weights p(h|x) of the wrong classes, times p(g|x) for ``of="posterior"``.

    d log p(g|x) = sum over h of p(h|x) (d f_g - d f_h): the right class drops out, so
    nothing cancels where its posterior is almost one. The logarithm of the factor taken
    out, so that the largest weight is one, comes second.
    """
    logs = log_posterior.copy()
    rows = np.arange(len(codes))
    right = logs[rows, codes]
    logs[rows, codes] = -np.inf
    if of == "posterior":
        logs += right[:, None]
    log_scale = logs.max()
    return np.exp(logs - log_scale), float(log_scale)


_STEP = 1e-4  # standard deviations of a feature, on either side


def _mean_squared_slopes(
    classifier: Any, X: np.ndarray, codes: np.ndarray, of: str
) -> np.ndarray:
    """Average over samples the squared derivative (p,) of the true posterior."""
    if not hasattr(classifier, "predict_proba"):
        raise TypeError(
            f"{type(classifier).__name__} has no predict_proba: sensitivity maps need "
            "posteriors; calibrate it (CalibratedClassifierCV), or use pattern=None "
            "for learning curves without maps"
        )
    density_slopes = _slopes_of_densities(classifier, X)
    if density_slopes is None:
        return _numerical(classifier, X, codes, of)
    posterior = np.asarray(classifier.predict_proba(X))
    rows = np.arange(len(codes))
    # d log p(g|x) = d log p(x|g) - sum over h of p(h|x) d log p(x|h)
    mean = np.einsum("nk,knp->np", posterior, density_slopes)
    slopes = density_slopes[codes, rows] - mean
    if of == "posterior":
        slopes *= posterior[rows, codes][:, np.newaxis]
    return np.mean(slopes**2, axis=0)


def _slopes_of_densities(classifier: Any, X: np.ndarray) -> np.ndarray | None:
    """Return derivatives of the log densities, (n_classes, n_samples, p), if known."""
    if isinstance(classifier, GaussianNB):
        means, variances = classifier.theta_, classifier.var_
    elif isinstance(classifier, VoxelwiseGaussian):
        means = classifier.means_
        variances = np.broadcast_to(classifier.variances_, means.shape)
        variances = np.where(variances > 0, variances, np.inf)
    elif isinstance(classifier, QuadraticDiscriminantAnalysis):
        return _of_covariances(classifier, X)
    else:
        return None
    return -(X - means[:, np.newaxis]) / variances[:, np.newaxis]


def _of_covariances(classifier: Any, X: np.ndarray) -> np.ndarray | None:
    """Return -S_g^{-1} (x - m_g) from the rotations and scalings of each class."""
    if not hasattr(classifier, "rotations_"):  # of its other solver
        return None
    parts = zip(
        classifier.means_, classifier.rotations_, classifier.scalings_, strict=True
    )
    return np.stack(
        [-((X - mean) @ axes / scales) @ axes.T for mean, axes, scales in parts]
    )


def _numerical(classifier: Any, X: np.ndarray, codes: np.ndarray, of: str) -> Any:
    """Return the same by central differences, one feature after the other."""
    steps = _STEP * np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    rows, moved = np.arange(len(codes)), X.copy()

    def truth(column, step):
        moved[:, column] = X[:, column] + step
        posterior = np.asarray(classifier.predict_proba(moved))[rows, codes]
        moved[:, column] = X[:, column]
        with np.errstate(divide="ignore"):
            return posterior if of == "posterior" else np.log(posterior)

    slopes = [
        (truth(i, step) - truth(i, -step)) / (2 * step) for i, step in enumerate(steps)
    ]
    return np.mean(np.square(slopes), axis=1)


def check_pattern(pattern, classifier):
    """Raise for unknown patterns, and for canonical maps of other classifiers."""
    patterns = ("sensitivity", "log_sensitivity", "canonical", None)
    check_choice(pattern, "pattern", patterns)
    if pattern == "canonical" and not isinstance(classifier, CanonicalVariates):
        raise TypeError(
            f"pattern='canonical' needs CanonicalVariates, not "
            f"{type(classifier).__name__}; use pattern='sensitivity' or None"
        )


def pattern_factor(run, model, members, pattern):
    """Return columns (n_coordinates, n_columns) of which the map of a model is made."""
    if pattern == "canonical":
        if not len(model.canonical_maps_):
            return np.zeros((run.X.shape[1], 1))
        return model.canonical_maps_[:1].T
    rows = np.isin(run.groups, members)
    of = "posterior" if pattern == "sensitivity" else "log_posterior"
    return sensitivity_factor(model, run.X[rows], run.codes[rows], of)[0]


def feature_maps(run, factors, pattern):
    """Make the maps of many models from their factors, (n_models, n_features)."""
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
