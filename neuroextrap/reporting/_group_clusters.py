"""Clusters over subjects on a page: what survives, with peaks and atlas names."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._group_finding import (
    sentence_case,
    strength_in_group,
    values_of,
)
from neuroextrap.reporting._page import frame_table
from neuroextrap.reporting._peaks_section import tsv_uri
from neuroextrap.reporting._rendering import format_p_value, render

_N_TRENDS = 5
_APART = 16.0
_P = "p (family-wise)"
_P_VALUES = {
    "p_value_fwe": _P,
    "p_value_fwe_cluster_extent": "p of the cluster's extent",
    "p_value_fwe_cluster_mass": "p of the cluster's mass",
    "p_value_fwe_tfce": "p (TFCE)",
    "p_value_prevalence": "p (prevalence), this place alone",
}
_T_LIKE = ("t", "v", "pseudo_t")
_NUMBERS = (
    "effect",
    "mean",
    "accuracy",
    "implied_information",
    "minimum",
    "prevalence_bound_fwe",
    "population_bayes_accuracy_bound_fwe",
)


def group_clusters(maps, finding, view):
    """Tabulate the clusters of what survives, one row each, strongest first.

    Features of one sign that touch (voxels that share a face) are one cluster. Without
    survivors the rows are the strongest trends. A data frame: ``feature`` of the peak,
    x, y, z (mm), ``region`` where there is an atlas, ``size`` (cubic mm, or vertices),
    the map that is shown, then others.
    """
    strength = strength_in_group(maps, finding, view)
    if finding.n_surviving:
        peaks, extent = _peaks(maps, finding, view, strength)
        size = extent * _feature_size(view)
    else:
        peaks, size = _trends(view, strength), None
    import pandas as pd

    columns = {"feature": peaks}
    columns |= dict(zip("xyz", view.places[peaks].T, strict=True))
    if view.labels is not None:
        columns["region"] = [view.labels[peak] or "-" for peak in peaks]
    if size is not None:
        columns["n_vertices" if view.on_surface else "size_mm3"] = size
    names = dict.fromkeys((finding.shown, *_NUMBERS, *_P_VALUES))
    for name in names:
        if name in maps:
            columns[name] = values_of(maps, view, name)[peaks]
    return pd.DataFrame(columns)


def _peaks(maps, finding, view, strength):
    """Return the peak and the extent of every cluster, strongest first."""
    from neuroextrap.images._clusters import neighbor_pairs
    from neuroextrap.stats._cluster_statistics import find_clusters

    pairs = neighbor_pairs(view.masker_)
    sign = np.ones(len(strength))
    if maps.summary.options.get("two_sided"):
        sign = np.sign(values_of(maps, view, finding.shown))
    peaks, extents = [], []
    for side in (1, -1):
        inside = finding.survives & (sign == side)
        clusters = find_clusters(inside.astype(float), pairs)
        for number in range(len(clusters.extent)):
            members = np.flatnonzero(clusters.number == number)
            peaks.append(members[np.argmax(strength[members])])
            extents.append(clusters.extent[number])
    order = np.argsort(-strength[peaks], kind="stable")
    return np.array(peaks)[order], np.array(extents)[order]


def _trends(view, strength):
    """Return the strongest features, some way apart."""
    from neuroextrap.images._clusters import peak_features

    return peak_features(strength, view.places, n_peaks=_N_TRENDS, min_distance=_APART)


def _feature_size(view):
    """Return the cubic mm of a voxel; 1 for vertices."""
    if view.on_surface:
        return 1.0
    return float(abs(np.linalg.det(view.masker_.mask_img_.affine[:3, :3])))


def clusters_section(maps, finding, view, clusters):
    """Show the table of clusters, or of trends; places move the viewer."""
    table = _readable(clusters)
    heads = _heads(finding, view)
    formats = dict.fromkeys(_P_VALUES, format_p_value)
    formats |= dict.fromkeys(_T_LIKE, lambda value: f"{value:.2f}")
    formats["region"] = lambda text: text
    caption = f"Clusters of what survives ({finding.words})"
    kind = ""
    if not finding.n_surviving:
        kind, caption = "trend", "The strongest places; none survives correction"
    html = frame_table(
        table,
        caption,
        headings=heads,
        formats=formats,
        kinds=[kind] * len(table),
        places=_places(clusters, view),
    )
    return render(
        "peaks",
        surviving="" if kind else html,
        trends=html if kind else "",
        n_trends=len(table) if kind else 0,
        hint=_hint(maps, view),
        tsv=tsv_uri(clusters),
        file_name="clusters.tsv",
        everything=frame_table(clusters, "Clusters, all columns"),
    )


def _readable(clusters):
    """Return the columns that a reader needs, without the place."""
    left_out = ["feature", "x", "y", "z"]
    table = clusters.drop(columns=left_out)
    numeric = table.select_dtypes("number").columns
    table[numeric] = table[numeric].astype(float)
    return table


def _places(clusters, view):
    """Return buttons that show the peaks, in a list: frames keep no ``Markup``."""
    return [
        Markup(
            '<button type="button" class="nx-go" data-region="{}" '
            'title="Show in the viewer">{}</button>'
        ).format(int(feature), view.place_words(feature).split(" mm")[0] + " mm")
        for feature in clusters["feature"]
    ]


def _heads(finding, view):
    """Return the headings of the columns."""
    heads = {"place": "Peak", "region": "Region", "size_mm3": "Size (mm³)"}
    heads["n_vertices"] = "Vertices"
    for name in (finding.shown, *_NUMBERS):
        if name in view.records:
            label = view.records[name].label.removesuffix(" fwe")
            heads[name] = sentence_case(label)
    return heads | _P_VALUES


def _hint(maps, view):
    """Explain the columns."""
    touch = "an edge of the mesh" if view.on_surface else "a face"
    text = (
        f"Places are in mm; {view.elements} that share {touch} are one cluster. The "
        "peaks were chosen as the largest values, which are too large on average."
    )
    if any("cluster" in name or "tfce" in name for name in maps):
        text += (
            " A p-value of a cluster says that somewhere in it there is an effect, not "
            "where."
        )
    if view.labels is not None:
        text += " Regions are those of the atlas at the peak."
    return text
