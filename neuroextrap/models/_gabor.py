"""Gabor energy, luminance, texture and color features of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from neuroextrap.models._gabor_energies import (
    GaborBank,
    SeenImages,
    coarsened,
    texture,
)
from neuroextrap.models._receptive_fields import (
    OPPONENTS,
    NamedFeatures,
    cell_block,
    cell_means,
    check_images,
    described,
    energy_blocks,
    gray_levels,
    opponent_channels,
    opponent_features,
    texture_blocks,
)
from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import check_choice

COMPRESSIONS: dict[str, Callable] = {
    "log": np.log1p,
    "sqrt": np.sqrt,
    "energy": lambda energy: energy,
}


@takes_fields
class GaborPyramid(NamedFeatures, TransformerMixin, BaseEstimator):
    """Compute contrast energies of quadrature Gabor pairs on a pyramid of grids.

    For a pair of wave vector theta centered at c the energy of an image z is ::

        g(z) = | sum_j exp(-i <theta, l_j - c>) w_j z_j |^2

    with l_j the position of pixel j and w_j a Gaussian window about c. Low
    frequencies have wide windows on coarse grids; energies on grids finer than
    `max_grid` are averaged over equal cells. Signed luminance, texture and, of images
    in color, two color-opponent channels are added: the default has 2,072 features of a
    gray and 3,416 of a color image of 112 x 112 pixels.

    Parameters
    ----------
    frequencies : sequence of float or None, default=None
        Spatial frequencies in cycles per image (along its shorter side). If None,
        octaves 1, 2, 4, ... up to a period of four pixels.
    n_orientations : int, default=8
        Number of orientations, evenly spread over half a turn.
    window : float, default=0.5
        Standard deviation of the Gaussian window, in periods.
    step : float, default=0.5
        Distance between neighboring centers, in periods.
    compression : {"log", "sqrt", "energy"}, default="log"
        Feature made of an energy g: log(1 + g), its square root (the contrast
        amplitude), or g itself.
    normalize : bool, default=True
        Whether to divide the energies of each frequency by their mean over training
        images, positions and orientations, so that the logarithm does not depend on
        the unit of luminance.
    subtract_mean : bool, default=True
        Whether to subtract every image's mean luminance first: windows cut by the
        border would otherwise respond to it.
    max_grid : int or None, default=8
        Largest number of centers along a side: energies on finer grids are averaged
        to it, before the compression. If None, no grid is coarsened.
    luminance : bool, default=True
        Whether to add the signed luminance, averaged over a grid of cells twice as
        fine as `max_grid` (16 x 16 if that is None, and no finer than the pixels).
    texture : bool, default=True
        Whether to add what averaging to `max_grid` loses of an image as a whole: the
        correlation, over a grid twice as fine, of the amplitudes (square roots of
        energies) of every two filters, of frequencies with at least as many centers.
        Images too small for that, or with `max_grid` None, have none.
    color : bool, default=True
        Whether to add color-opponent channels of images in color: red - green, and
        blue - (red + green) / 2, each as mean and as standard deviation ("contrast")
        over the cells of a grid of `max_grid` (8 x 8 if that is None), and as energies
        on grids half as fine. Gray images have none.

    Attributes
    ----------
    image_shape_ : tuple of int
        Shape of an image: height and width in pixels, and 3 for color.
    frequencies_ : ndarray of shape (n_frequencies,)
        Spatial frequencies in cycles per image.
    energy_scale_ : ndarray of shape (n_frequencies,)
        Divisors of the energies.
    color_energy_scale_ : ndarray of shape (n_channels, n_frequencies)
        Divisors of the energies of the color channels, 2 or none.
    luminance_scale_ : float
        Divisor of luminance and color channels: the standard deviation of the gray
        levels of all training pixels (1 without `normalize`).
    feature_kinds_ : ndarray of str of shape (n_features,)
        "gabor", "luminance", "texture", "red_green", "red_green_contrast",
        "red_green_gabor", "blue_yellow", "blue_yellow_contrast" or "blue_yellow_gabor".
    feature_positions_ : ndarray of shape (n_features, 2)
        Center of each feature, (row, column) in pixels; of texture that of the image.
    feature_frequencies_ : ndarray of shape (n_features,)
        Frequency of each energy in cycles per image; zero for all other features.
    feature_orientations_ : ndarray of shape (n_features,)
        Direction of the wave vector of an energy in degrees, from the column axis; NaN
        for all other features.
    feature_widths_ : ndarray of shape (n_features,)
        Standard deviation of the window in pixels: of the Gaussian, or of the cell
        (along its shorter side) that luminance and color are averaged over; of texture
        that of the image.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity", Supplementary Methods (Gabor wavelet pyramid). Portilla &
    Simoncelli 2000, "A parametric texture model based on joint statistics of complex
    wavelet coefficients".

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import GaborPyramid
    >>> images = np.random.default_rng(0).random((3, 16, 16))
    >>> pyramid = GaborPyramid(frequencies=(2, 4), n_orientations=4)
    >>> pyramid.fit_transform(images).shape
    (3, 576)
    >>> pyramid.get_feature_names_out()[0]  # frequency, orientation, row, column
    'gabor_f2_o0_r1.5_c1.5'
    """

    _: KW_ONLY
    frequencies: ArrayLike | None = None
    n_orientations: int = 8
    window: float = 0.5
    step: float = 0.5
    compression: str = "log"
    normalize: bool = True
    subtract_mean: bool = True
    max_grid: int | None = 8
    luminance: bool = True
    texture: bool = True
    color: bool = True

    @described_by(NamedFeatures)
    def fit(self, images: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Lay out the grids and learn the scale of the energies.

        Returns
        -------
        self : GaborPyramid
            The fitted transformer.

        Raises
        ------
        ValueError
            If an option is out of range, or a frequency exceeds half a cycle per
            pixel.
        TypeError
            If the images are complex.
        """
        return self._learn(self._lay_out(images))

    @described_by(NamedFeatures)
    def partial_fit(self, images: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the scale of the energies part by part, for images too large to hold.

        Returns
        -------
        self : GaborPyramid
            The transformer, as if it was fitted to all images so far.
        """
        if not hasattr(self, "image_shape_"):
            return self.fit(images)
        return self._learn(check_images(images, self.image_shape_))

    @described_by(NamedFeatures)
    def fit_transform(self, images: ArrayLike, y: Any = None) -> np.ndarray:  # noqa: ARG002
        """Fit, and compute the features of the same images, in little over half a time.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            What ``fit(images).transform(images)`` returns.
        """
        images = self._lay_out(images)
        gray = gray_levels(images)
        energies = list(self._energies(images, gray))
        self._learn_scales(gray, energies)
        return self._features(images, gray, energies)

    @described_by(NamedFeatures)
    def transform(self, images: ArrayLike) -> np.ndarray:
        """Compute the features of images of the size, and the colors, seen in `fit`.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            Energies ordered by frequency, then orientation, then position
            (row-major); then luminance by position, then texture by pairs; then means
            and contrasts of colors by position, then their energies.

        Raises
        ------
        ValueError
            If the images have another size than those seen in `fit`.
        """
        check_is_fitted(self)
        images = check_images(images, self.image_shape_)
        gray = gray_levels(images)
        return self._features(images, gray, self._energies(images, gray))

    def filters(self, features: ArrayLike | None = None) -> np.ndarray:
        """Return what each feature weights the pixels of an image by.

        The energy of a Gabor feature is the squared absolute value of the sum of filter
        times gray levels (or the color channel). Where energies of a fine grid are
        averaged over cells, the filter is that at the center of the cell. Of luminance
        and color (mean and contrast) it is the cell, of texture the image.

        Parameters
        ----------
        features : array-like of int of shape (n_chosen,) or None, default=None
            Columns of the features. If None, all.

        Returns
        -------
        filters : ndarray of complex of shape (n_chosen, height, width)
            Real and imaginary part are the even and the odd filter of the pair.
        """
        check_is_fitted(self)
        every = [(block, n) for block in self._blocks for n in range(block.n_features)]
        chosen = range(len(every)) if features is None else np.atleast_1d(features)
        return np.stack([every[j][0].filter(every[j][1]) for j in chosen])

    def _lay_out(self, images):
        """Check images and options, lay out the grids; return the images."""
        images = check_images(images)
        check_plain_types(self)
        check_choice(self.compression, "compression", tuple(COMPRESSIONS))
        if self.max_grid is not None and self.max_grid < 1:
            raise ValueError(
                f"max_grid={self.max_grid} must be at least 1; give None for no limit"
            )
        self.image_shape_ = images.shape[1:]
        options = self.frequencies, self.n_orientations, self.window, self.step
        self._bank = GaborBank.of(self.image_shape_[:2], *options)
        self.frequencies_ = self._bank.frequencies
        self._opponents = OPPONENTS if self.color and images.ndim == 4 else ()
        self._set_scales(np.ones((1 + len(self._opponents)) * len(self.frequencies_)))
        self.luminance_scale_ = 1.0
        self._seen = SeenImages()
        self._describe()
        return images

    def _set_scales(self, scales):
        """Set the divisors of energies, of gray levels first, then of channels."""
        scales = scales.reshape(-1, len(self.frequencies_))
        self.energy_scale_, self.color_energy_scale_ = scales[0], scales[1:]

    def _learn(self, images):
        """Learn divisors from (further) images; return self."""
        gray = gray_levels(images)
        self._learn_scales(gray, self._energies(images, gray))
        return self

    def _learn_scales(self, gray, energies):
        """Learn divisors from gray levels and energies of (further) images."""
        if not self.normalize:
            return
        self._seen = seen = self._seen.and_of(gray, energies)
        self._set_scales(np.maximum(seen.energies, np.finfo(float).tiny))
        self.luminance_scale_ = float(np.sqrt(seen.variance)) or 1.0

    def _energies(self, images, gray):
        """Yield energies by frequency, of gray levels on the grid of texture."""
        twice = self.max_grid and 2 * self.max_grid
        channels = [(gray, twice if self.texture else self.max_grid)]
        if self._opponents:
            halves = max(1, (self.max_grid or 8) // 2)
            channels += [(channel, halves) for channel in opponent_channels(images)]
        for values, most in channels:
            if self.subtract_mean:
                values = values - values.mean(axis=(1, 2), keepdims=True)
            yield from self._bank.energies(values, most)

    def _features(self, images, gray, energies):
        """Compress energies (by frequency); add luminance, texture and color."""
        compress, cells = COMPRESSIONS[self.compression], self.max_grid or 8
        fine, compressed = [], []
        scales = np.append(self.energy_scale_, self.color_energy_scale_)
        for number, (values, scale) in enumerate(zip(energies, scales, strict=True)):
            if number in self._texture:
                fine.append(values)
            values = coarsened(values, self.max_grid) / scale
            compressed.append(compress(values).reshape(len(images), -1))
        n = len(self.frequencies_)
        luminance = [cell_means(gray, self._grid(2 * cells))] if self.luminance else []
        colors = opponent_features(images, self._grid(cells)) if self._opponents else []
        for values in (*luminance, *colors):
            values /= self.luminance_scale_
        textures = [texture(fine)] if fine else []
        features = [*compressed[:n], *luminance, *textures, *colors, *compressed[n:]]
        return np.concatenate(features, axis=1).astype(images.dtype, copy=False)

    def _grid(self, most):
        """Numbers of cells, (down, across), at most `most` and one a pixel."""
        return [min(most, n) for n in self.image_shape_[:2]]

    def _describe(self):
        """Set the attributes that locate and name the features."""
        bank, cells = self._bank, self.max_grid or 8
        wanted = self.texture and self.max_grid is not None
        fine = [wanted and min(bank.grid(f)) >= 2 * cells for f in self.frequencies_]
        self._texture = np.flatnonzero(fine)
        blocks = energy_blocks("gabor", bank, self.max_grid)
        if self.luminance:
            blocks.append(cell_block("luminance", bank.shape, self._grid(2 * cells)))
        blocks += texture_blocks(bank, self.frequencies_[self._texture])
        for channel in self._opponents:
            for kind in (channel, f"{channel}_contrast"):
                blocks.append(cell_block(kind, bank.shape, self._grid(cells)))
        for channel in self._opponents:
            blocks += energy_blocks(f"{channel}_gabor", bank, max(1, cells // 2))
        self._blocks = blocks
        self.__dict__.update(described(blocks))
