"""What lies under a map: an anatomy, the template that nilearn ships, or nothing."""

import functools

import numpy as np

_LEAST_SHARE = 0.95
_LIGHT, _SPAN = 225, 85
_FINEST = 160


def anatomy(places, bg_img=None):
    """Choose the anatomy to be drawn under voxels at `places` (n_voxels, 3) in mm.

    Without `bg_img` it is the MNI152 template that nilearn ships when at least 95% of
    the places lie in its brain; False is nothing. Returns one volume with upright cubic
    voxels, at most 160 along its longest side, or None. Raises TypeError if `bg_img` is
    no image of a volume, ValueError if it holds several or nothing finite.
    """
    from nibabel import Nifti1Image

    if bg_img is False:
        return None
    if bg_img is None:
        return mni152_template() if lies_in_mni152(places) else None
    data, affine = read_volume(
        bg_img, "bg_img", "give a Niimg, a file, or False for none"
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
    """Load the template brain at 2 mm, from nilearn's own files."""
    from nilearn.datasets import load_mni152_template

    return load_mni152_template(resolution=2)


def lies_in_mni152(places):
    """Return whether places (n_voxels, 3) in mm lie in the MNI152 template's brain.

    Images in another space can lie there too; only their maker knows.
    """
    from nibabel.affines import apply_affine

    brain = mni152_template()
    data = np.asarray(brain.dataobj) > 0
    voxels = np.rint(apply_affine(np.linalg.inv(brain.affine), places)).astype(int)
    inside = ((voxels >= 0) & (voxels < data.shape)).all(axis=1)
    return bool(data[tuple(voxels[inside].T)].sum() >= _LEAST_SHARE * len(places))


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
