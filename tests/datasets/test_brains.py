"""Simulated brains: the images hold the samples, the spheres are in their places."""

import numpy as np
import pytest

from neuroextrap.datasets import simulate_brain


@pytest.fixture(scope="module")
def brain():
    return simulate_brain(
        resolution=8,
        radius=16.0,
        information=(5.0, 9.0),
        coordinates=[(30, -50, -20), (-40, -70, 0)],
        n_classes=5,
        n_runs=3,
        random_state=2,
    )


def test_images_give_the_samples_back(brain):
    assert brain.imgs.get_data_dtype() == np.float32
    mask = np.asanyarray(brain.masker.mask_img_.dataobj).astype(bool)
    data = brain.imgs.get_fdata(dtype=np.float32)
    np.testing.assert_array_equal(data[mask].T, brain.samples.X)
    assert np.isnan(data[~mask]).all()


def test_labels_and_runs_follow_the_samples(brain):
    np.testing.assert_array_equal(
        brain.y, [f"s{number:02d}" for number in brain.samples.y]
    )
    np.testing.assert_array_equal(brain.runs, np.repeat([0, 1, 2], 5))


def test_spheres_are_the_voxels_within_the_radius(brain):
    mask_img = brain.masker.mask_img_
    voxels = np.argwhere(np.asanyarray(mask_img.dataobj))
    places = voxels @ mask_img.affine[:3, :3].T + mask_img.affine[:3, 3]
    for center, region in zip(brain.coordinates, brain.samples.planted, strict=True):
        distance = np.sqrt(((places - center) ** 2).sum(axis=1))
        assert distance.min() == 0
        np.testing.assert_array_equal(np.flatnonzero(distance <= 16.0), region)


def test_overlapping_spheres_are_refused():
    with pytest.raises(ValueError, match="planted regions overlap"):
        simulate_brain(
            resolution=8,
            radius=16.0,
            information=(1.0, 1.0),
            coordinates=[(30, -50, -20), (38, -50, -20)],
        )


def test_one_center_per_information():
    with pytest.raises(ValueError, match="for each of the 2 values of information"):
        simulate_brain(information=(1.0, 2.0), coordinates=[(0, 0, 0)])
