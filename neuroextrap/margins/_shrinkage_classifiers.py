"""Single-region classifiers that shrink: ridge, linear and quadratic discriminants."""

import numpy as np

from neuroextrap.margins._classifiers import (
    MarginClassifier,
    PosteriorClassifier,
    check_priors,
    class_means,
    log_priors,
)
from neuroextrap.margins._operators import centered_gram, ridge_penalty
from neuroextrap.margins._qda import qda_shrinkage


class RidgeIndicatorClassifier(MarginClassifier):
    """Ridge regression of the class indicators, the intercept free.

    The single-region form of the searchlight's "ridge"; the margin of a class is its
    predicted indicator.

    Parameters
    ----------
    penalty : float or None, default None
        What is added to the diagonal of the total scatter matrix. In a
        cross-validation, `ridge_penalty` of all samples makes every fold equal to
        `RidgeMargins`. None: `shrinkage` decides, on the training samples.
    shrinkage : "auto" or float, default "auto"
        See `ridge_penalty`.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    coef_ : ndarray, shape (K, n_features)
        Weights.
    intercept_ : ndarray, shape (K,)
        Intercepts.
    n_features_in_ : int
        Number of features.
    penalty_ : float
        The penalty used.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    sections 3.4.1 and 4.2.

    Examples
    --------
    >>> from neuroextrap.margins._shrinkage_classifiers import (
    ...     RidgeIndicatorClassifier,
    ... )
    >>> fit = RidgeIndicatorClassifier(penalty=1.0)
    >>> fit.fit([[0.0], [1.0], [4.0], [5.0]], list("aabb")).margins([[2.0]])
    array([[0.61, 0.39]])
    """

    def __init__(self, *, penalty=None, shrinkage="auto"):
        self.penalty = penalty
        self.shrinkage = shrinkage

    def fit(self, X, y):
        """Fit the weights.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : RidgeIndicatorClassifier

        Raises
        ------
        TypeError
            If `shrinkage` is neither a string nor a real number.
        ValueError
            If `y` holds one class only, the shapes do not match, or the penalty is
            negative, not finite or too small for the data.
        """
        X, codes = self._start_fit(X, y)
        self.penalty_ = _penalty(self, X)
        mean = X.mean(axis=0)
        centered = X - mean
        indicators = np.eye(len(self.classes_))[codes]
        weights = solve_shrunk(centered, self.penalty_, centered.T @ indicators)
        self.coef_ = weights.T
        self.intercept_ = indicators.mean(axis=0) - mean @ weights
        return self

    def _margins(self, X):
        return X @ self.coef_.T + self.intercept_


class ShrinkageLDA(PosteriorClassifier):
    """Linear discriminant analysis with a ridge on the within-class scatter.

    The single-region form of the searchlight's "lda". With W the within-class sum of
    squares, m the mean of all samples and mu_l the mean of class l, the margin of
    class l at x is ``(x - m)' V (mu_l - m) - (mu_l - m)' V (mu_l - m) / 2``, V the
    inverse of ``W + penalty I``; posteriors have the covariance V^-1 / (n_samples - K).

    Parameters
    ----------
    penalty : float or None, default None
        What is added to the diagonal of W. In a cross-validation, `ridge_penalty` of
        all samples makes every fold equal to `LDAMargins`. None: `shrinkage` decides,
        on the training samples.
    shrinkage : "auto" or float, default "auto"
        See `ridge_penalty`.
    priors : {"equal", "frequency"}, default "equal"
        "frequency" adds ``log(class share) / (n_samples - K)``.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    coef_ : ndarray, shape (K, n_features)
        Weights.
    intercept_ : ndarray, shape (K,)
        Intercepts.
    n_features_in_ : int
        Number of features.
    penalty_ : float
        The penalty used.

    References
    ----------
    Friedman 1989, "Regularized discriminant analysis", eq. 18 with one covariance.

    Examples
    --------
    >>> from neuroextrap.margins._shrinkage_classifiers import ShrinkageLDA
    >>> fit = ShrinkageLDA(penalty=1.0)
    >>> fit.fit([[0.0], [1.0], [4.0], [5.0]], list("aabb")).margins([[2.0]])
    array([[-0.5, -1.5]])
    """

    def __init__(self, *, penalty=None, shrinkage="auto", priors="equal"):
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.priors = priors

    def fit(self, X, y):
        """Fit the weights.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : ShrinkageLDA

        Raises
        ------
        TypeError
            If `shrinkage` is neither a string nor a real number.
        ValueError
            If `y` holds one class only, the shapes do not match, `priors` is unknown,
            or the penalty is negative, not finite or too small for the data.
        """
        check_priors(self.priors)
        X, codes = self._start_fit(X, y)
        self.penalty_ = _penalty(self, X)
        mean, means = X.mean(axis=0), class_means(X, codes)
        shift = (means - mean).T
        weights = solve_shrunk(X - means[codes], self.penalty_, shift)
        self.coef_ = weights.T
        self.intercept_ = -mean @ weights - 0.5 * (shift * weights).sum(axis=0)
        self._scale = max(len(X) - len(means), 1)
        if self.priors == "frequency":
            self.intercept_ += log_priors(codes, self.priors) / self._scale
        return self

    def _margins(self, X):
        return X @ self.coef_.T + self.intercept_


