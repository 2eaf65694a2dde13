"""Figures of curves, bounds, null distributions and learning curves."""
