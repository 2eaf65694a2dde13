"""Images as files: NIfTI volumes, and GIFTI for each hemisphere."""

from pathlib import Path

import numpy as np

from neuroextrap.images._opening import (
    is_surface_image,
    open_file,
    open_image,
    read_image,
)

_SIDES = {"left": "hemi-L", "right": "hemi-R"}


def save_image(img, directory, name):
    """Write a floating-point image into an existing folder and return its files.

    `name` is the file name without ending. The dict maps "volume" (or "left", "right",
    "left_mesh", "right_mesh") to file names. Surface values are stored as float32, and
    each hemisphere's mesh once per folder. Integer images are refused, since they would
    quantize values, unless they are 8-bit masks of 0 and 1.
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
