"""Gabor energy, luminance and color features of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from neuroextrap.models._receptive_field_grid import (
    OPPONENT_KINDS,
    area_windows,
    cell_means,
    cell_positions,
    check_images,
    coarsened,
    gaussian_windows,
    gray_levels,
    grid_centers,
    in_batches,
    mirrored_energies,
    opponent_features,
    windowed_waves,
)
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_flags_of

COMPRESSIONS: dict[str, Callable] = {
    "log": np.log1p,
    "sqrt": np.sqrt,
    "energy": lambda energy: energy,
}


class GaborPyramid(TransformerMixin, BaseEstimator):
    """Compute contrast energies of quadrature Gabor pairs on a pyramid of grids.

    For a pair of wave vector theta centered at c the energy of an image z is ::

        g(z) = | sum_j exp(-i <theta, l_j - c>) w_j z_j |^2

    with l_j the position of pixel j and w_j a Gaussian window about c. Low
    frequencies have wide windows on coarse grids; energies on grids finer than
    `max_grid` are averaged over equal cells. Signed luminance and, of images in color,
    two color-opponent channels are added: the default has 1,952 features of a gray and
    2,208 of a color image of 112 x 112 pixels.

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
    color : bool, default=True
        Whether to add color-opponent channels of images in color: red - green, and
        blue - (red + green) / 2, each as mean and as standard deviation ("contrast")
        over the cells of a grid of `max_grid` (8 x 8 if that is None). Gray images have
        none.

    Attributes
    ----------
    image_shape_ : tuple of int
        Shape of an image: height and width in pixels, and 3 for color.
    frequencies_ : ndarray of shape (n_frequencies,)
        Spatial frequencies in cycles per image.
    energy_scale_ : ndarray of shape (n_frequencies,)
        Divisors of the energies.
    luminance_scale_ : float
        Divisor of luminance and color channels: the standard deviation of the gray
        levels of all training pixels (1 without `normalize`).
    feature_kinds_ : ndarray of str of shape (n_features,)
        "gabor", "luminance", "red_green", "red_green_contrast", "blue_yellow" or
        "blue_yellow_contrast".
    feature_positions_ : ndarray of shape (n_features, 2)
        Center of each feature, (row, column) in pixels.
    feature_frequencies_ : ndarray of shape (n_features,)
        Frequency of each feature in cycles per image; zero for luminance and color.
    feature_orientations_ : ndarray of shape (n_features,)
        Direction of the wave vector in degrees, from the column axis; NaN for
        luminance and color.
    feature_widths_ : ndarray of shape (n_features,)
        Standard deviation of the window in pixels: of the Gaussian, or of the cell
        (along its shorter side) that luminance and color are averaged over.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity", Supplementary Methods (Gabor wavelet pyramid).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import GaborPyramid
    >>> images = np.random.default_rng(0).random((3, 16, 16))
    >>> pyramid = GaborPyramid(frequencies=(2, 4), n_orientations=4)
    >>> pyramid.fit_transform(images).shape
    (3, 576)
    >>> pyramid.get_feature_names_out()[0]
    'gabor_f2_o0_r1.5_c1.5'
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        frequencies: ArrayLike | None = None,
        n_orientations: int = 8,
        window: float = 0.5,
        step: float = 0.5,
        compression: str = "log",
        normalize: bool = True,
        subtract_mean: bool = True,
        max_grid: int | None = 8,
        luminance: bool = True,
        color: bool = True,
    ) -> None:
        self.frequencies = frequencies
        self.n_orientations = n_orientations
        self.window = window
        self.step = step
        self.compression = compression
        self.normalize = normalize
        self.subtract_mean = subtract_mean
        self.max_grid = max_grid
        self.luminance = luminance
        self.color = color

    def fit(self, images: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Lay out the grids and learn the scale of the energies.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width) or \
                (n_images, height, width, 3)
            Training images, in gray levels or in red, green and blue (whose mean is
            the gray level).
        y : None, default=None
            Ignored.

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
        images = self._lay_out(images)
        if self.normalize:
            gray = gray_levels(images)
            self._learn_scales(gray, self._energies(gray))
        return self

    def partial_fit(self, images: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the scale of the energies part by part, for images too large to hold.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width) or \
                (n_images, height, width, 3)
            The first, or further, training images, of one size.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : GaborPyramid
            The transformer, as if it was fitted to all images so far.
        """
        if not hasattr(self, "image_shape_"):
            return self.fit(images)
        if self.normalize:
            gray = gray_levels(check_images(images, self.image_shape_))
            self._learn_scales(gray, self._energies(gray))
        return self

    @described_by(fit)
    def fit_transform(self, images: ArrayLike, y: Any = None) -> np.ndarray:  # noqa: ARG002
        """Fit, and compute the features of the same images, in little over half a time.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            What ``fit(images).transform(images)`` returns.
        """
        images = self._lay_out(images)
        gray = gray_levels(images)
        energies = list(self._energies(gray))
        if self.normalize:
            self._learn_scales(gray, energies)
        return self._features(images, gray, energies)

    def transform(self, images: ArrayLike) -> np.ndarray:
        """Compute the features of images.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width) or \
                (n_images, height, width, 3)
            Images of the size, and in color if those were, seen in `fit`.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            Energies ordered by frequency, then orientation, then position
            (row-major); then luminance, then color, by position.

        Raises
        ------
        ValueError
            If the images have another size than those seen in `fit`.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        images = check_images(images, self.image_shape_)
        gray = gray_levels(images)
        return self._features(images, gray, self._energies(gray))

    def filters(self, features: ArrayLike | None = None) -> np.ndarray:
        """Return what each feature weights the pixels of an image by.

        The energy of a Gabor feature is the squared absolute value of the sum of filter
        times gray levels. Where energies of a fine grid are averaged over the cells of
        `max_grid`, the filter is that at the center of the cell. Of luminance and color
        (mean and contrast) it is the cell.

        Parameters
        ----------
        features : array-like of int of shape (n_chosen,) or None, default=None
            Columns of the features. If None, all.

        Returns
        -------
        filters : ndarray of complex of shape (n_chosen, height, width)
            Real and imaginary part are the even and the odd filter of the pair.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        n_features = len(self.feature_kinds_)
        chosen = np.arange(n_features) if features is None else np.atleast_1d(features)
        angles = np.radians(np.nan_to_num(self.feature_orientations_[chosen]))
        rates = 2 * np.pi * self.feature_frequencies_ / min(self.image_shape_[:2])
        found = []
        for feature, *waves in zip(chosen, np.sin(angles), np.cos(angles), strict=True):
            grid = self._grid(2 * (self.max_grid or 8))
            if self.feature_kinds_[feature] != "luminance":
                grid = self._grid(self.max_grid or 8)
            gabor = self.feature_kinds_[feature] == "gabor"
            center, sides = self.feature_positions_[feature], []
            for size, n, place, wave in zip(
                self.image_shape_, grid, center, waves, strict=False
            ):
                width = self.feature_widths_[feature]
                window = gaussian_windows(size, [place], width)
                if not gabor:
                    window = area_windows(size, n)[
                        [round((place + 0.5) * n / size - 0.5)]
                    ]
                sides.append(windowed_waves([place], window, wave * rates[feature])[0])
            found.append(np.outer(*sides))
        return np.stack(found)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Name features by frequency, orientation (degrees) and center (pixels).

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_features,)
            Such as ``gabor_f2_o45_r3.5_c7.5`` or ``luminance_r3.5_c7.5``.
        """
        rows = zip(
            self.feature_kinds_,
            self.feature_frequencies_,
            self.feature_orientations_,
            self.feature_positions_,
            strict=True,
        )
        return np.array(
            [
                f"gabor_f{frequency:g}_o{angle:g}_r{r:g}_c{c:g}"
                if kind == "gabor"
                else f"{kind}_r{r:g}_c{c:g}"
                for kind, frequency, angle, (r, c) in rows
            ],
            dtype=object,
        )

    def _lay_out(self, images):
        """Check images and options, lay out the grids; return the images."""
        images = check_images(images)
        check_flags_of(self)
        self._check_options()
        self.image_shape_ = images.shape[1:]
        self.frequencies_ = self._resolve_frequencies()
        self.energy_scale_ = np.ones(len(self.frequencies_))
        self.luminance_scale_ = 1.0
        self._seen: tuple = (
            0,
            0.0,
            0.0,
            0.0,
        )  # images; means of energies, gray; its variance
        self._describe()
        return images

    def _learn_scales(self, gray, energies):
        """Learn divisors from gray levels and energies of (further) images."""
        n_before, *before = self._seen
        share = len(gray) / (n_before + len(gray))
        found = [values.mean() for values in energies]
        energies = before[0] + share * (np.array(found, dtype=float) - before[0])
        apart = gray.mean(dtype=np.float64) - before[1]
        variance = (1 - share) * (before[2] + share * apart**2)
        variance += share * gray.std(dtype=np.float64) ** 2
        mean = before[1] + share * apart
        self._seen = n_before + len(gray), energies, mean, variance
        self.energy_scale_ = np.maximum(energies, np.finfo(float).tiny)
        self.luminance_scale_ = float(np.sqrt(variance)) or 1.0

    def _features(self, images, gray, energies):
        """Compress energies (by frequency); add luminance and color."""
        compress, cells = COMPRESSIONS[self.compression], self.max_grid or 8
        features = [
            compress(values / scale)
            for values, scale in zip(energies, self.energy_scale_, strict=True)
        ]
        if self.luminance:
            features.append(cell_means(gray, self._grid(2 * cells)))
        if self._has_color():
            features += opponent_features(images, self._grid(cells))
        for values in features[len(self.frequencies_) :]:
            values /= self.luminance_scale_
        return np.concatenate(features, axis=1).astype(images.dtype, copy=False)

    def _check_options(self):
        """Raise for options out of range."""
        if self.compression not in COMPRESSIONS:
            raise ValueError(
                f"compression={self.compression!r} is unknown; choose one of "
                f"{tuple(COMPRESSIONS)}"
            )
        if self.n_orientations < 1 or self.window <= 0 or self.step <= 0:
            raise ValueError(
                "n_orientations must be at least 1, window and step positive, got "
                f"{self.n_orientations}, {self.window} and {self.step}"
            )
        if self.max_grid is not None and self.max_grid < 1:
            raise ValueError(
                f"max_grid={self.max_grid} must be at least 1; give None for no limit"
            )

    def _resolve_frequencies(self):
        """Return frequencies in cycles per image, checked against the pixels."""
        shorter = min(self.image_shape_[:2])
        if self.frequencies is None:
            n_octaves = max(1, int(np.floor(np.log2(max(shorter / 4, 1)))) + 1)
            return 2.0 ** np.arange(n_octaves)
        frequencies = np.asarray(self.frequencies, dtype=float).ravel()
        if not ((frequencies > 0) & (frequencies <= shorter / 2)).all():
            raise ValueError(
                f"frequencies={frequencies.tolist()} must lie in (0, {shorter / 2:g}] "
                f"cycles per image of {shorter} pixels; leave out higher ones"
            )
        return frequencies

    def _orientations(self):
        """Directions of the wave vectors in radians."""
        return np.pi * np.arange(self.n_orientations) / self.n_orientations

    def _windows(self, frequency):
        """Yield (centers, Gaussian weights) down, then across the image."""
        period = min(self.image_shape_[:2]) / frequency
        for size in self.image_shape_[:2]:
            centers = grid_centers(size, self.step * period)
            yield centers, gaussian_windows(size, centers, self.window * period)

    def _energies(self, images):
        """Yield the energies (n_images, n_orientations * n_positions) by frequency."""
        if self.subtract_mean:
            images = images - images.mean(axis=(1, 2), keepdims=True)
        for frequency in self.frequencies_:
            waves = list(self._waves(frequency))
            parts = [self._energies_of(some, waves) for some in in_batches(images)]
            yield np.concatenate(parts)

    def _waves(self, frequency):
        """Yield the windowed waves down and across the image of each orientation.

        Orientations beyond the upright one are mirror images of those before.
        """
        rate = 2 * np.pi * frequency / min(self.image_shape_[:2])
        sides = list(self._windows(frequency))
        for angle in self._orientations()[: self.n_orientations // 2 + 1]:
            # a plane wave is a product of one wave down and one across the image
            rates = rate * np.array([np.sin(angle), np.cos(angle)])
            yield list(map(windowed_waves, *zip(*sides, strict=True), rates))

    def _energies_of(self, images, waves):
        """Energies of gray images of one frequency, by orientation, then position."""
        n = self.n_orientations
        energies = [np.empty(0)] * n
        for number, (down, across) in enumerate(waves):
            direct, mirrored = mirrored_energies(images, down, across)
            energies[number] = coarsened(direct, self.max_grid)
            if 0 < number < n / 2:
                energies[n - number] = coarsened(mirrored, self.max_grid)
        return np.concatenate(energies, axis=1)

    def _grid(self, most):
        """Numbers of cells, (down, across), at most `most` and one a pixel."""
        return [min(most, n) for n in self.image_shape_[:2]]

    def _has_color(self):
        """Say whether there are color features."""
        return self.color and len(self.image_shape_) == 3

    def _describe(self):
        """Set the attributes that locate and name the features."""
        shorter, most = min(self.image_shape_[:2]), self.max_grid or np.inf
        blocks = []
        for frequency in self.frequencies_:
            grid = [min(len(c), most) for c, _ in self._windows(frequency)]
            width = self.window * shorter / frequency
            blocks += [
                ("gabor", frequency, angle, width, grid)
                for angle in np.degrees(self._orientations())
            ]
        cells = self.max_grid or 8
        kinds = [("luminance", self._grid(2 * cells))] if self.luminance else []
        if self._has_color():
            kinds += [(kind, self._grid(cells)) for kind in OPPONENT_KINDS]
        for kind, grid in kinds:
            side = min(np.divide(self.image_shape_[:2], grid))
            blocks.append((kind, 0.0, np.nan, side / np.sqrt(12), grid))
        places = [cell_positions(self.image_shape_[:2], grid) for *_, grid in blocks]
        counts = [len(positions) for positions in places]
        self.feature_positions_ = np.concatenate(places)
        self.feature_kinds_, *described = (
            np.repeat(np.array(column), counts)
            for column in list(zip(*blocks, strict=True))[:4]
        )
        self.feature_frequencies_, self.feature_orientations_, widths = described
        self.feature_widths_ = widths
