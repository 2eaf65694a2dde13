"""Noise covariance shrunk to its diagonal with an analytic intensity."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.covariance import EmpiricalCovariance

from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_real, real_array


def schaefer_strimmer_covariance(
    residuals: ArrayLike, *, degrees_of_freedom: ArrayLike | None = None
) -> tuple:
    """Estimate a noise covariance, shrunk to its diagonal by an analytic intensity.

    ::

        S = E'E / N,    Sigma = (1 - lambda) S + lambda diag(S)
        lambda = clip(sum_{i != j} Var(s_ij) / sum_{i != j} s_ij^2, 0, 1)
        Var(s_ij) = [sum_t e_ti^2 e_tj^2 - (sum_t e_ti e_tj)^2 / N] / (N (N - 1))

    It differs from :func:`sklearn.covariance.shrunk_covariance`, which takes a
    covariance and shrinks it to a multiple of the identity by a given intensity: here
    residuals come in, every feature keeps its own variance, and the data choose the
    intensity.

    Residuals should come from cross-validation within the training data. Residuals
    of the test responses must not be used: identification would then be judged by a
    covariance that has seen the pairing of responses and stimuli.

    Parameters
    ----------
    residuals : array-like of shape (n_samples, n_features)
        Residuals E, taken to have mean zero. Computed in float32 if they are float32,
        else in float64.
    degrees_of_freedom : array-like of shape (n_features,) or None, default=None
        Degrees of freedom that the model of each feature spent, for residuals of
        training data: s_ij is then e_i'e_j / sqrt((N - df_i)(N - df_j)). If None,
        zero.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
        Shrunk covariance, in squared units of the residuals. It is positive definite
        if no feature is constantly zero and the intensity is positive.
    shrinkage : float
        The intensity lambda in [0, 1]; zero for a single feature.

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
    >>> from neuroextrap.encoding import schaefer_strimmer_covariance
    >>> residuals = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> covariance, shrinkage = schaefer_strimmer_covariance(residuals)
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


@described_by(schaefer_strimmer_covariance)
class SchaeferStrimmerCovariance(EmpiricalCovariance):
    """Noise covariance shrunk to its diagonal, as a scikit-learn estimator.

    The estimator of :func:`schaefer_strimmer_covariance`, with the methods of
    scikit-learn's covariance estimators (``mahalanobis``, ``score``, ``error_norm``,
    ``get_precision``). Unlike :class:`sklearn.covariance.ShrunkCovariance` it shrinks
    to the diagonal, not to a multiple of the identity, and the data choose the
    intensity.

    Parameters
    ----------
    store_precision : bool, default=True
        Whether to compute and keep the inverse of the covariance.
    assume_centered : bool, default=False
        Whether the samples are taken to have mean zero, as residuals do. If False,
        their mean is subtracted first.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        Shrunk covariance.
    precision_ : ndarray of shape (n_features, n_features)
        Its pseudo-inverse; None if ``store_precision=False``.
    shrinkage_ : float
        Intensity of the shrinkage in [0, 1].
    location_ : ndarray of shape (n_features,)
        Mean that was subtracted; zero if ``assume_centered=True``.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    schaefer_strimmer_covariance : The same estimate as a function.

    References
    ----------
    Schaefer & Strimmer 2005, "A shrinkage approach to large-scale covariance matrix
    estimation", target D.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import SchaeferStrimmerCovariance
    >>> residuals = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = SchaeferStrimmerCovariance().fit(residuals)
    >>> model.covariance_.shape, model.mahalanobis(residuals).shape
    ((3, 3), (50,))
    """

    def __init__(
        self,
        *,
        store_precision: bool = True,
        assume_centered: bool = False,
        degrees_of_freedom: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            store_precision=store_precision, assume_centered=assume_centered
        )
        self.degrees_of_freedom = degrees_of_freedom

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Estimate the covariance of residuals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Residuals.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : SchaeferStrimmerCovariance
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer than two samples, a value is not finite, or degrees of
            freedom reach the number of samples.
        """
        from scipy.linalg import pinvh
        from sklearn.utils.validation import validate_data

        check_plain_types(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        zero = np.zeros(X.shape[1], dtype=X.dtype)
        self.location_ = zero if self.assume_centered else X.mean(axis=0)
        self.covariance_, self.shrinkage_ = schaefer_strimmer_covariance(
            X - self.location_, degrees_of_freedom=self.degrees_of_freedom
        )
        self.precision_ = pinvh(self.covariance_) if self.store_precision else None
        return self


def _check_residuals(residuals):
    """Return residuals as a two-dimensional array of finite floats."""
    E = np.asarray(check_real(residuals, "residuals"))
    if E.dtype != np.float32:
        E = real_array(E, "residuals")
    if E.ndim != 2 or len(E) < 2:
        raise ValueError(
            f"residuals must have shape (n_samples >= 2, n_features), got shape "
            f"{E.shape}; pass one row per sample"
        )
    if not np.isfinite(E).all():
        raise ValueError("residuals hold NaN or infinite values; drop these features")
    return E


def _inflation(degrees_of_freedom, E):
    """Factors sqrt(N / (N - df)), shape (n_features,)."""
    spent = real_array(degrees_of_freedom, "degrees_of_freedom")
    if spent.shape != (E.shape[1],) or not ((spent >= 0) & (spent < len(E))).all():
        raise ValueError(
            f"degrees_of_freedom must have shape ({E.shape[1]},) and lie in "
            f"[0, {len(E)}), got shape {spent.shape}; use cross-validated residuals "
            "where the model interpolates"
        )
    return np.sqrt(len(E) / (len(E) - spent)).astype(E.dtype)


def _intensity(E, covariance):
    """Return lambda, without forming the matrix of fourth moments."""
    n_samples, n_features = E.shape
    if n_features < 2:
        return 0.0
    squares = np.square(E, dtype=np.float64)
    # sum over i != j and t of e_ti^2 e_tj^2: the square of the sum less its diagonal
    fourth = (squares.sum(axis=1) ** 2).sum() - (squares**2).sum()
    diagonal = np.diag(covariance).astype(np.float64)
    second = float(np.vdot(covariance, covariance)) - (diagonal**2).sum()
    if second <= 0:
        return 1.0
    variance = (fourth - n_samples * second) / (n_samples * (n_samples - 1))
    return float(np.clip(variance / second, 0.0, 1.0))
