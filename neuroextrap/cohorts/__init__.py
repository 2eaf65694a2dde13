"""Whole groups of subjects: a folder of BIDS derivatives in, maps and pages out.

One participant after another is analyzed by ``analyze_participants``; then
``analyze_group`` puts their results together. ``neuroextrap bids`` is the same from the
command line.
"""

from neuroextrap.cohorts._group_level import analyze_group
from neuroextrap.cohorts._participants import analyze_participants

__all__ = ["analyze_group", "analyze_participants"]
