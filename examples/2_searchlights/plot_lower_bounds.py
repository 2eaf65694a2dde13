"""
Maps of lower bounds: what is certain, and for which classes
============================================================

An accuracy is about a classifier. A lower bound is about the responses: with 95%
confidence the best possible classifier does at least this well. Two designs show what
each kind of bound needs: 8 categories with many repeats, and 96 stimuli with four.
"""

# %%
# Eight categories in twelve runs: bounds for *these* eight
# ---------------------------------------------------------
from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

common = {"resolution": 10, "radius": 20}
few = simulate_brain(n_classes=8, n_runs=12, **common)
fitted_few = IdentificationSearchLight(few.masker, radius=20)
fitted_few.fit(few.imgs, few.y, groups=few.runs)

# %%
# 96 stimuli in four runs: bounds for others of their kind, and bits
# ------------------------------------------------------------------
# More stimuli, not more repeats, make bounds on *average* Bayes accuracy tight.
many = simulate_brain(n_classes=96, n_runs=4, **common)
fitted_many = IdentificationSearchLight(many.masker, radius=20)
fitted_many.fit(many.imgs, many.y, groups=many.runs)

# %%
# Bounds at the three planted spheres, each region by itself and (in brackets) together
# with all others
names = ("bayes_accuracy_bound", "average_bayes_accuracy_bound", "information_bound")
for title, brain, fitted in (
    ("8 classes", few, fitted_few),
    ("96 classes", many, fitted_many),
):
    print(title)
    for place, planted in zip(
        brain.coordinates, brain.samples.information, strict=True
    ):
        region = fitted.find_region(tuple(place))
        scores = {name: value[region] for name, value in fitted.region_scores_.items()}
        shown = ", ".join(
            f"{name} {scores[name]:.2f} ({scores[name + '_fwe']:.2f})" for name in names
        )
        print(f"  {planted:3.0f} bits, accuracy {scores['accuracy']:.2f}: {shown}")

# %%
# Two maps: at least so many bits, and the index that implies the observed curve
from nilearn.plotting import show

from neuroextrap.plotting import plot_map

cut = tuple(many.coordinates[1])
for name in ("information_bound", "implied_information"):
    plot_map(fitted_many.maps_[name], cut_coords=cut, title=name)
show()

# %%
# How tight a bound can be
# ------------------------
# Perfect accuracy, by the number of classes and of repeats: a design's limits are known
# before a single scan.
import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.stats import average_bayes_accuracy_lower_bound

n_classes = np.unique(np.geomspace(20, 1000, 30).astype(int))
fig, ax = plt.subplots()
for n_repeats, style in ((1, "-"), (10, "--")):
    for method, color in (("subgaussian", "#0072B2"), ("hybrid", "#D55E00")):
        bounds = [
            average_bayes_accuracy_lower_bound(
                1.0, n_classes=k, n_repeats=n_repeats, set_sizes=k, method=method
            )
            for k in n_classes.tolist()
        ]
        label = f"{method}, {n_repeats} test point(s) a class"
        ax.semilogx(n_classes, bounds, style, color=color, label=label)
ax.set(xlabel="number of classes K", ylabel="bound at accuracy 1 (95%)", ylim=(0, 1))
ax.legend(frameon=False, fontsize="small")
