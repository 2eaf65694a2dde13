"""Figures on matplotlib axes, with units on the axes and color-blind-safe colors."""

from neuroextrap.plotting._accuracy_curves import (
    plot_accuracy_curve,
    plot_extrapolation_fan,
    plot_temporal_generalization,
    plot_time_course,
)
from neuroextrap.plotting._brain_maps import plot_map, plot_receptive_field
from neuroextrap.plotting._information_plots import (
    plot_information_vs_size,
    plot_null_distribution,
)
from neuroextrap.plotting._learning_curves import (
    plot_canonical_coordinates,
    plot_confusion_matrix,
    plot_learning_curves,
)

__all__ = [
    "plot_accuracy_curve",
    "plot_canonical_coordinates",
    "plot_confusion_matrix",
    "plot_extrapolation_fan",
    "plot_information_vs_size",
    "plot_learning_curves",
    "plot_map",
    "plot_null_distribution",
    "plot_receptive_field",
    "plot_temporal_generalization",
    "plot_time_course",
]
