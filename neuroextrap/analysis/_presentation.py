"""Where regions lie: values as images, regions by index, name or place."""

import difflib
import operator
from numbers import Real

import numpy as np

from neuroextrap.images import to_img
from neuroextrap.images._loading import (
    feature_coordinates,
    is_surface_masker,
    mask_lattice,
    surface_mesh,
)


def feature_images(values, masker):
    """Turn numbers of features, a dict of (n_features,), into images.

    The arrays stay what they are if there is no masker (plain arrays).
    """
    if masker is None:
        return values
    return {name: to_img(value, masker) for name, value in values.items()}


def region_images(values, choice, masker):
    """Turn numbers of regions, a dict of (n_regions,), into images.

    NaN outside the analyzed voxels. Without a masker (plain arrays) the maps are arrays
    of the regions; empty when the regions of an image are a matrix with another number
    of rows than features, which have no place in it.
    """
    if masker is None:
        return {name: np.asarray(value, dtype=float) for name, value in values.items()}
    if not choice.has_place:
        return {}
    full = {name: choice.to_features(value) for name, value in values.items()}
    return feature_images(full, masker)


def mean_places(choice, masker):
    """Return the place of every region in mm, (n_regions, 3): centers, else means.

    NaN for regions without a feature.
    """
    if choice.centers is not None:
        return choice.places(masker)
    coordinates, inside = feature_coordinates(masker), choice.owner >= 0
    owner = choice.owner[inside]
    n = np.bincount(owner, minlength=choice.n_regions)
    sums = [np.bincount(owner, x, choice.n_regions) for x in coordinates[inside].T]
    with np.errstate(invalid="ignore"):
        return np.stack(sums, axis=1) / n[:, np.newaxis]


def region_table(results, values, standard_errors=None):
    """Return a tidy table: one row for every region and set size.

    `results` are RegionResults and `values` their statistics; `standard_errors` of the
    accuracies have shape (n_regions, n_set_sizes). Columns are name, n_voxels,
    set_size, accuracy, standard_error, implied_information (bits),
    average_bayes_accuracy_bound (at that set size), correlation (of decoded targets),
    class_information_bound and information_bound (bits), and, after permutations,
    p_value and p_value_fwe of the statistic; where accuracy depends on it, the number
    of classes that the classifier was trained on, n_classes_trained; where parts of the
    run are missing, also partial, True in every row.
    """
    import pandas as pd

    sizes = results.set_sizes
    n_regions, n_sizes = results.choice.n_regions, len(sizes)
    names = results.choice.names or [str(i) for i in range(n_regions)]
    unknown = np.full((n_regions, n_sizes), np.nan)
    bounds = unknown
    if results.n_repeats is not None:
        bounds = results.bounds_at(results.bound_wins, sizes)
    columns = {
        "name": np.repeat(names, n_sizes),
        "n_voxels": np.repeat(results.n_voxels, n_sizes),
        "set_size": np.tile(sizes, n_regions),
        "accuracy": results.curves().ravel(),
        "standard_error": (
            unknown if standard_errors is None else standard_errors
        ).ravel(),
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


def joined_standard_errors(parts):
    """Join the standard errors in the tables of fitted parts, (n_regions, n_set_sizes).

    None if a part has no table, or other set sizes.
    """
    tables = [part.table_ for part in parts]
    if any(table is None for table in tables):
        return None
    shape = len(parts[0].wins_), len(parts[0].set_sizes_)
    errors = np.full(shape, np.nan)
    for part, table in zip(parts, tables, strict=True):
        if len(table) != errors.size:
            return None
        done = part.results_.scores.done
        errors[done] = table["standard_error"].to_numpy().reshape(shape)[done]
    return errors


_ALLOWED = "a region is an index, a name, or (x, y, z) in mm"
_ROUNDING = 1e-6  # mm
_N_SHOWN = 4


def find_region(region, choice, masker, radius):
    """Return the index of the region that a user means.

    `region` is an index, a name, or a place (x, y, z) in mm; `choice` (RegionChoice)
    and the fitted `masker` (None for arrays) are those of the analysis, `radius` is
    that of its spheres in mm, None if regions have other shapes. ValueError or
    TypeError when no region, or more than one, is meant.
    """
    if isinstance(region, np.ndarray) and region.ndim == 0:
        region = region.item()
    if isinstance(region, str):
        return _by_name(region, choice)
    if isinstance(region, (list, tuple, np.ndarray)) or hasattr(region, "to_numpy"):
        return _by_place(_place(region), choice, masker, radius)
    return _by_index(region, choice.n_regions)


def _by_name(name, choice):
    """Look a name up; messages list names that are written alike."""
    if choice.names is None:
        raise ValueError(
            f"region={name!r} is a name, but these {choice.n_regions} regions have "
            "none; give an index, or (x, y, z) in mm"
        )
    names = [str(each) for each in choice.names]
    found = [i for i, each in enumerate(names) if each == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"region={name!r} is the name of {len(found)} regions; give the index of "
            f"one: {', '.join(map(str, found))}"
        )
    raise ValueError(f"region={name!r} is no region; {_alike(name, names)}")


def _alike(name, names):
    """Return names that are written like another, or the first ones."""
    by_case = {each.casefold(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), by_case, _N_SHOWN, cutoff=0.5)
    if close:
        return f"close names are {', '.join(repr(by_case[key]) for key in close)}"
    shown = ", ".join(repr(each) for each in names[:_N_SHOWN])
    more = ", ..." if len(names) > _N_SHOWN else ""
    return f"the {len(names)} names are {shown}{more}"


def _by_index(region, n_regions):
    """Return a whole number in range as an int; 2.0 is one, True is none."""
    if isinstance(region, (float, np.floating)) and float(region).is_integer():
        region = int(region)  # a row of a table of peaks holds floats
    try:
        if isinstance(region, (bool, np.bool_)):
            raise TypeError
        index = operator.index(region)
    except TypeError:
        kind = ValueError if isinstance(region, (float, np.floating)) else TypeError
        raise kind(
            f"region={region!r} must be a whole number from 0 to {n_regions - 1}; "
            f"{_ALLOWED}"
        ) from None
    if not 0 <= index < n_regions:
        raise ValueError(
            f"region={index} must be a whole number from 0 to {n_regions - 1}; "
            f"{_ALLOWED}"
        )
    return index


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
            f"region={_shown(place)} is a place, but these regions have none; give the "
            "region's index"
        )
    coordinates = feature_coordinates(masker)
    if choice.centers is None:
        features = np.flatnonzero(choice.owner >= 0)
    else:
        features = choice.centers
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
            f"region={_shown(place)} lies in no region; the nearest is {index}{name} "
            f"at {_shown(coordinates[feature])}, {away[nearest]:.4g} mm away"
        )
    return index


def _shown(place):
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
