"""Where features of a masker lie, and samples x features of images through it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from nibabel import Nifti1Image
from nibabel.affines import apply_affine, voxel_sizes
from scipy.ndimage import gaussian_filter

from neuroextrap.images._caching import cached
from neuroextrap.images._opening import (
    MNI,
    NamedImage,
    check_same_grid,
    check_single,
    is_surface_image,
    list_images,
    new_volume,
    open_image,
    read_image,
)
from neuroextrap.regions._regions import mesh_edges
from neuroextrap.stats._validation import brief


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
    if holes is None:
        return data
    if cleans_over_time(masker):
        data[:, holes.any(axis=0)] = np.nan
    else:
        data[holes] = np.nan
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
    known = np.concatenate(pairs)
    return known[(known >= 0).all(axis=1)]


def variance_smoother(masker, usable, fwhm):
    """Return a function that smooths maps (n_maps, n_usable) within usable voxels."""
    if masker is None or is_surface_masker(masker):
        raise ValueError(
            "variance_fwhm needs voxels of volumes; leave it out for other maps"
        )
    mask, affine = mask_lattice(masker)
    where = np.flatnonzero(mask)[usable]
    sigma = fwhm / np.sqrt(8 * np.log(2)) / voxel_sizes(affine)

    def smoothed(values):
        volume = np.zeros(mask.shape)
        volume.flat[where] = values
        return gaussian_filter(volume, sigma, mode="constant").flat[where]

    weight = smoothed(np.ones(len(where)))
    return lambda maps: np.stack([smoothed(values) / weight for values in maps])


def mean_volume(named):
    """Return the mean of all samples of volumes, (nx, ny, nz), an image at a time."""
    total, n_samples = 0.0, 0
    for img in named:
        data = np.asanyarray(read_image(img).img.dataobj)
        total = total + data.reshape(*data.shape[:3], -1).sum(axis=3, dtype=float)
        n_samples += img.n_samples or 1
    return total / n_samples


_MOST_SINGLE = 20  # single volumes that are averaged
_LEAST_POSITIVE = 0.95
_BRIGHTEST = 98
_LEVELS = 255


def mean_gray_levels(named, mask_img):
    """Return the first series' mean, 0 to 255; None in MNI space or without anatomy."""
    mask = NamedImage("the mask", mask_img)
    if mask.is_surface or mask.code == MNI:
        return None
    series = [img for img in named if (img.n_samples or 1) > 1]
    chosen = series[:1] or named[:_MOST_SINGLE]
    mean = np.nan_to_num(mean_volume(chosen), posinf=0, neginf=0)
    brain = mean != 0
    if chosen[0].shares_grid(mask):
        brain = np.asanyarray(mask_img.dataobj).astype(bool)
    inside = mean[brain]
    if not len(inside) or (inside > 0).mean() < _LEAST_POSITIVE:
        return None
    brightest = np.percentile(inside, _BRIGHTEST)
    if not brightest > inside.min():
        return None
    levels = np.rint(_LEVELS * np.clip(mean / brightest, 0, 1)).astype(np.float32)
    return new_volume(levels, chosen[0].img)
