"""Whitening by a supplied noise covariance."""

import numpy as np
import scipy.linalg

from neuroextrap.analysis._samples import read_residuals
from neuroextrap.margins.running._described import array_hash


class NoiseWhitener:
    """Whiten a region's samples by the covariance of centered noise residuals.

    `residuals` of shape (n_observations, n_features) are such as those of a first-level
    model.
    """

    def __init__(self, residuals):
        self.residuals = residuals

    def __repr__(self):
        """Name what whitens; part of a checkpoint's identity."""
        return f"NoiseWhitener({array_hash(self.residuals)})"

    def workspace(self, n_features, n_samples):
        """Return the bytes that whitening a region of so many features takes."""
        rows = 3 * len(self.residuals) + 3 * n_samples
        return 8 * n_features * (rows + 4 * n_features)

    def __call__(self, features, x):
        """Return samples `x` (n_samples, n) of these n features, their noise white."""
        from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

        covariance, _ = schaefer_strimmer_covariance(self.residuals[:, features])
        lower = np.linalg.cholesky(covariance)
        return scipy.linalg.solve_triangular(lower, x.T.astype(float), lower=True).T


def make_whitener(noise_covariance, masker, n_features):
    """Return the whitener by residuals (an array, or images); None for none."""
    if noise_covariance is None:
        return None
    everything = np.ones(n_features, dtype=bool)
    residuals = read_residuals(noise_covariance, masker, everything)
    return NoiseWhitener(residuals - residuals.mean(axis=0))
