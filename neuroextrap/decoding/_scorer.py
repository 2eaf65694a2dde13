"""Identification as a score for nilearn's own searchlight."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from neuroextrap import stats
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._design import Labelings
from neuroextrap.design._folds import code_labels, make_design
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import real_array


@described_by(IdentificationSearchLight)
@takes_fields
class IdentificationScorer(BaseEstimator):
    """Score one set of features by a single identification statistic.

    Runs inside :class:`nilearn.decoding.SearchLight` as its ``estimator``. It does its
    own cross-validation, so nilearn does none.
    :class:`IdentificationSearchLight` gives more maps, hundreds of times faster.

    Parameters
    ----------
    estimator : str or scikit-learn classifier, default="nearest_centroid"
        One of the names that :class:`IdentificationSearchLight` knows, or any
        classifier with ``decision_function`` or ``predict_proba``.
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int, \
            default="accuracy"
        Number that :meth:`score` returns; an integer k is accuracy among k classes,
        information is in bits.
    set_sizes : sequence of int or None, default=None
        Set sizes of the implied information. If None, all of 2..K up to K = 32, else at
        most 32 of them, log-spaced.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Classes in the labels.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationScorer
    >>> y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    >>> X = np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(12, 3))
    >>> IdentificationScorer().fit(X, y, groups=runs).score(X, y, groups=runs)
    1.0
    """

    #: nilearn's SearchLight (0.14 and later) then leaves cross-validation to us.
    nilearn_searchlight_uses_cv = False

    estimator: Any = "nearest_centroid"
    _: KW_ONLY
    shrinkage: str | float = "auto"
    cv: Any = None
    statistic: str | int = "accuracy"
    set_sizes: ArrayLike | None = None

    @described_by(IdentificationSearchLight.fit)
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Check labels and cross-validation; folds are fitted when scoring.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.

        Returns
        -------
        self : IdentificationScorer
        """
        X, labels, _ = self._tests(X, y, groups)
        self.classes_ = labels.classes
        self.n_features_in_ = X.shape[1]
        return self

    def _tests(self, X, y, groups):
        """Return samples as a float array (n_samples, n_features), Labels, Design."""
        labels, X = code_labels(y, None, groups, None), real_array(X, "X")
        if X.ndim != 2 or len(X) != len(labels.codes):
            raise ValueError(
                f"X of shape {X.shape} must have a row of features for each of the "
                f"{len(labels.codes)} labels in y"
            )
        n_classes, runs = len(labels.classes), labels.groups
        return X, labels, make_design(labels.codes, n_classes, cv=self.cv, groups=runs)

    @described_by(fit)
    def win_distribution(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the cross-validated win distribution.

        Returns
        -------
        wins : ndarray of shape (K,)
            Proportion of test points whose class beats 0, 1, ..., K - 1 of the others.
        """
        X, labels, design = self._tests(X, y, groups)
        kernel = resolve_classifier(self.estimator, shrinkage=self.shrinkage)
        samples = X if kernel.as_given else (X - X.mean(axis=0)).astype(np.float32)
        labelings = Labelings(labels.codes[None], design.n_classes)
        margins = kernel.margins(kernel.prepare([samples], design), labelings)
        return stats.win_distribution(margins[:, :, 0], labels.codes[design.test])

    @described_by(fit)
    def score(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> float:
        """Return the cross-validated statistic.

        Returns
        -------
        score : float
            Value of ``statistic``.
        """
        wins = self.win_distribution(X, y, groups)
        sizes = self.set_sizes
        if sizes is None:
            sizes = default_set_sizes(len(wins))
        statistic = resolve_statistic(self.statistic, len(wins), sizes)
        return float(statistic(wins[None])[0])
