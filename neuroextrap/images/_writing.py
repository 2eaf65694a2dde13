"""From feature values to images, and image files of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.images._loading import check_masker, is_surface_masker, surface_mesh
from neuroextrap.images._opening import (
    is_surface_image,
    new_volume,
    open_file,
    open_image,
    read_image,
)
from neuroextrap.stats._validation import real_array


def to_img(values: ArrayLike, masker: Any) -> Any:
    """Make an image of feature values: floating point, NaN outside the mask.

    The image takes grid and space from the masker's mask but never its data type: a
    p-value of 0.002 stays 0.002 on disk even when the mask is an 8-bit image.

    Parameters
    ----------
    values : array-like of shape (n_features,) or (n_maps, n_features)
        Values of the features; float32 stays float32, everything else becomes float64.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        3-D or 4-D volume; on surfaces one value or ``n_maps`` values per vertex.

    Raises
    ------
    ValueError
        If the last axis is not the masker's number of features.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker, to_img
    >>> mask = np.array([[[1, 0]]], dtype="int8")
    >>> masker = resolve_masker(nibabel.Nifti1Image(mask, np.eye(4)))
    >>> to_img([0.002], masker).get_fdata()
    array([[[0.002,   nan]]])
    """
    check_masker(masker)
    single = getattr(values, "dtype", None) == np.float32
    values = np.asarray(values) if single else real_array(values, "values")
    if values.ndim not in (1, 2) or values.shape[-1] != masker.n_elements_:
        raise ValueError(
            f"values must have shape ({masker.n_elements_},) or "
            f"(n_maps, {masker.n_elements_}), got {values.shape}; give one value "
            "per feature of the masker"
        )
    if is_surface_masker(masker):
        return _surface(values, masker)
    mask = np.asanyarray(masker.mask_img_.dataobj).astype(bool)
    data = np.full(mask.shape + values.shape[:-1], np.nan, dtype=values.dtype)
    data[mask] = values.T
    return new_volume(data, masker.mask_img_)


def _surface(values, masker):
    """Build a SurfaceImage on the mask's mesh."""
    from nilearn.surface import SurfaceImage

    parts = {}
    for side in surface_mesh(masker):
        stop = side.offset + len(side.vertices)
        shape = (len(side.coordinates), *values.shape[:-1])
        parts[side.name] = np.full(shape, np.nan, dtype=values.dtype)
        parts[side.name][side.vertices] = values[..., side.offset : stop].T
    return SurfaceImage(mesh=masker.mask_img_.mesh, data=parts)


_SIDES = {"left": "hemi-L", "right": "hemi-R"}


def save_image(img, directory, name):
    """Write a floating-point image or 8-bit mask; return its files by part.

    Integer images are refused, since they would quantize values.
    """
    directory = Path(directory)
    if is_surface_image(img):
        return _save_surface(img, directory, name)
    dtype = img.get_data_dtype()
    if dtype.kind != "f" and not _is_mask(img.dataobj):
        raise TypeError(
            f"{name}: the image is stored as {dtype}, which would quantize its values; "
            "make it with to_img"
        )
    img.to_filename(directory / f"{name}.nii.gz")
    return {"volume": f"{name}.nii.gz"}


def load_image(directory, files):
    """Read an image into memory from the files that `save_image` returned."""
    directory = Path(directory)
    if "volume" in files:
        return read_image(open_image(directory / files["volume"], "map")).img
    from nilearn.surface import SurfaceImage

    for file in files.values():
        open_file(str(directory / file), "map")
    sides = [side for side in _SIDES if side in files]
    return SurfaceImage(
        mesh={side: directory / files[f"{side}_mesh"] for side in sides},
        data={side: directory / files[side] for side in sides},
    )


def _is_mask(values):
    """Return whether values are a mask: 8-bit, 0 and 1 only."""
    values = np.asanyarray(values)
    return values.dtype == np.uint8 and values.max(initial=0) <= 1


def _save_surface(img, directory, name):
    """Write each hemisphere's values, and its mesh unless the folder has it."""
    from nilearn.surface import PolyData, PolyMesh

    files = {}
    for side, values in img.data.parts.items():
        if values.dtype.kind != "f" and not _is_mask(values):
            raise TypeError(
                f"{name}: the image holds {values.dtype}, not floating point; make it "
                "with to_img"
            )
        files[side] = f"{name}_{_SIDES[side]}.gii"
        files[f"{side}_mesh"] = f"mesh_{_SIDES[side]}.gii"
        PolyData(**{side: values}).to_filename(directory / files[side])
        mesh_path = directory / files[f"{side}_mesh"]
        if not mesh_path.exists():
            PolyMesh(**{side: img.mesh.parts[side]}).to_filename(mesh_path)
    return files
