"""The template mask: what it holds and what is refused."""

import numpy as np
import pytest

from neuroextrap.images import mni152_mask


def test_mask_is_binary_and_has_the_known_number_of_voxels():
    data = np.asanyarray(mni152_mask(3).dataobj)
    assert set(np.unique(data)) == {0, 1}
    assert data.sum() == 69_765


@pytest.mark.parametrize("resolution", [0, 2.5, True])
def test_resolution_is_checked(resolution):
    with pytest.raises(ValueError, match="resolution must be"):
        mni152_mask(resolution)
