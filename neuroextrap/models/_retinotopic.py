"""Local luminance and contrast features of images."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from neuroextrap.models._receptive_fields import (
    FeatureBlock,
    NamedFeatures,
    check_images,
    described,
    gray_levels,
    local_moments,
    window_grids,
)
from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import real_array


@takes_fields
class RetinotopicFeatures(NamedFeatures, TransformerMixin, BaseEstimator):
    """Compute local luminance and contrast under Gaussian windows on grids.

    With weights w_j about a center, summing to one inside the image, ::

        luminance = sum_j w_j z_j,    contrast = sqrt(sum_j w_j (z_j - luminance)^2)

    A model that knows where contrast lies but not its orientation or frequency.

    Parameters
    ----------
    widths : sequence of float or None, default=None
        Standard deviations of the windows, as fractions of the image's shorter
        side. If None, 1/4, 1/8 and 1/16.
    step : float, default=1.0
        Distance between neighboring centers, in standard deviations of the window.
    luminance : bool, default=True
        Whether to compute the local luminance.
    contrast : bool, default=True
        Whether to compute the local contrast.

    Attributes
    ----------
    image_shape_ : tuple of int
        Height and width of the images in pixels.
    widths_ : ndarray of shape (n_widths,)
        Standard deviations of the windows in pixels.
    feature_kinds_ : ndarray of str of shape (n_features,)
        "luminance" or "contrast".
    feature_positions_ : ndarray of shape (n_features, 2)
        Center of each feature, (row, column) in pixels.
    feature_widths_ : ndarray of shape (n_features,)
        Standard deviation of each feature's window in pixels.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity" (retinotopy-only model).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import RetinotopicFeatures
    >>> images = np.random.default_rng(0).random((3, 16, 16))
    >>> RetinotopicFeatures(widths=(0.25,)).fit_transform(images).shape
    (3, 32)
    """

    _: KW_ONLY
    widths: ArrayLike | None = None
    step: float = 1.0
    luminance: bool = True
    contrast: bool = True

    @described_by(NamedFeatures)
    def fit(self, images: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Lay out the grids of windows; only the size of images matters.

        Returns
        -------
        self : RetinotopicFeatures
            The fitted transformer.

        Raises
        ------
        ValueError
            If widths or step are not positive, or both kinds of feature are switched
            off.
        TypeError
            If the images are complex.
        """
        check_plain_types(self)
        images = gray_levels(check_images(images))
        self.image_shape_ = images.shape[1:]
        widths = (1 / 4, 1 / 8, 1 / 16) if self.widths is None else self.widths
        widths = real_array(widths, "widths").ravel()
        self.widths_ = widths * min(self.image_shape_)
        if not len(widths) or not (self.widths_ > 0).all() or not self.step > 0:
            raise ValueError(
                f"widths={widths} and step={self.step} must be positive; leave widths "
                "as None for the default"
            )
        if not (self.luminance or self.contrast):
            raise ValueError(
                "luminance=False and contrast=False leave no feature; keep one"
            )
        self._describe()
        return self

    partial_fit = fit  # the size of images does not change

    @described_by(NamedFeatures)
    def transform(self, images: ArrayLike) -> np.ndarray:
        """Compute the features of images of the size seen in `fit`.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            Features ordered by width, then luminance and contrast, then position
            (row-major).

        Raises
        ------
        ValueError
            If the images have another size than those seen in `fit`.
        """
        check_is_fitted(self)
        images = check_images(gray_levels(check_images(images)), self.image_shape_)
        features = []
        for width in self.widths_:
            windows = (weights for _, weights in self._windows(width))
            luminance, contrast = local_moments(images, *windows)
            features += [luminance] * self.luminance + [contrast] * self.contrast
        return np.concatenate(features, axis=1).astype(images.dtype, copy=False)

    def _windows(self, width):
        """Return (centers, weights that sum to one) down, then across the image."""
        sides = window_grids(self.image_shape_, self.step * width, width)
        return [(x, w / w.sum(axis=1, keepdims=True)) for x, w in sides]

    def _describe(self):
        """Set the attributes that locate and name the features."""
        kinds = ["luminance"] * self.luminance + ["contrast"] * self.contrast
        shape = self.image_shape_
        self._blocks = [
            FeatureBlock(kind, f"{kind}_w{width:g}", 0.0, np.nan, width, grid, shape)
            for width in self.widths_
            for grid in [[len(centers) for centers, _ in self._windows(width)]]
            for kind in kinds
        ]
        descriptions = described(self._blocks)
        for name in ("feature_kinds_", "feature_widths_", "feature_positions_"):
            setattr(self, name, descriptions[name])
