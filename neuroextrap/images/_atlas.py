"""Atlas labels of a masker's features, and the names that belong to them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from nibabel.affines import apply_affine

from neuroextrap.images._loading import (
    feature_values,
    flat_values,
    is_surface_masker,
    read_image,
)
from neuroextrap.images._opening import NamedImage, check_single, open_image
from neuroextrap.images._tables import read_text_table
from neuroextrap.stats._validation import warn

_BACKGROUND = ("background", "unknown", "none", "???", "*", "0", "")
"""What atlases call the entry of label 0, in small letters."""


def atlas_labels(
    labels_img: Any, masker: Any, names: Any = None
) -> tuple[np.ndarray, dict[int, str]]:
    """Return the label of every feature, int64 (n_features,), and names by label.

    Label 0 is background. A list of names that begins with "Background" (or "Unknown",
    "") holds the name of label i at place i, or one per label in ascending order; one
    that does not holds one per label of the image. Without names, labels are their
    numbers.
    """
    labels_img, names = _unpacked(labels_img, names)
    opened = read_image(open_image(labels_img, "labels_img"))
    image_labels = _whole_numbers(opened)
    if not opened.is_surface and not is_surface_masker(masker):
        opened = _resampled(opened, masker.mask_img_)
    labels = np.round(feature_values(opened.img, masker, opened.name)).astype(np.int64)
    present = np.unique(labels[labels != 0])
    if not len(present):
        raise ValueError(
            f"{opened.name} has no label inside the mask; check that the two overlap"
        )
    name_of = _names_by_label(names, image_labels[image_labels != 0])
    missing = [int(value) for value in present if int(value) not in name_of]
    if missing:
        raise ValueError(
            f"names lack label(s) {missing[:5]} that occur in the mask; name every "
            "label or give names=None"
        )
    return labels, {int(value): name_of[int(value)] for value in present}


def _unpacked(labels_img, names):
    """Take image and names out of fetched atlases."""
    if names is None and hasattr(labels_img, "maps"):
        names = labels_img
    if hasattr(names, "maps"):
        table = getattr(names, "lut", None)
        names = getattr(names, "labels", None) if table is None else table
    return getattr(labels_img, "maps", labels_img), names


def _whole_numbers(opened):
    """Return the distinct labels of an atlas, after checking them."""
    check_single(opened, "of several maps use the maximum-probability atlas")
    values = np.unique(flat_values(opened.img))
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        raise ValueError(
            f"{opened.name} must hold whole numbers, got {values[:4].tolist()}...; "
            "give a labels image, not a probability map"
        )
    if values.min() < 0:
        raise ValueError(
            f"{opened.name} must hold labels >= 0, got {values.min():g}; renumber them"
        )
    return values.astype(np.int64)


def _resampled(opened, mask_img):
    """Return the atlas on the mask's grid, with a warning if it had to be resampled."""
    if opened.shares_grid(NamedImage("the mask", mask_img)):
        return opened
    from nilearn.image import resample_to_img

    warn(
        f"{opened.name} is on another grid than the mask: resampled to it, nearest "
        "neighbor"
    )
    how = {"interpolation": "nearest", "copy_header": True, "force_resample": True}
    return NamedImage(opened.name, resample_to_img(opened.img, mask_img, **how))


def _names_by_label(names, values):
    """Return names by label for the labels ``values`` (ascending) that have one."""
    if names is None:
        return {int(value): str(value) for value in values}
    if hasattr(names, "columns"):
        missing = [key for key in ("index", "name") if key not in names.columns]
        if missing:
            raise ValueError(
                f"names lack column(s) {missing}, got {list(names.columns)}; give a "
                "table with columns index and name"
            )
        return _names_of_pairs(zip(names["index"], names["name"], strict=True))
    if isinstance(names, dict) or (
        hasattr(names, "items") and list(names.index) != list(range(len(names)))
    ):  # a Series whose index is the label
        return _names_of_pairs(names.items())
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise TypeError(
            f"names must be a list, dict, DataFrame or fetched atlas, got "
            f"{type(names).__name__}; give one name per label"
        )
    return _names_of_list([_text(name) for name in names], values)


def _names_of_pairs(pairs):
    """Return a dict of labels and their names, without those whose name is missing."""
    names: dict[int, str | None] = {}
    for value, name in pairs:
        number = pd.to_numeric(value, errors="coerce")
        if not float(number).is_integer():
            raise ValueError(
                f"names have the label {value!r}, labels are whole numbers; correct "
                "the index"
            )
        label = int(number)
        if label in names:
            raise ValueError(
                f"names have label {label} twice, as {names[label]!r} and {name!r}; "
                "give every label one name"
            )
        names[label] = _text(name)
    return {label: name for label, name in names.items() if name is not None}


