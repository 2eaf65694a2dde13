"""Extrapolation methods, one file each, behind one registry."""
