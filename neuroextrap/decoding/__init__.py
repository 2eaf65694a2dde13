"""Identification from brain to label: searchlights, atlases, ensembles, lesions."""

from neuroextrap.decoding._comparison import compare_decoders
from neuroextrap.decoding._decoder_comparison import DecoderComparison
from neuroextrap.decoding._ensemble import ensemble_information
from neuroextrap.decoding._lesion import LesionIdentification, lesion_identification
from neuroextrap.decoding._scorer import IdentificationScorer
from neuroextrap.decoding._searchlight import IdentificationSearchLight

__all__ = [
    "DecoderComparison",
    "IdentificationScorer",
    "IdentificationSearchLight",
    "LesionIdentification",
    "compare_decoders",
    "ensemble_information",
    "lesion_identification",
]
