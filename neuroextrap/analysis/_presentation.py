"""Where regions lie: values as images, regions by index, name, place or set."""

from __future__ import annotations

import difflib
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.images import to_img
from neuroextrap.images._atlas import labels_of
from neuroextrap.images._loading import (
    feature_coordinates,
    feature_values,
    is_surface_masker,
    mask_lattice,
    surface_mesh,
)
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import brief, check_number


def feature_images(values, masker):
    """Turn numbers of features, a dict of (n_features,), into images, with a masker."""
    if masker is None:
        return values
    return {name: to_img(value, masker) for name, value in values.items()}


def region_images(values, choice, masker):
    """Turn numbers of regions, by name, into images, unless they have no place."""
    if masker is None:
        return {name: np.asarray(value, dtype=float) for name, value in values.items()}
    if not choice.has_place:
        return {}
    full = {name: choice.to_features(value) for name, value in values.items()}
    return feature_images(full, masker)


def mean_places(choice, masker):
    """Return the place of every region in mm, (n_regions, 3): centers, else means."""
    if choice.centers is not None:
        return choice.places(masker)
    coordinates, inside = feature_coordinates(masker), choice.owner >= 0
    owner = choice.owner[inside]
    n = np.bincount(owner, minlength=choice.n_regions)
    sums = [np.bincount(owner, x, choice.n_regions) for x in coordinates[inside].T]
    with np.errstate(invalid="ignore"):
        return np.stack(sums, axis=1) / n[:, np.newaxis]


def region_table(results, values, standard_errors):
    """Return a tidy table of RegionResults: one row for every region and set size."""
    import pandas as pd

    sizes = results.set_sizes
    n_regions, n_sizes = results.choice.n_regions, len(sizes)
    names = results.choice.names or [str(i) for i in range(n_regions)]
    bounds = np.full((n_regions, n_sizes), np.nan)
    if results.n_repeats is not None:
        bounds = results.bounds_at(results.bound_wins, sizes)
    columns = {
        "name": np.repeat(names, n_sizes),
        "n_voxels": np.repeat(results.n_voxels, n_sizes),
        "set_size": np.tile(sizes, n_regions),
        "accuracy": results.curves().ravel(),
        "standard_error": standard_errors.ravel(),
        "implied_information": np.repeat(values["implied_information"], n_sizes),
        "average_bayes_accuracy_bound": bounds.ravel(),
    }
    bits = "class_information_bound", "information_bound"
    for name in ("correlation", *bits, "p_value", "p_value_fwe"):
        if name in values:
            columns[name] = np.repeat(values[name], n_sizes)
    if not results.marginal:
        columns["n_classes_trained"] = np.tile(results.n_classes_trained, n_regions)
    if results.missing_parts:
        columns["partial"] = np.ones(n_regions * n_sizes, dtype=bool)
    return pd.DataFrame(columns)


_ALLOWED = "a region is an index, a name, or (x, y, z) in mm"
_ROUNDING = 1e-6  # mm
_N_SHOWN = 4


def find_region(region, choice, masker, radius):
    """Return the index of a region; radius is None if regions are no spheres."""
    if isinstance(region, np.ndarray) and region.ndim == 0:
        region = region.item()
    if isinstance(region, str):
        return _by_name(region, choice)
    if isinstance(region, (list, tuple, np.ndarray)) or hasattr(region, "to_numpy"):
        return _by_place(_place(region), choice, masker, radius)
    real = isinstance(region, (float, np.floating))  # as in a table of peaks
    whole = float(region).is_integer() if real else hasattr(region, "__index__")
    whole = whole and not isinstance(region, (bool, np.bool_))
    if whole and 0 <= int(region) < choice.n_regions:  # 2.0 is one, True is none
        return int(region)
    raise (ValueError if real or whole else TypeError)(
        f"region={region!r} must be a whole number from 0 to {choice.n_regions - 1}; "
        f"{_ALLOWED}"
    )


