"""What an atlas calls a place: inside, near, outside, on other grids and on meshes."""

import numpy as np
import pytest
from nibabel import Nifti1Image
from nibabel.affines import apply_affine
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from sklearn.utils import Bunch

from tests.images.seam import REACH, atlas_names_at

NAMES = {1: "V1", 2: "FFA", 3: "A1"}


@pytest.fixture
def atlas():
    """Three blobs in turned, anisotropic voxels."""
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, -1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([3.0, 2.0, 4.0])
    affine[:3, 3] = 10, -40, 25
    data = np.zeros((12, 14, 9), dtype=np.int16)
    data[2:4, 2:5, 2:4], data[8:10, 3:6, 5:7], data[3:6, 10:12, 6:8] = 1, 2, 3
    return Nifti1Image(data, affine)


def slow_name(atlas, place):
    """The same by measuring the distance to every voxel."""
    data, voxels = atlas.get_fdata(), np.argwhere(atlas.get_fdata() >= 0)
    at = np.rint(apply_affine(np.linalg.inv(atlas.affine), place)).astype(int)
    if (at >= 0).all() and (at < data.shape).all() and data[tuple(at)]:
        return NAMES[int(data[tuple(at)])]
    labeled = voxels[data[tuple(voxels.T)] > 0]
    far = np.linalg.norm(apply_affine(atlas.affine, labeled) - place, axis=1)
    if far.min() > REACH:
        return ""
    return f"near {NAMES[int(data[tuple(labeled[far.argmin()])])]}"


def test_places_get_the_label_that_a_search_of_all_voxels_gives(atlas):
    rng = np.random.default_rng(0)
    voxels = rng.uniform(-2, [14, 16, 11], size=(800, 3))
    places = apply_affine(atlas.affine, voxels)
    found = atlas_names_at(
        Bunch(maps=atlas, lut=None, labels=["", *NAMES.values()]), places
    )
    assert found == [slow_name(atlas, place) for place in places]
    kinds = {name.split()[0] for name in found if name}
    assert kinds == {"V1", "FFA", "A1", "near"}
    assert "" in found


def test_names_are_read_from_the_table_beside_the_file(atlas, tmp_path):
    inside = apply_affine(atlas.affine, [[2, 2, 2], [8, 3, 5]])
    atlas.to_filename(tmp_path / "atlas.nii.gz")
    assert atlas_names_at(tmp_path / "atlas.nii.gz", inside) == ["1", "2"]
    rows = "".join(f"{index}\t{name}\n" for index, name in NAMES.items())
    (tmp_path / "atlas.tsv").write_text(f"index\tname\n{rows}")
    assert atlas_names_at(str(tmp_path / "atlas.nii.gz"), inside) == ["V1", "FFA"]


def test_a_label_without_a_name_is_refused(atlas, tmp_path):
    atlas.to_filename(tmp_path / "atlas.nii.gz")
    (tmp_path / "atlas.tsv").write_text("index\tname\n1\tV1\n")
    with pytest.raises(ValueError, match=r"without a name, \[2, 3\]"):
        atlas_names_at(
            tmp_path / "atlas.nii.gz", apply_affine(atlas.affine, [[2, 2, 2]])
        )


def test_vertices_of_a_surface_have_names():
    shift = np.array([100.0, 0, 0])
    sheet = np.stack([np.arange(10.0) * 3, np.zeros(10), np.zeros(10)], axis=1)
    faces = np.array([[0, 1, 2]])
    mesh = PolyMesh(
        left=InMemoryMesh(coordinates=sheet, faces=faces),
        right=InMemoryMesh(coordinates=sheet + shift, faces=faces),
    )
    data = {"left": np.zeros(10, int), "right": np.zeros(10, int)}
    data["left"][:2], data["right"][5] = 1, 2
    img = SurfaceImage(mesh=mesh, data=data)
    places = [sheet[1], sheet[2], sheet[5], sheet[5] + shift]
    found = atlas_names_at(Bunch(maps=img, labels=["V1", "A1"]), places)
    assert found == ["V1", "near V1", "", "A1"]
