"""Microscopic models p(x|g), made classifiers by Bayes' rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from neuroextrap.design._folds import members
from neuroextrap.models._canonical_space import class_priors
from neuroextrap.models._canonical_variates import JointProbabilities
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import brief, check_choice


@takes_fields
class VoxelwiseGaussian(JointProbabilities, BaseEstimator):
    """Independent Gaussian voxels around a general linear model of the labels.

    The likelihood of the usual mass-univariate analysis: voxel i of a scan with
    label g is Gaussian with mean ``(B' d(g))_i``, d(g) the label's row of the design
    and B the least-squares coefficients, and variance sigma_i^2. Bayes' rule turns
    it into a classifier that can be scored in bits.

    Parameters
    ----------
    design : dict or None, default=None
        Row of the design for each label, for instance ``{"low": [1, 0.2], "high":
        [1, 1.0]}``. If None, one indicator per label, so that B holds the class means.
    variance : {"pooled", "class"}, default="pooled"
        One variance per voxel (residual sum of squares over residual degrees of
        freedom), or one per voxel and class (needs two samples per class).
    priors : array-like of shape (n_classes,), or None, default=None
        Known class probabilities, in the order of the sorted labels. If None, the
        frequencies of the training labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
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
    over: the posteriors are far too confident and the information usually negative.

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

    design: dict | None = None
    _: KW_ONLY
    variance: str = "pooled"
    priors: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate means and variances voxel by voxel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Label of every sample.

        Returns
        -------
        self : VoxelwiseGaussian
            The fitted estimator.

        Raises
        ------
        ValueError
            For options outside their allowed values, labels without a design row, or
            too few samples to estimate a variance.
        """
        check_choice(self.variance, "variance", ("pooled", "class"))
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least 2 classes, got one class, "
                f"{self.classes_.tolist()[0]!r}; add samples of another"
            )
        self.priors_ = class_priors(self.priors, codes)
        rows = self._design_rows()
        self.means_ = rows @ (np.linalg.pinv(rows[codes]) @ X)
        freedom = len(y) - np.linalg.matrix_rank(rows[codes])
        variances = self._noise(X - self.means_[codes], codes, freedom)
        rounding = (1e-13 * np.abs(X).max(axis=0)) ** 2
        self.variances_ = np.where(variances > rounding, variances, 0.0)
        return self

    def _design_rows(self):
        """Return the design row of every class, shape (n_classes, n_regressors)."""
        if self.design is None:
            return np.eye(len(self.classes_))
        if not isinstance(self.design, Mapping):
            raise TypeError(f"design must be a dict of rows; got {brief(self.design)}")
        labels = self.classes_.tolist()
        missing = [label for label in labels if label not in self.design]
        if missing:
            raise ValueError(
                f"design has no row for the labels {missing}; give one row per label"
            )
        rows = [np.atleast_1d(self.design[label]) for label in labels]
        return np.array(rows, dtype=np.float64)

    def _noise(self, residuals, codes, freedom):
        """Return noise variances, pooled or by class."""
        if self.variance == "pooled":
            if freedom < 1:
                raise ValueError(
                    f"{len(codes)} samples leave no residual degree of freedom for the "
                    "variance; train on more samples"
                )
            return np.sum(residuals**2, axis=0, keepdims=True) / freedom
        counts = np.bincount(codes)
        if counts.min() < 2:
            raise ValueError(
                f"class {self.classes_.tolist()[np.argmin(counts)]!r} has one sample; "
                "variance='class' needs two per class; use variance='pooled'"
            )
        return members(codes) @ residuals**2 / (counts - 1)[:, None]

    @described_by(fit)
    def log_likelihood(self, X: Any) -> np.ndarray:
        """Compute the log density of every sample under every class (eq. 4).

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Natural logarithm of the product over voxels.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        varies = np.all(self.variances_ > 0, axis=0)
        X, variances = X[:, varies], self.variances_[:, varies]
        columns = []
        for g, mean in enumerate(self.means_[:, varies]):
            noise = variances[min(g, len(variances) - 1)]
            squares = np.sum((X - mean) ** 2 / noise, axis=1)
            columns.append(-0.5 * (squares + np.sum(np.log(2 * np.pi * noise))))
        return np.stack(columns, axis=1)

    def _log_joint(self, X):
        """Return log p(x|g) p(g) of every class."""
        return self.log_likelihood(X) + np.log(self.priors_)
