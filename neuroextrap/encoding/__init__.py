"""Identification from stimulus to brain: Kay-style encoding models.

``EncodingIdentification`` is for stimuli shown one by one, ``ContinuousEncoding`` for
films and stories.
"""

from neuroextrap.encoding._continuous import ContinuousEncoding
from neuroextrap.encoding._encoder_comparison import compare_encoding_models
from neuroextrap.encoding._ensemble_size import ensemble_size_curve
from neuroextrap.encoding._identification import EncodingIdentification
from neuroextrap.encoding._pairwise_comparison import (
    compare_encoding_models_pairwise,
)
from neuroextrap.images._feature_files import read_features
from neuroextrap.models._delayer import Delayer
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._noise_covariance import (
    SchaeferStrimmerCovariance,
    schaefer_strimmer_covariance,
)
from neuroextrap.models._retinotopic import RetinotopicFeatures
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net import ElasticNetEncoder

__all__ = [
    "ContinuousEncoding",
    "Delayer",
    "ElasticNetEncoder",
    "EncodingIdentification",
    "GaborPyramid",
    "RetinotopicFeatures",
    "RidgeEncoder",
    "SchaeferStrimmerCovariance",
    "compare_encoding_models",
    "compare_encoding_models_pairwise",
    "ensemble_size_curve",
    "read_features",
    "schaefer_strimmer_covariance",
]

# aliases: the same objects under the names of earlier versions
ShrunkCovariance = SchaeferStrimmerCovariance
shrunk_covariance = schaefer_strimmer_covariance
