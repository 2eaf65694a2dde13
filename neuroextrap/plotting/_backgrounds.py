"""What lies under a map: an anatomy, the template that nilearn ships, or nothing."""

import functools
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.images._space import CODES, MNI, space_code

TEMPLATE = "mni152"
"""What users write for the template."""

_LEAST_SHARE = 0.5
_LIGHT, _SPAN = 225, 85
_FINEST = 160
_N_GRAYS = 32


class Background(NamedTuple):
    """What is drawn under the map of a volume."""

    #: A volume with upright cubic voxels, at most 160 along its longest side; or None.
    img: Any
    #: Whether the map is taken to lie in MNI space, where a glass brain fits it.
    in_mni152: bool
    #: One line that says why there is no template, and how to have one; "" otherwise.
    why: str


def volume_background(img, places, bg_img=None, *, own=None):
    """Choose what is drawn under the map or mask `img`.

    `places` (n_voxels, 3) in mm are where the map has values, `own` is an image of the
    subject's own (or None). Without `bg_img` it is the MNI152 template that nilearn
    ships if the header of `img` says MNI, and half the places lie in the template's
    brain; else `own`. "mni152" is the template in any case, False is nothing. Raises
    TypeError if `bg_img` is not the image of a volume, ValueError if it holds several
    volumes or no finite value.
    """
    if bg_img is False:
        return Background(None, False, "")
    if isinstance(bg_img, str) and bg_img.lower() == TEMPLATE:
        return Background(mni152_template(), True, "")
    share = share_in_mni152(places) if space_code(img) == MNI else 0.0
    in_mni152 = share >= _LEAST_SHARE
    if bg_img is not None:
        return Background(_anatomy(bg_img), in_mni152, "")
    if in_mni152:
        return Background(mni152_template(), True, "")
    below = None if own is None else _anatomy(own)
    return Background(below, False, _why(img, share, below))


def _why(img, share, below):
    """Say why no template is drawn, what is, and what the user can do."""
    code = space_code(img)
    reason = f"their header does not say MNI space (code {code}, {CODES.get(code)})"
    if code == MNI:
        reason = (
            f"their header says MNI space, but only {100 * share:.0f}% of the voxels "
            "lie in the template's brain"
        )
    drawn = "without an anatomy" if below is None else "over the mean image"
    return (
        f"the maps are drawn {drawn}, not on the MNI template, because {reason}; give "
        f"an anatomy in their space with bg_img (--bg-img), or bg_img={TEMPLATE!r} if "
        "they are in MNI space"
    )


def _anatomy(img):
    """Read a user's anatomy, zero where it is not finite."""
    from nibabel import Nifti1Image

    data, affine = read_volume(
        img, "bg_img", f"give a Niimg, a file, {TEMPLATE!r}, or False for none"
    )
    return _upright(Nifti1Image(np.where(np.isfinite(data), data, 0.0), affine))


def read_volume(img, name, instead_of_surface):
    """Read a volume that is about to be drawn: data (nx, ny, nz), and affine (mm).

    Raises TypeError if it is a surface, with the advice `instead_of_surface`, and
    ValueError if it is not one volume or has no finite value; `name` is the argument's.
    """
    from neuroextrap.images._opening import open_image, read_image

    opened = read_image(open_image(img, name))
    if opened.is_surface:
        raise TypeError(
            f"{name} must be a volume, got a SurfaceImage; {instead_of_surface}"
        )
    if opened.n_samples not in (None, 1):
        raise ValueError(
            f"{opened.name} must be one volume, got {opened.n_samples}; pick one with "
            "nilearn.image.index_img"
        )
    data = np.asarray(opened.img.dataobj, dtype=float)
    if not np.isfinite(data).any():
        raise ValueError(f"{opened.name} has no finite voxel; give another image")
    return data.reshape(data.shape[:3]), opened.img.affine


