"""Elastic net, noise covariance, receptive fields, canonical variates."""

__all__ = []
