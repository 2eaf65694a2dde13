"""What was found, by one rule for every page, and how many regions of a set are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from neuroextrap.images._atlas import labels_of
from neuroextrap.images._loading import neighbor_pairs
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.plotting._axes import COLORS, new_axes
from neuroextrap.reporting._page import (
    format_confidence,
    format_p_value,
    frame_table,
    render,
)
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._rearrangement_test import find_clusters

_FWE = f"family-wise p ≤ {format_p_value(LEVEL)}"
CRITERIA = {
    "p_value_fwe_tfce": f"{_FWE} by threshold-free cluster enhancement",
    "p_value_fwe_cluster_extent": f"{_FWE} by the extent of clusters",
    "p_value_fwe": _FWE,
    "population_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over the population that they were drawn from, for everywhere at once",
    "subjects_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over exactly these subjects, for everywhere at once",
    "bayes_accuracy_bound_fwe": "{level} lower bound on Bayes accuracy, for all "
    "regions at once",
}
"""Maps that decide, the first of them that was made, and what surviving means."""

_OF_REGIONS, _AT_ONCE = "bayes_accuracy_bound_fwe", ", for all regions at once"


@dataclass(frozen=True)
class Verdict:
    """Which regions survive correction, by a map and what it means, "" for no test."""

    criterion: str
    words: str
    survives: np.ndarray
    smallest: float = np.nan

    @property
    def n_surviving(self):
        """Number of regions that survive."""
        return int(self.survives.sum())

    @property
    def by_p_value(self):
        """Whether p-values decide, and not a lower bound."""
        return self.criterion.startswith("p_value")


def decide(scores, *, n_classes=None, confidence_level=None):
    """Decide which regions survive by values (n_regions,) of maps by name."""
    known = (name for name in CRITERIA if np.isfinite(scores.get(name, np.nan)).any())
    criterion = next(known, "")
    if not criterion:
        n_regions = len(next(iter(scores.values())))
        return Verdict("", "", np.zeros(n_regions, dtype=bool))
    values, words = scores[criterion], CRITERIA[criterion]
    if criterion.startswith("p_value"):
        survives = values <= LEVEL  # NaN: False
        return Verdict(criterion, words, survives, np.nanmin(values))
    if criterion == _OF_REGIONS and np.isfinite(values).sum() == 1:
        words = words.removesuffix(_AT_ONCE)
    words = words.format(level=format_confidence(confidence_level))
    return Verdict(criterion, words, values > 1 / n_classes)


def words_of_regions(masker, *, centered):
    """Name one region and several; those with centers are spheres or discs."""
    if masker is None or not centered:
        return "region", "regions"
    return ("disc", "discs") if is_surface_masker(masker) else ("sphere", "spheres")


def words_of_features(masker):
    """Name one feature of a masker and several."""
    return ("vertex", "vertices") if is_surface_masker(masker) else ("voxel", "voxels")


def mm_words(place):
    """Name a place (x, y, z) in mm."""
    xyz = ", ".join(str(round(x)) for x in place)
    return f"({xyz}) mm".replace("-", "\N{MINUS SIGN}")


def place_words(row):
    """Name one row of a peak table."""
    if "name" in row:
        return str(row["name"])
    if "x" in row:
        return mm_words(row[axis] for axis in "xyz")
    return f"region {row['region']:.0f}"


def named_place(row):
    """Name one row of a peak table, with the label of an atlas if there is one."""
    label = row.get("atlas_label", "")
    return f"{place_words(row)}, {label}" if label else place_words(row)


def area_names(atlas, masker, names=None):
    """Return the name of the atlas label of every feature, "" for none."""
    labels, table = labels_of(atlas, masker, names)
    return np.array([str(table.get(n, "")) for n in labels.tolist()], dtype=object)


_FORMING = 0.001  # p-value of a region by itself up to which it belongs to a cluster
_MOST_CLUSTERS = 12
_CLUSTER = "cluster around"
_MOST_STEPS = 500  # of a curve


def clusters_of(view, chosen):
    """Return the cluster of every chosen region (n_regions,), -1 outside.

    Neighbors are regions whose centers are, on every n-th voxel by a step of that grid.
    None for regions without centers.
    """
    choice, places = view.choice, view.places
    if places is None:
        return None
    place = np.full(choice.regions.shape[1], -1, dtype=np.intp)
    place[choice.centers] = np.arange(choice.n_regions)
    pairs = place[neighbor_pairs(view.masker)]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    if not len(pairs) and choice.n_regions > 1:
        tree = cKDTree(places)
        step = tree.query(places, k=2)[0][:, 1].min()
        pairs = tree.query_pairs(1.01 * step, output_type="ndarray")
    return find_clusters(chosen.astype(float), pairs).number


def forming_clusters(view):
    """Return the p-value up to which regions form clusters, and these clusters."""
    forming = max(_FORMING, 1 / (view.n_permutations + 1))
    return forming, clusters_of(view, view.scores["p_value"] <= forming)


def cluster_columns(view, peaks):
    """Return the sizes of the peaks' clusters, and how many count; {} if unknown."""
    clusters = None if view.bounds is None else forming_clusters(view)[1]
    if clusters is None:
        return {}
    of_peaks = [(clusters == n) & (n >= 0) for n in clusters[peaks]]
    columns = {
        "cluster_regions": [inside.sum() for inside in of_peaks],
        "cluster_true_discoveries": [view.bounds.count(each) for each in of_peaks],
    }
    return {name: np.array(each, dtype=int) for name, each in columns.items()}


