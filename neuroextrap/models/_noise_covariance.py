"""Noise covariance shrunk towards its diagonal with an analytic intensity."""

import numpy as np
from sklearn.base import BaseEstimator


def shrunk_covariance(residuals, *, degrees_of_freedom=None):
    """Estimate a covariance, its off-diagonal shrunk by an analytic factor.

    ::

        S = E'E / N,    Sigma = (1 - lambda) S + lambda diag(S)
        lambda = clip(sum_{i != j} Var(s_ij) / sum_{i != j} s_ij^2, 0, 1)
        Var(s_ij) = [sum_t e_ti^2 e_tj^2 - (sum_t e_ti e_tj)^2 / N] / (N (N - 1))

    Residuals should come from cross-validation within the training data. Residuals
    of the test responses must not be used: identification would then be judged by a
    covariance that has seen the pairing.

    Parameters
    ----------
    residuals : array-like, shape (n_samples, n_features)
        Residuals E, taken to have mean zero; float32 is computed in float32.
    degrees_of_freedom : array-like, shape (n_features,), optional
        Degrees of freedom each feature's model spent, for residuals on training
        data: s_ij is then e_i'e_j / sqrt((N - df_i)(N - df_j)).

    Returns
    -------
    covariance : ndarray, shape (n_features, n_features)
        Positive definite when no feature is constantly zero and lambda > 0.
    shrinkage : float
        The factor lambda; 0 for a single feature.

    Raises
    ------
    ValueError
        If there are fewer than two samples, a value is not finite, or degrees of
        freedom reach the number of samples.

    References
    ----------
    Schaefer & Strimmer 2005, "A shrinkage approach to large-scale covariance matrix
    estimation", target D; Ledoit & Wolf 2004.

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> covariance, shrinkage = shrunk_covariance(residuals)
    >>> covariance
    array([[1., 0.],
           [0., 1.]])
    >>> shrinkage
    1.0
    """
    E = _check_residuals(residuals)
    n_samples = len(E)
    if degrees_of_freedom is not None:
        E = E * _inflation(degrees_of_freedom, E)
    covariance = E.T @ E / E.dtype.type(n_samples)
    shrinkage = _intensity(E, covariance)
    diagonal = np.diag(covariance).copy()
    covariance *= E.dtype.type(1 - shrinkage)
    np.fill_diagonal(covariance, diagonal)
    return covariance, shrinkage


class ShrunkCovariance(BaseEstimator):
    """Covariance shrunk towards its diagonal, as a scikit-learn estimator.

    Parameters
    ----------
    assume_centered : bool, default=True
        Residuals have mean zero by construction. False subtracts the mean first.

    Attributes
    ----------
    covariance_ : ndarray, shape (n_features, n_features)
        Shrunk covariance.
    location_ : ndarray, shape (n_features,)
        What was subtracted.
    shrinkage_ : float
        Intensity in [0, 1].
    n_features_in_ : int
        Number of features.

    See Also
    --------
    neuroextrap.models.shrunk_covariance : The function.

    References
    ----------
    Schaefer & Strimmer 2005, "A shrinkage approach to large-scale covariance matrix
    estimation", target D.

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.random.default_rng(0).normal(size=(50, 3))
    >>> ShrunkCovariance().fit(residuals).covariance_.shape
    (3, 3)
    """

    def __init__(self, assume_centered=True):
        self.assume_centered = assume_centered

    def fit(self, X, y=None):  # noqa: ARG002
        """Estimate the covariance.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Residuals.
        y : None
            Ignored.

        Returns
        -------
        self : ShrunkCovariance
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer than two samples or a value is not finite.
        """
        from sklearn.utils.validation import validate_data

        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        zero = np.zeros(X.shape[1], dtype=X.dtype)
        self.location_ = zero if self.assume_centered else X.mean(axis=0)
        self.covariance_, self.shrinkage_ = shrunk_covariance(X - self.location_)
        return self


def _check_residuals(residuals):
    """Two-dimensional finite floats."""
    E = np.asarray(residuals)
    if E.dtype != np.float32:
        E = E.astype(np.float64)
    if E.ndim != 2 or len(E) < 2:
        raise ValueError(
            f"residuals must have shape (n_samples >= 2, n_features), got {E.shape}"
        )
    if not np.isfinite(E).all():
        raise ValueError("residuals hold NaN or infinite values; drop these features")
    return E


def _inflation(degrees_of_freedom, E):
    """sqrt(N / (N - df)) per feature."""
    spent = np.asarray(degrees_of_freedom, dtype=np.float64)
    if spent.shape != (E.shape[1],) or not ((spent >= 0) & (spent < len(E))).all():
        raise ValueError(
            f"degrees_of_freedom must have shape ({E.shape[1]},) and lie in "
            f"[0, {len(E)}), got shape {spent.shape}; use cross-validated residuals "
            "where the model interpolates"
        )
    return np.sqrt(len(E) / (len(E) - spent)).astype(E.dtype)


def _intensity(E, covariance):
    """Lambda, without forming the matrix of fourth moments."""
    n_samples, n_features = E.shape
    if n_features < 2:
        return 0.0
    squares = np.square(E, dtype=np.float64)
    # sum over i != j and t of e_ti^2 e_tj^2
    fourth = (squares.sum(axis=1) ** 2).sum() - (squares**2).sum()
    diagonal = np.diag(covariance).astype(np.float64)
    second = float(np.vdot(covariance, covariance)) - (diagonal**2).sum()
    if second <= 0:
        return 1.0
    variance = (fourth - n_samples * second) / (n_samples * (n_samples - 1))
    return float(np.clip(variance / second, 0.0, 1.0))
