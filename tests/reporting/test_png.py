"""Smaller pictures: gray ones stay exact, others look the same."""

import io

import matplotlib
import numpy as np
import pytest
from PIL import Image

from tests.reporting.seam import few_colors, gray_png


def written(pixels):
    """A PNG of pixels (height, width, 4)."""
    target = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(target, format="png")
    return target.getvalue()


def read(data):
    """Pixels (height, width, 4) of a PNG."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))


@pytest.fixture
def gray():
    """An opaque picture in thirty grays."""
    shade = np.random.default_rng(0).integers(0, 30, size=(60, 80, 1)) * 8
    return np.concatenate([shade.repeat(3, 2), np.full_like(shade, 255)], 2).astype(
        "u1"
    )


def test_gray_pictures_keep_every_pixel_and_get_smaller(gray):
    data = written(gray)
    smaller = gray_png(data)
    assert len(smaller) < len(data)
    np.testing.assert_array_equal(read(smaller), gray)


@pytest.mark.parametrize("channel", range(4))
def test_pictures_with_one_other_pixel_stay_as_they_are(gray, channel):
    gray[3, 4, channel] -= 7
    assert gray_png(written(gray)) == written(gray)


@pytest.mark.parametrize("alpha", [255, 90])
def test_few_colors_are_near_the_many(gray, alpha):
    colors = matplotlib.colormaps["plasma"](np.linspace(0, 1, 40), bytes=True)
    share = np.linspace(0, 1, 60)[:, None, None]
    picture = gray.astype(float)
    picture[:, 40:] = share * colors + (1 - share) * picture[:, 40:]
    picture[:20, :20, 3] = alpha
    picture = picture.astype("u1")
    data = written(picture)
    assert len(few_colors(data)) < len(data) / 2
    error = np.abs(read(few_colors(data)).astype(int) - picture)
    assert np.percentile(error, 99) <= 25
    assert error.mean() < 5  # of 255
