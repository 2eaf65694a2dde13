"""Images in memory, their grids, and their samples x features through a masker."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from nibabel import Nifti1Image
from nibabel.affines import apply_affine

from neuroextrap.images._caching import cached
from neuroextrap.images._opening import (
    ALIGNED,
    NamedImage,
    check_single,
    is_surface_image,
    list_images,
    open_image,
    space_code,
)
from neuroextrap.regions._regions import mesh_edges
from neuroextrap.stats._validation import brief, one_line


def check_masker(masker):
    """Raise TypeError unless an argument is a masker that was fitted."""
    if getattr(masker, "mask_img_", None) is None:
        raise TypeError(
            f"masker must be a fitted NiftiMasker or SurfaceMasker, got "
            f"{brief(masker)}; give what resolve_masker returns"
        )


def is_surface_masker(masker):
    """Return whether a masker, fitted or not, is a SurfaceMasker."""
    from nilearn.maskers import SurfaceMasker

    return isinstance(masker, SurfaceMasker)


def resamples(masker):
    """Return whether a masker was asked to resample images to another grid."""
    return any(
        getattr(masker, name, None) is not None
        for name in ("target_affine", "target_shape")
    )


@dataclass(frozen=True)
class Hemisphere:
    """One hemisphere of a surface masker's mesh, coordinates and faces of all of it."""

    name: str
    coordinates: np.ndarray
    faces: np.ndarray
    vertices: np.ndarray
    offset: int


def mask_lattice(masker):
    """Return mask (nx, ny, nz) and affine (4, 4) of a masker; features in C order."""
    if is_surface_masker(masker):
        raise TypeError(
            "masker must be a NiftiMasker to have a lattice, got a SurfaceMasker; use "
            "surface_mesh"
        )
    img = masker.mask_img_
    return np.asanyarray(img.dataobj).astype(bool), np.array(img.affine, dtype=float)


def surface_mesh(masker):
    """Return the hemispheres of a fitted surface masker, in the order of features."""
    hemispheres, offset = [], 0
    for name, data in masker.mask_img_.data.parts.items():
        mesh = masker.mask_img_.mesh.parts[name]
        vertices = np.flatnonzero(np.asarray(data).ravel())
        coordinates, faces = np.asarray(mesh.coordinates, float), np.asarray(mesh.faces)
        hemispheres.append(Hemisphere(name, coordinates, faces, vertices, offset))
        offset += len(vertices)
    return hemispheres


def feature_coordinates(masker: Any) -> np.ndarray:
    """Return the coordinates (n_features, 3) of voxel centers or vertices, in mm."""
    check_masker(masker)
    if is_surface_masker(masker):
        return np.concatenate([h.coordinates[h.vertices] for h in surface_mesh(masker)])
    mask, affine = mask_lattice(masker)
    return apply_affine(affine, np.argwhere(mask))


def feature_values(img: Any, masker: Any, name: str) -> np.ndarray:
    """Return an image's values at a masker's features, (n_features,), as stored."""
    opened = read_image(open_image(img, name))
    check_same_grid(opened, NamedImage("the mask", masker.mask_img_))
    check_single(opened, "pick one with nilearn.image.index_img")
    return at_features(opened.img, masker).ravel()


def at_features(img, masker):
    """Return the values (n_features, ...) of an image on the mask's grid or mesh."""
    if is_surface_image(img):
        sides = surface_mesh(masker)
        parts = [np.asarray(img.data.parts[h.name])[h.vertices] for h in sides]
        return np.concatenate(parts)
    return np.asanyarray(img.dataobj)[mask_lattice(masker)[0]]


def read_image(named):
    """Return a named image with its data in memory; ValueError names a corrupt file."""
    if named.is_surface or isinstance(named.img.dataobj, np.ndarray):
        return named
    try:
        data = np.asanyarray(named.img.dataobj)
    except MemoryError as error:
        raise MemoryError(
            f"{named.name}, of shape {named.img.shape}, does not fit into memory; if "
            "that is not its shape, it is corrupt, so copy or compute it again"
        ) from error
    except Exception as error:  # whatever is wrong with the bytes of others
        raise ValueError(
            f"{named.name} cannot be read, it is truncated or corrupt "
            f"({one_line(error)}); copy or compute it again"
        ) from error
    if data.dtype.kind in "iu" and data.dtype.itemsize == 8:
        data = data.astype(np.float64)
    return NamedImage(named.name, new_volume(data, named.img))


def flat_values(img):
    """Return the values of an image in memory in one row, of a surface side by side."""
    if hasattr(img, "dataobj"):
        return np.ravel(np.asanyarray(img.dataobj))
    return np.concatenate([np.ravel(part) for part in img.data.parts.values()])


