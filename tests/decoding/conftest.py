"""Two pieces of cortex, small enough for whole analyses of surfaces."""

import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh


@pytest.fixture(scope="session")
def occipital_mesh():
    """Both hemispheres of fsaverage5 behind y = -80 mm, of 631 and 574 vertices."""
    from nilearn.datasets import load_fsaverage

    mesh = load_fsaverage("fsaverage5")["pial"]
    return PolyMesh(**{side: _behind(part, -80) for side, part in mesh.parts.items()})


def _behind(part, y):
    faces = part.faces[(part.coordinates[part.faces, 1] < y).all(axis=1)]
    kept, numbers = np.unique(faces, return_inverse=True)
    return InMemoryMesh(part.coordinates[kept], numbers.reshape(faces.shape))
