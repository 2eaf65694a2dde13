"""Scans in canonical space, after Kjems et al. 2002."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.plotting._axes import COLORS, add_legend, draws_on_axes, resolve_axes
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import brief, check_numbers, real_array


@draws_on_axes
def plot_canonical_coordinates(
    coordinates: ArrayLike,
    labels: ArrayLike,
    *,
    class_means: ArrayLike | None = None,
    directions: tuple = (0, 1),
    ax: Any = None,
) -> Any:
    """Plot scans in canonical space, each as the symbol of its label.

    A circle of radius one, the standard deviation of the classes, is drawn around the
    mean of every class.

    Parameters
    ----------
    coordinates : array-like of shape (n_samples, n_directions)
        Canonical coordinates, in within-class standard deviations. With a single
        direction the scans are spread by their order.
    labels : array-like of shape (n_samples,)
        Labels of the scans. Their symbol is the first character, or the last, or their
        number: the first of these that tells all labels apart.
    class_means : array-like of shape (n_classes, n_directions) or None, default=None
        Means of the classes, in the order of the sorted labels; None takes them from
        ``coordinates``.
    directions : tuple of int, default=(0, 1)
        The two directions to draw.

    Raises
    ------
    ValueError
        If there is no canonical direction, or not one label per scan.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.plotting import plot_canonical_coordinates
    >>> c = np.random.default_rng(0).standard_normal((12, 2))
    >>> ax = plot_canonical_coordinates(c, np.tile(["A", "B"], 6))
    >>> len(ax.patches)
    2
    """
    from matplotlib.patches import Circle

    coordinates = real_array(coordinates, "coordinates")
    labels = check_labels(labels, "labels")
    if coordinates.ndim != 2 or coordinates.shape[1] < 1:
        raise ValueError(
            f"coordinates of shape {coordinates.shape} must have shape (n_samples, "
            "n_directions) with at least one direction"
        )
    if labels.shape != coordinates.shape[:1]:
        raise ValueError(
            f"labels of shape {labels.shape} must hold one label for each of the "
            f"{len(coordinates)} scans"
        )
    classes = np.unique(labels)
    if class_means is None:
        class_means = [coordinates[labels == g].mean(axis=0) for g in classes]
    means = real_array(class_means, "class_means")
    if means.shape != (len(classes), coordinates.shape[1]):
        raise ValueError(
            f"class_means of shape {means.shape} must hold a row for each of the "
            f"{len(classes)} labels, in the directions of coordinates"
        )
    points, means, names = _two_axes(coordinates, means, directions)
    ax = resolve_axes(ax)
    symbols = _symbols([str(label) for label in classes])
    for i, label in enumerate(classes):
        color, scans = COLORS[i % len(COLORS)], points[labels == label]
        ax.plot(*scans.T, "o", ms=1, color=color)
        for x, y in scans:
            ax.annotate(symbols[i], (x, y), ha="center", va="center", color=color)
        name = f"{symbols[i]}  {label}"
        ax.add_patch(Circle(means[i], 1, fill=False, color=color, label=name))
    ax.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    ax.autoscale_view()
    add_legend(ax)
    return ax


def _symbols(names):
    """Return one character per label that tells them apart, or else their numbers."""
    for characters in ([name[:1] for name in names], [name[-1:] for name in names]):
        if len(set(characters)) == len(names):
            return characters
    return [str(number + 1) for number in range(len(names))]


def _two_axes(coordinates, class_means, directions):
    """Return points, means and axis names; the order of scans replaces a direction."""
    if coordinates.shape[1] == 1:
        spread = np.linspace(-1, 1, len(coordinates))
        points = np.stack([coordinates[:, 0], spread], axis=1)
        means = np.stack([class_means[:, 0], np.zeros(len(class_means))], axis=1)
        return points, means, ("canonical direction 1", "order of scans")
    picked = check_numbers(directions, "directions")
    known = picked.dtype.kind in "iu" and picked.shape == (2,)
    if not known or not (picked >= 0).all() or picked.max() >= class_means.shape[1]:
        raise ValueError(
            f"directions={brief(directions)} must be the numbers of two of the "
            f"{class_means.shape[1]} directions, counting from 0"
        )
    names = [f"canonical direction {i + 1}" for i in picked]
    return coordinates[:, picked], class_means[:, picked], names
