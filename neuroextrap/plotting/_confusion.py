"""Matrices of classes: confusions, predicted probabilities, distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import squareform

from neuroextrap.plotting._axes import (
    COLORS,
    class_ticks,
    draws_on_axes,
    new_axes,
    resolve_axes,
)
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import check_flags, real_array


@draws_on_axes
def plot_confusion_matrix(
    confusion: Any, class_names: Any = None, *, discs: bool = False, ax: Any = None
) -> Any:
    """Plot a confusion matrix, each row as proportions of the true class.

    Mean predicted probabilities may be drawn as discs of proportional area: true
    classes stand from left to right, predicted ones from top to bottom, so that every
    column holds the same area.

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes)
        Counts or proportions; rows are true classes, columns are answers.
    class_names : sequence of str of length n_classes or None, default=None
        Names of the classes; None numbers them.
    discs : bool, default=False
        Whether to draw probabilities as discs, as they are.

    Raises
    ------
    ValueError
        If the matrix is not square, has a negative or non-finite entry or an empty row
        (discs: an entry above one), or there is not one name per class.

    References
    ----------
    Kjems et al. 2002, "The quantitative evaluation of functional neuroimaging
    experiments: mutual information learning curves", NeuroImage 15, 772-786 (discs:
    figure 5).

    Examples
    --------
    >>> from neuroextrap.plotting import plot_confusion_matrix
    >>> ax = plot_confusion_matrix([[8, 2], [1, 9]], ["face", "house"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('answer', 'true class')
    """
    check_flags(discs=discs)
    confusion, names = _checked(confusion, class_names)
    if discs:
        return _draw_discs(confusion, names, ax)
    totals = confusion.sum(axis=1, keepdims=True)
    if totals.min() <= 0:
        raise ValueError("confusion must have at least one answer in every row")
    ax = resolve_axes(ax)
    image = ax.imshow(confusion / totals, vmin=0, vmax=1, cmap="cividis")
    class_ticks(ax, names)
    ax.set(xlabel="answer", ylabel="true class")
    ax.figure.colorbar(image, ax=ax, label="proportion of the true class")
    return ax


def _draw_discs(confusion, names, ax):
    """Draw probabilities as discs on new axes, or on those given; return the axes."""
    from matplotlib.patches import Circle

    if (most := confusion.max()) > 1 + 1e-9:
        raise ValueError(
            f"confusion must hold probabilities, got {most:g}; divide counts by the "
            "sum of their row"
        )
    ax = resolve_axes(ax)
    for (true, predicted), value in np.ndenumerate(confusion):
        color = COLORS[0] if true == predicted else "0.4"
        ax.add_patch(Circle((true, predicted), 0.48 * np.sqrt(value), color=color))
    class_ticks(ax, names)
    ends = -0.6, len(confusion) - 0.4
    ax.set(xlabel="true class", ylabel="predicted class", aspect="equal")
    ax.set(xlim=ends, ylim=ends[::-1])
    return ax


def _checked(confusion, class_names):
    """Return a square matrix and the classes' names; check entries and names."""
    confusion = real_array(confusion, "confusion")
    square = confusion.ndim == 2 and confusion.shape[0] == confusion.shape[1]
    if not square or not confusion.size:
        raise ValueError(f"confusion of shape {confusion.shape} must be square")
    if not (np.isfinite(confusion).all() and confusion.min() >= 0):
        raise ValueError("confusion must be finite and not negative")
    if class_names is None:
        class_names = range(len(confusion))
    names = check_labels(class_names, "class_names")
    if len(names) != len(confusion):
        raise ValueError(
            f"class_names must hold {len(confusion)} names, got {len(names)}"
        )
    return confusion, [str(name) for name in names]


def draw_distances(maps, region):
    """Draw the distances of one region of maps beside those of the models."""
    n_classes = len(maps.classes_)
    shown = {"measured": squareform(maps.dissimilarities_[region])} | maps.models_
    side = float(np.clip(0.22 * n_classes, 2.4, 5))
    size = (side + 1.2) * len(shown), side + 0.6
    axes = new_axes(*size, 1, len(shown), squeeze=False)[0]
    names = [str(each) for each in maps.classes_] if n_classes <= 40 else []
    for ax, (name, distances) in zip(axes, shown.items(), strict=True):
        masked = np.where(np.eye(n_classes, dtype=bool), np.nan, distances)
        picture = ax.imshow(masked, cmap="viridis")
        ax.set_title(name)
        ax.figure.colorbar(picture, ax=ax, shrink=0.8)
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
    return axes[0].figure
