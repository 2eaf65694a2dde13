"""Identification as a score that nilearn's own searchlight can take."""

import numpy as np
from sklearn.base import BaseEstimator

from neuroextrap import stats
from neuroextrap.decoding._inputs import code_labels
from neuroextrap.margins._design import Labelings
from neuroextrap.margins._folds import make_design
from neuroextrap.margins._registry import resolve_classifier
from neuroextrap.margins._statistic import resolve_statistic


class IdentificationScorer(BaseEstimator):
    """One number of identification for one set of features.

    Runs inside :class:`nilearn.decoding.SearchLight` as its ``estimator``; the
    cross-validation is this class's own, so nilearn makes none.
    :class:`IdentificationSearchLight` gives more maps, hundreds of times faster.

    Parameters
    ----------
    estimator : str or scikit-learn classifier
        As for :class:`IdentificationSearchLight`.
    shrinkage : "auto" or float
        Of lda, ridge and qda.
    cv : None, int, scikit-learn splitter, or iterable of (train, test)
        None leaves one group out at a time.
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int
        What :meth:`score` returns; an integer k is accuracy among k classes,
        information is in bits.
    set_sizes : sequence of int or None
        Set sizes of the implied information.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    n_features_in_ : int

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", Journal of Machine Learning Research 19.

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

    def __init__(
        self,
        estimator="nearest_centroid",
        *,
        shrinkage="auto",
        cv=None,
        statistic="accuracy",
        set_sizes=None,
    ):
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.cv = cv
        self.statistic = statistic
        self.set_sizes = set_sizes

    def fit(self, X, y, groups=None):
        """Check the design; every fold is fitted when scoring.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples in rows.
        y : array-like, shape (n_samples,)
            Class of every sample.
        groups : array-like, shape (n_samples,), or None
            Run of every sample.

        Returns
        -------
        self : IdentificationScorer

        Raises
        ------
        ValueError
            When labels, groups and cross-validation do not fit one another.
        """
        X = np.asarray(X)
        labels = code_labels(y, None, groups, None)
        make_design(labels.codes, len(labels.classes), cv=self.cv, groups=labels.groups)
        self.classes_ = labels.classes
        self.n_features_in_ = X.shape[1]
        return self

    def win_distribution(self, X, y, groups=None):
        """Return the cross-validated win distribution.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples in rows.
        y : array-like, shape (n_samples,)
            Class of every sample.
        groups : array-like, shape (n_samples,), or None
            Run of every sample.

        Returns
        -------
        wins : ndarray, shape (K,)
        """
        X = np.asarray(X, dtype=float)
        labels = code_labels(y, None, groups, None)
        design = make_design(
            labels.codes, len(labels.classes), cv=self.cv, groups=labels.groups
        )
        kernel = resolve_classifier(self.estimator, shrinkage=self.shrinkage)
        centered = (X - X.mean(axis=0)).astype(np.float32)
        labelings = Labelings(labels.codes[None], design.n_classes)
        found = kernel.margins(kernel.prepare([centered], design), labelings)
        return stats.win_distribution(found[:, :, 0], labels.codes[design.test])

    def score(self, X, y, groups=None):
        """Return the cross-validated statistic.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples in rows.
        y : array-like, shape (n_samples,)
            Class of every sample.
        groups : array-like, shape (n_samples,), or None
            Run of every sample.

        Returns
        -------
        score : float
        """
        wins = self.win_distribution(X, y, groups)
        sizes = self.set_sizes
        if sizes is None:
            sizes = stats.default_set_sizes(len(wins))
        statistic = resolve_statistic(self.statistic, len(wins), sizes)
        return float(statistic(wins[None])[0])
