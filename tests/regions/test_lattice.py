import numpy as np
import pytest

from tests.regions.seam import _regions as lattice
from tests.regions.seam import lattice_spheres, strided_centers


def naive_spheres(mask, affine, radius):
    """All pairwise world distances, dense."""
    world = np.argwhere(mask) @ affine[:3, :3].T + affine[:3, 3]
    gaps = np.linalg.norm(world[:, None] - world[None], axis=2)
    return gaps <= radius * (1 + 1e-9)


def rotated_affine():
    angle = np.deg2rad(30)
    turn = np.array(
        [
            [np.cos(angle), -np.sin(angle), 0],
            [np.sin(angle), np.cos(angle), 0],
            [0, 0, 1],
        ]
    )
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([2.0, -2.5, 4.0])
    affine[:3, 3] = [10, -20, 5]
    return affine


AFFINES = {
    "isotropic": np.diag([3.0, 3.0, 3.0, 1.0]),
    "flipped": np.diag([-3.1, 3.75, 3.75, 1.0]),
    "rotated": rotated_affine(),
    "sheared": np.array(
        [[2.0, 0.7, 0, 1], [0, 2.0, 0.3, 2], [0.1, 0, 3.0, 3], [0, 0, 0, 1]]
    ),
}


@pytest.mark.parametrize("radius", [0.5, 3.0, 6.0, 7.3, 100.0])
@pytest.mark.parametrize("name", AFFINES)
def test_equal_to_all_pairwise_distances(name, radius):
    mask = np.random.default_rng(0).random((6, 7, 5)) < 0.6
    spheres = lattice_spheres(mask, AFFINES[name], radius)
    assert (spheres.toarray() == naive_spheres(mask, AFFINES[name], radius)).all()


def test_rotated_anisotropic_voxels_reach_as_far_as_they_should():
    # 2 x 2.5 x 4 mm: within 4 mm along the axes, two, one and one voxels away
    mask = np.zeros((9, 9, 9), bool)
    mask[:, 4, 4] = mask[4, :, 4] = mask[4, 4, :] = True
    spheres = lattice_spheres(mask, rotated_affine(), 4.0)
    voxels = np.argwhere(mask)
    middle = np.flatnonzero((voxels == 4).all(axis=1))[0]
    reached = np.abs(voxels[spheres[[middle]].indices] - 4).max(axis=0)
    assert reached.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("radius", "count"), [(1, 7), (2, 33), (3, 123), (4, 257), (5, 515)]
)
def test_inner_spheres_hold_the_lattice_points_of_a_closed_ball(radius, count):
    mask = np.ones((13, 13, 13), bool)
    spheres = lattice_spheres(mask, np.diag([3.1] * 3 + [1]), radius * 3.1)
    assert spheres.sum(axis=1).max() == count


def test_one_slice_and_single_voxel_masks():
    mask = np.zeros((4, 5, 1), bool)
    mask[1:3, 2:4, 0] = True
    assert lattice_spheres(mask, AFFINES["flipped"], 100.0).nnz == 16
    mask[:] = False
    mask[3, 4, 0] = True
    assert lattice_spheres(mask, AFFINES["flipped"], 9.0).toarray().tolist() == [[True]]


def test_centers_are_rows_of_all_spheres():
    mask = np.random.default_rng(1).random((6, 6, 6)) < 0.5
    everywhere = lattice_spheres(mask, AFFINES["rotated"], 5.0)
    centers = np.array([7, 3, 3, 0])
    chosen = lattice_spheres(mask, AFFINES["rotated"], 5.0, centers=centers)
    assert (chosen.toarray() == everywhere.toarray()[centers]).all()


def test_block_size_does_not_affect_results(monkeypatch):
    mask = np.random.default_rng(2).random((7, 6, 5)) < 0.7
    whole = lattice_spheres(mask, AFFINES["rotated"], 6.0)
    monkeypatch.setattr(lattice, "_BATCH_PAIRS", 1)
    single = lattice_spheres(mask, AFFINES["rotated"], 6.0)
    assert (whole.indices == single.indices).all()
    assert (whole.indptr == single.indptr).all()


def test_format_is_bool_with_sorted_int32_indices():
    spheres = lattice_spheres(np.ones((4, 4, 4), bool), AFFINES["isotropic"], 5.0)
    assert spheres.dtype == bool
    assert spheres.indices.dtype == spheres.indptr.dtype == np.int32
    rows = np.split(spheres.indices, spheres.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    assert len(spheres.data) == len(spheres.indices) == spheres.indptr[-1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radius": 0}, "radius=.* must be a positive finite number"),
        ({"radius": np.inf}, "radius=.* must be a positive finite number"),
        ({"centers": [27]}, "centers must lie in 0..26"),
        ({"centers": [-1]}, "centers must lie in 0..26"),
        ({"centers": [0.5]}, "centers must be a non-empty 1-D array"),
        ({"centers": []}, "centers must be a non-empty 1-D array"),
    ],
)
def test_bad_input_is_refused(changes, message):
    given = {"radius": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        lattice_spheres(np.ones((3, 3, 3), bool), np.eye(4), **given)


def test_more_pairs_than_int32_can_address_are_refused(monkeypatch):
    monkeypatch.setattr("neuroextrap.regions._regions._MOST_PAIRS", 100)
    with pytest.raises(ValueError, match="at most 100 are possible"):
        lattice_spheres(np.ones((5, 5, 5), bool), np.eye(4), 2.0)


def test_strided_centers_cover_the_coarser_lattice():
    mask = np.zeros((8, 7, 3), bool)
    mask[1:, 2:, 1] = True  # one slice, off the origin
    voxels = np.argwhere(mask)[strided_centers(mask, 2)]
    assert sorted(set(voxels[:, 0])) == [1, 3, 5, 7]
    assert sorted(set(voxels[:, 1])) == [2, 4, 6]
    assert set(voxels[:, 2]) == {1}
    assert len(voxels) == 12


def test_stride_one_keeps_every_voxel_and_axes_may_differ():
    mask = np.ones((4, 4, 4), bool)
    assert (strided_centers(mask, 1) == np.arange(64)).all()
    assert len(strided_centers(mask, (1, 2, 4))) == 8


@pytest.mark.parametrize("stride", [0, 1.5, (1, 2), "2"])
def test_bad_strides_are_refused(stride):
    with pytest.raises(ValueError, match=r"stride=.* must be an integer >= 1"):
        strided_centers(np.ones((3, 3, 3), bool), stride)


def test_a_stride_without_centers_is_refused():
    mask = np.zeros((4, 4, 1), bool)
    mask[0, 1] = mask[1, 0] = True
    with pytest.raises(ValueError, match="leaves no voxel"):
        strided_centers(mask, 3)
