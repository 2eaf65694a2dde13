"""Whitening by a supplied noise covariance."""

import numpy as np
import scipy.linalg

from neuroextrap.images import load_samples
from neuroextrap.images._hashes import array_hash


class NoiseWhitener:
    """Whiten a region's samples by the covariance of noise residuals.

    Parameters
    ----------
    residuals : ndarray, shape (n_observations, n_features)
        Noise, such as residuals of a first-level model.
    """

    def __init__(self, residuals):
        self.residuals = residuals

    def __repr__(self):
        """Name what whitens; part of a checkpoint's identity."""
        digest = array_hash(self.residuals)
        return f"NoiseWhitener({digest})"

    def workspace(self, n_features, n_samples):
        """Return the bytes that whitening a region takes.

        Parameters
        ----------
        n_features : int
            Of the region.
        n_samples : int

        Returns
        -------
        n_bytes : int
        """
        rows = 3 * len(self.residuals) + 3 * n_samples
        return 8 * n_features * (rows + 4 * n_features)

    def __call__(self, features, x):
        """Return samples in which the noise is white.

        Parameters
        ----------
        features : ndarray of int, shape (n,)
            The region's features.
        x : ndarray, shape (n_samples, n)

        Returns
        -------
        ndarray, shape (n_samples, n)
        """
        from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

        covariance, _ = schaefer_strimmer_covariance(self.residuals[:, features])
        lower = np.linalg.cholesky(covariance)
        return scipy.linalg.solve_triangular(lower, x.T.astype(float), lower=True).T


def make_whitener(noise_covariance, masker, n_features):
    """Read noise residuals and check them.

    Parameters
    ----------
    noise_covariance : array of shape (n_observations, n_features), images, or None
    masker : fitted masker, or None
    n_features : int

    Returns
    -------
    NoiseWhitener or None

    Raises
    ------
    ValueError
        When there are other features, fewer than three observations, or NaN.
    """
    if noise_covariance is None:
        return None
    residuals = noise_covariance
    if not isinstance(residuals, np.ndarray):
        if masker is None:
            raise ValueError("noise_covariance must be an array when imgs is an array")
        residuals = load_samples(residuals, masker)
    if residuals.ndim != 2 or residuals.shape[1] != n_features or len(residuals) < 3:
        raise ValueError(
            f"noise_covariance has shape {residuals.shape}; give residuals of shape "
            f"(n_observations, {n_features}), at least three observations"
        )
    if not np.isfinite(residuals).all():
        raise ValueError("noise_covariance has NaN or infinity; give finite residuals")
    return NoiseWhitener(residuals - residuals.mean(axis=0))
