"""Samples and residuals as analyses read them."""

import numpy as np
import pytest

from tests.analysis.seam import _samples, read_residuals, read_samples


def some_samples():
    """Twelve samples of six features; one has NaN, one infinity, one is constant."""
    data = 100 + np.random.default_rng(0).normal(size=(12, 6))
    data[3, 0], data[5, 1], data[:, 2] = np.nan, np.inf, 7
    return data


def test_features_are_centered_and_unusable_ones_are_zero():
    data = some_samples()
    samples = read_samples(None, data, dtype=None)
    np.testing.assert_array_equal(samples.finite, [0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(samples.usable, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(samples.location[2:], data[:, 2:].mean(axis=0))
    assert not samples.location[:2].any()
    assert not samples.X[:, :3].any()
    deviations = data[:, 3:] - data[:, 3:].mean(axis=0)
    np.testing.assert_allclose(samples.X[:, 3:], deviations, atol=1e-12)
    assert samples.masker is None
    assert samples.notes == ("3 of 6 voxels were left out (NaN or constant)",)


def test_location_gives_finite_samples_back():
    data = some_samples()
    samples = read_samples(None, data, dtype=None)
    np.testing.assert_allclose(
        (samples.X + samples.location)[:, samples.finite], data[:, samples.finite]
    )


def test_precision_is_the_one_asked_for():
    data = some_samples()
    assert read_samples(None, data).X.dtype == np.float32
    assert read_samples(None, data, dtype=None).X.dtype == np.float64
    single = data.astype(np.float32)
    assert read_samples(None, single, dtype=None).X.dtype == np.float32
    whole = np.arange(12).reshape(6, 2)
    assert read_samples(None, whole, dtype=None).X.dtype == np.float64


def test_samples_are_selected_before_anything_is_judged():
    data = some_samples()
    keep = np.ones(12, dtype=bool)
    keep[[3, 5]] = False
    selected = read_samples(None, data, keep=keep)
    np.testing.assert_array_equal(selected.usable, [1, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(selected.X, read_samples(None, data[keep]).X)


def test_one_sample_has_no_usable_feature_but_a_location():
    row = some_samples()[:1]
    samples = read_samples(None, row)
    assert not samples.usable.any()
    np.testing.assert_array_equal(samples.location, row[0])
    with pytest.raises(ValueError, match="no usable voxel"):
        read_samples(None, row, n_samples=1)


def test_features_are_centered_part_by_part(monkeypatch):
    data = np.random.default_rng(1).normal(size=(16, 9))
    whole = read_samples(None, data)
    monkeypatch.setattr(_samples, "_PART_SIZE", 2 * 16)
    np.testing.assert_array_equal(read_samples(None, data).X, whole.X)


@pytest.mark.parametrize(
    ("imgs", "options", "error", "message"),
    [
        (np.ones((3, 2)), {"n_samples": 4}, ValueError, "3 samples, y has 4"),
        (
            np.ones((3, 2)),
            {"n_samples": 4, "counted": "features"},
            ValueError,
            "features has 4; give one entry of features for every image",
        ),
        (np.ones(3), {}, ValueError, r"shape \(n_samples, n_features\), got \(3,\)"),
        (np.ones((3, 2), dtype=complex), {}, TypeError, "must be real numbers"),
    ],
)
def test_bad_samples_are_refused(imgs, options, error, message):
    with pytest.raises(error, match=message):
        read_samples(None, imgs, **options)


def test_an_array_takes_no_mask():
    with pytest.raises(ValueError, match="mask must be None"):
        read_samples("mask.nii.gz", np.ones((3, 2)))


def test_residuals_are_checked_where_they_are_used():
    residuals, usable = np.ones((4, 3)), np.array([True, True, False])
    residuals[0, 2] = np.nan
    assert read_residuals(residuals, None, usable) is residuals
    with pytest.raises(ValueError, match="has NaN or infinity"):
        read_residuals(residuals, None, ~usable)
    with pytest.raises(ValueError, match="at least three observations"):
        read_residuals(residuals[:2], None, usable)
    with pytest.raises(ValueError, match="must be an array when imgs is an array"):
        read_residuals("residuals.nii.gz", None, usable)
