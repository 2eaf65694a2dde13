"""Elastic net, noise covariance, receptive fields, canonical variates."""

from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.models._degrees_of_freedom import elastic_net_degrees_of_freedom
from neuroextrap.models._elastic_net import ElasticNetEncoder, encoder_splits
from neuroextrap.models._elastic_net_options import SearchOptions
from neuroextrap.models._elastic_net_search import (
    ElasticNetFit,
    cross_validated_elastic_net,
)
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._noise_covariance import ShrunkCovariance, shrunk_covariance
from neuroextrap.models._retinotopic import RetinotopicFeatures

__all__ = [
    "CanonicalVariates",
    "ElasticNetEncoder",
    "ElasticNetFit",
    "GaborPyramid",
    "RetinotopicFeatures",
    "SearchOptions",
    "ShrunkCovariance",
    "cross_validated_elastic_net",
    "elastic_net_degrees_of_freedom",
    "encoder_splits",
    "shrunk_covariance",
]
