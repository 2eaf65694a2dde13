"""Receptive-field features against direct sums over pixels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.models.seam import (
    IMAGE_MODELS,
    GaborPyramid,
    RetinotopicFeatures,
    image_features,
    mirrored_energies,
    separable_sums,
)


@pytest.fixture
def images():
    return np.random.default_rng(0).random((5, 12, 16))


@pytest.mark.parametrize("compression", ["log", "sqrt", "energy"])
@pytest.mark.parametrize("subtract_mean", [True, False])
def test_gabor_equals_direct_sums(images, compression, subtract_mean):
    pyramid = GaborPyramid(
        frequencies=(1, 3),
        n_orientations=3,
        compression=compression,
        normalize=False,
        subtract_mean=subtract_mean,
        luminance=False,
    )
    features = pyramid.fit_transform(images)
    z = images - images.mean(axis=(1, 2), keepdims=True) * subtract_mean
    rows, columns = np.mgrid[:12, :16]
    compress = {"log": np.log1p, "sqrt": np.sqrt, "energy": np.asarray}[compression]
    for j in range(0, features.shape[1], 5):
        r, c = pyramid.feature_positions_[j]
        angle = np.radians(pyramid.feature_orientations_[j])
        rate = 2 * np.pi * pyramid.feature_frequencies_[j] / 12
        width = pyramid.feature_widths_[j]
        window = np.exp(-((rows - r) ** 2 + (columns - c) ** 2) / (2 * width**2))
        window /= 2 * np.pi * width**2
        phase = rate * (np.cos(angle) * (columns - c) + np.sin(angle) * (rows - r))
        energy = np.abs((np.exp(-1j * phase) * window * z).sum(axis=(1, 2))) ** 2
        np.testing.assert_allclose(features[:, j], compress(energy), rtol=1e-10)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-4), (np.float64, 1e-12)])
def test_mirrored_energies_equal_complex_sums(images, dtype, rtol):
    rng = np.random.default_rng(1)
    rows, columns = (
        rng.normal(size=(n, size)) + 1j * rng.normal(size=(n, size))
        for n, size in ((3, 12), (4, 16))
    )
    rows[0] = 1e-40  # a window that vanishes here
    found = mirrored_energies(images.astype(dtype), rows, columns)
    for energies, across in zip(found, (columns, columns.conj()), strict=True):
        assert energies.dtype == dtype
        expected = np.abs(separable_sums(images, rows, across)) ** 2
        np.testing.assert_allclose(
            energies.reshape(5, -1), expected, rtol=rtol, atol=1e-3 * rtol
        )


@pytest.mark.parametrize("n_orientations", [1, 2, 4, 5])
def test_mirrored_orientations_are_those_of_mirrored_images(images, n_orientations):
    pyramid = GaborPyramid(
        frequencies=(2,), n_orientations=n_orientations, luminance=False
    )
    shape = (5, n_orientations, *[4, 5])
    features = pyramid.fit_transform(images).reshape(shape)
    mirrored = pyramid.transform(images[:, :, ::-1]).reshape(shape)
    order = -np.arange(n_orientations) % n_orientations
    np.testing.assert_allclose(mirrored[:, order, :, ::-1], features, atol=1e-12)


def test_gabor_normalized_energies_average_to_one(images):
    pyramid = GaborPyramid(compression="energy").fit(images)
    features = pyramid.transform(images)
    for frequency in pyramid.frequencies_:
        of_level = pyramid.feature_frequencies_ == frequency
        assert features[:, of_level].mean() == pytest.approx(1)
    scaled = GaborPyramid().fit_transform(255 * images)
    np.testing.assert_allclose(scaled, GaborPyramid().fit_transform(images), rtol=1e-9)


def test_gabor_prefers_its_own_orientation_and_frequency():
    rows, columns = np.mgrid[:32, :32]
    waves = 2 * np.pi * 4 / 32
    grating = np.sin(waves * (columns * np.cos(np.pi / 4) + rows * np.sin(np.pi / 4)))
    options = {"luminance": False, "texture": False}
    pyramid = GaborPyramid(normalize=False, compression="energy", **options)
    features = pyramid.fit_transform(grating[None])[0]
    inside = (np.abs(pyramid.feature_positions_ - 15.5) < 8).all(axis=1)
    best = np.flatnonzero(inside)[features[inside].argmax()]
    assert pyramid.feature_orientations_[best] == 45
    assert pyramid.feature_frequencies_[best] == 4


def test_gabor_grid_is_half_a_period_and_frequencies_are_octaves():
    pyramid = GaborPyramid(max_grid=None, luminance=False)
    pyramid.fit(np.random.default_rng(0).random((2, 32, 32)))
    np.testing.assert_array_equal(pyramid.frequencies_, [1, 2, 4, 8])
    assert len(pyramid.feature_positions_) == 8 * sum(
        (2 * f) ** 2 for f in (1, 2, 4, 8)
    )
    of_level = pyramid.feature_frequencies_ == 8
    np.testing.assert_allclose(
        np.diff(np.unique(pyramid.feature_positions_[of_level])), 2
    )


def _cell(size, n_cells, index):
    """Share of every pixel along a side in one of equal cells, by fine sampling."""
    fine = np.arange(size * n_cells) // size == index  # n_cells samples a pixel
    return fine.reshape(size, n_cells).mean(axis=1)


def test_fine_grids_are_averaged_before_the_compression(images):
    options = {"frequencies": (3, 5), "n_orientations": 2, "luminance": False}
    pyramid = GaborPyramid(max_grid=4, **options).fit(images)
    whole = GaborPyramid(max_grid=None, compression="energy", **options).fit(images)
    energies = whole.transform(images)
    for frequency in (3, 5):
        fine = energies[:, whole.feature_frequencies_ == frequency]
        found = pyramid.transform(images)[:, pyramid.feature_frequencies_ == frequency]
        rows, columns = 2 * frequency, round(2 * frequency * 16 / 12)
        fine = fine.reshape(5, 2, rows, columns)
        for place in range(16):
            r, c = _cell(rows, 4, place // 4), _cell(columns, 4, place % 4)
            weights = np.outer(r / r.sum(), c / c.sum())
            expected = np.log1p((fine * weights).sum(axis=(2, 3)))
            np.testing.assert_allclose(found[:, place::16], expected, rtol=1e-10)
    np.testing.assert_allclose(pyramid.feature_positions_[0], [1.0, 1.5])


def test_luminance_and_color_are_means_and_deviations_over_cells():
    colors = np.random.default_rng(0).random((4, 10, 12, 3))
    pyramid = GaborPyramid(frequencies=(1,), n_orientations=1, max_grid=3)
    features = pyramid.fit_transform(colors)
    red, green, blue = np.moveaxis(colors, 3, 0)
    opponent = {"red_green": red - green, "blue_yellow": blue - (red + green) / 2}
    kinds = pyramid.feature_kinds_
    assert dict(zip(*np.unique(kinds, return_counts=True), strict=True)) == {
        "gabor": 4,
        "luminance": 36,
        "red_green": 9,
        "red_green_contrast": 9,
        "blue_yellow": 9,
        "blue_yellow_contrast": 9,
        "red_green_gabor": 1,
        "blue_yellow_gabor": 1,
    }
    scale = colors.mean(axis=3).std()
    for j in np.flatnonzero([not kind.endswith("gabor") for kind in kinds]):
        name = kinds[j].removesuffix("_contrast")
        channel = opponent.get(name, colors.mean(axis=3))
        n_cells = 6 if name == "luminance" else 3
        r, c = pyramid.feature_positions_[j]
        r = _cell(10, n_cells, round((r + 0.5) * n_cells / 10 - 0.5))
        c = _cell(12, n_cells, round((c + 0.5) * n_cells / 12 - 0.5))
        weights = np.outer(r, c) / (r.sum() * c.sum())
        expected = (weights * channel).sum(axis=(1, 2))
        if kinds[j].endswith("_contrast"):
            spread = (channel - expected[:, None, None]) ** 2
            expected = np.sqrt((weights * spread).sum(axis=(1, 2)))
        np.testing.assert_allclose(features[:, j], expected / scale, atol=1e-12)


def test_texture_is_the_correlation_of_amplitudes_over_a_fine_grid(images):
    """Twin: numpy's correlation of every two maps, averaged over cells."""
    options = {"frequencies": (1, 2, 3), "n_orientations": 2, "luminance": False}
    pyramid = GaborPyramid(max_grid=2, **options).fit(images)
    found = pyramid.transform(images)[:, pyramid.feature_kinds_ == "texture"]
    fine = GaborPyramid(
        max_grid=4, compression="energy", normalize=False, texture=False, **options
    ).fit(images)
    energies = fine.transform(images)
    maps = [  # frequency 1 has two rows of centers, not four
        energies[:, at & (fine.feature_orientations_ == angle)]
        for at in (fine.feature_frequencies_ == frequency for frequency in (2, 3))
        for angle in (0, 90)
    ]
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    names = pyramid.get_feature_names_out()[pyramid.feature_kinds_ == "texture"]
    assert names[3] == "texture_f2_o90_f3_o0_r5.5_c7.5"
    for image in range(5):
        expected = np.corrcoef([np.sqrt(values[image]) for values in maps])
        expected = [expected[pair] for pair in pairs]
        np.testing.assert_allclose(found[image], expected, atol=1e-12)
    flat = GaborPyramid(max_grid=2, **options).fit_transform(np.ones((2, 12, 16)))
    assert np.isfinite(flat).all()


