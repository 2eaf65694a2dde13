"""Means of images over a grid of cells: luminance, and color-opponent channels."""

import numpy as np

from neuroextrap.models._receptive_field_grid import area_windows, separable_sums

OPPONENT_KINDS = (
    "red_green",
    "red_green_contrast",
    "blue_yellow",
    "blue_yellow_contrast",
)

# values of the images that are worked on at once
_PIXELS = 2**19


def cell_means(images, grid):
    """Average images (n_images, height, width) over a grid of cells (down, across)."""
    windows = [
        area_windows(size, n).astype(images.dtype, copy=False)
        for size, n in zip(images.shape[1:], grid, strict=True)
    ]
    return separable_sums(images, *windows)


def coarsened(images, most):
    """Average images (n_images, height, width) to at most `most` cells a side.

    Grids are flattened; with None nothing is averaged.
    """
    if most is None or max(images.shape[1:]) <= most:
        return images.reshape(len(images), -1)
    return cell_means(images, [min(most, n) for n in images.shape[1:]])


def opponent_features(images, grid):
    """Means and standard deviations of color-opponent channels over a grid of cells.

    `images` are (n_images, height, width, 3); four arrays (n_images, n_cells) come in
    the order of `OPPONENT_KINDS`.
    """
    parts = [_opponents(some, grid) for some in in_batches(images)]
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _opponents(images, grid):
    """Features of some images; see `opponent_features`."""
    red, green, blue = np.moveaxis(images, 3, 0)
    features = []
    for channel in (red - green, blue - (red + green) / 2):
        # variances do not depend on an offset; values about zero keep their digits
        offset = channel.mean(axis=(1, 2), keepdims=True)
        channel -= offset
        mean = cell_means(channel, grid)
        square = cell_means(np.square(channel, out=channel), grid)
        contrast = np.sqrt(np.maximum(square - mean**2, 0))
        features += [mean + offset[:, :, 0], contrast]
    return features


def in_batches(images):
    """Slices of images, some at a time: what is made of them stays in the cache."""
    step = max(1, _PIXELS // images[0].size)
    return [images[i : i + step] for i in range(0, len(images), step)]
