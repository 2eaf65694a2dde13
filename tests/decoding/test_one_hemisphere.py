"""A mask in one hemisphere of a mesh with two: maps there, NaN in the other."""

import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from scipy.spatial import ConvexHull

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import resolve_masker
from neuroextrap.reporting import peak_table
from tests.images.seam import surface_regions

SIZES = {"left": 60, "right": 50}
RADIUS = 8.0


def _ball(n_vertices, seed, shift):
    points = np.random.default_rng(seed).normal(size=(n_vertices, 3))
    points *= 10 / np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices
    return InMemoryMesh(points + np.array([shift, 0, 0]), faces)


MESH = PolyMesh(left=_ball(60, 0, -20), right=_ball(50, 1, 20))


def _mask(side):
    ones = {s: np.full(n, s == side, dtype="int8") for s, n in SIZES.items()}
    return SurfaceImage(MESH, ones)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    data = {
        side: rng.normal(size=(n, 24)) + rng.normal(size=(n, 4))[:, y]
        for side, n in SIZES.items()
    }
    return SurfaceImage(MESH, data), y, runs


def _fit(samples, mask, **options):
    img, y, runs = samples
    light = IdentificationSearchLight(mask, radius=RADIUS, **options)
    return light.fit(img, y, groups=runs)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_other_hemisphere_is_unknown_and_this_one_as_ever(samples, side):
    both, one = _fit(samples, None), _fit(samples, _mask(side))
    other = {"left": "right", "right": "left"}[side]
    assert one.n_elements_ == SIZES[side]
    for name, img in one.maps_.items():
        assert np.isnan(img.data.parts[other]).all(), name
        if not name.endswith(("_fwe", "_fdr")):  # those are over fewer regions
            np.testing.assert_array_equal(
                img.data.parts[side], both.maps_[name].data.parts[side], name
            )


@pytest.mark.parametrize("side", ["left", "right"])
def test_it_is_shown_saved_and_read(samples, side, tmp_path):
    fitted = _fit(samples, _mask(side), n_permutations=20)
    x = peak_table(fitted)["x"]
    assert ((x < 0) if side == "left" else (x > 0)).all()
    fitted.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert "nx-mesh" in read.generate_report().get_standalone()
    place = MESH.parts[side].coordinates[7]
    for one in (fitted, read):
        assert one.find_region(tuple(place)) == 7
        with pytest.raises(ValueError, match="lies in no region"):
            one.find_region(tuple(-place))


def test_atlases_and_masks_of_centers_of_one_hemisphere(samples):
    labels = {side: np.arange(n) // 20 for side, n in SIZES.items()}
    atlas = SurfaceImage(MESH, labels)
    fitted = _fit(samples, _mask("right"), labels_img=atlas)
    assert len(fitted.wins_) == 2
    assert np.isnan(fitted.maps_["accuracy"].data.parts["left"]).all()
    centered = _fit(samples, None, process_mask_img=_mask("left"))
    assert len(centered.wins_) == SIZES["left"]
    assert np.isnan(centered.maps_["accuracy"].data.parts["right"]).all()


def test_images_that_are_unknown_in_one_hemisphere(samples):
    img, y, runs = samples
    parts = {
        "left": np.asarray(img.data.parts["left"]),
        "right": np.full((50, 24), np.nan),
    }
    fitted = _fit((SurfaceImage(MESH, parts), y, runs), None)
    assert fitted.n_elements_ == SIZES["left"]
    assert np.isfinite(fitted.maps_["accuracy"].data.parts["left"]).all()


def test_one_vertex_and_cached_discs(tmp_path):
    lone = {"left": np.zeros(60, "int8"), "right": np.zeros(50, "int8")}
    lone["right"][3] = 1
    for memory in (None, str(tmp_path)):
        masker = resolve_masker(SurfaceImage(MESH, lone), memory=memory)
        discs = surface_regions(masker, RADIUS)
        assert discs.shape == (1, 1)
        assert discs.toarray().all()


def test_an_empty_mask_is_refused():
    empty = {side: np.zeros(n, "int8") for side, n in SIZES.items()}
    with pytest.raises(ValueError, match="is an empty mask"):
        resolve_masker(SurfaceImage(MESH, empty))
