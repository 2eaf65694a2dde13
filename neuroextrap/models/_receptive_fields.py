"""Grids of Gaussian windows over images, and what the features made of them are."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted


class NamedFeatures:
    """Transformers of images whose features lie in `_blocks` of a `FeatureBlock`.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width) or \
            (n_images, height, width, 3)
        Images, all of one size, in gray levels or in red, green and blue (whose mean is
        the gray level).
    y : None, default=None
        Ignored.
    """

    _blocks: list["FeatureBlock"]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Name features by kind, what they respond to, and center (pixels).

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_features,)
            Such as ``gabor_f2_o45_r3.5_c7.5`` (frequency, orientation in degrees, row,
            column), ``texture_f8_o0_f16_o45_r55.5_c55.5``, ``luminance_r3.5_c7.5``, or
            ``contrast_w4_r3.5_c7.5`` (width).
        """
        check_is_fitted(self)
        names = [name for block in self._blocks for name in block.names]
        return np.array(names, dtype=object)


class FeatureBlock(NamedTuple):
    """Features that differ in nothing but their position.

    ``grid`` are numbers of positions down and across images of ``shape`` in pixels,
    ``frequency`` cycles along the shorter side (0 of averages over cells), ``angle``
    degrees (NaN of these), ``width`` pixels.
    """

    kind: str
    name: str
    frequency: float
    angle: float
    width: float
    grid: list
    shape: tuple

    @property
    def n_features(self):
        """Number of positions."""
        return self.grid[0] * self.grid[1]

    @property
    def positions(self):
        """Centers (n_features, 2), row-major."""
        sides = zip(self.shape, self.grid, strict=True)
        centers = [grid_centers(size, size / n) for size, n in sides]
        return np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1).reshape(-1, 2)

    @property
    def names(self):
        """Names of the features, a list of str."""
        return [f"{self.name}_r{r:g}_c{c:g}" for r, c in self.positions]

    def filter(self, number):
        """Complex weights of the pixels, of ``shape``, of one of the features."""
        angle = np.radians(np.nan_to_num(self.angle))
        rate = 2 * np.pi * self.frequency / min(self.shape)
        rates = rate * np.sin(angle), rate * np.cos(angle)
        cell, waves = np.unravel_index(number, self.grid), []
        for side, center in enumerate(self.positions[number]):
            if self.frequency:
                window = gaussian_windows(self.shape[side], [center], self.width)
            else:
                every = area_windows(self.shape[side], self.grid[side])
                window = every[[cell[side]]]
            waves.append(windowed_waves([center], window, rates[side])[0])
        return np.outer(*waves)


def energy_blocks(kind, bank, most=None):
    """Describe the energies of a `GaborBank`, on grids of at most `most` a side."""
    return [
        FeatureBlock(
            kind,
            f"{kind}_f{frequency:g}_o{angle:g}",
            frequency,
            angle,
            bank.window * min(bank.shape) / frequency,
            bank.grid(frequency, most),
            bank.shape,
        )
        for frequency in bank.frequencies
        for angle in np.degrees(bank.angles)
    ]


def cell_block(kind, shape, grid, name=None):
    """Describe averages over the cells of a grid."""
    side = min(np.divide(shape, grid))
    return FeatureBlock(
        kind, name or kind, 0.0, np.nan, side / np.sqrt(12), grid, shape
    )


def texture_blocks(bank, frequencies):
    """Describe the correlations of every two maps of some frequencies of a bank."""
    maps = [
        f"f{f:g}_o{angle:g}" for f in frequencies for angle in np.degrees(bank.angles)
    ]
    pairs = zip(*np.triu_indices(len(maps), 1), strict=True)
    return [
        cell_block("texture", bank.shape, [1, 1], f"texture_{maps[i]}_{maps[j]}")
        for i, j in pairs
    ]


def described(blocks):
    """Return what estimators say of their features, a dict of attributes."""
    counts = [block.n_features for block in blocks]
    columns = {
        f"feature_{name}_": np.repeat(np.array(column), counts)
        for name, column in {
            "kinds": [block.kind for block in blocks],
            "frequencies": [block.frequency for block in blocks],
            "orientations": [block.angle for block in blocks],
            "widths": [block.width for block in blocks],
        }.items()
    }
    places = np.concatenate([block.positions for block in blocks])
    return columns | {"feature_positions_": places}


OPPONENTS = "red_green", "blue_yellow"
"""Names of the color-opponent channels."""

# values of the images that are worked on at once
_PIXELS = 2**19


def cell_means(images, grid):
    """Average images (n_images, height, width) over a grid of cells (down, across)."""
    return separable_sums(images, *_cell_windows(images, grid))


def _cell_windows(images, grid):
    """Return weights that average images over cells, down and across."""
    windows = map(area_windows, images.shape[1:3], grid)
    return [each.astype(images.dtype, copy=False) for each in windows]


def local_moments(images, rows, columns):
    """Means and standard deviations of images (n_images, height, width) in windows."""
    # variances do not depend on an offset; values about zero keep their digits
    offset = images.mean(axis=(1, 2), keepdims=True)
    about = images - offset
    mean = separable_sums(about, rows, columns)
    square = separable_sums(np.square(about, out=about), rows, columns)
    return mean + offset[:, :, 0], np.sqrt(np.maximum(square - mean**2, 0))


