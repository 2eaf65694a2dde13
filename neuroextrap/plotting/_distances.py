"""Matrices of distances between classes, measured and expected."""

import numpy as np


def draw_distances(maps, region):
    """Draw the distances of one region beside those of the models; return the figure.

    `maps` have ``dissimilarities_`` (n_regions, K (K - 1) / 2), ``classes_`` and
    ``models_``, matrices (K, K) by name.
    """
    import matplotlib.pyplot as plt

    n_classes = len(maps.classes_)
    measured = np.full((n_classes, n_classes), np.nan)
    measured[np.triu_indices(n_classes, 1)] = maps.dissimilarities_[region]
    measured.T[np.triu_indices(n_classes, 1)] = maps.dissimilarities_[region]
    shown = {"measured": measured} | maps.models_
    side = float(np.clip(0.22 * n_classes, 2.4, 5))
    figure, axes = plt.subplots(
        1,
        len(shown),
        figsize=((side + 1.2) * len(shown), side + 0.6),
        layout="constrained",
        squeeze=False,
    )
    for ax, (name, distances) in zip(axes[0], shown.items(), strict=True):
        masked = np.where(np.eye(n_classes, dtype=bool), np.nan, distances)
        picture = ax.imshow(masked, cmap="viridis")
        ax.set_title(name)
        figure.colorbar(picture, ax=ax, shrink=0.8)
        names = [str(each) for each in maps.classes_]
        if n_classes > 40:
            names = []
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
    return figure
