"""Identification from brain to label: searchlights, atlases, ensembles, lesions."""

from neuroextrap.decoding._ensemble import ensemble_information
from neuroextrap.decoding._lesion import LesionIdentification, lesion_identification
from neuroextrap.decoding._scorer import IdentificationScorer
from neuroextrap.decoding._searchlight import IdentificationSearchLight

__all__ = [
    "IdentificationScorer",
    "IdentificationSearchLight",
    "LesionIdentification",
    "ensemble_information",
    "lesion_identification",
]
