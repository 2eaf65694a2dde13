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
from neuroextrap.datasets._samples import PlantedSamples, plant_codes
from neuroextrap.datasets._toy import BivariateNormalProblem

__all__ = [
    "DEMO_COORDINATES",
    "BivariateNormalProblem",
    "PlantedSamples",
    "SimulatedBrain",
    "gaussian_code_accuracy",
    "gaussian_code_information",
    "gaussian_code_snr",
    "plant_codes",
    "simulate_brain",
]
