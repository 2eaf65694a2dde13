"""Delayed copies of features: a finite impulse response of any shape."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._validation import brief, check_real


class Delayer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Put earlier rows of the features beside each row.

    The response to a moment of a film comes seconds later. A linear model of features
    at several delays has a weight for each, and so learns a response of any shape
    (finite impulse response). Rows are volumes in the order of acquisition. They never
    come from another run: before it starts (after it ends, for negative delays),
    features are 0, which is their mean if they were centered.

    Parameters
    ----------
    delays : sequence of int
        Delays in rows (volumes), all different; 0 is the row itself, and negative
        numbers are later rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of features before they were delayed.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Their names, if they came in a DataFrame whose columns are text.

    See Also
    --------
    ContinuousEncoding : Encoding models of films and stories, with delays.

    References
    ----------
    Dale 1999, "Optimal experimental design for event-related fMRI" (equation 1).
    Nishimoto et al. 2011, "Reconstructing visual experiences from brain activity evoked
    by natural movies" (delayed features).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import Delayer
    >>> Delayer(delays=(0, 1)).fit_transform(np.array([[1.0], [2.0], [3.0]]))
    array([[1., 0.],
           [2., 1.],
           [3., 2.]])

    Runs stay apart:

    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> Delayer((1,)).fit(X).transform(X, groups=["a", "a", "b", "b"]).ravel()
    array([0., 1., 0., 3.])
    """

    def __init__(self, delays: ArrayLike) -> None:
        self.delays = delays

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Check the delays, and remember the number and names of features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : None
            Not used.

        Returns
        -------
        self : Delayer

        Raises
        ------
        ValueError
            If delays are no whole numbers, repeated or none.
        """
        from sklearn.utils.validation import validate_data

        check_delays(self.delays)
        validate_data(self, X, dtype=(np.float64, np.float32))
        return self

    def transform(self, X: ArrayLike, groups: ArrayLike | None = None) -> np.ndarray:
        """Return the features at every delay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, a row for every volume.
        groups : array-like of shape (n_samples,) or None, default=None
            Run of each row. If None, all rows are one run.

        Returns
        -------
        delayed : ndarray of shape (n_samples, n_delays * n_features)
            All features at the first delay, then all at the second, and so on.

        Raises
        ------
        ValueError
            If `X` has other features than in :meth:`fit`, or `groups` do not match it.
        """
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        given = np.zeros(len(X)) if groups is None else groups
        given = checked_entries(given, "groups", X[:, 0], "X")
        delays = check_delays(self.delays)
        delayed = np.zeros((len(X), len(delays), X.shape[1]), dtype=X.dtype)
        for run in np.unique(given):
            rows = np.flatnonzero(given == run)
            for place, delay in enumerate(delays):
                source = np.arange(len(rows)) - delay
                inside = (source >= 0) & (source < len(rows))
                delayed[rows[inside], place] = X[rows[source[inside]]]
        return delayed.reshape(len(X), -1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for every column, such as ``"motion_delay2"``.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features_in_,), default=None
            Names of the features. If None, those seen in :meth:`fit`, or x0, x1, ...

        Returns
        -------
        names : ndarray of str objects of shape (n_delays * n_features_in_,)
            In the order of the columns.
        """
        names = super().get_feature_names_out(input_features)
        delays = check_delays(self.delays)
        return np.array(
            [f"{name}_delay{delay}" for delay in delays for name in names], dtype=object
        )


def check_delays(delays: Any) -> list[int]:
    """Return delays as a list of int; ValueError unless whole and different."""
    values = np.atleast_1d(np.asarray(check_real(delays, "delays")))
    some = values.ndim == 1 and values.size and values.dtype.kind in "uif"
    if not some or (abs(values) >= 2**31).any() or (values != np.rint(values)).any():
        raise ValueError(
            f"delays={brief(delays)} must be whole numbers of rows (volumes); give "
            "(1, 2, 3, 4), for example"
        )
    if len(np.unique(values)) < len(values):
        raise ValueError(f"delays={delays!r} holds a delay twice; give each once")
    return [int(value) for value in values]
