"""The strongest regions of an analysis, their clusters, and how many count in sets."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from sklearn.exceptions import NotFittedError

from neuroextrap.images._atlas import atlas_names_at, installed_atlas, labels_of
from neuroextrap.images._loading import neighbor_pairs
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._opening import MNI, space_code
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.plotting._axes import COLORS, new_axes
from neuroextrap.regions._regions import peak_features
from neuroextrap.reporting._maps_section import mm_words, page_maps, place_words
from neuroextrap.reporting._page import frame_table, render
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.stats._rearrangement_test import find_clusters, pairs_among
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_integer,
    check_number,
)

_DISTANCE = 16.0  # mm between peaks of analyses without a radius


def peak_table(
    fitted: Any,
    *,
    n_peaks: int = 10,
    min_distance: float | None = None,
    statistic: str = "accuracy",
    atlas: Any = None,
) -> Any:
    """List the strongest regions, searchlight centers kept apart in space.

    Among equally strong neighbors, the one with the strongest surroundings is listed.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        Fitted.
    n_peaks : int, default=10
        Largest number of rows, but that every cluster of neighboring regions that
        survive correction has one, for its strongest region.
    min_distance : float or None, default=None
        Distance in mm. A center is listed when no stronger one lies within it; None is
        twice the radius, so that two spheres hardly share a voxel. Atlas regions are
        not kept apart.
    statistic : str, default="accuracy"
        Name of the map that orders the regions, a key of ``region_scores_``. Of
        p-values the smallest are the strongest.
    atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
        Labels image in the space of the maps, or an atlas fetched by nilearn, which
        says where the center of each region lies. Names of the labels of a file are
        read from the table beside it (``atlas.tsv`` beside ``atlas.nii.gz``, columns
        index and name), if there is one. If None, places of maps that lie in MNI space
        are named by the cortical Harvard-Oxford atlas if nilearn's data folder has it,
        and others are not; False names none.

    Returns
    -------
    table : pandas.DataFrame
        One row per region, strongest first: ``region`` (its index), ``name`` (atlas)
        or ``x``, ``y``, ``z`` (mm; searchlights), then number of voxels, accuracies
        (proportions), information (bits), bounds and p-values, as far as
        ``region_scores_`` has them. With an atlas also ``atlas_label``: the label at
        the center, "near" the nearest within 5 mm, or an empty string. Of searchlights
        with permutations ``cluster_regions``, how many neighboring regions have a
        p-value of at most .001 like this one (0: it has none itself), and
        ``cluster_true_discoveries``, how many of them are informative, at least,
        simultaneously over all sets of regions.

    Raises
    ------
    ValueError
        If ``n_peaks`` is below 1, the analysis has no such statistic, or an atlas is
        given but regions have no centers in an image.

    References
    ----------
    Kriegeskorte, Goebel & Bandettini 2006, "Information-based functional brain
    mapping", PNAS 103, 3863-3868 (the searchlight map whose peaks are listed).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import peak_table
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    >>> X = 3 * rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> peak_table(fitted)[["region", "n_voxels", "accuracy"]].values.tolist()
    [[0.0, 9.0, 1.0]]
    """
    scores = _scores_of(fitted)
    check_integer(n_peaks, "n_peaks", minimum=1)
    check_choice(statistic, "statistic", sorted(scores))
    view = page_maps(fitted)
    choice, places = view.choice, view.choice.places(view.masker)
    if min_distance is not None:
        min_distance = check_number(min_distance, "min_distance")
    elif places is not None:
        min_distance = 2 * fitted.radius
    strength = record_of(statistic).strength(scores[statistic])
    if places is not None:
        strength = _plateaus_broken(strength, choice)
    peaks = _strongest(strength, places, n_peaks, min_distance)
    if places is not None:
        surviving = clusters_of(view, view.finding.survives)
        peaks = _one_for_every_cluster(peaks, strength, surviving)
    atlas = _atlas_of(fitted, places, atlas)
    columns = place_columns(peaks, places, choice.names, atlas)
    tabulated = [name for name, record in MAPS.items() if record.tabulated]
    columns |= {name: scores[name][peaks] for name in tabulated if name in scores}
    columns |= cluster_columns(view, peaks)
    return pd.DataFrame(columns)


def _scores_of(fitted):
    """Return the numbers of an analysis by name; TypeError if it is no analysis."""
    try:
        return fitted.region_scores_
    except NotFittedError:
        raise
    except AttributeError as error:
        raise TypeError(
            f"fitted must be a fitted analysis of regions, got {brief(fitted)}"
        ) from error


def _atlas_of(fitted, places, atlas):
    """Return the atlas that names places, None if they are not named."""
    if atlas is not None:
        return None if atlas is False else atlas
    if places is None or is_surface_masker(fitted.masker_):
        return None
    return installed_atlas() if space_code(fitted.masker_.mask_img_) == MNI else None


def place_columns(regions, places, names=None, atlas=None):
    """Return where regions are, as columns; `places` (n_all, 3) are in mm or None."""
    columns = {"region": regions}
    if places is not None:
        columns |= dict(zip("xyz", places[regions].T, strict=True))
    if atlas is not None and places is None:
        raise ValueError(
            "atlas names the centers of spheres and discs, but these regions have "
            "none; leave it out"
        )
    if atlas is not None:
        columns["atlas_label"] = atlas_names_at(atlas, places[regions])
    if names is not None:
        columns["name"] = [names[region] for region in regions]
    return columns


def peaks_of(scores, strength, names, places, n_peaks=10, atlas=None):
    """Return the strongest regions, 16 mm apart, and their `scores` as a table."""
    rows = _strongest(strength, places, n_peaks, _DISTANCE)
    columns = place_columns(rows, places, names, atlas)
    numbers = {name: values[rows] for name, values in scores.items()}
    return rows, pd.DataFrame(columns | numbers)


def _one_for_every_cluster(peaks, strength, cluster):
    """Add the strongest region of each cluster that has no peak yet, in order."""
    without = np.setdiff1d(cluster[cluster >= 0], cluster[peaks])
    members = (np.flatnonzero(cluster == number) for number in without)
    added = [inside[np.argmax(strength[inside])] for inside in members]
    peaks = np.append(peaks, np.array(added, dtype=np.intp))
    return peaks[np.argsort(-strength[peaks], kind="stable")]


def _plateaus_broken(values, choice):
    """Raise equal values a little where those around are higher: a plateau's middle."""
    at_features = choice.to_features(values)
    finite = np.isfinite(at_features)
    members = choice.regions.astype(float)
    total = members @ np.where(finite, at_features, 0.0)
    mean_around = total / np.maximum(members @ finite.astype(float), 1)
    return values + 1e-9 * mean_around


