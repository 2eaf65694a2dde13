import heapq
import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from tests.regions.seam import _regions as surfaces
from tests.regions.seam import surface_discs


def ball_mesh(n_vertices=120, seed=0):
    points = np.random.default_rng(seed).normal(size=(n_vertices, 3))
    points *= 10 / np.linalg.norm(points, axis=1, keepdims=True)
    return points, ConvexHull(points).simplices


def naive_discs(coordinates, faces, radius):
    """Dijkstra with a heap, one center at a time."""
    neighbors = {i: set() for i in range(len(coordinates))}
    for face in faces:
        for a, b in itertools.permutations(face.tolist(), 2):
            neighbors[a].add(b)
    members = np.zeros((len(coordinates),) * 2, bool)
    for center in range(len(coordinates)):
        best, heap = {}, [(0.0, center)]
        while heap:
            distance, vertex = heapq.heappop(heap)
            if vertex in best:
                continue
            best[vertex] = distance
            for other in neighbors[vertex] - best.keys():
                step = np.linalg.norm(coordinates[vertex] - coordinates[other])
                heapq.heappush(heap, (distance + step, other))
        members[center, [v for v, d in best.items() if d <= radius]] = True
    return members


@pytest.mark.parametrize("radius", [1.0, 4.0, 9.0, 1000.0])
def test_equal_to_a_naive_dijkstra(radius):
    coordinates, faces = ball_mesh()
    discs = surface_discs(coordinates, faces, radius)
    assert (discs.toarray() == naive_discs(coordinates, faces, radius)).all()
    assert discs.dtype == bool
    assert discs.indices.dtype == np.int32


def test_separate_pieces_and_lone_vertices_stay_apart():
    coordinates, faces = ball_mesh()
    twice = np.concatenate([coordinates, coordinates + 1e-3, [[0.0, 0, 0]]])
    both = np.concatenate([faces, faces + len(coordinates)])
    discs = surface_discs(twice, both, 1000.0).toarray()
    n = len(coordinates)
    assert discs[:n, :n].all()
    assert not discs[:n, n:].any()
    assert discs[-1].sum() == 1


def test_vertices_at_one_place_are_joined_by_an_edge_of_length_zero():
    coordinates = np.array([[0.0, 0, 0], [0, 0, 0], [5, 0, 0]])
    discs = surface_discs(coordinates, np.array([[0, 1, 2]]), 1.0).toarray()
    assert discs.astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_centers_and_blocks(monkeypatch):
    coordinates, faces = ball_mesh()
    everywhere = surface_discs(coordinates, faces, 6.0)
    chosen = surface_discs(coordinates, faces, 6.0, centers=[9, 0, 9])
    assert (chosen.toarray() == everywhere.toarray()[[9, 0, 9]]).all()
    monkeypatch.setattr(surfaces, "_BATCH_DISTANCES", 1)
    single = surface_discs(coordinates, faces, 6.0)
    assert (single.indices == everywhere.indices).all()


@pytest.mark.parametrize(
    ("faces", "message"),
    [
        (np.zeros((2, 4), int), "faces must be integers of shape \\(n_faces, 3\\)"),
        (np.zeros((2, 3)), "faces must be integers"),
        (np.array([[0, 1, 120]]), "faces must index vertices 0..119"),
    ],
)
def test_bad_faces_are_refused(faces, message):
    with pytest.raises(ValueError, match=message):
        surface_discs(ball_mesh()[0], faces, 1.0)


def test_bad_mesh_radius_and_centers_are_refused():
    coordinates, faces = ball_mesh()
    with pytest.raises(ValueError, match="coordinates must have shape"):
        surface_discs(coordinates[:, :2], faces, 1.0)
    with pytest.raises(ValueError, match=r"radius=.* must be a positive"):
        surface_discs(coordinates, faces, 0)
    with pytest.raises(ValueError, match="centers must lie in"):
        surface_discs(coordinates, faces, 1.0, centers=[120])