def test_texture_does_not_change_the_other_features(images):
    plain = GaborPyramid(max_grid=2, texture=False).fit(images)
    pyramid = GaborPyramid(max_grid=2).fit(images)
    others = pyramid.feature_kinds_ != "texture"
    assert others.sum() < len(others)
    found = pyramid.transform(images)[:, others]
    np.testing.assert_allclose(found, plain.transform(images), rtol=1e-9)
    names = pyramid.get_feature_names_out()[others]
    assert (names == plain.get_feature_names_out()).all()


def test_energies_of_colors_are_those_of_their_channels():
    colors = np.random.default_rng(3).random((4, 20, 28, 3))
    pyramid = GaborPyramid(max_grid=4)
    features, kinds = pyramid.fit_transform(colors), pyramid.feature_kinds_
    red, green, blue = np.moveaxis(colors, 3, 0)
    channels = {"red_green": red - green, "blue_yellow": blue - (red + green) / 2}
    gray = GaborPyramid(max_grid=2, luminance=False, texture=False)
    for name, channel in channels.items():
        found = features[:, kinds == f"{name}_gabor"]
        np.testing.assert_allclose(found, gray.fit_transform(channel), rtol=1e-9)


def test_color_images_without_color_are_gray_images(images):
    colored = np.repeat(images[..., np.newaxis], 3, axis=3)
    gray = GaborPyramid().fit_transform(images)
    pyramid = GaborPyramid().fit(colored)
    found = pyramid.transform(colored)
    np.testing.assert_allclose(found[:, : gray.shape[1]], gray, rtol=1e-9)
    assert not found[:, gray.shape[1] :].any()
    plain = GaborPyramid(color=False).fit_transform(colored)
    np.testing.assert_allclose(plain, gray, rtol=1e-9)
    with pytest.raises(ValueError, match=r"fit saw \(12, 16, 3\); resize or convert"):
        pyramid.transform(images)
    retinotopic = RetinotopicFeatures()
    np.testing.assert_allclose(
        retinotopic.fit_transform(colored), retinotopic.fit_transform(images)
    )


