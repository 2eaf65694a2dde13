"""Clusters over subjects on a page: what survives, with peaks and atlas names."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._peak_tables import tables_of_peaks
from neuroextrap.reporting._rendering import (
    format_number,
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


def group_clusters(result):
    """Tabulate the clusters of what survives, one row each, strongest first.

    Features of one sign that touch (voxels that share a face) are one cluster. Without
    survivors the rows are the strongest trends. A data frame: ``feature`` of the peak,
    x, y, z (mm), ``region`` where there is an atlas, ``size`` (cubic mm, or vertices),
    the map that is shown, then others.
    """
    import pandas as pd

    from neuroextrap.images._clusters import peak_features

    places, on_surface = result.places, result.view.on_surface
    if result.view.finding.n_surviving:
        peaks, extent = _peaks(result)
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
    names = dict.fromkeys((result.shown, *_NUMBERS, *_P_VALUES))
    scores = {name: result.scores[name] for name in names if name in result.scores}
    return pd.DataFrame(columns | {name: x[peaks] for name, x in scores.items()})


def _peaks(result):
    """Return the peak and the extent of every cluster, strongest first."""
    from neuroextrap.images._adjacency import neighbor_pairs
    from neuroextrap.stats._cluster_statistics import find_clusters

    pairs, strength = neighbor_pairs(result.view.masker), result.strength
    sign = np.ones(len(strength))
    if result.view.two_sided:
        sign = np.sign(result.scores[result.shown])
    peaks, extents = [], []
    for side in (1, -1):
        inside = result.view.finding.survives & (sign == side)
        clusters = find_clusters(inside.astype(float), pairs)
        for number in range(len(clusters.extent)):
            members = np.flatnonzero(clusters.number == number)
            peaks.append(members[np.argmax(strength[members])])
            extents.append(clusters.extent[number])
    order = np.argsort(-strength[peaks], kind="stable")
    return np.array(peaks)[order], np.array(extents)[order]


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
    }
    for name in clusters.columns.intersection(list(result.names), sort=False):
        label = sentence_case(result.record(name).label.removesuffix(" fwe"))
        write = "{:.2f}".format if name in _T_LIKE else format_number
        columns[name] = (label, write)
    return columns | {name: (head, format_p_value) for name, head in _P_VALUES.items()}
