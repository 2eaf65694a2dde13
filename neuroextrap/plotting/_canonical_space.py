"""Scans in canonical space, and sensitivity maps, after Kjems et al. 2002."""

import numpy as np

from neuroextrap.plotting._axes import COLORS, add_legend, resolve_axes
from neuroextrap.plotting._brain_maps import plot_map, read_map


def plot_canonical_coordinates(
    coordinates, labels, *, class_means=None, directions=(0, 1), ax=None
):
    """Plot scans in canonical space, every scan as its label, with class circles.

    Parameters
    ----------
    coordinates : array of shape (n_samples, n_directions)
        Canonical coordinates, in within-class standard deviations. With a single
        direction the scans are spread by their order.
    labels : array of shape (n_samples,)
        Labels; drawn is the first character of each, or the last, or its number:
        the first of these that tells all labels apart.
    class_means : array of shape (n_classes, n_directions), optional
        Means of the sorted labels; None: those of ``coordinates``. The circles have
        radius one, the standard deviation of the classes.
    directions : tuple of int
        Which two directions to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        No canonical direction, or not one label a scan.

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

    coordinates, labels = np.asarray(coordinates, dtype=float), np.asarray(labels)
    if coordinates.ndim != 2 or coordinates.shape[1] < 1:
        raise ValueError(
            f"coordinates of shape {coordinates.shape} given; (n_samples, "
            "n_directions) with at least one direction needed."
        )
    if labels.shape != coordinates.shape[:1]:
        raise ValueError(
            f"{len(labels)} labels given for {len(coordinates)} scans; one each needed."
        )
    classes = np.unique(labels)
    if class_means is None:
        class_means = [coordinates[labels == g].mean(axis=0) for g in classes]
    points, means, names = _two_axes(coordinates, np.asarray(class_means), directions)
    ax = resolve_axes(ax)
    symbols = _symbols([str(label) for label in classes])
    for i, label in enumerate(classes):
        color, mine = COLORS[i % len(COLORS)], labels == label
        ax.plot(*points[mine].T, "o", ms=1, color=color)
        for x, y in points[mine]:
            ax.annotate(symbols[i], (x, y), ha="center", va="center", color=color)
        name = f"{symbols[i]}  {label}"
        ax.add_patch(Circle(means[i], 1, fill=False, color=color, label=name))
    ax.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    ax.autoscale_view()
    add_legend(ax)
    return ax


def _symbols(names):
    """One character a label that tells them apart; their numbers if none does."""
    for characters in ([name[:1] for name in names], [name[-1:] for name in names]):
        if len(set(characters)) == len(names):
            return characters
    return [str(number + 1) for number in range(len(names))]


def _two_axes(coordinates, class_means, directions):
    """Points and means in two directions; the order of scans replaces a missing one."""
    if coordinates.shape[1] == 1:
        spread = np.linspace(-1, 1, len(coordinates))
        points = np.stack([coordinates[:, 0], spread], axis=1)
        means = np.stack([class_means[:, 0], np.zeros(len(class_means))], axis=1)
        return points, means, ("canonical direction 1", "order of scans")
    picked = list(directions)
    names = [f"canonical direction {i + 1}" for i in picked]
    return coordinates[:, picked], class_means[:, picked], names


def plot_sensitivity_map(img, *, background=None, threshold=None, **options):
    """Plot orthogonal slices of a sensitivity map over an anatomical image.

    Parameters
    ----------
    img : 3-D image or path
        Sensitivity map as an image.
    background : 3-D image, path or False, optional
        Anatomy underneath, as ``bg_img`` of :func:`plot_map`.
    threshold : float, optional
        Values below are transparent. None: the 95th percentile of the map.
    **options : dict
        Passed on to :func:`plot_map`.

    Returns
    -------
    nilearn.plotting.displays.OrthoSlicer
        The display.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 2.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.plotting import plot_sensitivity_map
    >>> values = np.random.default_rng(0).random((8, 9, 7))
    >>> img = nibabel.Nifti1Image(values, np.eye(4))
    >>> display = plot_sensitivity_map(img, background=False, title="sensitivity")
    >>> display.close()
    """
    if threshold is None:
        values = read_map(img)[0]
        threshold = float(np.percentile(values[np.isfinite(values)], 95))
    settings = {"cmap": "inferno", "vmin": 0} | options
    return plot_map(img, bg_img=background, threshold=threshold, **settings)
