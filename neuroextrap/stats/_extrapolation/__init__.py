"""Extrapolation methods, one file each, behind one registry."""

from neuroextrap.stats._extrapolation._auto import extrapolate_wins
from neuroextrap.stats._extrapolation._extrapolator import (
    EXTRAPOLATION_METHODS,
    AccuracyExtrapolator,
)
from neuroextrap.stats._extrapolation._moment import extrapolate_risk

__all__ = [
    "EXTRAPOLATION_METHODS",
    "AccuracyExtrapolator",
    "extrapolate_risk",
    "extrapolate_wins",
]
