"""Microscopic models p(x|g), made classifiers by Bayes' rule."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from neuroextrap.learning_curves._information import (
    check_priors,
    macroscopic_log_posterior,
)

_VARIANCES = ("pooled", "class")


class VoxelwiseGaussian(ClassifierMixin, BaseEstimator):
    """Independent Gaussian voxels around a general linear model of the labels.

    The likelihood of the usual mass-univariate analysis: voxel i of a scan with
    label g is Gaussian with mean ``(B' d(g))_i``, d(g) the label's row of the design
    and B the least-squares coefficients, and variance sigma_i^2. Bayes' rule turns
    it into a classifier that can be scored in bits.

    Parameters
    ----------
    design : dict, optional
        Row of the design for each label, for instance ``{"low": [1, 0.2], "high":
        [1, 1.0]}``. None: one indicator a label, so that B holds the class means.
    variance : {"pooled", "class"}
        One variance a voxel, residual sum of squares over residual degrees of
        freedom; or one a voxel and class (needs two samples a class).
    priors : array of shape (n_classes,), optional
        Known class probabilities, in the order of the sorted labels. None: the
        frequencies of the training labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities in use.
    means_ : ndarray of shape (n_classes, n_features)
        Predicted scan of every label.
    variances_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Noise variances; constant voxels have none and are left out of the
        likelihood.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    Voxels are not independent, so the evidence of neighbors is counted many times
    over: the posteriors are far too sure and the information usually negative.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 2-4 and 11.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.learning_curves import VoxelwiseGaussian
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 20)
    >>> X = rng.standard_normal((40, 5)) + y[:, None]
    >>> float(VoxelwiseGaussian().fit(X[:30], y[:30]).score(X[30:], y[30:]))
    0.8
    """

    def __init__(self, design=None, *, variance="pooled", priors=None):
        self.design = design
        self.variance = variance
        self.priors = priors

    def fit(self, X, y):
        """Estimate means and variances voxel by voxel.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Labels.

        Returns
        -------
        VoxelwiseGaussian
            The fitted estimator.

        Raises
        ------
        ValueError
            Options outside their allowed values, labels without a design row, too
            few samples to estimate a variance.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.learning_curves import VoxelwiseGaussian
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> VoxelwiseGaussian().fit(X, [0, 0, 1, 1]).means_.ravel()
        array([0.5, 2.5])
        """
        if self.variance not in _VARIANCES:
            raise ValueError(
                f"variance={self.variance!r} is unknown; allowed: 'pooled', 'class'."
            )
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"At least 2 classes are needed; y holds one class, "
                f"{self.classes_.tolist()[0]!r}."
            )
        counts = np.bincount(codes)
        known = counts / len(y) if self.priors is None else self.priors
        self.priors_ = check_priors(known, n_classes)
        rows = self._design_rows()
        coefficients = np.linalg.pinv(rows[codes]) @ X
        self.means_ = rows @ coefficients
        freedom = len(y) - np.linalg.matrix_rank(rows[codes])
        variances = self._noise(X - self.means_[codes], codes, freedom)
        rounding = (1e-13 * np.abs(X).max(axis=0)) ** 2
        self.variances_ = np.where(variances > rounding, variances, 0.0)
        return self

    def _design_rows(self):
        """Design row of every class, (n_classes, n_regressors)."""
        if self.design is None:
            return np.eye(len(self.classes_))
        missing = [
            label for label in self.classes_.tolist() if label not in self.design
        ]
        if missing:
            raise ValueError(
                f"design has no row for the labels {missing}; give one row a label."
            )
        return np.array(
            [np.atleast_1d(self.design[label]) for label in self.classes_.tolist()],
            dtype=np.float64,
        )

    def _noise(self, residuals, codes, freedom):
        """Noise variances, pooled or by class."""
        if self.variance == "pooled":
            if freedom < 1:
                raise ValueError(
                    f"{len(codes)} samples leave no residual degree of freedom for the "
                    "variance; train on more samples."
                )
            return np.sum(residuals**2, axis=0, keepdims=True) / freedom
        counts = np.bincount(codes)
        if counts.min() < 2:
            raise ValueError(
                f"class {self.classes_.tolist()[np.argmin(counts)]!r} has one sample; "
                "variance='class' needs two a class."
            )
        squares = [
            np.sum(residuals[codes == g] ** 2, axis=0) for g in range(len(counts))
        ]
        return np.array(squares) / (counts - 1)[:, None]

    def log_likelihood(self, X):
        """Log density of every sample under every class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithm of the product over voxels.

        References
        ----------
        Kjems et al. 2002, NeuroImage 15, eq. 4.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.learning_curves import VoxelwiseGaussian
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> VoxelwiseGaussian().fit(X, [0, 0, 1, 1]).log_likelihood(X).shape
        (4, 2)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        varies = np.all(self.variances_ > 0, axis=0)
        X, variances = X[:, varies], self.variances_[:, varies]
        columns = []
        for g, mean in enumerate(self.means_[:, varies]):
            own = variances[min(g, len(variances) - 1)]
            squares = np.sum((X - mean) ** 2 / own, axis=1)
            columns.append(-0.5 * (squares + np.sum(np.log(2 * np.pi * own))))
        return np.stack(columns, axis=1)

    def predict_log_proba(self, X):
        """Log posterior probabilities, by Bayes' rule.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithms.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.learning_curves import VoxelwiseGaussian
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> VoxelwiseGaussian().fit(X, [0, 0, 1, 1]).predict_log_proba(X).shape
        (4, 2)
        """
        return macroscopic_log_posterior(self.log_likelihood(X), self.priors_)

    def predict_proba(self, X):
        """Posterior probabilities.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.learning_curves import VoxelwiseGaussian
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> VoxelwiseGaussian().fit(X, [0, 0, 1, 1]).predict_proba([[1.5]])
        array([[0.5, 0.5]])
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """Most probable label of every sample.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.learning_curves import VoxelwiseGaussian
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> VoxelwiseGaussian().fit(X, [0, 0, 1, 1]).predict([[0.2], [2.9]])
        array([0, 1])
        """
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]
