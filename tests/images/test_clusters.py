import numpy as np
import pytest
from nilearn.reporting import get_clusters_table

from neuroextrap.images._clusters import cluster_table, peak_features, peaks


def naive_peaks(values, places, distance):
    """Every feature that is the first highest of its own ball, highest first."""
    found = []
    for i, place in enumerate(places):
        near = np.linalg.norm(places - place, axis=1) <= distance
        rivals = [(-values[j], j) for j in np.flatnonzero(near & np.isfinite(values))]
        if np.isfinite(values[i]) and min(rivals) == (-values[i], i):
            found.append(i)
    return sorted(found, key=lambda i: (-values[i], i))


@pytest.mark.parametrize("distance", [0.0, 0.1, 0.25, 2.0])
def test_peaks_equal_looking_at_every_ball(distance):
    rng = np.random.default_rng(0)
    places = rng.random((200, 3))
    values = rng.integers(0, 8, 200).astype(float)  # many ties
    values[:5] = np.nan
    wanted = naive_peaks(values, places, distance)
    found = peak_features(values, places, min_distance=distance, n_peaks=200)
    assert found.tolist() == wanted
    few = peak_features(values, places, min_distance=distance, n_peaks=3)
    assert few.tolist() == wanted[:3]
    above = peak_features(
        values, places, min_distance=distance, n_peaks=200, threshold=6
    )
    assert above.tolist() == [i for i in wanted if values[i] > 6]


def test_a_shoulder_is_no_peak():
    line = np.c_[np.arange(10.0), np.zeros((10, 2))]
    assert peak_features(10 - np.arange(10), line, min_distance=2.0).tolist() == [0]


def test_nothing_but_nan_has_no_peak(volume):
    places, values = peaks(volume(np.full((3, 3, 3), np.nan)))
    assert places.shape == (0, 3)
    assert values.shape == (0,)


def test_peaks_of_images_in_world_millimeters(volume, surface, mesh):
    data = np.full((6, 6, 6), 0.1)
    data[1, 2, 3], data[5, 5, 0] = 0.9, 0.8
    img = volume(data)
    places, values = peaks(img, n_peaks=2, min_distance=5.0)
    np.testing.assert_allclose(places[0], (img.affine @ [1, 2, 3, 1])[:3])
    np.testing.assert_allclose(places[1], (img.affine @ [5, 5, 0, 1])[:3])
    assert values.tolist() == [0.9, 0.8]
    right = np.zeros(24)
    right[7] = 1.0
    places, values = peaks(surface(np.zeros(30), right), n_peaks=1)
    np.testing.assert_array_equal(places[0], mesh.parts["right"].coordinates[7])


def test_clusters_are_nilearns(volume, surface):
    data = np.random.default_rng(1).normal(size=(8, 8, 8))
    data[2:4, 2:4, 2:4] += 6
    table = cluster_table(volume(data), 3.0, min_voxels=4)
    theirs = get_clusters_table(volume(data), 3.0, cluster_threshold=4)
    assert len(table) >= 1
    assert table.equals(theirs)
    holed = data.copy()
    holed[data < 1] = np.nan
    assert cluster_table(volume(holed), 3.0, min_voxels=4).equals(theirs)
    left = np.full(30, np.nan)
    left[4] = 5.0
    on_surface = cluster_table(surface(left, np.zeros(24)), 2.0)
    assert on_surface["Peak Stat"].tolist() == [5.0]


def test_no_cluster_is_an_empty_table(volume):
    table = cluster_table(volume(np.ones((4, 4, 4))), 3.0)
    assert len(table) == 0
    assert "Peak Stat" in table.columns


def test_bad_requests_are_refused(volume):
    img = volume(np.ones((3, 3, 3)))
    for threshold in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="threshold must be a finite number >= 0"):
            cluster_table(img, threshold)
    with pytest.raises(ValueError, match="n_peaks must be >= 1"):
        peaks(img, n_peaks=0)
    with pytest.raises(ValueError, match="min_distance >= 0"):
        peaks(img, min_distance=-1)
    with pytest.raises(ValueError, match="must have shapes"):
        peak_features(np.ones(3), np.ones((2, 3)))
    with pytest.raises(ValueError, match="must be one map, got 2 samples"):
        peaks(volume(np.ones((3, 3, 3, 2))))
    with pytest.raises(TypeError, match="img must be an image"):
        cluster_table(np.ones(3), 1.0)
