"""Identification from brain to label: searchlights, atlases, time, ensembles."""

from neuroextrap.decoding._cross_identification import cross_identification
from neuroextrap.decoding._decoder_comparison import compare_decoders
from neuroextrap.decoding._design_simulation import simulate_design
from neuroextrap.decoding._dissimilarity_searchlight import DissimilaritySearchLight
from neuroextrap.decoding._ensemble import ensemble_information, lesion_identification
from neuroextrap.decoding._multiverse import multiverse
from neuroextrap.decoding._scorer import IdentificationScorer
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.decoding._target_searchlight import TargetSearchLight
from neuroextrap.decoding._temporal_generalization import temporal_generalization
from neuroextrap.decoding._time_resolved import time_resolved_identification
from neuroextrap.decoding._trial_confound import trial_confound

__all__ = [
    "DissimilaritySearchLight",
    "IdentificationScorer",
    "IdentificationSearchLight",
    "TargetSearchLight",
    "compare_decoders",
    "cross_identification",
    "ensemble_information",
    "lesion_identification",
    "multiverse",
    "simulate_design",
    "temporal_generalization",
    "time_resolved_identification",
    "trial_confound",
]
