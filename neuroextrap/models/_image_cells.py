"""Means of images over a grid of cells: luminance, and color-opponent channels."""

import numpy as np

from neuroextrap.models._receptive_field_grid import area_windows, separable_sums

OPPONENT_KINDS = (
    "red_green",
    "red_green_contrast",
    "blue_yellow",
    "blue_yellow_contrast",
)


def cell_means(images, grid):
    """Average images (n_images, height, width) over a grid of cells (down, across)."""
    windows = [
        area_windows(size, n).astype(images.dtype, copy=False)
        for size, n in zip(images.shape[1:], grid, strict=True)
    ]
    return separable_sums(images, *windows)


def opponent_features(images, grid):
    """Means and standard deviations of color-opponent channels over a grid of cells.

    `images` are (n_images, height, width, 3); four arrays (n_images, n_cells) come in
    the order of `OPPONENT_KINDS`.
    """
    red, green, blue = np.moveaxis(images, 3, 0)
    features = []
    for channel in (red - green, blue - (red + green) / 2):
        # variances do not depend on an offset; values about zero keep their digits
        offset = channel.mean(axis=(1, 2), keepdims=True)
        mean = cell_means(channel - offset, grid)
        square = cell_means((channel - offset) ** 2, grid)
        contrast = np.sqrt(np.maximum(square - mean**2, 0))
        features += [mean + offset[:, :, 0], contrast]
    return features