def _strongest(values, places, n_peaks, min_distance):
    """Return regions by value, strongest first; in space, local maxima only."""
    if places is None:
        order = np.argsort(-values, kind="stable")
        return order[~np.isnan(values[order])][:n_peaks]
    return peak_features(values, places, n_peaks=n_peaks, min_distance=min_distance)


def ranked_peaks(fitted, n_peaks, atlas=None):
    """Return the peak table, ordered by the statistic that the permutations tested."""
    statistic = fitted.statistic
    is_map = isinstance(statistic, str) and statistic in fitted.region_scores_
    order = statistic if is_map and fitted.n_permutations_ else "accuracy"
    return peak_table(fitted, n_peaks=n_peaks, statistic=order, atlas=atlas)


def tables_of_peaks(
    peaks, survives, columns, *, captions, hint, viewer_index="", file_name="peaks.tsv"
):
    """Tabulate rows that survive correction, and apart from them those that do not.

    `columns` are those of :func:`frame_table`. Places are buttons that move the viewer
    to the region of the column `viewer_index`, if that is named.
    """
    of_trends = peaks[~survives], columns, captions[1], "trend", viewer_index
    return render(
        "peaks",
        surviving=short_table(peaks[survives], columns, captions[0], "", viewer_index),
        trends=short_table(*of_trends),
        n_trends=int((~survives).sum()),
        hint=hint,
        peaks=peaks,
        file_name=file_name,
        everything=frame_table(peaks, "All columns"),
    )


def tables_of_regions(view, peaks, columns, what, **options):
    """Tabulate peaks of the PageMaps `view`; captions begin with `what` they are."""
    trends = f"{what} that do not survive correction: trends"
    if not view.finding.criterion:
        trends = f"{what}; nothing was tested"
    captions = f"{what} that survive correction", trends
    survives = view.finding.survives[peaks["region"].to_numpy()]
    return tables_of_peaks(peaks, survives, columns, captions=captions, **options)


def short_table(peaks, columns, caption, kind="", index=""):
    """Return the columns that a reader needs first, as HTML; "" without rows."""
    if not len(peaks):
        return ""
    table = peaks[[name for name in columns if name in peaks]]
    places = [place_words(row) for _, row in peaks.iterrows()]
    regions = peaks[index].astype(int).tolist() if index else ()
    how = {"kind": kind, "places": places, "regions": regions}
    return frame_table(table, caption, columns, **how)


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
    neighbors, n_features = neighbor_pairs(view.masker), choice.regions.shape[1]
    pairs = pairs_among(choice.centers, neighbors, n_features)
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


def _sets(view, analyzed, clusters, areas):
    """Yield the name of every set and which regions (n_regions,) are in it."""
    many, finding = view.words[1], view.finding
    yield f"all {many}", analyzed
    if finding.survives.any():
        yield f"{many} that survive correction", finding.survives
    for name in () if areas is None else dict.fromkeys(areas.tolist()):
        chosen = view.choice.regions_of(areas == name) & analyzed
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
    analyzed = None if view.bounds is None else ~np.isnan(view.bounds.scores)
    if analyzed is None or analyzed.sum() < 2:
        return ""
    forming, clusters = forming_clusters(view)
    sets, chosen = zip(*_sets(view, analyzed, clusters, areas), strict=True)
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
