"""Small fitted analyses to report on."""

import numpy as np
import pytest

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight


@pytest.fixture(scope="session")
def brain():
    """Two spheres in a coarse brain, 4 classes, 5 runs."""
    return simulate_brain(
        resolution=8,
        radius=16.0,
        information=(30.0, 40.0),
        coordinates=[(30, -50, -20), (-40, -70, 0)],
        n_classes=4,
        n_runs=5,
    )


@pytest.fixture(scope="session")
def fitted(brain):
    """A searchlight with permutations."""
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=16.0, n_permutations=20
    )
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="session")
def one_region():
    """One region of plain arrays, without permutations, class names to be escaped."""
    rng = np.random.default_rng(0)
    names = np.array(["<b>face</b>", "a & b", '"cat"'])
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    return IdentificationSearchLight().fit(X, names[y], groups=runs)
