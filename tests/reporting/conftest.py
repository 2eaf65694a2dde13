"""Small fitted analyses to report on, and their pages, whole or without pictures."""

import base64
import functools
import gzip
import json
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.spatial
from nibabel import Nifti1Image
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from sklearn.utils import Bunch

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from tests.reporting.chromium import CHROMIUM, Browser
from tests.reporting.seam import identification_sections, viewer_html
from tests.reporting.undrawn import pages_undrawn


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
def sections(fitted):
    """The parts of its report, by heading, without pictures."""
    with pages_undrawn():
        return dict(identification_sections(fitted))


@pytest.fixture(scope="session")
def reports(request):
    """A function that makes the report of a fixture's analysis, once.

    Returns the report, what was warned of, and whether its figures were closed.
    """

    @functools.cache
    def report(name):
        analysis, before = request.getfixturevalue(name), plt.get_fignums()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = analysis.generate_report()
        return made, [str(each.message) for each in told], plt.get_fignums() == before

    return report


@pytest.fixture(scope="session")
def page(reports):
    """The report of the searchlight, as HTML."""
    return reports("fitted")[0].get_standalone()


@pytest.fixture(scope="session")
def viewers(request):
    """A function that makes the page of a fixture's viewer, once for its options."""

    @functools.cache
    def viewer(name, **options):
        return viewer_html(request.getfixturevalue(name), **options)

    return viewer


@pytest.fixture(scope="session")
def compared(fitted, brain):
    """The same classifier on the responses, and on noise in their place."""
    noise = np.random.default_rng(0).normal(size=brain.imgs.shape)
    deaf = IdentificationSearchLight(brain.masker.mask_img_, radius=16.0)
    deaf.fit(Nifti1Image(noise, brain.imgs.affine), brain.y, groups=brain.runs)
    return compare_decoders(fitted, deaf, unit="sample", n_permutations=100)


@pytest.fixture(scope="session")
def one_region():
    """One region of plain arrays, without permutations, class names to be escaped."""
    rng = np.random.default_rng(0)
    names = np.array(["<b>face</b>", "a & b", '"cat"'])
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    return IdentificationSearchLight().fit(X, names[y], groups=runs)


REGION_NAMES = ["</script><b>left</b>", "a & b", '"c"', "d"]


@pytest.fixture(scope="session")
def atlas(brain):
    """Four slabs across x, a gap between them, with names to be escaped."""
    mask = brain.masker.mask_img_
    slab = 1 + np.arange(mask.shape[0]) // 7
    slab[[6, 7, 13, 14]] = 0
    labels = np.broadcast_to(slab[:, None, None], mask.shape).astype(np.int16)
    bunch = Bunch(maps=Nifti1Image(labels, mask.affine), labels=REGION_NAMES)
    light = IdentificationSearchLight(mask, labels_img=bunch)
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="session")
def oblique():
    """Anisotropic voxels in turned axes, one thin axis; no groups with all classes."""
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, -1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([3.0, 2.0, 6.0])
    affine[:3, 3] = 10, -40, 25
    rng = np.random.default_rng(1)
    y, runs = np.tile([0, 1, 2], 3), np.repeat([0, 1, 2], 3)
    shape = 9, 14, 3
    data = rng.normal(size=(*shape, 9)) + rng.normal(size=(*shape, 3))[..., y]
    mask = Nifti1Image(np.ones(shape, dtype=np.uint8), affine)
    light = IdentificationSearchLight(mask, radius=5.0, process_mask_img=mask)
    return light.fit(Nifti1Image(data, affine), y, groups=runs)


def _ball(center):
    """A closed mesh of 300 vertices, 40 mm across."""
    number = np.arange(300) + 0.5
    height, angle = 1 - number / 150, np.pi * (1 + 5**0.5) * number
    ring = np.sqrt(1 - height**2)
    places = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    faces = scipy.spatial.ConvexHull(places).simplices
    return InMemoryMesh(coordinates=20 * places + center, faces=faces)


@pytest.fixture(scope="session")
def surface():
    """Two balls; the outer side of the left one tells six classes apart."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(6), 4), np.repeat(np.arange(4), 6)
    mesh = PolyMesh(left=_ball([-40, 0, 0]), right=_ball([40, 0, 0]))
    data = {side: rng.normal(size=(300, 24)) for side in ("left", "right")}
    outer = np.maximum(-45 - mesh.parts["left"].coordinates[:, 0], 0) / 15
    data["left"] += outer[:, None] * rng.normal(size=(300, 6))[:, y]
    light = IdentificationSearchLight(radius=9.0, n_permutations=20)
    return light.fit(SurfaceImage(mesh=mesh, data=data), y, groups=runs)


@pytest.fixture(scope="session")
def page_data():
    """What a page knows of its regions: a function of its HTML."""

    def read(page):
        match = re.search(r'class="nx-data">(.*?)</script>', page)
        data = json.loads(_inflated(match.group(1)))
        data["survives"] = _unpacked(data["survives"], "u1").astype(bool)
        data["region_of"] = _unpacked(data["region_of"], "<i4")
        for each in data["maps"]:
            each["values"] = _unpacked(each["values"], "<f4")
        for side in data.get("hemispheres", ()):
            for name, kind in (("coordinates", "<f4"), ("faces", "<i4")):
                side[name] = _unpacked(side[name], kind).reshape(-1, 3)
            side["features"] = _unpacked(side["features"], "<i4")
            side["shades"] = _unpacked(side["shades"], "u1")
        return data

    return read


def _unpacked(text, kind):
    return np.frombuffer(_inflated(text), dtype=kind)


def _inflated(text):
    return gzip.decompress(base64.b64decode(text))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium, closed at the end."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    running = Browser(tmp_path_factory.mktemp("profile"))
    try:
        running.attach()
        yield running
    finally:
        running.close()
