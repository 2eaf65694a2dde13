import numpy as np
import pytest

from neuroextrap.images import resolve_masker, to_img
from neuroextrap.regions import coordinate_spheres
from tests.images.seam import (
    center_features,
    feature_coordinates,
    feature_values,
    lattice_spheres,
    load_samples,
    mask_lattice,
    surface_mesh,
)


@pytest.fixture
def masker(volume, mask_data):
    return resolve_masker(volume(mask_data.astype("uint8")))


def test_coordinates_are_the_affine_times_the_voxel(volume, mask_data, masker):
    found = feature_coordinates(masker)
    mask, affine = mask_lattice(masker)
    for place, voxel in zip(found, np.argwhere(mask_data), strict=True):
        np.testing.assert_allclose(place, (affine @ [*voxel, 1])[:3])
    assert mask.dtype == bool


def test_stencil_spheres_index_the_maskers_features(volume, masker):
    # paint each feature's world position; sphere members must lie within the radius
    places = feature_coordinates(masker)
    painted = load_samples(to_img(places.T, masker), masker).T
    spheres = lattice_spheres(*mask_lattice(masker), 4.0)
    rows = np.split(spheres.indices, spheres.indptr[1:-1])
    for center, row in zip(painted, rows, strict=True):
        within = np.linalg.norm(painted - center, axis=1) <= 4.0 * (1 + 1e-9)
        assert np.flatnonzero(within).tolist() == row.tolist()
    balls = coordinate_spheres(places, 4.0)
    assert (balls.indices == spheres.indices).all()


def test_hemispheres_in_feature_order(surface_mask):
    masker = resolve_masker(surface_mask)
    left, right = surface_mesh(masker)
    assert (left.name, right.name) == ("left", "right")
    assert left.offset == 0
    assert right.offset == surface_mask.data.parts["left"].sum()
    for side in (left, right):
        mask = surface_mask.data.parts[side.name]
        assert side.vertices.tolist() == np.flatnonzero(mask).tolist()
        assert len(side.coordinates) == len(mask)
    places = feature_coordinates(masker)
    np.testing.assert_array_equal(
        places[right.offset], right.coordinates[right.vertices[0]]
    )
    assert len(places) == masker.n_elements_


def test_a_surface_has_no_lattice(surface_mask):
    with pytest.raises(TypeError, match="must be a NiftiMasker to have a lattice"):
        mask_lattice(resolve_masker(surface_mask))


def test_centers_of_a_second_mask(volume, masker, mask_data, surface_mask, surface):
    second = np.zeros((4, 5, 3), "uint8")
    second[:2] = 1
    found = center_features(volume(second), masker)
    voxels = np.argwhere(mask_data)
    assert found.tolist() == np.flatnonzero(voxels[:, 0] < 2).tolist()
    on_surface = resolve_masker(surface_mask)
    right = surface(np.zeros(30), np.ones(24))
    n_left = surface_mask.data.parts["left"].sum()
    assert center_features(right, on_surface)[0] == n_left


def test_bad_second_masks_are_refused(volume, masker, mask_data, surface_mask):
    with pytest.raises(ValueError, match="process_mask_img selects no voxel"):
        center_features(volume((~mask_data).astype("uint8")), masker)
    with pytest.raises(ValueError, match="process_mask_img must not hold NaN"):
        center_features(volume(np.full((4, 5, 3), np.nan)), masker)
    with pytest.raises(ValueError, match="process_mask_img has shape"):
        center_features(volume(np.ones((4, 5, 2))), masker)
    with pytest.raises(ValueError, match="must be one image, got 2 samples"):
        feature_values(volume(np.ones((4, 5, 3, 2))), masker, "process_mask_img")
    with pytest.raises(TypeError, match="not both volumes or both surfaces"):
        center_features(surface_mask, masker)


def test_values_are_the_images_own(volume, masker, mask_data):
    labels = np.arange(60, dtype="int16").reshape(4, 5, 3)
    found = feature_values(volume(labels), masker, "labels_img")
    assert found.dtype == np.int16
    assert (found == labels[mask_data]).all()
    assert (feature_values(volume(labels[..., None]), masker, "x") == found).all()
