"""The specification curve: how results change with the options of an analysis."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroextrap.plotting._axes import COLORS, LINES
from neuroextrap.plotting._information_plots import critical_value

_CURVE, _ROW, _LETTER = 2.2, 0.2, 0.06  # inch


def draw_specification_curve(table: Any, options: list[str], maxima: Any) -> Any:
    """Draw pipelines by their largest statistic, above dots that say their options.

    `table` has columns ``pipeline``, ``largest_standardized``, ``p_value_fwe`` and
    `options`; `maxima` (n_permutations,) are the largest statistics over all pipelines.
    Returns the figure.
    """
    import matplotlib.pyplot as plt

    table = table.sort_values("largest_standardized", kind="stable")
    levels = [(option, level) for option in options for level in _levels(table[option])]
    rows = _ROW * max(1, len(levels))
    names = _LETTER * table["pipeline"].str.len().max()  # written aslant
    figure, (above, below) = plt.subplots(
        2,
        1,
        sharex=True,
        figsize=(max(4.5, 0.3 * len(table) + 2.5), _CURVE + rows + names),
        height_ratios=[_CURVE, rows],
        layout="constrained",
    )
    place = np.arange(len(table))
    survives = (table["p_value_fwe"] <= 0.05).to_numpy()
    for chosen, color in ((survives, COLORS[1]), (~survives, "0.6")):
        values = table["largest_standardized"].to_numpy()[chosen]
        above.plot(place[chosen], values, "o", color=color)
    threshold = critical_value(maxima, 0.05)
    if threshold is not None and np.isfinite(threshold):
        above.axhline(threshold, **LINES["threshold"])
    above.set_ylabel("largest\nstandardized\nstatistic")
    for row, (option, level) in enumerate(levels):
        chosen = place[(table[option].astype(str) == level).to_numpy()]
        below.plot(chosen, np.full(len(chosen), row), "s", ms=4, color="0.2")
    words = [f"{option.replace('_', ' ')} {level}" for option, level in levels]
    below.set_yticks(range(len(levels)), words, fontsize=8)
    below.set_ylim(len(levels) - 0.5, -0.5)
    below.set_xticks(place, table["pipeline"], rotation=45, ha="right", fontsize=8)
    return figure


def _levels(column: Any) -> list[str]:
    """Return the values of an option as text: numbers in their order, then words."""
    return [str(v) for v in sorted(set(column), key=lambda v: (isinstance(v, str), v))]
