"""Extrapolation methods, one file each, behind one registry."""

from neuroextrap.stats._extrapolation._batched import extrapolate_wins
from neuroextrap.stats._extrapolation._extrapolator import AccuracyExtrapolator
from neuroextrap.stats._extrapolation._moment import extrapolate_risk
from neuroextrap.stats._extrapolation._registry import EXTRAPOLATION_METHODS

__all__ = [
    "EXTRAPOLATION_METHODS",
    "AccuracyExtrapolator",
    "extrapolate_risk",
    "extrapolate_wins",
]
