"""Analyses by parameters, covariances of encoding models, and series in time."""

import numpy as np
from scipy.signal import lfilter

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification, schaefer_strimmer_covariance
from tests.seam import nested_parameters


def searchlight_of(*args, **flat):
    """A searchlight; ``stride=2`` is ``regions=Regions(stride=2)``, and so on."""
    kind = IdentificationSearchLight
    return kind(*args, **nested_parameters(kind, flat))


def encoding_of(*args, **flat):
    """An encoding model, likewise."""
    kind = EncodingIdentification
    return kind(*args, **nested_parameters(kind, flat))


def encoding_covariance(residuals):
    """Noise covariance by default: N residuals, and p more of independent voxels."""
    covariance, _ = schaefer_strimmer_covariance(residuals)
    n_samples, n_features = np.shape(residuals)
    independent = np.diag(np.diag(covariance))
    total = n_samples * covariance + n_features * independent
    return total / (n_samples + n_features)


def series(rng, n_rows, n_columns, correlation):
    """Autoregressive columns whose neighbors in time have a correlation."""
    noise = rng.normal(size=(n_rows + 100, n_columns))
    return lfilter([1], [1, -correlation], noise, axis=0)[100:]
