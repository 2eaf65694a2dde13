"""The strongest regions of a fitted analysis, and tables of peaks on pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from sklearn.exceptions import NotFittedError

from neuroextrap.images._atlas import atlas_names_at, installed_atlas
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._opening import MNI, space_code
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.regions._regions import peak_features
from neuroextrap.reporting._finding import cluster_columns, clusters_of, place_words
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.reporting._page import frame_table, render
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
    known = isinstance(statistic, str) and statistic in fitted.region_scores_
    order = statistic if known and fitted.n_permutations_ else "accuracy"
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
    places = [_place(row, index) for _, row in peaks.iterrows()]
    return frame_table(table, caption, columns, kind=kind, places=places)


def _place(row, index):
    """Return the place of a peak; a button that moves the viewer, given an `index`."""
    words = place_words(row)
    if not index:
        return words
    return Markup(
        '<button type="button" class="nx-go" data-region="{}" '
        'title="Show in the viewer">{}</button>'
    ).format(int(row[index]), words)
