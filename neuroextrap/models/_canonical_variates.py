"""Canonical variate analysis as a classifier and a transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from neuroextrap.models._canonical_space import (
    canonical_directions,
    check_classes,
    check_options,
    class_priors,
    direction_p_values,
    generalizable_singular_values,
    leading_svd,
    supported_components,
)
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import warn


class JointProbabilities(ClassifierMixin):
    """Predictions of a classifier by its ``_log_joint`` (n_samples, n_classes)."""

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Compute log posterior probabilities of the classes, by Bayes' rule.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_posteriors : ndarray of shape (n_samples, n_classes)
            Natural logarithms, finite even where the probability underflows.
        """
        from scipy.special import log_softmax

        return log_softmax(self._log_joint(X), axis=1)

    @described_by(predict_log_proba)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Compute posterior probabilities of the classes.

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_classes)
            Probabilities; every row sums to one.
        """
        return np.exp(self.predict_log_proba(X))

    @described_by(predict_log_proba)
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Choose the most probable class of every sample.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Predicted labels.
        """
        joint = self._log_joint(X)
        return self.classes_[np.argmax(joint, axis=1)]


@takes_fields
class CanonicalVariates(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, JointProbabilities, BaseEstimator
):
    """Gaussian classifier on canonical variates of a singular value basis.

    The samples, their mean removed, are projected on their first P singular
    vectors; in that basis the canonical directions are the eigenvectors L of
    W^-1 B (within- and between-class sums of squares and products), scaled so that
    ``L' (W / (N - K)) L = I``. In the canonical space every class is a Gaussian of
    unit covariance around its mean, and the class posteriors follow by Bayes' rule
    with known class probabilities. This is linear discriminant analysis in the
    reduced space, unless directions that test insignificant are dropped.

    Parameters
    ----------
    n_components : int or None, default=None
        P, the number of singular vectors kept. If None, the number of samples of the
        smallest group when ``groups`` are given to ``fit``, else at most 10; in both
        cases no more than the data support. An integer above what the data support is
        lowered with a warning: the rank of the samples bounds it, and the
        within-class scatter must stay invertible.
    priors : array-like of shape (n_classes,) or None, default=None
        Known class probabilities p(g), in the order of the sorted labels. If None,
        the frequencies of the training labels.
    basis : {"svd", "generalizable"}, default="svd"
        "generalizable" re-estimates the singular values by leaving out one group
        (without groups: one sample) at a time, so that the training projections
        have the variance that test projections will have. A variant of the published
        algorithm: the samples left out are projected on the first P singular vectors
        of the others, and the i-th variance is that along the i-th of them.
    significance_level : float or None, default=None
        If given, only the leading canonical directions are kept that Bartlett's
        sequential test finds significant at this level. If none is significant, the
        canonical space is empty and the posteriors are the priors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities used by the posteriors.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    n_components_ : int
        P, the number of singular vectors in use.
    basis_ : ndarray of shape (n_components_, n_features)
        The singular vectors, one per row, orthonormal.
    singular_values_ : ndarray of shape (n_components_,)
        Their singular values, re-estimated when the basis is generalizable.
    canonical_correlations_ : ndarray of shape (min(n_classes - 1, n_components_),)
        Canonical correlation of every direction, kept or not, decreasing.
    p_values_ : ndarray of shape (min(n_classes - 1, n_components_),)
        Bartlett's p-value that this direction and all after it carry nothing.
    canonical_maps_ : ndarray of shape (n_directions, n_features)
        Eigenimages: the weight of every feature in every canonical coordinate.
    class_means_ : ndarray of shape (n_classes, n_directions)
        Class means in canonical coordinates.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    This class does not remove differences between subjects: subtract each subject's
    mean scan before ``fit`` and before ``predict``. The p-values take the samples as
    independent, which scans of one subject seldom are.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 16-23 and appendix A (the scaling of L is
    not printed there; without it the posteriors are flat). Generalizable basis:
    Kjems, Hansen & Strother 2001, NIPS 13. Test of the directions: Mardia, Kent &
    Bibby 1979, Multivariate Analysis, section 12.5.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.learning_curves import CanonicalVariates
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile(["rest", "task"], 30)
    >>> X = rng.standard_normal((60, 200)) + 0.5 * (y == "task")[:, None]
    >>> model = CanonicalVariates(n_components=4).fit(X[:40], y[:40])
    >>> model.transform(X[40:]).shape, model.canonical_maps_.shape
    ((20, 1), (1, 200))
    >>> float(model.score(X[40:], y[40:]))
    1.0
    """

    n_components: int | None = None
    priors: ArrayLike | None = None
    _: KW_ONLY
    basis: str = "svd"
    significance_level: float | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the basis, the canonical directions and the class means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with subject means already removed.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        groups : array-like of shape (n_samples,) or None, default=None
            Subject (or other independent unit) of every sample.

        Returns
        -------
        self : CanonicalVariates
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is outside its allowed values, there are fewer than two
            classes, or no within-class variation is left to divide by.
        """
        check_options(self.n_components, self.basis, self.significance_level)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(self.classes_, len(y))
        self.priors_ = class_priors(self.priors, codes)
        groups = checked_entries(groups, "groups", y)
        self.mean_ = X.mean(axis=0)
        wanted = self.n_components
        if wanted is None:
            wanted = 10 if groups is None else np.unique_counts(groups).counts.min()
        # left-out projections need the coordinates on all singular vectors
        generalizable = self.basis == "generalizable"
        most = None if generalizable else wanted
        left, values, right = leading_svd(X - self.mean_, most)
        self._keep_components(left[:, :wanted], codes, wanted)
        kept = self.n_components_
        if generalizable:
            given = left, values, groups
            values = generalizable_singular_values(*given, n_components=kept)
        self.singular_values_, self.basis_ = values[:kept], right[:kept]
        self._set_canonical_space(left[:, :kept], codes)
        return self

    def _keep_components(self, left, codes, wanted):
        """Set the number of singular vectors; warn if fewer than requested."""
        supported = supported_components(left, codes)
        if supported < 1:
            raise ValueError(
                "the classes do not vary within: the within-class scatter is singular "
                "in every basis; check that X holds noisy samples"
            )
        if self.n_components is not None and supported < wanted:
            warn(
                f"n_components={wanted} lowered to {supported}: that is what "
                f"{len(codes)} samples of {len(self.classes_)} classes support (their "
                "rank, and an invertible within-class scatter)"
            )
        self.n_components_ = int(supported)

    def _set_canonical_space(self, left, codes):
        """Set canonical directions, their test, eigenimages and class means."""
        rotation, correlations, class_means = canonical_directions(left, codes)
        n_samples, n_classes = len(codes), len(self.classes_)
        self.canonical_correlations_ = correlations
        sizes = {"n_samples": n_samples, "n_classes": n_classes}
        self.p_values_ = direction_p_values(
            correlations, n_components=self.n_components_, **sizes
        )
        kept = len(correlations)
        if self.significance_level is not None:
            missed = self.p_values_ >= self.significance_level
            kept = int(np.argmax(missed)) if missed.any() else kept
        scale = np.sqrt((n_samples - n_classes) / (1 - correlations[:kept] ** 2))
        weights = rotation[:, :kept] * scale / self.singular_values_[:, None]
        self.canonical_maps_ = weights.T @ self.basis_
        self.class_means_ = class_means[:, :kept] * scale

    @described_by(fit)
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Project samples on the canonical directions.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_directions)
            Canonical coordinates in units of the within-class standard deviation.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.canonical_maps_.T

    def _log_joint(self, X):
        """Log p(c|g) p(g) up to a term that all classes share."""
        coordinates = self.transform(X)
        half = 0.5 * np.sum(self.class_means_**2, axis=1)
        return coordinates @ self.class_means_.T - half + np.log(self.priors_)

    @described_by(fit)
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Compute log joint probabilities of the classes up to a common term.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for 2 classes
            Scores whose softmax is the posterior; for two classes the log odds of
            the second.
        """
        scores = self._log_joint(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def _n_features_out(self):
        """Number of canonical coordinates, for ``get_feature_names_out``."""
        return self.canonical_maps_.shape[0]
