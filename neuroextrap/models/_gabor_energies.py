"""Contrast energies of images, by frequency and orientation, and their texture."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.models._receptive_fields import (
    cell_means,
    in_batches,
    mirrored_energies,
    window_grids,
    windowed_waves,
)
from neuroextrap.stats._validation import real_array


class GaborBank(NamedTuple):
    """Quadrature pairs on grids of images of a ``shape``, in cycles and periods."""

    shape: tuple
    frequencies: np.ndarray
    n_orientations: int
    window: float
    step: float

    @classmethod
    def of(cls, shape, frequencies, n_orientations, window, step):
        """Check options; frequencies None are octaves up to periods of four pixels."""
        if n_orientations < 1 or not (window > 0 and step > 0):
            raise ValueError(
                "n_orientations must be at least 1, window and step positive, got "
                f"{n_orientations}, {window} and {step}"
            )
        shorter = min(shape)
        if frequencies is None:
            n_octaves = max(1, int(np.floor(np.log2(max(shorter / 4, 1)))) + 1)
            frequencies = 2.0 ** np.arange(n_octaves)
        frequencies = real_array(frequencies, "frequencies").ravel()
        good = (frequencies > 0) & (frequencies <= shorter / 2)
        if not len(good) or not good.all():
            raise ValueError(
                f"frequencies={frequencies.tolist()} must lie in (0, {shorter / 2:g}] "
                f"cycles per image of {shorter} pixels; leave out higher ones"
            )
        return cls(shape, frequencies, n_orientations, window, step)

    @property
    def angles(self):
        """Directions of the wave vectors in radians, (n_orientations,)."""
        return np.pi * np.arange(self.n_orientations) / self.n_orientations

    def grid(self, frequency, most=None):
        """Numbers of centers (down, across), at most `most` a side."""
        counts = [len(centers) for centers, _ in self.windows(frequency)]
        return counts if most is None else [min(n, most) for n in counts]

    def windows(self, frequency):
        """Yield (centers, Gaussian weights) down, then across the image."""
        period = min(self.shape) / frequency
        return window_grids(self.shape, self.step * period, self.window * period)

    def energies(self, images, most=None):
        """Yield energies (n_images, n_orientations, n_rows, n_columns) by frequency."""
        for frequency in self.frequencies:
            waves = list(self._waves(frequency))
            parts = [self._of(some, waves, most) for some in in_batches(images)]
            yield np.concatenate(parts)

    def _waves(self, frequency):
        """Yield waves down and across of orientations up to the upright one."""
        rate = 2 * np.pi * frequency / min(self.shape)
        sides = list(self.windows(frequency))
        for angle in self.angles[: self.n_orientations // 2 + 1]:
            # a plane wave is a product of one wave down and one across the image
            rates = rate * np.array([np.sin(angle), np.cos(angle)])
            yield list(map(windowed_waves, *zip(*sides, strict=True), rates))

    def _of(self, images, waves, most):
        """Energies of gray images of one frequency, see `energies`."""
        n = self.n_orientations
        energies = [np.empty(0)] * n
        for number, (down, across) in enumerate(waves):
            direct, mirrored = mirrored_energies(images, down, across)
            energies[number] = coarsened(direct, most)
            if 0 < number < n / 2:
                energies[n - number] = coarsened(mirrored, most)
        return np.stack(energies, axis=1)


class SeenImages(NamedTuple):
    """How many images were seen, and what their energies and gray levels were."""

    n_images: int = 0
    energies: Any = 0.0  # mean of each frequency and channel
    mean: float = 0.0  # of gray levels
    variance: float = 0.0

    def and_of(self, gray, energies):
        """Return the same with further images, from gray levels and their energies."""
        share = len(gray) / (self.n_images + len(gray))
        means = np.array([values.mean() for values in energies], dtype=float)
        apart = gray.mean(dtype=np.float64) - self.mean
        variance = (1 - share) * (self.variance + share * apart**2)
        return type(self)(
            self.n_images + len(gray),
            self.energies + share * (means - self.energies),
            self.mean + share * apart,
            variance + share * gray.std(dtype=np.float64) ** 2,
        )


def coarsened(maps, most):
    """Average maps (..., n_rows, n_columns) to at most `most` cells a side, or not."""
    shape = maps.shape[-2:]
    if most is None or max(shape) <= most:
        return maps
    grid = [min(most, n) for n in shape]
    means = cell_means(maps.reshape(-1, *shape), grid)
    return means.reshape(*maps.shape[:-2], *grid)


def texture(energies):
    """Correlate the amplitudes of every pair of maps over places, (n_images, n_pairs).

    `energies` (n_images, n_orientations, n_rows, n_columns) of several frequencies are
    on one grid, pairs in the order of ``numpy.triu_indices``; zero where an amplitude
    is the same everywhere. (Portilla & Simoncelli 2000.)
    """
    maps = np.sqrt(np.concatenate(energies, axis=1))
    maps = maps.reshape(*maps.shape[:2], -1)
    maps -= maps.mean(axis=2, keepdims=True)
    length = np.sqrt(np.square(maps).sum(axis=2, keepdims=True))
    maps /= np.where(length > 0, length, 1)
    first, second = np.triu_indices(maps.shape[1], 1)
    return (maps @ maps.transpose(0, 2, 1))[:, first, second]
