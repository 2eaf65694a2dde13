import numpy as np
import pytest

from neuroextrap.regions import coordinate_spheres
from tests.regions.seam import _regions as loose
from tests.regions.seam import lattice_spheres, nearest_features


def _gaps(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def naive_nearest(points, n_nearest):
    """Sort by (is not self, distance rounded, index)."""
    members = np.zeros((len(points),) * 2, bool)
    for i, row in enumerate(_gaps(points).round(6)):
        others = np.arange(len(points)) != i
        members[i, np.lexsort((np.arange(len(points)), row, others))[:n_nearest]] = True
    return members


@pytest.mark.parametrize("radius", [0.05, 0.3, 5.0])
def test_balls_equal_all_pairwise_distances(radius):
    points = np.random.default_rng(0).random((150, 3))
    balls = coordinate_spheres(points, radius)
    assert (balls.toarray() == (_gaps(points) <= radius)).all()


def test_balls_on_a_lattice_equal_the_stencil():
    mask = np.random.default_rng(1).random((6, 7, 5)) < 0.6
    affine = np.diag([3.1, 3.1, 3.1, 1.0])
    world = np.argwhere(mask) * 3.1
    stencil = lattice_spheres(mask, affine, 6.2)
    balls = coordinate_spheres(world, 6.2)
    assert (balls.indices == stencil.indices).all()
    assert (balls.indptr == stencil.indptr).all()


def test_coincident_features_all_belong():
    points = np.zeros((4, 3))
    points[3, 0] = 9
    assert coordinate_spheres(points, 1.0).sum(axis=1).tolist() == [3, 3, 3, 1]


@pytest.mark.parametrize("n_nearest", [1, 2, 7, 10, 33, 60, 210])
def test_nearest_with_ties_equal_full_sorting(n_nearest):
    lattice = np.argwhere(np.ones((6, 7, 5), bool)) * 3.1
    regions = nearest_features(lattice, n_nearest)
    assert (regions.toarray() == naive_nearest(lattice, n_nearest)).all()


def test_more_ties_than_the_first_query_are_followed():
    # 100 features at one distance of the first; the lowest indices must win
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(100)], axis=1)
    points = np.concatenate([np.zeros((1, 3)), ring])
    regions = nearest_features(points, 4, centers=[0])
    assert regions.indices.tolist() == [0, 1, 2, 3]


def test_coincident_features_keep_their_own_center():
    regions = nearest_features(np.zeros((50, 3)), 2)
    rows = regions.indices.reshape(50, 2)
    assert all(i in row for i, row in enumerate(rows))
    assert (rows[:, 0] == np.r_[0, np.zeros(49, int)]).all()


@pytest.mark.parametrize("build", [coordinate_spheres, nearest_features])
def test_centers_and_blocks(build, monkeypatch):
    points = np.random.default_rng(2).random((80, 3)).round(1)
    size = 0.25 if build is coordinate_spheres else 9
    everywhere = build(points, size)
    centers = np.array([70, 2, 2])
    chosen = build(points, size, centers=centers)
    assert (chosen.toarray() == everywhere.toarray()[centers]).all()
    monkeypatch.setattr(loose, "_BATCH_CENTERS", 7)
    blocked = build(points, size)
    assert (blocked.indices == everywhere.indices).all()
    assert (blocked.indptr == everywhere.indptr).all()
    assert blocked.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        (np.zeros((4, 2)), "shape \\(n_features >= 1, 3\\)"),
        (np.zeros((0, 3)), "shape \\(n_features >= 1, 3\\)"),
        (np.full((2, 3), np.nan), "coordinates must be finite"),
    ],
)
def test_bad_coordinates_are_refused(coordinates, message):
    with pytest.raises(ValueError, match=message):
        coordinate_spheres(coordinates, 1.0)
    with pytest.raises(ValueError, match=message):
        nearest_features(coordinates, 1)


@pytest.mark.parametrize("n_nearest", [0, 6, 2.0, True])
def test_bad_n_nearest_is_refused(n_nearest):
    with pytest.raises(ValueError, match=r"n_nearest=.* must be an integer in 1\.\.5"):
        nearest_features(np.eye(5, 3), n_nearest)


def test_bad_radius_and_centers_are_refused():
    with pytest.raises(ValueError, match=r"radius=.* must be a positive"):
        coordinate_spheres(np.eye(3), -1)
    with pytest.raises(ValueError, match=r"centers must lie in 0\.\.2"):
        nearest_features(np.eye(3), 1, centers=[3])
