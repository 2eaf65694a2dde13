"""Identification from stimulus to brain: Kay-style encoding models.

Stimulus features: ``GaborPyramid``, ``RetinotopicFeatures``. Encoders:
``ElasticNetEncoder``. Noise: ``shrunk_covariance``, ``ShrunkCovariance``.
Identification: ``EncodingIdentification``, ``mahalanobis_margins``; single voxels:
``prediction_scores``. Two models: ``compare_encoding_models``; ensembles of voxels or
features: ``ensemble_size_curve``.
"""

from neuroextrap.encoding._comparison import compare_encoding_models
from neuroextrap.encoding._ensemble_size import EnsembleCurve, ensemble_size_curve
from neuroextrap.encoding._identification import EncodingIdentification
from neuroextrap.encoding._margins import mahalanobis_margins
from neuroextrap.encoding._voxel_scores import prediction_scores
from neuroextrap.models import (
    ElasticNetEncoder,
    GaborPyramid,
    RetinotopicFeatures,
    ShrunkCovariance,
    shrunk_covariance,
)

__all__ = [
    # stimulus features
    "GaborPyramid",
    "RetinotopicFeatures",
    # encoders and noise
    "ElasticNetEncoder",
    "ShrunkCovariance",
    "shrunk_covariance",
    # identification
    "EncodingIdentification",
    "EnsembleCurve",
    "compare_encoding_models",
    "ensemble_size_curve",
    "mahalanobis_margins",
    "prediction_scores",
]
