"""Simulated data with known truth."""

from neuroextrap.datasets._brains import (
    DEMO_COORDINATES,
    SimulatedBrain,
    simulate_brain,
)
from neuroextrap.datasets._gaussian_code import (
    gaussian_code_accuracy,
    gaussian_code_information,
    gaussian_code_snr,
)
from neuroextrap.datasets._natural_images import (
    SimulatedVisualCortex,
    photo_patches,
    simulate_visual_cortex,
)
from neuroextrap.datasets._samples import PlantedSamples, plant_codes
from neuroextrap.datasets._toy import BivariateNormalProblem

__all__ = [
    "DEMO_COORDINATES",
    "BivariateNormalProblem",
    "PlantedSamples",
    "SimulatedBrain",
    "SimulatedVisualCortex",
    "gaussian_code_accuracy",
    "gaussian_code_information",
    "gaussian_code_snr",
    "photo_patches",
    "plant_codes",
    "simulate_brain",
    "simulate_visual_cortex",
]
