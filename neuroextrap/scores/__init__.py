"""Identification by any matrix of scores: retrieval, zero-shot and other decoders.

``score_identification``: the curve, bits, bounds and p-value of scores of trials for
candidates, or of decoded vectors. What it returns compares two decoders, makes a page
and writes tables.
"""

from neuroextrap.scores._identification import score_identification

__all__ = ["score_identification"]
