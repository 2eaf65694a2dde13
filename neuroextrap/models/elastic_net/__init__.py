"""Elastic nets of many targets, each with its own cross-validated penalties."""

from neuroextrap._compiling import forget_outdated
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder

__all__ = ["ElasticNetEncoder"]

forget_outdated(__file__)
