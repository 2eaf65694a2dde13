"""Simulated data with known truth."""

from neuroextrap.datasets._known_codes import (
    BivariateNormalProblem,
    gaussian_code_accuracy,
    gaussian_code_information,
)
from neuroextrap.datasets._simulated_brains import (
    plant_codes,
    simulate_brain,
    simulate_visual_cortex,
)

__all__ = [
    "BivariateNormalProblem",
    "gaussian_code_accuracy",
    "gaussian_code_information",
    "plant_codes",
    "simulate_brain",
    "simulate_visual_cortex",
]
