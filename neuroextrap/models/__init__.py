"""Elastic net, noise covariance, receptive fields, canonical variates."""
