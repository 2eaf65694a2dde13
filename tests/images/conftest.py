"""Small images that the tests of this room share."""

import nibabel
import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from scipy.spatial import ConvexHull

AFFINE = np.array(
    [[-2.0, 0, 0, 10], [0, 1.8, 0.5, -4], [0, -0.5, 3.0, 2], [0, 0, 0, 1]]
)


@pytest.fixture
def volume():
    """Return a function: array -> NIfTI image on an oblique affine."""
    return lambda data, affine=AFFINE: nibabel.Nifti1Image(np.asarray(data), affine)


@pytest.fixture
def mask_data():
    """An irregular mask, 4 x 5 x 3."""
    return np.random.default_rng(0).random((4, 5, 3)) < 0.6


@pytest.fixture
def bold_data():
    """Series of 8 samples, 4 x 5 x 3 x 8."""
    return np.random.default_rng(1).normal(size=(4, 5, 3, 8)) + 100


@pytest.fixture
def mesh():
    """Two small closed hemispheres of different sizes."""
    sides = {}
    for seed, (side, n_vertices) in enumerate([("left", 30), ("right", 24)]):
        points = np.random.default_rng(seed).normal(size=(n_vertices, 3))
        points *= 10 / np.linalg.norm(points, axis=1, keepdims=True)
        sides[side] = InMemoryMesh(points, ConvexHull(points).simplices)
    return PolyMesh(**sides)


@pytest.fixture
def surface(mesh):
    """Return a function: (left, right) arrays -> SurfaceImage."""

    def build(left, right):
        parts = {"left": np.asarray(left), "right": np.asarray(right)}
        return SurfaceImage(mesh=mesh, data=parts)

    return build


@pytest.fixture
def surface_mask(surface):
    """Mask with holes in both hemispheres."""
    rng = np.random.default_rng(3)
    return surface(rng.random(30) < 0.7, rng.random(24) < 0.7)
