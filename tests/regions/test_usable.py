"""Dropping unusable features equals dropping columns one by one."""

import numpy as np
import pytest
import scipy.sparse

from tests.regions.seam import usable_regions


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [1, 2, 4])
def test_rows_equal_rows_filtered_by_hand(seed, least):
    rng = np.random.default_rng(seed)
    members = rng.random((20, 15)) < 0.3
    members[3] = False
    usable = rng.random(15) < 0.7
    regions = scipy.sparse.csr_array(members)
    left, counts = usable_regions(regions, usable, least)
    np.testing.assert_array_equal(counts, (members & usable).sum(axis=1))
    expected = members & usable & (counts >= least)[:, None]
    np.testing.assert_array_equal(left.toarray(), expected)
    assert left.has_sorted_indices


def test_nothing_to_drop_copies_nothing():
    regions = scipy.sparse.csr_array(np.ones((3, 4), dtype=bool))
    left, counts = usable_regions(regions, np.ones(4, dtype=bool), 2)
    assert left is regions
    assert counts.tolist() == [4, 4, 4]


def test_small_regions_are_emptied_also_when_all_features_are_usable():
    members = np.array([[1, 1, 1], [1, 0, 0]], dtype=bool)
    left, counts = usable_regions(
        scipy.sparse.csr_array(members), np.ones(3, dtype=bool), 2
    )
    assert np.diff(left.indptr).tolist() == [3, 0]
    assert counts.tolist() == [3, 1]


def test_no_region_left_is_an_error():
    regions = scipy.sparse.csr_array(np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="no region has min_voxels=2"):
        usable_regions(regions, np.ones(3, dtype=bool), 2)