@pytest.mark.parametrize("shape", [(112, 112, 3), (112, 112), (64, 200, 3), (8, 8)])
def test_every_column_is_documented_and_there_are_few(shape):
    rng = np.random.default_rng(0)
    pyramid = GaborPyramid().fit(rng.integers(256, size=(2, *shape), dtype=np.uint8))
    names = pyramid.get_feature_names_out()
    n_features = pyramid.transform(np.zeros((1, *shape))).shape[1]
    assert n_features == len(set(names)) < 4000
    if shape[0] == 112:
        assert n_features == {3: 3416, 112: 2072}[shape[-1]]
    described = (
        pyramid.feature_kinds_,
        pyramid.feature_positions_,
        pyramid.feature_frequencies_,
        pyramid.feature_orientations_,
        pyramid.feature_widths_,
    )
    assert {len(column) for column in described} == {n_features}
    assert (pyramid.feature_widths_ > 0).all()
    assert (pyramid.feature_positions_ < shape[:2]).all()


def test_names_say_frequency_orientation_and_place(images):
    pyramid = GaborPyramid(frequencies=(2,), n_orientations=2, luminance=True)
    features = pyramid.fit_transform(images)
    names = pyramid.get_feature_names_out()
    assert len(set(names)) == features.shape[1] == len(pyramid.feature_widths_)
    assert names[-1].startswith("luminance_r")
    at_90 = pyramid.feature_orientations_ == 90
    assert all("_o90_" in name for name in names[at_90])
    names = RetinotopicFeatures().fit(images).get_feature_names_out()
    assert len(set(names)) == RetinotopicFeatures().fit_transform(images).shape[1]


