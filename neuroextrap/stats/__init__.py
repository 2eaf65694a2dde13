"""Numbers about wins: curves, information, bounds, tests, extrapolation."""
