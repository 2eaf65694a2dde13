"""The mean of the images as gray levels."""

import nibabel
import numpy as np
import pytest

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import list_images, mean_gray_levels

AFFINE = np.diag([-3.0, 3, 4, 1])


@pytest.fixture
def series():
    """A series whose voxels have means of 100 to 160."""
    rng = np.random.default_rng(0)
    means = np.linspace(100, 160, 60).reshape(3, 4, 5, 1)
    return nibabel.Nifti1Image(means + rng.normal(size=(3, 4, 5, 8)), AFFINE)


@pytest.fixture
def mask():
    data = np.ones((3, 4, 5), dtype="int8")
    data[0] = 0
    return nibabel.Nifti1Image(data, AFFINE)


def levels(imgs, mask):
    return mean_gray_levels(list_images(imgs), mask)


def test_it_is_the_mean_scaled_to_gray_levels(series, mask):
    img = levels([series, series.slicer[..., :2]], mask)
    mean = series.get_fdata().mean(axis=3)
    top = np.percentile(mean[mask.get_fdata() > 0], 98)
    expected = np.rint(255 * np.minimum(mean / top, 1))
    np.testing.assert_array_equal(img.get_fdata(), expected)
    np.testing.assert_allclose(img.affine, AFFINE)
    assert img.get_data_dtype() == np.float32


def test_single_volumes_are_averaged(series, mask):
    singles = [series.slicer[..., i] for i in range(8)]
    np.testing.assert_array_equal(
        levels(singles, mask).get_fdata(), levels(series, mask).get_fdata()
    )


def test_unknown_voxels_are_black(series, mask):
    data = series.get_fdata().copy()
    data[1, 1, 1, 3] = np.nan
    assert levels(nibabel.Nifti1Image(data, AFFINE), mask).get_fdata()[1, 1, 1] == 0


def test_signed_constant_and_mni_images_have_none(series, mask):
    signed = nibabel.Nifti1Image(series.get_fdata() - 130, AFFINE)
    assert levels(signed, mask) is None
    constant = nibabel.Nifti1Image(np.full((3, 4, 5, 2), 7.0), AFFINE)
    assert levels(constant, mask) is None
    mask.set_sform(AFFINE, 4)
    assert levels(series, mask) is None


def test_a_mask_of_another_grid_does(series):
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2), "int8"), np.eye(4))
    assert levels(series, mask) is not None


def test_surfaces_have_none(surface, surface_mask):
    masker = resolve_masker(surface_mask)
    assert levels(surface(np.ones(30), np.ones(24)), masker.mask_img_) is None


def test_labeled_samples_keep_it_whatever_was_cleaned(series, mask):
    import pandas as pd

    labels = pd.DataFrame({"trial_type": list("abababab"), "run": [0] * 4 + [1] * 4})
    samples = labeled_samples(
        series, labels, masker=resolve_masker(mask), standardize=True
    )
    np.testing.assert_array_equal(
        samples.bg_img.get_fdata(), levels(series, mask).get_fdata()
    )
