"""Reasons to doubt the p-values and bounds of a run, said wherever they are read."""

from typing import NamedTuple

from neuroextrap.stats._warn import warn


class Doubt(NamedTuple):
    """What was seen in data or design that makes p-values or bounds too good."""

    #: End of the first sentence of a page: "..., because CLAUSE".
    clause: str
    #: What was seen, what it does, and what to do: a warning and a note of the results.
    note: str
    #: Whether it makes lower bounds too high as well as p-values too small.
    of_bounds: bool = True


def tell(doubts):
    """Warn of every doubt, before the work begins."""
    for doubt in doubts:
        warn(doubt.note)
