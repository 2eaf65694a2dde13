"""Pictures of maps over subjects: what survives, subjects at peaks, null maxima."""

import numpy as np
from markupsafe import Markup

from neuroextrap.plotting import plot_null_distribution
from neuroextrap.plotting._axes import COLORS
from neuroextrap.reporting._brain_figures import FAINT, TREND, brain_figure
from neuroextrap.reporting._group_finding import sentence_case, values_of
from neuroextrap.reporting._map_data import TREND_SHARE, color_range, trend_limit
from neuroextrap.reporting._page import figure_tag
from neuroextrap.reporting._pictures import data_uri, embed_figure

_N_PEAKS = 4
_WITHOUT_SPREAD = 3  # fewer subjects have no interval


def map_picture(view, finding, name, peak, below, bg_img, *, two_sided=False):
    """Return a map as HTML, cut at a peak; "" where there is nothing to draw.

    Volumes are drawn over `below`, a volume or None, surfaces over `bg_img`.
    """
    values = view.region_scores_[name]
    strength = np.abs(values) if two_sided else values
    drawn = np.isfinite(strength) & (
        strength > view.records[name].first_threshold(None)
    )
    if not drawn.any():
        return Markup("")
    opacity = _opacity(finding, np.where(drawn, strength, np.nan), view.on_surface)
    picture = brain_figure(
        view.maps_[name],
        view.masker_,
        opacity,
        place=view.places[peak],
        below=below,
        bg_img=bg_img,
        span=color_range(values),
    )
    return figure_tag(data_uri(picture, "png"), _caption(view, finding, name))


def _opacity(finding, strength, on_surface):
    """Return how opaque every feature is; NaN strengths are not drawn."""
    drawn = np.isfinite(strength)
    if not finding.criterion:
        return drawn.astype(float)
    if finding.n_surviving:
        return np.where(finding.survives, 1.0, 0.0 if on_surface else FAINT) * drawn
    return TREND * (drawn & (strength > trend_limit(strength)))


def _caption(view, finding, name):
    """Describe a map and what is drawn of it."""
    record = view.records[name]
    start = f"{sentence_case(record.label)}: {record.description}."
    if record.unit and record.unit != record.label:
        start = f"{start[:-1]} ({record.unit})."
    if not finding.criterion:
        return f"{start} Nothing was tested."
    if not finding.n_surviving:
        return (
            f"{start} Nothing survives correction: faint are the strongest "
            f"{100 * TREND_SHARE:.0f}% of the {view.elements}, which is a trend."
        )
    if view.on_surface:
        return f"{start} Drawn: {view.elements} that survive ({finding.words})."
    return f"{start} In full color: {view.elements} that survive ({finding.words})."


def subjects_figure(about, view, clusters):
    """Draw every subject's value at the first peaks, with mean and interval."""
    import matplotlib.pyplot as plt

    peaks = clusters["feature"].to_numpy()[:_N_PEAKS]
    figure, ax = plt.subplots(
        figsize=(3.4 + 1.1 * len(peaks), 3.4), layout="constrained"
    )
    baseline = baseline_of(about)
    if baseline is not None:
        ax.axhline(baseline, ls="--", color="0.4", lw=1, label=baseline_words(about))
    for column, peak in enumerate(peaks):
        _draw_subjects(ax, about, column, peak)
    words = [
        view.place_words(peak).replace(", ", ",\N{NO-BREAK SPACE}", 2) for peak in peaks
    ]
    ax.set_xticks(
        range(len(peaks)),
        [text.replace(" mm", " mm\n").replace("\n, ", "\n") for text in words],
        fontsize="x-small",
    )
    ax.set_ylabel(value_words(about))
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


def baseline_of(about):
    """Return what subjects' values are compared with, None for nothing."""
    if about.test == "information":
        return 1 / about.options["n_classes"]
    if about.test == "second_level" and about.options["of_mean"]:
        return about.options["baseline"]
    return None


def baseline_words(about):
    """Name the baseline."""
    return "chance" if about.test == "information" else "baseline"


def value_words(about):
    """Name the subjects' values."""
    if about.options.get("paired"):
        return f"difference in {about.quantity or 'the two maps'}"
    return about.quantity or "value of the subject's map"


def null_figures(maps, view):
    """Draw the largest statistic of every permutation, with the observed one."""
    figures = []
    in_order = sorted(maps.summary.null_maxima.items(), key=_cluster_last)
    for name, maxima in in_order:
        shown = name if name in maps else "mean"
        finite = maxima[np.isfinite(maxima)]
        if shown not in maps or not len(finite):
            continue
        values = values_of(maps, view, shown)
        if maps.summary.options.get("two_sided"):
            values = np.abs(values)
        observed = float(np.nanmax(values))
        label = view.records[shown].label
        where = "" if "cluster" in name else f" over {view.elements}"
        ax = plot_null_distribution(finite, observed, xlabel=f"largest {label}{where}")
        ax.get_legend().get_texts()[0].set_text("rearranged")
        caption = (
            f"Largest {label} in each of {len(maxima):,} rearrangements of the "
            "subjects' maps; the family-wise p-values refer to it."
        )
        figures.append(embed_figure(ax.figure, caption, f"null_{name}.svg"))
    return Markup("\n").join(figures)


def _cluster_last(item):
    """Order null distributions: the statistic itself before clusters."""
    return "cluster" in item[0] or "tfce" in item[0]