def _by_name(name, choice):
    """Look a name up; messages list names that are written alike."""
    if choice.names is None:
        raise ValueError(
            f"region={name!r} is a name, but these {choice.n_regions} regions have "
            "none; give an index, or (x, y, z) in mm"
        )
    names = [str(each) for each in choice.names]
    matches = [i for i, each in enumerate(names) if each == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ValueError(
            f"region={name!r} is the name of {len(matches)} regions; give the index of "
            f"one: {', '.join(map(str, matches))}"
        )
    raise ValueError(f"region={name!r} is no region; {_alike(name, names)}")


def _alike(name, names):
    """Return names that are written like another, or the first ones."""
    by_case = {each.casefold(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), by_case, _N_SHOWN, cutoff=0.5)
    if close:
        return f"close names are {', '.join(repr(by_case[key]) for key in close)}"
    examples = ", ".join(repr(each) for each in names[:_N_SHOWN])
    more = ", ..." if len(names) > _N_SHOWN else ""
    return f"the {len(names)} names are {examples}{more}"


def _place(region):
    """Return coordinates as float64 of shape (3,)."""
    values = list(region)
    real = [isinstance(x, Real) and not isinstance(x, bool) for x in values]
    if real != [True] * 3:
        raise ValueError(f"region={region!r} must be three numbers; {_ALLOWED}")
    place = np.array(values, dtype=float)
    if not np.isfinite(place).all():
        raise ValueError(f"region={region!r} must be finite; {_ALLOWED}")
    return place


def _by_place(place, choice, masker, radius):
    """Return the region around a place, or refuse and name the nearest one."""
    if masker is None or not choice.has_place:
        raise ValueError(
            f"region={_in_mm(place)} is a place, but these regions have none; give the "
            "region's index"
        )
    coordinates, features = feature_coordinates(masker), choice.centers
    if features is None:
        features = np.flatnonzero(choice.owner >= 0)
    away = np.linalg.norm(coordinates[features] - place, axis=1)
    nearest = int(np.argmin(away))
    feature = int(features[nearest])
    if choice.centers is None:
        index = int(choice.owner[feature])
        inside = _is_at(feature, place, coordinates, masker)
    else:
        index = nearest
        reach = _reach(choice, index, coordinates, radius)
        inside = away[nearest] <= max(reach, _spacing(masker)) + _ROUNDING
    if not inside:
        name = "" if choice.names is None else f" {str(choice.names[index])!r}"
        raise ValueError(
            f"region={_in_mm(place)} lies in no region; the nearest is {index}{name} "
            f"at {_in_mm(coordinates[feature])}, {away[nearest]:.4g} mm away"
        )
    return index


def _in_mm(place):
    """Return coordinates as text."""
    return f"({', '.join(f'{x:.4g}' for x in place)})"


def _is_at(feature, place, coordinates, masker):
    """Return whether the nearest feature of an atlas is the one at a place."""
    if not is_surface_masker(masker):
        _, affine = mask_lattice(masker)
        inverse = np.linalg.inv(affine)[:3, :3]
        steps = inverse @ (place - coordinates[feature])
        return bool((np.abs(steps) <= 0.5 + _ROUNDING).all())
    away = np.linalg.norm(coordinates - place, axis=1)
    return bool(away[feature] <= min(away.min(), _spacing(masker)) + _ROUNDING)


def _reach(choice, index, coordinates, radius):
    """Return how far a region reaches from its center in mm."""
    if radius is not None:
        return float(radius)
    start, stop = choice.regions.indptr[index : index + 2]
    members = coordinates[choice.regions.indices[start:stop]]
    center = coordinates[choice.centers[index]]
    return float(np.linalg.norm(members - center, axis=1).max(initial=0.0))


def _spacing(masker):
    """Return half a voxel's diagonal, or the longest edge of a mesh, in mm."""
    if not is_surface_masker(masker):
        _, affine = mask_lattice(masker)
        diagonals = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]])
        return float(np.linalg.norm(diagonals @ affine[:3, :3].T, axis=1).max() / 2)
    edges = [
        side.coordinates[side.faces] - side.coordinates[side.faces[:, [1, 2, 0]]]
        for side in surface_mesh(masker)
    ]
    return float(max(np.linalg.norm(e, axis=2).max(initial=0.0) for e in edges))


