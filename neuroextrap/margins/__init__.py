"""Classifiers as batched margin functions, and the one loop over regions."""