def mapped(function, *imgs):
    """Return the image that a function makes of the arrays of images on one grid."""
    first = imgs[0]
    if not is_surface_image(first):
        arrays = [np.asanyarray(img.dataobj) for img in imgs]
        return new_volume(function(*arrays), first)
    from nilearn.surface import SurfaceImage

    parts = {
        name: function(*(np.asarray(img.data.parts[name]) for img in imgs))
        for name in first.data.parts
    }
    return SurfaceImage(mesh=first.mesh, data=parts)


def new_volume(data, like, code=None):
    """Return a NIfTI volume with the affine of another, and its code (or `code`)."""
    img = Nifti1Image(data, like.affine)
    code = (space_code(like) if code is None else code) or ALIGNED
    for set_form in (img.set_sform, img.set_qform):
        set_form(np.asarray(like.affine), code=code)
    img.header.set_xyzt_units("mm")
    return img


def check_same_grid(named, reference):
    """Raise if an image lies on another grid or mesh than a reference."""
    if named.is_surface != reference.is_surface:
        raise TypeError(
            f"{named.name} and {reference.name} are not both volumes or both "
            "surfaces; give images of one kind"
        )
    if named.is_surface:
        _check_same_mesh(named, reference)
    elif len(named.img.shape) not in (3, 4):
        raise ValueError(
            f"{named.name} must have 3 or 4 dimensions, got shape {named.img.shape}; "
            "split or squeeze it"
        )
    elif not named.shares_grid(reference):
        raise ValueError(
            f"{_unlike(named, reference)}; resample one with "
            "nilearn.image.resample_to_img"
        )


def _unlike(named, reference):
    """Say how the grids of two volumes differ."""
    shape, expected = named.img.shape[:3], reference.img.shape[:3]
    if shape != expected:
        return f"{named.name} has shape {shape} but {reference.name} has {expected}"
    one, two = (
        " ".join(f"{number:.7g}" for number in img.img.affine[:3].ravel())
        for img in (named, reference)
    )
    return f"{named.name} has another affine than {reference.name}: {one} against {two}"


def _check_same_mesh(named, reference):
    """Raise if hemispheres, numbers of vertices or faces differ."""
    parts, expected = named.img.mesh.parts, reference.img.mesh.parts
    same = parts.keys() == expected.keys() and all(
        parts[side].n_vertices == expected[side].n_vertices
        and np.array_equal(parts[side].faces, expected[side].faces)
        for side in parts
    )
    if not same:
        one, two = (
            ", ".join(
                f"{side} {mesh.n_vertices} vertices" for side, mesh in own.items()
            )
            for own in (parts, expected)
        )
        raise ValueError(
            f"{named.name} has another mesh ({one}) than {reference.name} ({two}); "
            "give images of one mesh"
        )


def load_samples(imgs: Any, masker: Any) -> np.ndarray:
    """Return samples (n_samples, n_features) of images, with the masker's cleaning.

    Every 4-D image is cleaned as one run; single ones are one series if the masker does
    anything over time. NaN where the image is not finite (in a whole series, if cleaned
    over time).
    """
    check_masker(masker)
    return load_opened(list_images(imgs), masker)


def load_opened(named, masker, confounds=None):
    """Return the same of opened images (`NamedImage`), with confounds by series."""
    mask = NamedImage("the mask", masker.mask_img_)
    for img in [] if resamples(masker) else named:
        check_same_grid(img, mask)
    return cached(_load, named, masker, confounds)


def _load(named, masker, confounds=None):
    """Return the samples of all series; a function of a module, for `cached`."""
    series = series_of(named, cleans_over_time(masker))
    pairs = zip(series, confounds or [None] * len(series), strict=True)
    samples = [_load_series(members, masker, own) for members, own in pairs]
    return samples[0] if len(samples) == 1 else np.concatenate(samples)


def series_of(named, over_time):
    """Split images into the lists that are cleaned together."""
    single = [img.n_samples is None for img in named]
    if over_time and all(single):
        return [named]
    if over_time and any(single):
        first = named[single.index(True)].name
        raise ValueError(
            f"imgs mixes single samples ({first}) with series while the masker cleans "
            "over time; give one 4-D image per run, or single volumes only"
        )
    return [[img] for img in named]


def cleans_over_time(masker):
    """Return whether the result for a sample depends on the other samples."""
    names = "detrend standardize low_pass high_pass high_variance_confounds clean_args"
    return getattr(masker, "runs", None) is not None or any(
        getattr(masker, n, None) not in (None, False, {}) for n in names.split()
    )