def _names_of_list(names, values):
    """Match a list of names with the labels, where it can mean one thing only."""
    background = names and (names[0] or "").strip().lower() in _BACKGROUND
    own = names[1:] if background else names
    if background and values.max() < len(names):
        own = [names[value] for value in values]
    elif len(own) != len(values):
        raise ValueError(
            f"names has {len(names)} entries for {len(values)} labels (largest "
            f"{values.max()}), so that it may be of labels that are not in the image; "
            "give one per label, in ascending order, or one for every number from 0 to "
            "the largest, the first of them 'Background', or a dict label: name"
        )
    pairs = zip(values.tolist(), own, strict=True)
    return {label: name for label, name in pairs if name is not None}


def _text(name):
    """Return a name as text, None where it is missing; older atlases hold bytes."""
    if pd.isna(name):
        return None
    return name.decode() if isinstance(name, bytes) else str(name)


REACH = 5.0
"""Distance in mm up to which a place outside all labels is said to be near one."""


def atlas_names_at(atlas, places):
    """Return an atlas's name of each of `places` (n_places, 3), in mm; "" for none."""
    labels_img, names = _with_names(atlas)
    opened = read_image(open_image(labels_img, "atlas"))
    numbers = _whole_numbers(opened)
    name_of = _mask_named(labels_img, _names_by_label(names, numbers[numbers != 0]))
    unnamed = [int(number) for number in numbers if number and number not in name_of]
    if unnamed:
        raise ValueError(
            f"atlas has labels without a name, {unnamed[:5]}; name every label, or "
            "give only the image"
        )
    search = _on_surface if opened.is_surface else _in_volume
    labels = []
    for label, distance in search(opened.img, np.asarray(places, dtype=float)):
        name = name_of.get(label, "")
        labels.append(f"near {name}" if name and distance else name)
    return labels


def _with_names(atlas, names=None):
    """Return the image of an atlas, and its names or those of the table beside it."""
    labels_img, names = _unpacked(atlas, names)
    if names is None and isinstance(labels_img, str | Path):
        table = Path(labels_img).with_name(f"{_stem(labels_img)}.tsv")
        if table.exists():
            names = read_text_table(table, f"the atlas's table {table}")
    return labels_img, names


_HARVARD_OXFORD = "cort-maxprob-thr25-2mm"


def installed_atlas():
    """Return the cortical Harvard-Oxford atlas if nilearn downloaded it, or None."""
    from nilearn.datasets import fetch_atlas_harvard_oxford, get_data_dirs

    for folder in map(Path, get_data_dirs()):
        atlases = folder / "fsl" / "data" / "atlases"
        image = f"HarvardOxford/HarvardOxford-{_HARVARD_OXFORD}.nii.gz"
        if all((atlases / f).is_file() for f in (image, "HarvardOxford-Cortical.xml")):
            return fetch_atlas_harvard_oxford(
                _HARVARD_OXFORD, data_dir=folder, verbose=0
            )
    return None


def labels_of(atlas, masker, names=None):
    """Return the label of every feature, and names given or beside the atlas's file."""
    labels_img, names = _with_names(atlas, names)
    labels, table = atlas_labels(labels_img, masker, names)
    return labels, _mask_named(labels_img, table)


def _mask_named(labels_img, table):
    """Return names by label; a mask's only label is named by its file."""
    if list(table.items()) != [(1, "1")] or not isinstance(labels_img, str | Path):
        return table
    return {1: _stem(labels_img).replace("_", " ")}


def _stem(path):
    """Return the name of an image's file without its endings."""
    name = Path(path).name
    return name.removesuffix(".gz").removesuffix(".nii").removesuffix(".gii")


def _in_volume(img, places):
    """Yield label and distance (mm; 0 inside) of the nearest label, 0 without any."""
    data = np.asanyarray(img.dataobj)
    data = data.reshape(data.shape[:3])
    half = np.ceil(REACH / np.linalg.norm(img.affine[:3, :3], axis=0)) + 1
    for place in places:
        at = np.rint(apply_affine(np.linalg.inv(img.affine), place)).astype(int)
        if (at >= 0).all() and (at < data.shape).all() and data[tuple(at)]:
            yield int(data[tuple(at)]), 0.0
            continue
        low = np.maximum(at - half, 0).astype(int)
        high = np.maximum(at + half + 1, 0).astype(int)
        box = data[tuple(map(slice, low, high))]
        labeled = np.argwhere(box)
        yield _nearest(
            box[tuple(labeled.T)], apply_affine(img.affine, labeled + low), place
        )


def _on_surface(img, places):
    """Yield label and distance (mm; 0 at a labeled vertex) of the nearest label."""
    parts = img.data.parts
    values = flat_values(img)
    vertices = np.concatenate([img.mesh.parts[name].coordinates for name in parts])
    for place in places:
        at = np.linalg.norm(vertices - place, axis=1).argmin()
        if values[at]:
            yield int(values[at]), 0.0
        else:
            labeled = values != 0
            yield _nearest(values[labeled], vertices[labeled], place)


def _nearest(labels, coordinates, place):
    """Return the label nearest to a place and its distance; (0, 0) if none is near."""
    distances = np.linalg.norm(coordinates - place, axis=1)
    if not (distances <= REACH).any():
        return 0, 0.0
    nearest = distances.argmin()
    return int(labels[nearest]), float(distances[nearest])
