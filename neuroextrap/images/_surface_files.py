"""Series on the cortex of both hemispheres, from GIFTI or CIFTI files, and meshes."""

from pathlib import Path
from typing import Any

import nibabel
import numpy as np

from neuroextrap.images._bids_names import loose_entities

SURFACES = (".func.gii", ".dtseries.nii")
"""Ends of the names of series on the cortex."""
_STRUCTURES = {
    "left": "CIFTI_STRUCTURE_CORTEX_LEFT",
    "right": "CIFTI_STRUCTURE_CORTEX_RIGHT",
}
_MESHES = ("midthickness", "pial", "white", "smoothwm")
"""Suffixes of fMRIPrep's meshes, those between pial and white matter first."""


def open_surface(path):
    """Return the SurfaceImage of both hemispheres; missing vertices are NaN."""
    from nilearn.surface import SurfaceImage

    path = Path(path)
    parts = _of_cifti(path) if path.name.endswith(".nii") else _of_gifti(path)
    return SurfaceImage(_mesh_of(path, parts), parts)


def other_hemisphere(path):
    """Return the file of the right hemisphere, of that of the left one."""
    return Path(path).with_name(Path(path).name.replace("hemi-L", "hemi-R"))


def _of_gifti(path):
    """Return (n_vertices, n_volumes) of a pair of GIFTI files by hemisphere."""
    left = path.with_name(path.name.replace("hemi-R", "hemi-L"))
    files = {"left": left, "right": other_hemisphere(left)}
    if files["left"] == files["right"]:
        raise ValueError(
            f"{path} has no hemi-L or hemi-R in its name, so that the other hemisphere "
            "is not known; make a nilearn.surface.SurfaceImage"
        )
    parts, missing = {}, [file.name for file in files.values() if not file.is_file()]
    if missing:
        raise ValueError(f"{path} is of one hemisphere, there is no {missing[0]}")
    for side, file in files.items():
        img: Any = nibabel.load(file)
        parts[side] = np.stack([array.data for array in img.darrays], axis=-1)
    return parts


def _of_cifti(path):
    """Return (n_vertices, n_volumes) of the cortex of a dense series by hemisphere."""
    img: Any = nibabel.load(path)
    data, axis = np.asarray(img.dataobj, dtype=np.float32), img.header.get_axis(1)
    structures = {name: (rows, own) for name, rows, own in axis.iter_structures()}
    parts = {}
    for side, name in _STRUCTURES.items():
        if name not in structures:
            raise ValueError(f"{path} has no {name}; give a series of both hemispheres")
        rows, own = structures[name]
        parts[side] = np.full((own.nvertices[name], len(data)), np.nan, np.float32)
        parts[side][own.vertex] = data[:, rows].T
    return parts


def _mesh_of(path, parts):
    """Return the PolyMesh of a series' space, of as many vertices."""
    from nilearn.datasets import load_fsaverage
    from nilearn.surface import PolyMesh

    space = loose_entities(path).get("space", "fsnative")
    folders = [folder for folder in path.parents if folder.name[:4] in ("sub-", "ses-")]
    sizes = {side: len(data) for side, data in parts.items()}
    patterns = [f"anat/*_hemi-L*{suffix}.surf.gii" for suffix in _MESHES]
    files = [f for p in patterns for own in folders for f in sorted(own.glob(p))]
    for file in files:
        if loose_entities(file).get("space", "fsnative") == space:
            mesh = PolyMesh(left=str(file), right=str(other_hemisphere(file)))
            if all(mesh.parts[side].n_vertices == n for side, n in sizes.items()):
                return mesh
    mesh = load_fsaverage("fsaverage5")["pial"]
    if "fsaverage" in space and set(sizes.values()) == {mesh.parts["left"].n_vertices}:
        return mesh
    raise ValueError(
        f"{path} lies in space {space} with {sizes['left']} and {sizes['right']} "
        "vertices, and no mesh of it was found (anat/*_hemi-L*_midthickness.surf.gii "
        "of the subject); put it there, or make a nilearn.surface.SurfaceImage"
    )