def _upright(img):
    """Return an anatomy with upright cubic voxels, not too many for a page."""
    from nilearn.image import resample_img

    sizes = np.linalg.norm(img.affine[:3, :3], axis=0)
    extent = (np.array(img.shape) * sizes).max()
    grid = np.diag([max(sizes.min(), extent / _FINEST)] * 3)
    if np.allclose(img.affine[:3, :3], grid):
        return img
    # nearer to the data than splines, which ring where a brain was cut out
    return resample_img(img, target_affine=grid, interpolation="linear")


@functools.cache
def mni152_template():
    """Load the template brain at 2 mm, from nilearn's own files, in 32 grays.

    Pages with so few grays are a third smaller, and look the same.
    """
    from nilearn.datasets import load_mni152_template
    from nilearn.image import new_img_like

    img = load_mni152_template(resolution=2)
    data = img.get_fdata()
    step = data.max() / _N_GRAYS
    return new_img_like(img, (np.round(data / step) * step).astype(np.float32))


def share_in_mni152(places):
    """Return the share of places (n_voxels, 3) in mm in the template's brain.

    Images in another space can lie there, too, so this is not sufficient.
    """
    from nibabel.affines import apply_affine

    brain = mni152_template()
    data = np.asarray(brain.dataobj) > 0
    voxels = np.rint(apply_affine(np.linalg.inv(brain.affine), places)).astype(int)
    inside = ((voxels >= 0) & (voxels < data.shape)).all(axis=1)
    return float(data[tuple(voxels[inside].T)].sum() / max(1, len(places)))


def surface_grays(masker, bg_img=None):
    """Choose grays for every vertex of a fitted surface masker's mesh.

    High values of `bg_img` are drawn dark. Without it, the sulcal depth that nilearn
    ships is taken when the mesh has the triangles of fsaverage5; False is one gray.
    Returns one array of uint8 per hemisphere. Raises TypeError if `bg_img` is no
    SurfaceImage, ValueError if it has other hemispheres or vertices than the mesh.
    """
    from neuroextrap.images._geometry import surface_mesh

    sides = surface_mesh(masker)
    depth = None if bg_img is False else _depths(sides, bg_img)
    if depth is None:
        return [np.full(len(s.coordinates), _LIGHT, dtype=np.uint8) for s in sides]
    low, high = np.nanpercentile(np.concatenate(depth), [2, 98])
    span = high - low if high > low else 1.0
    shares = [np.clip((np.nan_to_num(d, nan=low) - low) / span, 0, 1) for d in depth]
    return [(_LIGHT - _SPAN * share).astype(np.uint8) for share in shares]


def _depths(sides, bg_img):
    """Return the background's values of every hemisphere, or None without any."""
    from neuroextrap.images._opening import is_surface_image

    if bg_img is None:
        bg_img = _fsaverage5_depth(sides)
    if bg_img is None:
        return None
    if not is_surface_image(bg_img):
        raise TypeError(
            f"bg_img must be a SurfaceImage for maps of a surface, got "
            f"{type(bg_img).__name__}; or False for none"
        )
    parts = {name: np.asarray(x, float) for name, x in bg_img.data.parts.items()}
    depths = [parts.get(side.name, np.empty(0)).ravel() for side in sides]
    for side, values in zip(sides, depths, strict=True):
        if len(values) != len(side.coordinates):
            raise ValueError(
                f"bg_img must have one value for each of the {len(side.coordinates)} "
                f"vertices of the {side.name} mesh, got {len(values)}"
            )
    return depths


def _fsaverage5_depth(sides):
    """Return nilearn's sulcal depth where the triangles are those of fsaverage5."""
    from nilearn.datasets import load_fsaverage, load_fsaverage_data

    meshes = load_fsaverage("fsaverage5")["pial"].parts
    for side in sides:
        mesh = meshes.get(side.name)
        if mesh is None or not np.array_equal(side.faces, mesh.faces):
            return None
    return load_fsaverage_data(mesh="fsaverage5", data_type="sulcal")
