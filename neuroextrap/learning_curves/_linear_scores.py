"""Linear scores behind the posteriors of scikit-learn classifiers."""

import numpy as np

from neuroextrap.learning_curves._voxelwise_gaussian import VoxelwiseGaussian


def linear_scores(classifier, X):
    """Return weights, scores and link of a classifier with linear decision function.

    Weights (n_classes, n_features) are the derivatives of the scores (n_samples,
    n_classes); two classes have minus and plus half the log odds. The link ("softmax"
    or "sigmoids") is not looked up by class name but found by trying: the classifier's
    own posteriors must come out.
    """
    if isinstance(classifier, VoxelwiseGaussian):
        return _voxelwise_scores(classifier, X)
    steps, last = _unwrap(classifier)
    needed = ("coef_", "decision_function", "predict_proba")
    missing = [name for name in needed if not hasattr(last, name)]
    if missing:
        raise TypeError(
            f"{type(last).__name__} has no {', '.join(missing)}: sensitivity maps "
            "need posteriors of linear scores (CanonicalVariates, LogisticRegression, "
            "LinearDiscriminantAnalysis, ...); use pattern=None for learning curves "
            "without maps"
        )
    weights = np.asarray(last.coef_, dtype=np.float64)
    scores = np.asarray(classifier.decision_function(X), dtype=np.float64)
    for step in reversed(steps):
        weights = _through(step, weights)
    if scores.ndim == 1:
        scores = np.stack([-0.5 * scores, 0.5 * scores], axis=1)
        weights = np.concatenate([-0.5 * weights, 0.5 * weights])
    return weights, scores, _find_link(classifier, X, scores)


def posterior_of_scores(scores, link):
    """Return log posteriors of linear scores, and the gain of each class.

    All have shape (n_samples, n_classes). The gain is the derivative of the logarithm
    of the unnormalized posterior by the class's own score; "sigmoids" are divided by
    their sum.
    """
    from scipy.special import expit, log_expit, log_softmax, logsumexp

    if link == "softmax":
        return log_softmax(scores, axis=1), np.ones_like(scores)
    parts = log_expit(scores)
    return parts - logsumexp(parts, axis=1, keepdims=True), expit(-scores)


def _unwrap(classifier):
    """Split a pipeline into transformers and last step; a classifier has none."""
    steps = getattr(classifier, "steps", None)
    if steps is None:
        return [], classifier
    chain = [step for _, step in steps if step is not None and step != "passthrough"]
    return chain[:-1], chain[-1]


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


def _voxelwise_scores(model, X):
    """Return the scores of independent voxels, linear when variances are shared."""
    if model.variance != "pooled":
        raise TypeError(
            "VoxelwiseGaussian(variance='class') has no linear scores; use "
            "variance='pooled'"
        )
    variances = np.where(model.variances_ > 0, model.variances_, np.inf)
    return model.means_ / variances, model.predict_log_proba(X), "softmax"
