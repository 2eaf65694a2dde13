"""Identification from stimulus to brain: Kay-style encoding models."""