def opponent_channels(images):
    """Return the channels `OPPONENTS` of images (n_images, height, width, 3)."""
    red, green, blue = np.moveaxis(images, 3, 0)
    return red - green, blue - (red + green) / 2


def opponent_features(images, grid):
    """Means and standard deviations of color-opponent channels over cells."""
    windows, parts = _cell_windows(images, grid), []
    for some in in_batches(images):
        both = [local_moments(each, *windows) for each in opponent_channels(some)]
        parts.append([*both[0], *both[1]])
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def in_batches(images):
    """Slices of images, some at a time: what is made of them stays in the cache."""
    step = max(1, _PIXELS // images[0].size)
    return [images[i : i + step] for i in range(0, len(images), step)]


def check_images(images, shape=None):
    """Return images as float32 if they were, or float64; `shape` is that fit saw."""
    images = np.asarray(images)
    if images.dtype.kind not in "buif":
        raise TypeError(
            f"images must be real numbers, got dtype {images.dtype}; "
            "convert them to gray levels or red, green and blue"
        )
    if images.ndim != 3 and not (images.ndim == 4 and images.shape[3] == 3):
        raise ValueError(
            "images must have shape (n_images, height, width), or (n_images, height, "
            f"width, 3) in red, green and blue, got shape {images.shape}; leave out an "
            "alpha channel"
        )
    if images.dtype != np.float32:
        images = images.astype(np.float64)
    if not np.isfinite(images).all():
        raise ValueError("images hold NaN or infinite pixels; remove these images")
    if shape is not None and images.shape[1:] != tuple(shape):
        raise ValueError(
            f"images have shape {images.shape[1:]}, but fit saw {tuple(shape)}; "
            "resize or convert them"
        )
    return images


def gray_levels(images):
    """Return gray levels (n_images, height, width): colors are averaged."""
    if images.ndim == 3:
        return images
    # several times as fast as the mean over an axis of three
    red, green, blue = np.moveaxis(images, 3, 0)
    return (red + green + blue) / images.dtype.type(3)


def grid_centers(size, step):
    """Spread centers evenly along one side of an image, about `step` pixels apart."""
    n_centers = max(1, round(size / step))
    return (np.arange(n_centers) + 0.5) * size / n_centers - 0.5


def area_windows(size, n_cells):
    """Weights (n_cells, size) that average `size` entries over equal cells."""
    borders = np.linspace(0, size, n_cells + 1)[:, np.newaxis]
    entry = np.arange(size)
    overlap = np.minimum(borders[1:], entry + 1) - np.maximum(borders[:-1], entry)
    return np.clip(overlap, 0, 1) * n_cells / size


def gaussian_windows(size, centers, width):
    """Gaussian densities of `size` pixels along one side, (n_centers, size)."""
    distance = np.arange(size)[None] - np.asarray(centers)[:, None]
    return np.exp(-0.5 * (distance / width) ** 2) / (width * np.sqrt(2 * np.pi))


def window_grids(shape, step, width):
    """Yield centers and Gaussian weights (n_centers, size) down, then across."""
    for size in shape:
        centers = grid_centers(size, step)
        yield centers, gaussian_windows(size, centers, width)


def windowed_waves(centers, weights, rate):
    """Waves of `rate` radians a pixel under windows (n_centers, size)."""
    offset = np.arange(weights.shape[1])[None] - np.asarray(centers)[:, None]
    return weights * np.exp(-1j * rate * offset)


def separable_sums(images, rows, columns):
    """Sum over pixels a, b the products rows[i, a] columns[j, b] images[:, a, b]."""
    sums = rows @ (images @ columns.T)
    return sums.reshape(len(images), -1)


def mirrored_energies(images, rows, columns):
    """Squared absolute separable sums of real images, and with conjugate columns.

    `rows` (n_rows, height) and `columns` (n_columns, width) are complex; both results
    have shape (n_images, n_rows, n_columns). Conjugate columns mirror the orientation
    of a wave: the four real products serve both.
    """
    n_images, height, width = images.shape
    shape = len(rows), len(columns)
    rows, columns = (_real_parts(wave, images.dtype) for wave in (rows, columns))
    # one product for the columns of all images, then one for each image
    sums = images.reshape(-1, width) @ columns.T
    sums = rows @ sums.reshape(n_images, height, -1)
    if sums.size < 4 * n_images * shape[0] * shape[1]:
        # a wave along one side is its own mirror image
        parts = sums.reshape(n_images, -1, shape[0], len(columns) // shape[1], shape[1])
        energy = (parts**2).sum(axis=(1, 3))
        return energy, energy
    upper, lower = np.split(sums, 2, axis=1)
    (cc, cs), (sc, ss) = np.split(upper, 2, axis=2), np.split(lower, 2, axis=2)
    return (cc - ss) ** 2 + (cs + sc) ** 2, (cc + ss) ** 2 + (sc - cs) ** 2


def _real_parts(wave, dtype):
    """Stack real and imaginary parts, if any, without what would underflow."""
    size = np.abs(wave).max()
    vanishes = np.abs(wave.imag).max() < 1e-12 * size
    parts = wave.real if vanishes else np.concatenate([wave.real, wave.imag])
    parts = parts.copy()
    parts[np.abs(parts) < np.sqrt(np.finfo(dtype).tiny)] = 0
    return parts.astype(dtype)