def test_retinotopic_equals_direct_sums(images):
    model = RetinotopicFeatures(widths=(0.25, 0.125))
    features = model.fit_transform(images)
    rows, columns = np.mgrid[:12, :16]
    for j in range(features.shape[1]):
        r, c = model.feature_positions_[j]
        width = model.feature_widths_[j]
        weights = np.exp(-((rows - r) ** 2 + (columns - c) ** 2) / (2 * width**2))
        weights /= weights.sum()
        luminance = (weights * images).sum(axis=(1, 2))
        spread = (images - luminance[:, None, None]) ** 2
        contrast = np.sqrt((weights * spread).sum(axis=(1, 2)))
        kind = model.feature_kinds_[j]
        expected = luminance if kind == "luminance" else contrast
        np.testing.assert_allclose(features[:, j], expected, rtol=1e-9)


@pytest.mark.parametrize("model", [GaborPyramid(), RetinotopicFeatures()])
def test_float32_and_subsets(images, model):
    model = clone(model).fit(images)
    whole = model.transform(images)
    np.testing.assert_allclose(model.transform(images[2:4]), whole[2:4], rtol=1e-12)
    single = model.transform(images.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, whole, atol=2e-3)


@pytest.mark.parametrize("model", [GaborPyramid(), RetinotopicFeatures()])
def test_bad_images(images, model):
    model = clone(model)
    with pytest.raises(TypeError, match="images must be real numbers"):
        model.fit(images * 1j)
    with pytest.raises(ValueError, match=r"\(n_images, height, width, 3\)"):
        model.fit(images[..., None])
    with pytest.raises(ValueError, match="NaN or infinite pixels"):
        model.fit(np.where(images > 0.5, np.nan, images))
    model.fit(images)
    with pytest.raises(ValueError, match=r"fit saw \(12, 16\); resize"):
        model.transform(images[:, :8])


