"""How many regions of a set are informative: clusters, atlas regions, thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from neuroextrap.reporting._finding import find, mm_words, region_words
from neuroextrap.reporting._page import frame_table, tsv_uri
from neuroextrap.reporting._rendering import (
    format_confidence,
    format_number,
    format_percent,
    render,
    rounded_down,
)
from neuroextrap.reporting._viewer_data import packed
from neuroextrap.stats._cluster_statistics import find_clusters

_FORMING = 0.001  # p-value of a region by itself up to which it belongs to a cluster
_MOST_CLUSTERS = 12


class RegionClusters(NamedTuple):
    """Clusters of regions that have a small p-value each.

    `number` (n_regions,) is the cluster of every region, -1 outside; `sizes` and
    `n_true` (n_clusters,) count its regions and the informative ones, at least.
    `forming` is the p-value up to which regions belong to one.
    """

    number: np.ndarray
    sizes: np.ndarray
    n_true: np.ndarray
    forming: float


def region_clusters(fitted):
    """Find the clusters of a fitted analysis; None where nothing is known of them.

    Neighbors are regions whose centers are, so regions of an atlas have none.
    """
    choice, bounds = fitted.results_.choice, fitted.results_.discoveries
    if bounds is None or choice.centers is None or fitted.masker_ is None:
        return None
    forming = max(_FORMING, 1 / (fitted.n_permutations_ + 1))
    p_value = fitted.region_scores_["p_value"]
    excess = np.where(p_value <= forming, 1.0, -1.0)  # NaN: outside
    found = find_clusters(excess, neighboring_regions(choice, fitted.masker_))
    n_true = [bounds.count(found.number == i) for i in range(len(found.extent))]
    sizes = found.extent.astype(int)
    return RegionClusters(found.number, sizes, np.array(n_true, dtype=int), forming)


def neighboring_regions(choice, masker):
    """Return pairs (n_pairs, 2) of regions whose centers are neighbors.

    Centers on a coarser grid (every n-th voxel) are those a step of that grid apart.
    """
    from neuroextrap.images import feature_coordinates
    from neuroextrap.images._clusters import neighbor_pairs

    place = np.full(choice.regions.shape[1], -1, dtype=np.intp)
    place[choice.centers] = np.arange(choice.n_regions)
    pairs = place[neighbor_pairs(masker)]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    if len(pairs) or choice.n_regions == 1:
        return pairs
    places = feature_coordinates(masker)[choice.centers]
    tree = cKDTree(places)
    step = tree.query(places, k=2)[0][:, 1].min()
    return tree.query_pairs(1.01 * step, output_type="ndarray")


def cluster_columns(fitted, peaks):
    """Return the regions of each peak's cluster, and how many are informative.

    `peaks` (n_peaks,) are regions; no columns where nothing is known of clusters.
    """
    clusters = region_clusters(fitted)
    if clusters is None:
        return {}
    number = clusters.number[peaks]
    return {
        "cluster_regions": np.append(clusters.sizes, 0)[number],
        "cluster_true_discoveries": np.append(clusters.n_true, 0)[number],
    }


def discoveries_section(fitted, atlas=None):
    """Tabulate how many regions of sets are informative, as HTML; "" if unknown.

    The sets are all regions, those that survive correction, clusters, and the regions
    of an `atlas`, if there is one.
    """
    import pandas as pd

    bounds = fitted.results_.discoveries
    n_known = 0 if bounds is None else int(np.isfinite(bounds.scores).sum())
    if n_known < 2:
        return ""
    one, many = region_words(fitted)
    clusters = region_clusters(fitted)
    rows = [
        (name, int(np.isfinite(bounds.scores[chosen]).sum()), bounds.count(chosen))
        for name, chosen in _sets(fitted, clusters, atlas, many)
    ]
    frame = pd.DataFrame(rows, columns=["set", "n_regions", "n_true"])
    frame["proportion"] = frame["n_true"] / frame["n_regions"].clip(lower=1)
    table = frame_table(
        frame,
        f"How many {many} of a set are informative",
        headings={
            "set": "Set",
            "n_regions": many.capitalize(),
            "n_true": "Informative, at least",
            "proportion": "Proportion, at least",
        },
        formats={
            "set": str,
            "n_regions": format_number,
            "n_true": format_number,
            "proportion": lambda share: format_percent(rounded_down(share, 3)),
        },
    )
    return render(
        "discoveries",
        n_regions=rows[0][1],
        n_true=rows[0][2],
        one=one,
        many=many,
        level=format_confidence(bounds.confidence_level),
        table=table,
        tsv=tsv_uri(frame),
        forming=None if clusters is None else f"{clusters.forming:.2g}",
        n_clusters=0 if clusters is None else len(clusters.sizes),
        n_shown=_MOST_CLUSTERS,
    )


def _sets(fitted, clusters, atlas, many):
    """Yield the name of every set and which regions (n_regions,) are in it."""
    survives = find(fitted).survives
    yield f"all {many}", np.ones(len(survives), dtype=bool)
    if survives.any():
        yield f"{many} that survive correction", survives
    if clusters is not None:
        yield from _cluster_sets(fitted, clusters)
    if atlas is not None and fitted.masker_ is not None:
        yield from _atlas_sets(fitted, atlas)


def _cluster_sets(fitted, clusters):
    """Yield the largest clusters by the place of their strongest region."""
    from neuroextrap.images import feature_coordinates

    places = feature_coordinates(fitted.masker_)[fitted.results_.choice.centers]
    score = fitted.results_.scores.score
    for cluster in np.argsort(-clusters.sizes, kind="stable")[:_MOST_CLUSTERS]:
        inside = clusters.number == cluster
        peak = int(np.argmax(np.where(inside, score, -np.inf)))
        yield f"cluster around {mm_words(places[peak])}", inside


def _atlas_sets(fitted, atlas):
    """Yield the labels of an atlas in which regions lie."""
    from neuroextrap.images._atlas import labels_of

    labels, names = labels_of(atlas, fitted.masker_)
    known = np.isfinite(fitted.results_.scores.score)
    for label, name in names.items():
        inside = labels == label
        chosen = fitted.results_.choice.regions_of(inside) & known
        if chosen.any():
            yield str(name), chosen


def viewer_discoveries(view, bounds):
    """Return what a viewer counts with, ready for JSON; None where nothing is known.

    ``scores`` of all regions (float64, packed; NaN where not analyzed), the
    ``thresholds``, the confidence ``level`` in words, what one region and ``many`` are
    called, and whether a ``ball`` around a place holds their centers.
    """
    if bounds is None:
        return None
    return {
        "scores": packed(bounds.scores, "<f8"),
        "thresholds": bounds.thresholds.tolist(),
        "level": format_confidence(bounds.confidence_level),
        "many": view.words[1],
        "ball": view.choice.centers is not None,
    }