def _load_series(members, masker, confounds):
    """Clean one series; NaN where the images had no finite value."""
    members = [_on_the_masks_grid(read_image(img), masker) for img in members]
    holes = _holes(members, masker)
    img = members[0].img if len(members) == 1 else _concatenated(members)
    data = np.atleast_2d(masker.transform(img, confounds=confounds))
    if data.dtype.kind != "f":
        data = data.astype(np.result_type(data.dtype, np.float32))
    if holes is not None:
        over_time = cleans_over_time(masker)
        data[(slice(None), holes.any(axis=0)) if over_time else holes] = np.nan
    return data


def _concatenated(members):
    """Return several images in one, of a type that holds the numbers of all."""
    from nilearn.image import concat_imgs

    arrays: list[Any] = []
    for img in members:
        own = img.img.data.parts.values() if img.is_surface else [img.img.dataobj]
        arrays += own
    dtype = np.result_type(*(array.dtype for array in arrays))
    return concat_imgs([member.img for member in members], dtype=dtype)


def _on_the_masks_grid(named, masker):
    """Give an image the mask's affine, from which it may differ by rounding only."""
    if named.is_surface or resamples(masker):
        return named
    data = np.asanyarray(named.img.dataobj)
    return NamedImage(named.name, Nifti1Image(data, masker.mask_img_.affine))


def _holes(members, masker):
    """Return where the images are not finite, (n_samples, n_features), or None."""
    holes = [_holes_of_image(img, masker) for img in members]
    if not any(image_holes.any() for image_holes in holes):
        return None
    if resamples(masker):
        raise ValueError(
            f"{members[0].name} holds NaN or infinity and the masker resamples, which "
            "would spread them; resample the images beforehand"
        )
    return np.concatenate(holes)


def _holes_of_image(named, masker):
    """Return where one image is not finite; shape (n_samples, n_features)."""
    if not named.is_surface:
        data = np.asanyarray(named.img.dataobj)
        if data.dtype.kind in "iu":
            return np.zeros((1, 1), dtype=bool)
        if resamples(masker):
            return np.atleast_1d(~np.isfinite(data).all())
    return np.atleast_2d(~np.isfinite(at_features(named.img, masker)).T)


def finite_masker(named, *, in_any=False):
    """Return a fitted masker of what is finite in the first image, or in any."""
    from nilearn.maskers import NiftiMasker, SurfaceMasker

    first, used = named[0], named if in_any else named[:1]
    for img in used[1:]:
        check_same_grid(img, NamedImage("the mask", first.img))
    imgs = [read_image(img).img for img in used]
    if not (in_any or first.is_surface or first.n_samples is None):
        imgs = [imgs[0].slicer[..., 0]]
    mask = finite_mask(*imgs)
    if not flat_values(mask).any():
        raise ValueError("mask is an empty mask; give one with non-zero voxels")
    kind = SurfaceMasker if first.is_surface else NiftiMasker
    return kind(mask_img=mask, reports=False, standardize=None).fit()


def finite_mask(*imgs):
    """Return the 8-bit mask of what is finite in at least one sample of some images."""
    n_axes = 1 if is_surface_image(imgs[0]) else 3

    def finite(*arrays):
        samples = [np.isfinite(a).reshape(*a.shape[:n_axes], -1) for a in arrays]
        return np.any([a.any(axis=-1) for a in samples], axis=0).astype("uint8")

    return mapped(finite, *imgs)


def neighbor_pairs(masker):
    """Return pairs (n_pairs, 2) of voxels that share a face, vertices an edge."""
    pairs = []
    if not is_surface_masker(masker):
        mask, _ = mask_lattice(masker)
        number = np.full(mask.shape, -1, dtype=np.intp)
        number[mask] = np.arange(mask.sum())
        for axis in range(3):
            along = np.moveaxis(number, axis, 0)
            pairs.append(np.stack([along[:-1].ravel(), along[1:].ravel()], axis=1))
    else:
        for side in surface_mesh(masker):
            number = np.full(len(side.coordinates), -1, dtype=np.intp)
            number[side.vertices] = side.offset + np.arange(len(side.vertices))
            pairs.append(number[mesh_edges(side.faces)])
    merged = np.concatenate(pairs)
    return merged[(merged >= 0).all(axis=1)]


def mean_volume(named):
    """Return the mean of all samples of volumes, (nx, ny, nz), an image at a time."""
    total, n_samples = 0.0, 0
    for img in named:
        data = np.asanyarray(read_image(img).img.dataobj)
        total = total + data.reshape(*data.shape[:3], -1).sum(axis=3, dtype=float)
        n_samples += img.n_samples or 1
    return total / n_samples