def test_integer_images_do_not_overflow():
    small = np.full((1, 8, 8), 200, dtype=np.uint8)
    small[0, ::2] = 10
    for model in (GaborPyramid(), RetinotopicFeatures()):
        expected = model.fit_transform(small.astype(float))
        np.testing.assert_array_equal(model.fit_transform(small), expected)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaborPyramid(frequencies=(7,)), r"frequencies=.* must lie in \(0, 6\]"),
        (GaborPyramid(max_grid=0), "max_grid=0 must be at least 1"),
        (RetinotopicFeatures(widths=(0,)), r"widths=.* must be positive"),
        (RetinotopicFeatures(luminance=False, contrast=False), "leave no feature"),
    ],
)
def test_bad_options(images, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(images)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fitting_and_transforming_together_changes_nothing(dtype):
    images = np.random.default_rng(7).random((4, 24, 32, 3)).astype(dtype)
    together = GaborPyramid()
    features = together.fit_transform(images)
    apart = GaborPyramid().fit(images)
    assert features.dtype == dtype
    np.testing.assert_array_equal(features, apart.transform(images))
    np.testing.assert_array_equal(together.energy_scale_, apart.energy_scale_)
    plain = GaborPyramid(normalize=False).fit_transform(images)
    assert not np.allclose(plain, features)


def test_features_do_not_depend_on_how_many_images_are_worked_on_at_once(monkeypatch):
    images = np.random.default_rng(8).random((7, 24, 32, 3))
    at_once = GaborPyramid().fit_transform(images)
    monkeypatch.setattr("neuroextrap.models._receptive_fields._PIXELS", images[:2].size)
    np.testing.assert_allclose(GaborPyramid().fit_transform(images), at_once, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 24, 24), (3, 20, 28, 3)])
def test_filters_give_the_features(shape):
    """Twin: features are energies, or sums, of images under the filters."""
    images = np.random.default_rng(5).random(shape)
    pyramid = GaborPyramid(max_grid=None, subtract_mean=False, n_orientations=6)
    features, kinds = pyramid.fit_transform(images), pyramid.feature_kinds_
    gray = images if images.ndim == 3 else images.mean(axis=3)
    every = np.einsum("nhw,fhw->nf", gray, pyramid.filters())
    gabor = kinds == "gabor"
    scale = pyramid.energy_scale_[
        np.searchsorted(pyramid.frequencies_, pyramid.feature_frequencies_[gabor])
    ]
    energies = np.log1p(np.abs(every[:, gabor]) ** 2 / scale)
    np.testing.assert_allclose(features[:, gabor], energies, rtol=1e-6)
    light = kinds == "luminance"
    means = every[:, light].real / pyramid.luminance_scale_
    np.testing.assert_allclose(features[:, light], means, rtol=1e-6)
    if images.ndim == 4:
        red_green = images[..., 0] - images[..., 1]
        chosen = np.flatnonzero(kinds == "red_green")
        means = np.einsum("nhw,fhw->nf", red_green, pyramid.filters(chosen)).real
        means /= pyramid.luminance_scale_
        np.testing.assert_allclose(features[:, chosen], means, rtol=1e-6, atol=1e-9)
        slow = pyramid.feature_frequencies_ == 1  # on a grid that is not averaged
        chosen = np.flatnonzero((kinds == "red_green_gabor") & slow)
        energies = np.einsum("nhw,fhw->nf", red_green, pyramid.filters(chosen))
        energies = np.log1p(np.abs(energies) ** 2 / pyramid.color_energy_scale_[0, 0])
        np.testing.assert_allclose(features[:, chosen], energies, rtol=1e-6)


@pytest.mark.parametrize("model", ["gabor", "retinotopic"])
@pytest.mark.parametrize("shape", [(23, 16, 16), (23, 16, 12, 3)])
def test_features_of_parts_are_those_of_all(model, shape, caplog):
    """Parts of two images, and images that were not trained on."""
    images = (
        np.random.default_rng(8).random(shape)
        * np.arange(1, 24)[(...,) + (None,) * (len(shape) - 1)]
    )
    for train in (None, np.arange(3, 20)):
        whole = image_features(images, model, train)
        with caplog.at_level("INFO"):
            parts = image_features(
                images, model, train, verbose=1, part=2 * images[0].size
            )
        np.testing.assert_allclose(parts, whole, rtol=1e-9)
        assert "images (100%)" in caplog.text
        transformer = IMAGE_MODELS[model]().fit(
            images[slice(3, 20) if train is not None else slice(None)]
        )
        np.testing.assert_allclose(whole, transformer.transform(images), rtol=1e-9)


@pytest.mark.parametrize("model", [GaborPyramid(), RetinotopicFeatures()])
def test_names_before_fit_say_that_it_is_missing(model):
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
