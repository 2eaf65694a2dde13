"""Clusters, subjects at the peaks and null distributions on the page of a group."""

import numpy as np
from markupsafe import Markup

from neuroextrap.plotting._axes import COLORS
from neuroextrap.reporting._peaks import tables_of_peaks
from neuroextrap.reporting._pictures import embed_figure, null_figure
from neuroextrap.reporting._rendering import (
    format_number,
    format_of,
    format_p_value,
    sentence_case,
    sentences,
)

_N_TRENDS = 5
_APART = 16.0
_P_VALUES = {
    "p_value_fwe": "p (family-wise)",
    "p_value_fwe_cluster_extent": "p of the cluster's extent",
    "p_value_fwe_cluster_mass": "p of the cluster's mass",
    "p_value_fwe_tfce": "p (TFCE)",
    "p_value_prevalence": "p (prevalence), uncorrected",
}
_T_LIKE = ("t", "v", "pseudo_t", "f")
_NUMBERS = (
    "effect",
    "mean",
    "accuracy",
    "implied_information",
    "minimum",
    "prevalence_bound_fwe",
    "population_bayes_accuracy_bound_fwe",
)


def group_clusters(result):
    """Tabulate the clusters of what survives, one row each, strongest first.

    Features of one sign that touch (voxels that share a face) are one cluster. Without
    survivors the rows are the strongest trends. A data frame: ``feature`` of the peak,
    x, y, z (mm), ``region`` if there is an atlas, ``size`` (cubic mm, or vertices),
    the map that is shown, then others.
    """
    import pandas as pd

    from neuroextrap.regions._coordinates import peak_features

    places, on_surface = result.places, result.view.on_surface
    number = None
    if result.view.finding.n_surviving:
        peaks, extent, number = _peaks(result)
    else:
        peaks = peak_features(
            result.strength, places, n_peaks=_N_TRENDS, min_distance=_APART
        )
    columns = {"feature": peaks}
    columns |= dict(zip("xyz", places[peaks].T, strict=True))
    if result.labels is not None:
        columns["region"] = [result.labels[peak] or "-" for peak in peaks]
    if result.view.finding.n_surviving and on_surface:
        columns["n_vertices"] = extent * 1.0
    elif result.view.finding.n_surviving:
        affine = result.view.masker.mask_img_.affine
        columns["size_mm3"] = extent * float(abs(np.linalg.det(affine[:3, :3])))
    if result.bounds is not None and number is not None:
        n_true = [result.bounds.count(number == number[peak]) for peak in peaks]
        columns["true_discoveries"] = np.array(n_true, dtype=float)
    names = dict.fromkeys((result.shown, *_NUMBERS, *_P_VALUES))
    scores = {name: result.scores[name] for name in names if name in result.scores}
    return pd.DataFrame(columns | {name: x[peaks] for name, x in scores.items()})


def _peaks(result):
    """Return peak and extent of clusters, strongest first, and all features' number."""
    from neuroextrap.images._loading import neighbor_pairs
    from neuroextrap.stats._cluster_statistics import find_clusters

    pairs, strength = neighbor_pairs(result.view.masker), result.strength
    sign = np.ones(len(strength))
    if result.view.two_sided:
        sign = np.sign(result.scores[result.shown])
    peaks: list[int] = []
    extents: list[float] = []
    number_of = np.full(len(strength), -1)
    for side in (1, -1):
        inside = result.view.finding.survives & (sign == side)
        clusters = find_clusters(inside.astype(float), pairs)
        for number in range(len(clusters.extent)):
            members = np.flatnonzero(clusters.number == number)
            number_of[members] = len(peaks)
            peaks.append(int(members[np.argmax(strength[members])]))
            extents.append(clusters.extent[number])
    order = np.argsort(-strength[peaks], kind="stable")
    return np.array(peaks)[order], np.array(extents)[order], number_of


def clusters_section(result, clusters):
    """Show the table of clusters, or of trends; places move the viewer."""
    finding = result.view.finding
    hint = sentences(
        "group_clusters",
        on_surface=result.view.on_surface,
        has_clusters=result.has_clusters,
        has_atlas=result.labels is not None,
    )
    return tables_of_peaks(
        clusters,
        np.full(len(clusters), finding.n_surviving > 0),
        _columns(result, clusters),
        captions=(
            f"Clusters of what survives ({finding.words})",
            "The strongest places; none survives correction",
        ),
        hint=Markup(" ").join(hint),
        viewer_index="feature",
        file_name="clusters.tsv",
    )


def _columns(result, clusters):
    """Return the headings of the columns, and how their values are written."""
    columns = {
        "place": ("Peak", str),
        "region": ("Region", str),
        "size_mm3": ("Size (mm³)", format_number),
        "n_vertices": ("Vertices", format_number),
        "true_discoveries": ("True discoveries, at least", format_number),
    }
    for name in clusters.columns.intersection(list(result.names), sort=False):
        label = sentence_case(
            result.record(name).label.removesuffix(" (all regions at once)")
        )
        write = "{:.2f}".format if name in _T_LIKE else format_of(name)
        columns[name] = (label, write)
    return columns | {name: (head, format_p_value) for name, head in _P_VALUES.items()}


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
