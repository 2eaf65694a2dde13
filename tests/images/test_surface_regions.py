import numpy as np
import pytest

from neuroextrap.images import resolve_masker
from tests.images.seam import feature_coordinates, surface_discs, surface_regions


@pytest.fixture
def masker(surface_mask):
    return resolve_masker(surface_mask)


@pytest.fixture
def cached(surface_mask, tmp_path):
    return resolve_masker(surface_mask, memory=tmp_path)


def test_equal_to_discs_on_each_whole_mesh(surface_mask, masker, cached, tmp_path):
    wanted = np.zeros((masker.n_elements_,) * 2, bool)
    offset = 0
    for side, mask in surface_mask.data.parts.items():
        mesh = surface_mask.mesh.parts[side]
        discs = surface_discs(mesh.coordinates, mesh.faces, 8.0).toarray()
        block = slice(offset, offset + mask.sum())
        wanted[block, block] = discs[np.ix_(mask, mask)]
        offset += mask.sum()
    found = surface_regions(masker, 8.0)
    assert (found.toarray() == wanted).all()
    assert found.dtype == bool
    assert found.indices.dtype == np.int32
    for _ in range(2):  # computed, then read
        again = surface_regions(cached, 8.0)
        assert (again.toarray() == wanted).all()
    assert len(list(tmp_path.rglob("output.pkl"))) == 2
    some = surface_regions(masker, 8.0, centers=[30, 1])
    assert (some.toarray() == wanted[[30, 1]]).all()


def test_bad_input_is_refused(masker):
    with pytest.raises(ValueError, match="radius=-1 must be a positive"):
        surface_regions(masker, -1)
    with pytest.raises(ValueError, match="centers must lie in"):
        surface_regions(masker, 3.0, centers=[999])


def test_fsaverage5_that_comes_with_nilearn():
    from nilearn.datasets import load_fsaverage
    from nilearn.surface import SurfaceImage

    mesh = load_fsaverage("fsaverage5")["white_matter"]
    mask = SurfaceImage(mesh, {s: np.ones(10242, bool) for s in ("left", "right")})
    masker = resolve_masker(mask)
    centers = np.array([0, 500, 10242 + 7])
    discs = surface_regions(masker, 10.0, centers=centers)
    places = feature_coordinates(masker)
    rows = np.split(discs.indices, discs.indptr[1:-1])
    for center, row in zip(centers, rows, strict=True):
        assert center in row
        assert ((row < 10242) == (center < 10242)).all()
        gaps = np.linalg.norm(places[row] - places[center], axis=1)
        assert len(row) > 10
        assert gaps.max() <= 10.0


def test_the_cache_is_read_and_keyed_by_radius(cached, tmp_path):
    first = surface_regions(cached, 5.0)
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("output.pkl")}
    assert len(stored) == 2
    again = surface_regions(cached, 5.0)
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    assert (again.toarray() == first.toarray()).all()
    assert again.has_canonical_format
    surface_regions(cached, 6.0)
    assert len(list(tmp_path.rglob("output.pkl"))) == 4


def test_an_unreadable_cache_file_is_replaced_and_said(cached, tmp_path, caplog):
    first = surface_regions(cached, 5.0)
    path = next(tmp_path.rglob("output.pkl"))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:200])
    again = surface_regions(cached, 5.0)
    assert (again.toarray() == first.toarray()).all()
    assert "Exception while loading results" in caplog.text
    assert path.stat().st_size == size
