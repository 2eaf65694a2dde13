"""Images as files: float NIfTI volumes, and GIFTI for each hemisphere."""

from pathlib import Path

from neuroextrap.images._opening import (
    is_surface_image,
    open_file,
    open_image,
    read_image,
)

_SIDES = {"left": "hemi-L", "right": "hemi-R"}


def save_image(img, directory, name):
    """Write one image under a name and return the files written.

    Parameters
    ----------
    img : Niimg or SurfaceImage
        Floating-point image.
    directory : path-like
        An existing folder.
    name : str
        File name without ending.

    Returns
    -------
    dict of str to str
        Role ("volume", or "left" and "right" with "left_mesh" and "right_mesh") to file
        name. Surface values are stored as float32 and every hemisphere's mesh once a
        folder.

    Raises
    ------
    TypeError
        If the image is not floating point, which would quantize its values.

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.images._files import save_image
    >>> img = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_image(img, folder, "accuracy")
    {'volume': 'accuracy.nii.gz'}
    """
    directory = Path(directory)
    if is_surface_image(img):
        return _save_surface(img, directory, name)
    kind = img.get_data_dtype()
    if kind.kind != "f":
        raise TypeError(
            f"{name}: the image is stored as {kind}, which would quantize its values; "
            "make it with to_img"
        )
    img.to_filename(directory / f"{name}.nii.gz")
    return {"volume": f"{name}.nii.gz"}


def load_image(directory, files):
    """Read an image back from the files that ``save_image`` returned.

    Parameters
    ----------
    directory : path-like
        The folder.
    files : dict of str to str
        Role to file name, as returned by ``save_image``.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        With its data in memory.

    Raises
    ------
    ValueError
        If a file is missing, truncated or corrupt.

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.images._files import load_image, save_image
    >>> img = nibabel.Nifti1Image(np.full((2, 2, 2), 0.002), np.eye(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_image(folder, save_image(img, folder, "p_value"))
    >>> float(again.get_fdata()[0, 0, 0])
    0.002
    """
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


def _save_surface(img, directory, name):
    """Write each hemisphere's values, and its mesh unless it is there."""
    from nilearn.surface import PolyData, PolyMesh

    files = {}
    for side, values in img.data.parts.items():
        if values.dtype.kind != "f":
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
