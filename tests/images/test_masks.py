"""Masks: what the template holds, what is refused, and where images are finite."""

import nibabel
import numpy as np
import pytest

from neuroextrap.images import mni152_mask
from neuroextrap.images._maskers import finite_mask


def test_mask_is_binary_and_has_the_known_number_of_voxels():
    data = np.asanyarray(mni152_mask(3).dataobj)
    assert set(np.unique(data)) == {0, 1}
    assert data.sum() == 69_765


@pytest.mark.parametrize("resolution", [0, 2.5, True])
def test_resolution_is_checked(resolution):
    with pytest.raises(ValueError, match="resolution must be"):
        mni152_mask(resolution)


def test_finite_mask_is_an_8_bit_image_of_finite_voxels():
    img = nibabel.Nifti1Image(np.array([[[0.0, np.nan]]]), np.eye(4))
    data = np.asarray(finite_mask(img).dataobj)
    assert data.dtype == np.uint8
    np.testing.assert_array_equal(data, [[[1, 0]]])
