"""What a notebook shows of a fitted analysis: sentences, and the strongest regions."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._finding import (
    find,
    findings,
    n_analyzed,
    region_words,
    verdict,
)
from neuroextrap.reporting._peaks_section import peak_rows, ranked_peaks
from neuroextrap.reporting._rendering import render


def summary(fitted, *, n_peaks=5):
    """Summarize a fitted analysis in a few lines of HTML, without pictures."""
    n_regions = n_analyzed(fitted)
    one, many = region_words(fitted)
    sentences, table = [], Markup("")
    finding = find(fitted)
    if np.isfinite(fitted.region_scores_["accuracy"]).any():
        peaks = ranked_peaks(fitted, n_peaks)
        sentences = [verdict(fitted, finding), *findings(fitted, finding, peaks)]
        table = peak_rows(peaks, f"Strongest {many}")
    return render(
        "summary",
        kind=type(fitted).__name__,
        regions=f"{n_regions:,} {one if n_regions == 1 else many}",
        n_classes=len(fitted.classes_),
        n_permutations=fitted.n_permutations_,
        sentences=sentences,
        table=table,
    )
