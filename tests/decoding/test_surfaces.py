"""Both hemispheres of a surface: maps as surfaces, a disc as an array, folders."""

import joblib
import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

from neuroextrap.decoding import IdentificationSearchLight, lesion_identification
from tests.analyses import searchlight_of
from tests.decoding.seam import _regions, surface_discs

_RADIUS = 6.0


@pytest.fixture(scope="module")
def samples(occipital_mesh):
    """Cortex with class patterns around vertex 100 of the left hemisphere."""
    mesh = occipital_mesh
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 5), np.repeat(np.arange(5), 4)
    data = {
        side: rng.normal(size=(part.n_vertices, len(y))).astype(np.float32)
        for side, part in mesh.parts.items()
    }
    left = mesh.parts["left"]
    disc = surface_discs(left.coordinates, left.faces, _RADIUS, centers=[100]).indices
    data["left"][disc] += 2 * rng.normal(size=(len(disc), 4))[:, y]
    return SurfaceImage(mesh=mesh, data=data), y, runs


@pytest.fixture(scope="module")
def fitted(samples):
    img, y, runs = samples
    searchlight = IdentificationSearchLight(radius=_RADIUS, n_permutations=10)
    return searchlight.fit(img, y, groups=runs)


def test_maps_are_surfaces_of_both_hemispheres(fitted):
    assert fitted.n_elements_ == 631 + 574
    for name, found in fitted.maps_.items():
        assert isinstance(found, SurfaceImage), name
        assert {side: part.shape for side, part in found.data.parts.items()} == {
            "left": (631,),
            "right": (574,),
        }
        assert all(part.dtype == np.float64 for part in found.data.parts.values())
    assert fitted.maps_["accuracy"].mesh.parts["left"].n_vertices == 631
    parts = {n: m.data.parts["left"][100] for n, m in fitted.maps_.items()}
    assert parts["accuracy"] == 1.0
    assert parts["p_value"] == 1 / 11
    assert abs(np.nanmean(fitted.maps_["accuracy"].data.parts["right"]) - 0.25) < 0.02


@pytest.mark.parametrize(("side", "vertex"), [("left", 100), ("right", 471)])
def test_a_vertex_equals_its_disc_as_an_array(samples, fitted, side, vertex):
    img, y, runs = samples
    mesh = img.mesh.parts[side]
    disc = surface_discs(mesh.coordinates, mesh.faces, _RADIUS, centers=[vertex])
    X = np.asarray(img.data.parts[side])[disc.indices].T
    alone = IdentificationSearchLight(n_permutations=10).fit(X, y, groups=runs)
    for name in ("accuracy", "pairwise_accuracy", "implied_information", "p_value"):
        here = fitted.maps_[name].data.parts[side][vertex]
        np.testing.assert_allclose(here, alone.region_scores_[name][0], err_msg=name)
    assert fitted.maps_["n_voxels"].data.parts[side][vertex] == len(disc.indices)


def test_folders_read_back_bit_by_bit(fitted, tmp_path):
    fitted.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert set(again.maps_) == set(fitted.maps_)
    for name, found in fitted.maps_.items():
        for side, part in found.data.parts.items():
            np.testing.assert_array_equal(again.maps_[name].data.parts[side], part)
    np.testing.assert_array_equal(again.wins_, fitted.wins_)
    assert (tmp_path / "out" / "accuracy.json").is_file()


def small():
    """Two squares of four vertices, one vertex of them never measured."""
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    square = InMemoryMesh(flat, np.array([[0, 1, 2], [0, 2, 3]]))
    rng = np.random.default_rng(1)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    data = {side: rng.normal(size=(4, 12)) for side in ("left", "right")}
    data["right"] += 4 * rng.normal(size=(4, 3))[:, y]
    data["left"][2] = np.nan
    mesh = PolyMesh(left=square, right=square)
    return SurfaceImage(mesh=mesh, data=data), y, runs


def test_vertices_that_were_not_measured_are_nan():
    img, y, runs = small()
    fitted = IdentificationSearchLight(radius=1.0).fit(img, y, groups=runs)
    assert fitted.n_elements_ == 7
    found = fitted.maps_["n_voxels"].data.parts
    np.testing.assert_array_equal(found["left"], [3, 2, np.nan, 2])
    np.testing.assert_array_equal(found["right"], [3, 3, 3, 3])


def test_atlas_labels_and_lesions_on_a_surface():
    img, y, runs = small()
    labels = SurfaceImage(
        mesh=img.mesh,
        data={
            "left": np.array([1, 1, 0, 0], dtype=np.int32),
            "right": np.array([2, 2, 2, 2], dtype=np.int32),
        },
    )
    searchlight = IdentificationSearchLight(labels_img=labels)
    fitted = IdentificationSearchLight(labels_img=labels).fit(img, y, groups=runs)
    assert fitted.table_["name"].unique().tolist() == ["1", "2"]
    found = lesion_identification(searchlight, img, y, runs)
    assert found.table_["n_voxels"].tolist() == [2, 4]
    loss = found["accuracy_loss"].data.parts
    assert loss["right"][0] > loss["left"][0]
    assert np.isnan(loss["left"][3])


def test_memory_keeps_the_discs_of_a_mesh_and_radius(tmp_path, monkeypatch):
    img, y, runs = small()
    calls, search = [], _regions.dijkstra

    def counted(*args, **options):
        calls.append(1)
        return search(*args, **options)

    monkeypatch.setattr(_regions, "dijkstra", counted)

    def n_searches(radius=1.0, **options):
        before = len(calls)
        searchlight = searchlight_of(radius=radius, **options)
        wins = searchlight.fit(img, y, groups=runs).wins_
        if radius == 1.0:
            np.testing.assert_array_equal(wins, plain)
        return len(calls) - before

    plain = IdentificationSearchLight(radius=1.0).fit(img, y, groups=runs).wins_
    assert n_searches() == 2
    assert n_searches(memory=tmp_path) == 1  # both sides have the same mesh
    assert n_searches(memory=joblib.Memory(tmp_path, verbose=0)) == 0
    assert len(list(tmp_path.rglob("surface_discs/*/output.pkl"))) == 1
    assert n_searches(memory=tmp_path, radius=1.5) == 1
