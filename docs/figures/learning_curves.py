"""Two models of the same scans: which is better depends on the number of subjects."""

import matplotlib.pyplot as plt

from neuroextrap.learning_curves import (
    information_learning_curve,
    simulate_hierarchical_scans,
)
from neuroextrap.plotting import plot_learning_curves

data = simulate_hierarchical_scans(n_subjects=18, random_state=0)
options = {"train_sizes": [3, 5, 8, 12, 16], "n_splits": 12}
curves = {
    "two labels": information_learning_curve(
        data.X, data.coarse, data.groups, **options
    ),
    "four labels": information_learning_curve(
        data.X, data.fine, data.groups, **options
    ),
}
figure, ax = plt.subplots(figsize=(7, 3.4))
plot_learning_curves(curves, ax=ax)
ax.legend(loc="center right")
