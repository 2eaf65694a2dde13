"""Single-region classifiers: means, naive Bayes and the nearest neighbor."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class MarginClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that decides by one margin per class; a kind, not a model.

    A subclass fits ``classes_`` and says what its ``margins`` are.
    """

    def _start_fit(self, X, y):
        """Validate, set ``classes_``; return X in float64 and class codes."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must contain at least two classes, got 1 class: {self.classes_[0]}"
            )
        return X, codes

    def margins(self, X):
        """Compute one margin per class; the larger, the better.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples to classify.

        Returns
        -------
        margins : ndarray, shape (n_samples, K)
            Columns in the order of ``classes_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If `fit` was not called.
        ValueError
            If `X` has another number of features than in `fit`.
        """
        check_is_fitted(self)
        return self._margins(validate_data(self, X, dtype=np.float64, reset=False))

    @abstractmethod
    def _margins(self, X):
        """Compute margins of validated samples, shape (n_samples, K)."""

    def decision_function(self, X):
        """Compute scikit-learn's decision values.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples to classify.

        Returns
        -------
        decision : ndarray, shape (n_samples, K), or (n_samples,) for two classes
            The margins; with two classes, by scikit-learn's convention, the second's
            minus the first's.
        """
        margins = self.margins(X)
        if len(self.classes_) == 2:
            return margins[:, 1] - margins[:, 0]
        return margins

    def predict(self, X):
        """Predict the class with the largest margin, the first one if tied.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples to classify.

        Returns
        -------
        labels : ndarray, shape (n_samples,)
        """
        best = self.margins(X).argmax(axis=1)
        return self.classes_[best]


class PosteriorClassifier(MarginClassifier):
    """A classifier whose margins are log posteriors up to a shared term; a kind.

    A subclass whose margins are a multiple of that says how many to ``_scale``.
    """

    _scale = 1.0

    def predict_proba(self, X):
        """Compute posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples to classify.

        Returns
        -------
        probabilities : ndarray, shape (n_samples, K)
            Rows sum to one.
        """
        from scipy.special import softmax

        return softmax(self._scale * self.margins(X), axis=1)


class CentroidClassifier(MarginClassifier):
    """Nearest class mean; the margin is minus the squared Euclidean distance.

    The single-region form of the searchlight's "nearest_centroid": margins differ
    from `NearestCentroidMargins` by a number that is the same for every class.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    means_ : ndarray, shape (K, n_features)
        Class means.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 18.2 (without shrinkage of the centroids).

    Examples
    --------
    >>> from neuroextrap.margins._classifiers import CentroidClassifier
    >>> fit = CentroidClassifier().fit([[0.0], [1.0], [4.0], [5.0]], list("aabb"))
    >>> fit.margins([[1.0]])
    array([[ -0.25, -12.25]])
    """

    def fit(self, X, y):
        """Compute class means.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : CentroidClassifier

        Raises
        ------
        ValueError
            If `y` holds one class only or the shapes do not match.
        """
        X, codes = self._start_fit(X, y)
        self.means_ = class_means(X, codes)
        return self

    def _margins(self, X):
        return -squared_distances(X, self.means_)


class NaiveBayesClassifier(PosteriorClassifier):
    """Gaussian naive Bayes with a variance for each class and feature.

    The single-region form of the searchlight's "gaussian_nb".

    Parameters
    ----------
    variance_floor : float, default 1e-3
        No class variance falls below this multiple of the feature's total variance.
    total_variance : array-like, shape (n_features,), or None
        The total variances; None: those of the training samples. In a
        cross-validation, the variances over all samples make every fold equal to
        `GaussianNBMargins`.
    priors : {"frequency", "equal"}, default "frequency"
        "frequency": share of the class among the training samples.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    log_priors_ : ndarray, shape (K,)
        Log prior of each class.
    means_, variances_ : ndarray, shape (K, n_features)
        Means and variances (divided by the count) of each class. A feature of total
        variance 0 has variance 1.
    n_features_in_ : int
        Number of features.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 6.6.3.

    Examples
    --------
    >>> from neuroextrap.margins._classifiers import NaiveBayesClassifier
    >>> fit = NaiveBayesClassifier().fit([[0.0], [1.0], [4.0], [6.0]], list("aabb"))
    >>> fit.predict([[2.0], [3.5]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, *, variance_floor=1e-3, total_variance=None, priors="frequency"):
        self.variance_floor = variance_floor
        self.total_variance = total_variance
        self.priors = priors

    def fit(self, X, y):
        """Compute class means and variances.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : NaiveBayesClassifier

        Raises
        ------
        ValueError
            If `y` holds one class only, the shapes do not match, an option is out of
            range, or a class variance is zero with ``variance_floor=0``.
        """
        check_priors(self.priors)
        if not 0 <= self.variance_floor < np.inf:
            raise ValueError(
                f"variance_floor must be finite and >= 0, got {self.variance_floor!r}"
            )
        X, codes = self._start_fit(X, y)
        total = self.total_variance
        total = np.var(X, axis=0) if total is None else np.asarray(total, dtype=float)
        if total.shape != X.shape[1:]:
            raise ValueError(
                f"total_variance must have shape {X.shape[1:]}, got {total.shape}"
            )
        self.means_ = class_means(X, codes)
        variances = class_means(np.square(X - self.means_[codes]), codes)
        floor = np.where(total > 0, self.variance_floor * total, 1.0)
        self.variances_ = np.maximum(variances, floor)
        if not self.variances_.min() > 0:
            raise ValueError(
                "a feature does not vary within a class of training samples; use "
                "variance_floor > 0"
            )
        self.log_priors_ = log_priors(codes, self.priors)
        return self

    def _margins(self, X):
        margins = np.empty((len(X), len(self.classes_)))
        pairs = zip(self.means_, self.variances_, strict=True)
        for label, (mean, variance) in enumerate(pairs):
            scores = np.square(X - mean) / variance + np.log(variance)
            margins[:, label] = -0.5 * scores.sum(axis=1)
        return margins + self.log_priors_


class NearestNeighborClassifier(MarginClassifier):
    """Nearest training sample; margins are minus squared Euclidean distances.

    The single-region form of the searchlight's "nearest_neighbor": the margin of a
    class is minus the squared distance to its nearest training sample.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Class labels.
    codes_ : ndarray of int, shape (n_samples,)
        Class of each training sample.
    n_features_in_ : int
        Number of features.
    samples_ : ndarray, shape (n_samples, n_features)
        Training samples.

    References
    ----------
    Cover & Hart 1967, "Nearest neighbor pattern classification", section III.

    Examples
    --------
    >>> from neuroextrap.margins._classifiers import NearestNeighborClassifier
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> NearestNeighborClassifier().fit(X, list("aabb")).margins([[2.0]])
    array([[-1., -4.]])
    """

    def fit(self, X, y):
        """Keep the training samples.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Training samples.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self : NearestNeighborClassifier

        Raises
        ------
        ValueError
            If `y` holds one class only or the shapes do not match.
        """
        self.samples_, self.codes_ = self._start_fit(X, y)
        return self

    def _margins(self, X):
        distances = squared_distances(X, self.samples_)
        own = [
            distances[:, self.codes_ == label].min(axis=1)
            for label in range(len(self.classes_))
        ]
        return -np.stack(own, axis=1)


def class_means(X, codes):
    """Means over the samples of each class, shape (K, n_features)."""
    indicators = np.eye(codes.max() + 1)[codes]
    return indicators.T @ X / indicators.sum(axis=0)[:, None]


def check_priors(priors):
    """Raise unless priors are named."""
    if priors not in {"equal", "frequency"}:
        raise ValueError(f'priors must be "equal" or "frequency", got {priors!r}')


def log_priors(codes, priors):
    """Log prior of each class, shape (K,)."""
    counts = np.bincount(codes)
    if priors == "equal":
        return np.full(len(counts), -np.log(len(counts)))
    return np.log(counts / len(codes))


def squared_distances(X, centers):
    """Squared Euclidean distances, shape (n_samples, n_centers)."""
    return np.stack([np.square(X - c).sum(axis=1) for c in centers], axis=1)
