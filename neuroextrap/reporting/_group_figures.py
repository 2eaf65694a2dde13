"""Figures of analyses over subjects: subjects at the peaks, null distributions."""

import numpy as np
from markupsafe import Markup

from neuroextrap.plotting._axes import COLORS
from neuroextrap.reporting._pictures import embed_figure, null_figure

_N_PEAKS = 4
_WITHOUT_SPREAD = 3  # fewer subjects have no interval


def subjects_figure(result, clusters):
    """Draw every subject's value at the first peaks, with mean and interval."""
    import matplotlib.pyplot as plt

    about, peaks = result.about, clusters["feature"].to_numpy()[:_N_PEAKS]
    figure, ax = plt.subplots(
        figsize=(3.4 + 1.1 * len(peaks), 3.4), layout="constrained"
    )
    baseline, name = result.baseline
    if baseline is not None:
        ax.axhline(baseline, ls="--", color="0.4", lw=1, label=name)
    for column, peak in enumerate(peaks):
        _draw_subjects(ax, about, column, peak)
    words = [
        result.place_words(peak).replace(", ", ",\N{NO-BREAK SPACE}", 2)
        for peak in peaks
    ]
    ax.set_xticks(
        range(len(peaks)),
        [text.replace(" mm", " mm\n").replace("\n, ", "\n") for text in words],
        fontsize="x-small",
    )
    ax.set_ylabel(result.value_words)
    ax.set_xlim(-0.6, len(peaks) - 0.2)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
    caption = (
        "Every subject at the strongest places. The places were chosen because the "
        "values are large there: means and intervals are too high on average."
    )
    if not about.options.get("of_mean", True):
        caption = (
            "Every subject at the strongest places, from left to right by what the "
            "contrast compares (other columns of the design taken out). The places "
            "were chosen because the differences are large there."
        )
    return embed_figure(figure, caption, "subjects.svg")


def _draw_subjects(ax, about, column, peak):
    """Draw the subjects' values at one peak; of a mean, with its interval."""
    from scipy.stats import t as student

    own = about.values[:, peak]
    known = np.isfinite(own)
    own, label = own[known], "one subject" if column == 0 else None
    of_mean = about.options.get("of_mean", True)
    across = np.linspace(-0.22, 0.22, len(own))
    if not of_mean:
        tested = about.options["tested"][known]
        across = 0.3 * tested / np.abs(tested).max()
    ax.plot(column + across, own, "o", ms=4, color=COLORS[0], alpha=0.6, label=label)
    if of_mean and len(own) >= _WITHOUT_SPREAD:
        reach = student.isf(0.025, len(own) - 1) * own.std(ddof=1) / len(own) ** 0.5
        label = "mean, 95% interval" if column == 0 else None
        ax.errorbar(
            column + 0.33, own.mean(), reach, fmt="D", color=COLORS[1], label=label
        )


def null_figures(result):
    """Draw the largest statistic of every permutation, with the observed one."""
    maxima, figures = result.about.null_maxima, []
    # the statistic itself comes before clusters
    for name in sorted(maxima, key=lambda each: "cluster" in each or "tfce" in each):
        shown = name if name in result.scores else "mean"
        finite = maxima[name][np.isfinite(maxima[name])]
        if shown not in result.scores or not len(finite):
            continue
        values = result.scores[shown]
        observed = np.nanmax(np.abs(values) if result.view.two_sided else values)
        label = result.record(shown).label
        where = "" if "cluster" in name else f" over {result.view.words[1]}"
        figures.append(
            null_figure(
                finite,
                float(observed),
                f"largest {label}{where}",
                f"Largest {label} in each of {len(maxima[name]):,} rearrangements of "
                "the subjects' maps; the family-wise p-values refer to it.",
                f"null_{name}.svg",
                label="rearranged",
            )
        )
    return Markup("\n").join(figures)
