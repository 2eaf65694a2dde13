"""Where in the image, and for what, a voxel or neuron has weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.plotting._axes import draws_on_axes, resolve_axes
from neuroextrap.stats._validation import brief, real_array


@draws_on_axes
def plot_receptive_field(features: Any, weights: ArrayLike, *, ax: Any = None) -> Any:
    """Draw the receptive field of a voxel: where in the image its weights lie.

    Every pixel shows the sum of weights over features, each under its window: a
    Gaussian at the position of the feature, of its width and of sum one. Positive
    weights (more contrast or light, more response) are red, negative ones blue.

    Parameters
    ----------
    features : GaborPyramid or RetinotopicFeatures
        Fitted transformer, whose features have positions and widths.
    weights : array-like of shape (n_features,)
        Weights of the features, such as those of
        :meth:`EncodingIdentification.coefficients`.

    Raises
    ------
    ValueError
        If there is not one finite weight for every feature.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import RetinotopicFeatures
    >>> from neuroextrap.plotting import plot_receptive_field
    >>> features = RetinotopicFeatures(widths=(0.25,)).fit(np.zeros((1, 16, 16)))
    >>> ax = plot_receptive_field(features, np.arange(32.0))
    >>> ax.get_xlabel()
    'column (pixels)'
    """
    weights = real_array(weights, "weights")
    if not hasattr(features, "feature_positions_"):
        raise TypeError(
            f"features must be a fitted GaborPyramid or RetinotopicFeatures, got "
            f"{brief(features)}"
        )
    n_features = len(features.feature_positions_)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise ValueError(
            f"weights must be {n_features} finite numbers, one for each feature, got "
            f"shape {weights.shape}; give those of one usable voxel"
        )
    height, width = features.image_shape_[:2]
    down, across = (
        _windows(size, features.feature_positions_[:, side], features.feature_widths_)
        for side, size in enumerate((height, width))
    )
    field = (down * weights[:, np.newaxis]).T @ across
    ax = resolve_axes(ax)
    most = np.abs(field).max() or 1.0
    image = ax.imshow(field, vmin=-most, vmax=most, cmap="RdBu_r")
    ax.set(xlabel="column (pixels)", ylabel="row (pixels)")
    ax.figure.colorbar(image, ax=ax, label="sum of weights per pixel")
    return ax


def _windows(size, centers, widths):
    """Gaussian windows along one side, (n_features, size), each of sum one."""
    distance = (np.arange(size) - centers[:, np.newaxis]) / widths[:, np.newaxis]
    windows = np.exp(-0.5 * distance**2)
    return windows / windows.sum(axis=1, keepdims=True)
