"""Gabor energy features of images."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from neuroextrap.models._receptive_field_grid import (
    check_images,
    gaussian_windows,
    grid_centers,
    grid_positions,
    separable_sums,
)

COMPRESSIONS = {
    "log": np.log1p,
    "sqrt": np.sqrt,
    "energy": lambda energy: energy,
}


class GaborPyramid(TransformerMixin, BaseEstimator):
    """Compute contrast energies of quadrature Gabor pairs on a pyramid of grids.

    For a pair of wave vector theta centered at c the energy of an image z is ::

        g(z) = | sum_j exp(-i <theta, l_j - c>) w_j z_j |^2

    with l_j the position of pixel j and w_j a Gaussian window about c. Low
    frequencies have wide windows on coarse grids.

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
    luminance : bool, default=False
        Whether to add the signed luminance under each window (frequency zero), one
        feature per position.

    Attributes
    ----------
    image_shape_ : tuple of int
        Height and width of the images in pixels.
    frequencies_ : ndarray of shape (n_frequencies,)
        Spatial frequencies in cycles per image.
    energy_scale_ : ndarray of shape (n_frequencies,)
        Divisors of the energies.
    feature_positions_ : ndarray of shape (n_features, 2)
        Center of each feature, (row, column) in pixels.
    feature_frequencies_ : ndarray of shape (n_features,)
        Frequency of each feature in cycles per image; zero for a luminance feature.
    feature_orientations_ : ndarray of shape (n_features,)
        Direction of the wave vector in degrees, from the column axis; NaN for a
        luminance feature.
    feature_widths_ : ndarray of shape (n_features,)
        Standard deviation of the window in pixels.

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
    (3, 320)
    >>> pyramid.get_feature_names_out()[0]
    'gabor_f2_o0_r1.5_c1.5'
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        frequencies=None,
        n_orientations=8,
        window=0.5,
        step=0.5,
        compression="log",
        normalize=True,
        subtract_mean=True,
        luminance=False,
    ):
        self.frequencies = frequencies
        self.n_orientations = n_orientations
        self.window = window
        self.step = step
        self.compression = compression
        self.normalize = normalize
        self.subtract_mean = subtract_mean
        self.luminance = luminance

    def fit(self, images, y=None):  # noqa: ARG002
        """Lay out the grids and learn the scale of the energies.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width)
            Training images, in gray levels.
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
        images = check_images(images)
        self._check_options()
        self.image_shape_ = images.shape[1:]
        self.frequencies_ = self._resolve_frequencies()
        self.energy_scale_ = np.ones(len(self.frequencies_))
        if self.normalize:
            levels = range(len(self.frequencies_))
            means = [self._energies(images, level).mean() for level in levels]
            self.energy_scale_ = np.maximum(means, np.finfo(float).tiny)
        self._describe()
        return self

    def transform(self, images):
        """Compute the features of images.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width)
            Images of the size seen in `fit`.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            Features ordered by frequency, then orientation, then position
            (row-major); luminance features last, by frequency.

        Raises
        ------
        ValueError
            If the images have another size than those seen in `fit`.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        images = check_images(images, self.image_shape_)
        compress = COMPRESSIONS[self.compression]
        features = [
            compress(self._energies(images, level) / scale)
            for level, scale in enumerate(self.energy_scale_)
        ]
        if self.luminance:
            features += [self._luminances(images, f) for f in self.frequencies_]
        return np.concatenate(features, axis=1).astype(images.dtype, copy=False)

    def get_feature_names_out(self, input_features=None):  # noqa: ARG002
        """Name features by frequency, orientation (degrees) and center (pixels).

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_features,)
            Such as ``gabor_f2_o45_r3.5_c7.5`` or ``luminance_f2_r3.5_c7.5``.
        """
        rows = zip(
            self.feature_frequencies_,
            self.feature_orientations_,
            self.feature_positions_,
            self._grid_frequencies,
            strict=True,
        )
        return np.array(
            [
                f"luminance_f{grid:g}_r{r:g}_c{c:g}"
                if frequency == 0
                else f"gabor_f{frequency:g}_o{angle:g}_r{r:g}_c{c:g}"
                for frequency, angle, (r, c), grid in rows
            ],
            dtype=object,
        )

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

    def _resolve_frequencies(self):
        """Return frequencies in cycles per image, checked against the pixels."""
        shorter = min(self.image_shape_)
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
        period = min(self.image_shape_) / frequency
        for size in self.image_shape_:
            centers = grid_centers(size, self.step * period)
            yield centers, gaussian_windows(size, centers, self.window * period)

    def _energies(self, images, level):
        """Energies of one frequency, shape (n_images, n_orientations * n_positions)."""
        frequency = self.frequencies_[level]
        rate = 2 * np.pi * frequency / min(self.image_shape_)
        if self.subtract_mean:
            images = images - images.mean(axis=(1, 2), keepdims=True)
        sides = list(self._windows(frequency))
        energies = []
        for angle in self._orientations():
            # a plane wave is a product of one wave down and one across the image
            waves = []
            for (centers, weights), share in zip(
                sides, (np.sin(angle), np.cos(angle)), strict=True
            ):
                offset = np.arange(weights.shape[1])[None] - centers[:, None]
                waves.append(weights * np.exp(-1j * rate * share * offset))
            sums = separable_sums(images, *waves)
            energies.append(sums.real**2 + sums.imag**2)
        return np.concatenate(energies, axis=1)

    def _luminances(self, images, frequency):
        """Gaussian-weighted luminance at the grid of one frequency."""
        (_, rows), (_, columns) = self._windows(frequency)
        return separable_sums(images, rows, columns)

    def _describe(self):
        """Set the attributes that locate and name the features."""
        angles = np.degrees(self._orientations())
        blocks = [(f, a, f) for f in self.frequencies_ for a in angles]
        if self.luminance:
            blocks += [(0.0, np.nan, f) for f in self.frequencies_]
        positions, frequencies, orientations, grids = [], [], [], []
        for frequency, angle, grid in blocks:
            (rows, _), (columns, _) = self._windows(grid)
            positions.append(grid_positions(rows, columns))
            n_positions = len(positions[-1])
            frequencies.append(np.full(n_positions, frequency))
            orientations.append(np.full(n_positions, angle))
            grids.append(np.full(n_positions, grid))
        self.feature_positions_ = np.concatenate(positions)
        self.feature_frequencies_ = np.concatenate(frequencies)
        self.feature_orientations_ = np.concatenate(orientations)
        self._grid_frequencies = np.concatenate(grids)
        self.feature_widths_ = (
            self.window * min(self.image_shape_) / self._grid_frequencies
        )
