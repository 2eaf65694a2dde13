"""Grids of Gaussian windows over images, and weighted sums under them."""

import numpy as np


def check_images(images, shape=None):
    """Return gray images (n_images, height, width) as float32 if they were, or float64.

    `shape` is the (height, width) seen in ``fit``. Complex or other values that are no
    real numbers raise a TypeError, everything else a ValueError.
    """
    images = np.asarray(images)
    if images.dtype.kind not in "buif":
        raise TypeError(
            f"images must be real numbers, got dtype {images.dtype}; "
            "convert them to gray levels"
        )
    if images.ndim != 3:
        raise ValueError(
            "images must have shape (n_images, height, width), got shape "
            f"{images.shape}; average color channels first"
        )
    if images.dtype != np.float32:
        images = images.astype(np.float64)
    if not np.isfinite(images).all():
        raise ValueError("images hold NaN or infinite pixels; remove these images")
    if shape is not None and images.shape[1:] != tuple(shape):
        raise ValueError(
            f"images have {images.shape[1:]} pixels, but fit saw {tuple(shape)}; "
            "resize them"
        )
    return images


def grid_centers(size, step):
    """Spread centers evenly along one side of an image, about `step` pixels apart.

    Pixel j lies at coordinate j.

    >>> grid_centers(8, 4.0)
    array([1.5, 5.5])
    """
    n_centers = max(1, round(size / step))
    return (np.arange(n_centers) + 0.5) * size / n_centers - 0.5


def grid_positions(rows, columns):
    """Return (row, column) of every grid point, row-major, (n_positions, 2)."""
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)


def gaussian_windows(size, centers, width):
    """Gaussian weights of `size` pixels along one side, (n_centers, size).

    A density of standard deviation `width` (pixels) sampled at the pixels: rows far
    from the border sum to one.
    """
    distance = np.arange(size)[None] - np.asarray(centers)[:, None]
    return np.exp(-0.5 * (distance / width) ** 2) / (width * np.sqrt(2 * np.pi))


def separable_sums(images, rows, columns):
    """Sum over pixels a, b the products rows[i, a] columns[j, b] images[:, a, b].

    Weights (n_rows, height) and (n_columns, width), real or complex, give sums of shape
    (n_images, n_rows * n_columns), row-major over the grid.
    """
    sums = rows @ (images @ columns.T)
    return sums.reshape(len(images), -1)
