"""A confusion matrix."""

import numpy as np

from neuroextrap.plotting._axes import class_ticks, resolve_axes


def plot_confusion_matrix(confusion, class_names=None, *, ax=None):
    """Plot a confusion matrix, each row as proportions of the true class.

    Parameters
    ----------
    confusion : array-like, shape (n_classes, n_classes)
        Counts or proportions; row = true class, column = answer.
    class_names : sequence of str, shape (n_classes,), or None, default=None
        Names of the classes.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    ValueError
        If the matrix is not square, has a negative or non-finite entry or an empty row,
        or there is not one name a class.

    References
    ----------
    Kjems et al. 2002, "The quantitative evaluation of functional neuroimaging
    experiments: mutual information learning curves", NeuroImage 15, 772-786.

    Examples
    --------
    >>> from neuroextrap.plotting import plot_confusion_matrix
    >>> ax = plot_confusion_matrix([[8, 2], [1, 9]], ["face", "house"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('answer', 'true class')
    """
    shares, names = _shares(confusion, class_names)
    ax = resolve_axes(ax)
    image = ax.imshow(shares, vmin=0, vmax=1, cmap="cividis")
    class_ticks(ax, names)
    ax.set(xlabel="answer", ylabel="true class")
    ax.figure.colorbar(image, ax=ax, label="proportion of the true class")
    return ax


def _shares(confusion, class_names):
    """Return row proportions and names, or say what is wrong."""
    confusion = np.asarray(confusion, dtype=float)
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
        raise ValueError(f"confusion must be square, got shape {confusion.shape}")
    totals = confusion.sum(axis=1, keepdims=True)
    if not (np.isfinite(confusion).all() and confusion.min() >= 0 and totals.min() > 0):
        raise ValueError(
            "confusion must be finite and not negative, with at least one answer a row"
        )
    if class_names is None:
        class_names = [str(number) for number in range(len(confusion))]
    if len(class_names) != len(confusion):
        raise ValueError(
            f"class_names must hold {len(confusion)} names, got {len(class_names)}"
        )
    return confusion / totals, list(class_names)
