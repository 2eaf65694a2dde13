"""Mutual information learning curves and sensitivity maps."""
