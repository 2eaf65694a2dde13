"""Grids of Gaussian windows over images, and sums under them."""

import numpy as np


def check_images(images, shape=None):
    """Return images as a float array; errors name what came.

    Parameters
    ----------
    images : array-like, shape (n_images, height, width)
        Gray-level images, integer or real.
    shape : tuple of int, optional
        Height and width seen in ``fit``.

    Returns
    -------
    images : ndarray, shape (n_images, height, width)
        float32 if it was, else float64.

    Raises
    ------
    TypeError
        If the images are complex or not numbers.
    ValueError
        If the array is not three-dimensional, not finite, or of another size.

    Examples
    --------
    >>> check_images([[[0, 255]]]).shape
    (1, 1, 2)
    """
    images = np.asarray(images)
    if images.dtype.kind not in "buif":
        raise TypeError(
            f"images must be real numbers, got dtype {images.dtype}; "
            "convert them to gray levels"
        )
    if images.ndim != 3:
        raise ValueError(
            "images must have shape (n_images, height, width), got "
            f"{images.shape}; average color channels first"
        )
    if images.dtype != np.float32:
        images = images.astype(np.float64)
    if not np.isfinite(images).all():
        raise ValueError("images hold NaN or infinite pixels; remove these images")
    if shape is not None and images.shape[1:] != tuple(shape):
        raise ValueError(
            f"images are {images.shape[1:]} pixels, fit saw {tuple(shape)}; resize them"
        )
    return images


def grid_centers(size, step):
    """Evenly spread centers along one side of an image.

    Parameters
    ----------
    size : int
        Pixels along the side.
    step : float
        Wanted distance between centers, in pixels.

    Returns
    -------
    centers : ndarray, shape (n_centers,)
        Pixel coordinates; pixel j lies at j.

    Examples
    --------
    >>> grid_centers(8, 4.0)
    array([1.5, 5.5])
    """
    n_centers = max(1, round(size / step))
    return (np.arange(n_centers) + 0.5) * size / n_centers - 0.5


def gaussian_windows(size, centers, width):
    """Gaussian weights of every pixel along one side for every center.

    Parameters
    ----------
    size : int
        Pixels along the side.
    centers : ndarray, shape (n_centers,)
        Centers in pixels.
    width : float
        Standard deviation in pixels.

    Returns
    -------
    windows : ndarray, shape (n_centers, size)
        A density sampled at the pixels: rows far from the border sum to one.

    Examples
    --------
    >>> gaussian_windows(5, np.array([2.0]), 0.5).round(3)
    array([[0.   , 0.108, 0.798, 0.108, 0.   ]])
    """
    distance = np.arange(size)[None] - np.asarray(centers)[:, None]
    return np.exp(-0.5 * (distance / width) ** 2) / (width * np.sqrt(2 * np.pi))


def separable_sums(images, rows, columns):
    """Weighted sums sum_ab rows[i, a] columns[j, b] images[:, a, b].

    Parameters
    ----------
    images : ndarray, shape (n_images, height, width)
        Images.
    rows : ndarray, shape (n_rows, height)
        Weights down the image, real or complex.
    columns : ndarray, shape (n_columns, width)
        Weights across the image.

    Returns
    -------
    sums : ndarray, shape (n_images, n_rows * n_columns)
        Row-major over the grid.

    Examples
    --------
    >>> separable_sums(np.ones((1, 2, 3)), np.ones((1, 2)), np.ones((1, 3)))
    array([[6.]])
    """
    sums = rows @ (images @ columns.T)
    return sums.reshape(len(images), -1)