class ShrinkageQDA(PosteriorClassifier):
    """Quadratic discriminant analysis with shrunk class covariances.

    The single-region form of the searchlight's "qda"; the covariance of a class is
    ``(1 - delta) S_l + delta variance I``, S_l its training covariance (divided by
    the count). The margin is the Gaussian log density without its constant.

    Parameters
    ----------
    shrinkage : "auto" or float, default "auto"
        A float s > 0 makes ``delta = s / (1 + s)``. "auto": the Ledoit-Wolf intensity
        of the training samples, labels ignored, times the number of classes, between
        1e-4 and 0.999. In a cross-validation, the s of all samples and their mean
        variance make every fold equal to `QDAMargins`.
    variance : float or None, default None
        Variance towards which every class covariance shrinks; None: the mean over
        features of the training samples' variance.
    priors : {"equal", "frequency"}, default "equal"
        "frequency" adds the log share of the class among the training samples.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    intensity_ : float
        The delta used.
    means_ : ndarray, shape (K, n_features)
        Class means.
    n_features_in_ : int
        Number of features.
    variance_ : float
        The variance used.

    References
    ----------
    Friedman 1989, "Regularized discriminant analysis", eqs. 5 and 18.

    Examples
    --------
    >>> from neuroextrap.margins._shrinkage_classifiers import ShrinkageQDA
    >>> fit = ShrinkageQDA(shrinkage=1.0, variance=1.0)
    >>> fit.fit([[0.0], [1.0], [4.0], [8.0]], list("aabb")).margins([[2.0]])
    array([[-1.57, -3.66]])
    """

    def __init__(self, *, shrinkage="auto", variance=None, priors="equal"):
        self.shrinkage = shrinkage
        self.variance = variance
        self.priors = priors

    def fit(self, X, y):
        """Fit class means and keep what the class covariances need.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : ShrinkageQDA

        Raises
        ------
        TypeError
            If `shrinkage` is neither a string nor a real number.
        ValueError
            If `y` holds one class only, the shapes do not match, or an option is out
            of range.
        """
        check_priors(self.priors)
        if self.variance is not None and not 0 < self.variance < np.inf:
            raise ValueError(
                f"variance must be None or finite and > 0, got {self.variance!r}"
            )
        X, codes = self._start_fit(X, y)
        n_classes = len(self.classes_)
        self.intensity_, variance = qda_shrinkage(
            centered_gram(X), X.shape[1], n_classes, self.shrinkage
        )
        self.variance_ = variance if self.variance is None else float(self.variance)
        self.means_ = class_means(X, codes)
        self._offsets = 0.0
        if self.priors == "frequency":
            self._offsets = log_priors(codes, self.priors)
        self._roots = [
            (X[codes == label] - mean)
            * np.sqrt((1.0 - self.intensity_) / np.sum(codes == label))
            for label, mean in enumerate(self.means_)
        ]
        return self

    def _margins(self, X):
        ridge = self.intensity_ * self.variance_
        margins = np.empty((len(X), len(self.classes_)))
        for label, (mean, root) in enumerate(
            zip(self.means_, self._roots, strict=True)
        ):
            shift = (X - mean).T
            squared = (shift * solve_shrunk(root, ridge, shift)).sum(axis=0)
            margins[:, label] = -0.5 * (squared + _log_determinant(root, ridge))
        return margins + self._offsets


def _penalty(estimator, X):
    """Return the penalty an estimator asks for."""
    penalty = estimator.penalty
    if penalty is None:
        return ridge_penalty(X, shrinkage=estimator.shrinkage)
    if not 0 <= penalty < np.inf:
        raise ValueError(f"penalty must be None or finite and >= 0, got {penalty!r}")
    return float(penalty)


def solve_shrunk(root, penalty, right):
    """Solve (root' root + penalty I) z = right in the smaller of the two forms.

    root : (n_samples, n_features); right : (n_features, n_columns).
    """
    n_samples, n_features = root.shape
    if penalty > 0 and n_samples < n_features:
        gram = root @ root.T + penalty * np.eye(n_samples)
        return (right - root.T @ np.linalg.solve(gram, root @ right)) / penalty
    scatter = root.T @ root + penalty * np.eye(n_features)
    values = np.linalg.eigvalsh(scatter)
    if not values[0] > n_features * np.finfo(float).eps * values[-1]:
        raise ValueError(
            "the scatter matrix is singular or not finite; use a larger penalty "
            "or shrinkage"
        )
    return np.linalg.solve(scatter, right)


def _log_determinant(root, penalty):
    """Log determinant of root' root + penalty I, (n_samples, n_features) root."""
    n_samples, n_features = root.shape
    small = root @ root.T if n_samples < n_features else root.T @ root
    system = np.eye(len(small)) + small / penalty
    return np.linalg.slogdet(system)[1] + n_features * np.log(penalty)
