"""Extrapolation methods behind one registry."""
