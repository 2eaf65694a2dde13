import numpy as np
import pytest

from tests.images.seam import peak_features


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


def test_a_shoulder_is_no_peak():
    line = np.c_[np.arange(10.0), np.zeros((10, 2))]
    found = peak_features(10.0 - np.arange(10), line, n_peaks=10, min_distance=2.0)
    assert found.tolist() == [0]


def test_nothing_but_nan_has_no_peak():
    places = np.arange(9.0).reshape(3, 3)
    found = peak_features(np.full(3, np.nan), places, n_peaks=10, min_distance=16.0)
    assert found.shape == (0,)


def test_a_distance_below_zero_is_refused():
    values, places = np.ones(3), np.arange(9.0).reshape(3, 3)
    with pytest.raises(ValueError, match="min_distance must be >= 0"):
        peak_features(values, places, n_peaks=10, min_distance=-1)
