"""Elastic net, noise covariance, receptive fields, canonical variates."""

from neuroextrap.models._canonical_variates import CanonicalVariates

__all__ = [
    "CanonicalVariates",
]
