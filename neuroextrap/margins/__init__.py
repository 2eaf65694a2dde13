"""Classifiers as batched margin functions, and the one loop over regions."""

from neuroextrap.margins._registry import CLASSIFIERS

__all__ = [
    "CLASSIFIERS",
]
