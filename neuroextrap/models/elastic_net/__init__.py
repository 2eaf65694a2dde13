"""Elastic nets of many targets, each with its own cross-validated penalties."""

from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder

__all__ = ["ElasticNetEncoder"]
