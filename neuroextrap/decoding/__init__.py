"""Identification from brain to label: searchlights, atlases, ensembles."""

from neuroextrap.decoding._scorer import IdentificationScorer
from neuroextrap.decoding._searchlight import IdentificationSearchLight

__all__ = ["IdentificationScorer", "IdentificationSearchLight"]
