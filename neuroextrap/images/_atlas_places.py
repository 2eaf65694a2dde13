"""What an atlas calls the places of peaks."""

from pathlib import Path

import numpy as np

from neuroextrap.images._atlas import names_by_label, unpack_atlas, whole_numbers
from neuroextrap.images._opening import open_image, read_image

REACH = 5.0
"""Distance in mm up to which a place outside all labels is said to be near one."""


def atlas_names_at(atlas, places):
    """Return the atlas's name of each of `places`, (n_places, 3) in mm.

    `atlas` is a labels image (a volume in the space of the places, on any grid, or a
    SurfaceImage of the places' mesh), its path, or an atlas fetched by nilearn. Names
    are those of the fetched atlas, or of the table (columns index, name) beside the
    file that differs from it in its ending alone (.tsv); else labels are named by their
    numbers. A place without a label is "near NAME" within 5 mm, otherwise "".
    """
    labels_img, names = unpack_atlas(atlas, None)
    if names is None:
        names = names_beside(labels_img)
    opened = read_image(open_image(labels_img, "atlas"))
    numbers = whole_numbers(opened)
    name_of = names_by_label(names, numbers[numbers != 0])
    unnamed = [int(number) for number in numbers if number and number not in name_of]
    if unnamed:
        raise ValueError(
            f"atlas has labels without a name, {unnamed[:5]}; name every label or give "
            "the image alone"
        )
    search = _on_surface if opened.is_surface else _in_volume
    found = []
    for label, distance in search(opened.img, np.asarray(places, dtype=float)):
        name = name_of.get(label, "")
        found.append(f"near {name}" if name and distance else name)
    return found


def names_beside(labels_img):
    """Return the table of names beside a file, or None."""
    if not isinstance(labels_img, str | Path):
        return None
    path = Path(labels_img)
    stem = path.name.removesuffix(".gz").removesuffix(".nii").removesuffix(".gii")
    table = path.with_name(f"{stem}.tsv")
    if not table.exists():
        return None
    from neuroextrap.images._tables import read_text_table

    return read_text_table(table, f"the atlas's table {table}")


def _in_volume(img, places):
    """Yield label and distance (mm; 0 inside) of the nearest label, 0 without any."""
    from nibabel.affines import apply_affine

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
    values = np.concatenate([np.ravel(part) for part in parts.values()])
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