def _sets(view, known, clusters, areas):
    """Yield the name of every set and which regions (n_regions,) are in it."""
    many, finding = view.words[1], view.finding
    yield f"all {many}", known
    if finding.survives.any():
        yield f"{many} that survive correction", finding.survives
    for name in () if areas is None else dict.fromkeys(areas.tolist()):
        chosen = view.choice.regions_of(areas == name) & known
        if name and chosen.any():
            yield name, chosen
    if clusters is not None:
        sizes = np.bincount(clusters[clusters >= 0])
        by_size = (clusters == n for n in np.argsort(-sizes, kind="stable"))
        counting = (inside for inside in by_size if view.bounds.count(inside))
        for inside in islice(counting, _MOST_CLUSTERS):
            peak = np.argmax(np.where(inside, view.bounds.scores, -np.inf))
            yield f"{_CLUSTER} {mm_words(view.places[peak])}", inside


def discoveries_section(view, areas=None):
    """Tabulate how many regions of sets are informative, as HTML; "" if unknown."""
    known = None if view.bounds is None else ~np.isnan(view.bounds.scores)
    if known is None or known.sum() < 2:
        return ""
    forming, clusters = forming_clusters(view)
    sets, chosen = zip(*_sets(view, known, clusters, areas), strict=True)
    frame = pd.DataFrame({"set": sets, "n_regions": np.sum(chosen, axis=1)})
    frame["n_true"] = [view.bounds.count(each) for each in chosen]
    frame["proportion"] = frame["n_true"] / frame["n_regions"].clip(lower=1)
    everywhere, *rows = frame.to_dict("records")
    in_areas = [row for row in rows if areas is not None and row["set"] in areas]
    return render(
        "discoveries",
        view=view,
        everywhere=everywhere,
        area=in_areas[0] if len(in_areas) == 1 else None,
        forming=forming,
        table=_table_of_sets(view, frame),
        frame=frame,
        curve=discovery_curve(view),
        n_clusters=None if clusters is None else int(clusters.max()) + 1,
        n_shown=sum(name.startswith(_CLUSTER) for name in sets),
    )


def _table_of_sets(view, frame):
    """Return the table of sets as HTML."""
    many, claim = view.words[1], view.claim
    columns = {
        "set": "Set",
        "n_regions": many.capitalize(),
        "n_true": f"{claim.split()[-1].capitalize()}, at least",
        "proportion": ("Proportion, at least", "at_least"),
    }
    return frame_table(frame, f"How many {many} of a set {claim}", columns)


def discovery_curve(view):
    """Draw how many reach each threshold, and how many of them count; "" if none do."""
    levels, n_reached, n_true = view.bounds.curve()
    if not n_true[-1]:
        return ""
    n_drawn = np.searchsorted(n_reached, max(3 * n_true[-1], n_reached[0]), "right")
    steps = np.unique(np.linspace(0, n_drawn - 1, _MOST_STEPS).astype(int))
    ax, many, claim = new_axes(5, 3), view.words[1], view.claim
    ax.step(levels[steps], n_reached[steps], "0.6", where="post", label="all of them")
    label = f"{claim.split()[-1]}, at least"
    ax.step(levels[steps], n_true[steps], COLORS[1], where="post", label=label)
    ax.set(xlabel="threshold of the tested statistic", ylabel=f"{many} that reach it")
    ax.legend(frameon=False)
    caption = f"Of the {many} that reach a threshold, how many {claim}, at least."
    if n_drawn < len(levels):
        caption += f" Lower ones are not drawn: of all {many}, at least {n_true[-1]:,}."
    return embed_figure(ax.figure, caption, "true_discovery_curve.svg")
