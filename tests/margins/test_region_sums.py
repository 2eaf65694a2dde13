"""Sums over overlapping regions, by shared runs: equal to plain sums."""

import numpy as np
import pytest
import scipy.sparse

from tests.margins.seam import lattice_spheres, share_sums


def mask_with_holes(shape=(12, 11, 14), seed=0):
    mask = np.random.default_rng(seed).random(shape) < 0.93
    mask[:, 5, 3:9] = False
    return mask


def random_regions(seed=1):
    """Some regions without order, one of them empty, one of all features."""
    members = np.random.default_rng(seed).random((40, 70)) < 0.3
    members[7], members[11] = False, True
    return scipy.sparse.csr_array(members)


REGIONS = {
    "spheres": lattice_spheres(np.ones((12, 11, 14), bool), np.eye(4), 3.0),
    "holes": lattice_spheres(mask_with_holes(), np.eye(4), 3.0),
    "thin": lattice_spheres(np.ones((1, 1, 40), bool), np.eye(4), 5.0),
    "random": random_regions(),
    "atlas": scipy.sparse.csr_array(np.kron(np.eye(5), np.ones((1, 14))).astype(bool)),
    "empty": scipy.sparse.csr_array((3, 9), dtype=bool),
}
CASES = pytest.mark.parametrize("name", REGIONS)


@CASES
@pytest.mark.parametrize("n_columns", [1, 64, 100])
def test_sums_are_those_of_the_members(name, n_columns):
    regions = REGIONS[name]
    # whole numbers: every order of additions gives the same sums
    numbers = np.random.default_rng(2).integers(-99, 99, (regions.shape[1], n_columns))
    out = np.full((n_columns, regions.shape[0]), np.nan, dtype=np.float32)
    sums = share_sums(regions)
    for _ in range(2):  # the workspace of the first call serves the second
        sums.fill(numbers.astype(np.float32), out)
        np.testing.assert_array_equal(out, (regions.toarray().astype(int) @ numbers).T)


def test_spheres_share_most_additions_and_an_atlas_none():
    spheres, atlas = REGIONS["spheres"], REGIONS["atlas"]
    assert share_sums(spheres).n_additions < 0.6 * spheres.nnz
    # parts that are made of parts
    assert (share_sums(spheres).parts.indices >= spheres.shape[1]).any()
    assert share_sums(atlas).n_additions == atlas.nnz
    assert share_sums(atlas).parts.shape[0] == 0