class DiscoveryCounts:
    """Lower bounds on the number of informative regions, for all sets at once."""

    def true_discoveries(
        self, region: Any = None, *, above: float | None = None, atlas: Any = None
    ) -> int:
        """Count how many regions of a set are informative, at least.

        The bound holds for all sets of regions at once, with the confidence level of
        the analysis (95% over subjects, where regions are the voxels of their maps), so
        that the set may be chosen after looking at the maps. It says that *regions* are
        informative: a sphere is when any of its voxels are.

        Parameters
        ----------
        region : int, str, array-like, image, path or None, default=None
            The set. An index or several; one bool for every region; the name of a
            region; or a mask (image, or its path): regions whose center lies in it, or,
            of an atlas, most of whose voxels do. With `atlas`, the name or the number
            of one of its labels. If None, all regions.
        above : float or None, default=None
            Only regions whose statistic is larger are in the set. The unit is that of
            the tested ``statistic``, for accuracy a proportion.
        atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
            Labels image in the space of the maps, or an atlas fetched by nilearn.

        Returns
        -------
        n_true : int
            Lower bound on the number of informative regions in the set.

        Raises
        ------
        TypeError, ValueError
            If the set does not fit the regions, or the run had no permutations, or too
            few of them (37 are needed at a confidence of .95).

        See Also
        --------
        neuroextrap.stats.true_discoveries : The bound, and when it holds.

        References
        ----------
        Blanchard, Neuvial & Roquain 2020, "Post hoc confidence bounds on false
        positives using reference families", Annals of Statistics 48.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(range(6), 3)
        >>> X = np.random.default_rng(1).normal(size=(18, 8))
        >>> X[:, :3] += 3 * y[:, np.newaxis]
        >>> pairs = np.repeat(np.eye(8), 2, axis=1)
        >>> light = IdentificationSearchLight(regions=pairs, n_permutations=99)
        >>> light = light.fit(np.repeat(X, 2, axis=1), y, groups=runs)
        >>> light.true_discoveries([0, 1, 2, 7]), light.true_discoveries()
        (3, 3)
        """
        bounds, *where = self._discoveries()
        chosen = _set_of(region, atlas, *where)
        if above is not None:
            if np.isnan(check_number(above, "above")):
                raise ValueError("above is NaN; give a threshold of the statistic")
            chosen = chosen & (bounds.scores > above)
        return bounds.count(chosen)

    @described_by(true_discoveries)
    def true_discovery_curve(
        self, region: Any = None, *, atlas: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Count informative regions among those that reach each threshold, at least.

        Returns
        -------
        thresholds : ndarray of shape (n_thresholds,)
            Distinct statistics of the regions of the set, largest first.
        n_regions : ndarray of int of shape (n_thresholds,)
            How many regions of the set have this statistic or a larger one.
        n_true : ndarray of int of shape (n_thresholds,)
            How many of these are informative, at least, all at once.
        """
        bounds, *where = self._discoveries()
        return bounds.curve(_set_of(region, atlas, *where))

    def _discoveries(self) -> tuple[Any, Any, Any]:
        """Return DiscoveryBounds, RegionChoice and masker; ValueError without them."""
        raise NotImplementedError


def _set_of(region: Any, atlas: Any, choice: Any, masker: Any) -> np.ndarray:
    """Return which regions are in a set, bool of shape (n_regions,)."""
    names = [str(name) for name in choice.names or ()]
    if atlas is not None:
        return choice.regions_in(_label_of(region, atlas, masker))
    if region is None:
        return np.ones(choice.n_regions, dtype=bool)
    if isinstance(region, str) and region in names:
        index = find_region(region, choice, masker, None)
        return np.arange(choice.n_regions) == index
    image = any(hasattr(region, name) for name in ("get_fdata", "mesh"))
    if image or isinstance(region, str | Path):
        return choice.regions_in(_mask_of(region, masker))
    return _indexed(region, choice.n_regions)


def _mask_of(region: Any, masker: Any) -> np.ndarray:
    """Return the features (n_features,) in a mask."""
    if masker is None:
        raise ValueError(
            "region is a mask or a name, but these regions come from an array and have "
            "no place; give indices, or one bool for every region"
        )
    if isinstance(region, str) and not Path(region).expanduser().exists():
        raise ValueError(
            f"region={region!r} is neither the name of a region nor a file; give an "
            "index, a name or a mask, or atlas= for the label of an atlas"
        )
    values = feature_values(region, masker, "region")
    inside = ~np.isnan(values) & (values != 0)  # maps are NaN where nothing is known
    levels = np.unique(values[inside])
    if len(levels) > 1:
        raise ValueError(
            f"region is no mask: it has {len(levels)} different values ({levels[0]:g}, "
            f"{levels[1]:g}, ...); give zeros and ones, or atlas= and a label"
        )
    return inside


def _label_of(region: Any, atlas: Any, masker: Any) -> np.ndarray:
    """Return the features (n_features,) that an atlas calls `region`."""
    if masker is None:
        raise ValueError(
            "atlas names places, but these regions come from an array; give indices"
        )
    labels, names = labels_of(atlas, masker)
    matches = [label for label, name in names.items() if region in (label, name)]
    if len(matches) != 1:
        examples = ", ".join(repr(name) for name in list(names.values())[:4])
        raise ValueError(
            f"region={region!r} must be the name or number of one label of the atlas "
            f"inside the mask; it has {len(names)}: {examples}, ..."
        )
    return labels == matches[0]


def _indexed(region: Any, n_regions: int) -> np.ndarray:
    """Return a set given by indices or by bools; indices twice count once."""
    given = np.atleast_1d(np.asarray(region))
    if given.dtype == bool and given.shape == (n_regions,):
        return given
    whole = given.size == 0 or given.dtype.kind in "iu"
    if given.ndim != 1 or not whole:
        raise TypeError(
            f"region={brief(region)} must be whole numbers, one bool for each of the "
            f"{n_regions} regions, a name or a mask; for a place (x, y, z) give the "
            "index that find_region returns"
        )
    if given.size and not 0 <= given.min() <= given.max() < n_regions:
        raise ValueError(
            f"region has indices from {given.min()} to {given.max()}; give whole "
            f"numbers from 0 to {n_regions - 1}"
        )
    return np.isin(np.arange(n_regions), given)
