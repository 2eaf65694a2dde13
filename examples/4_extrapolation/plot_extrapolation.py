"""
From 400 faces to 1,672: extrapolating accuracy, and how far to trust it
========================================================================

A face recognizer is tested on 400 people. How accurate will it be among 1,672? The
people are simulated points in ten dimensions, with one noisy photograph to learn from
and one to recognize; nearest neighbor decides. The answer is looked up in the data of
all 1,672 and predicted from random 400 of them.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist

from neuroextrap.plotting import plot_extrapolation_fan
from neuroextrap.stats import AccuracyExtrapolator, average_accuracy, win_distribution

warnings.simplefilter("ignore", UserWarning)  # the spline says that it ends at 800

rng = np.random.default_rng(0)
people = rng.normal(size=(1672, 10))
learnt, shown = (people + 0.4 * rng.normal(size=people.shape) for _ in range(2))
margins = -cdist(shown, learnt)
sizes = np.unique(np.geomspace(2, 1672, 60).astype(int))
truth = average_accuracy(win_distribution(margins, np.arange(1672)), sizes)


def subsample(n_people):
    """Scores of some people among themselves."""
    some = rng.permutation(1672)[:n_people]
    return margins[np.ix_(some, some)], np.arange(n_people)


# %%
# Up to 400 the accuracy among k is an average over all subsets, without a model;
# beyond, every method has one. A spline describes what was seen and ends there. The
# default is a mean of methods that err in different directions far out, joined to the
# measured curve up to 800.
sample = subsample(400)
measured = sizes[sizes <= 400]
seen = average_accuracy(win_distribution(*sample), measured)
further = np.arange(400, 1673, 8)
figure, axis = plt.subplots(layout="constrained")
axis.plot(sizes, truth, color="black", label="all 1,672 people")
axis.plot(measured, seen, "o", markersize=3, label="400 people")
for method in ("auto", "spline", "radial_basis"):
    found = AccuracyExtrapolator(method).fit(*sample)
    axis.plot(further, found.predict(further), "--", label=method)
axis.set(xscale="log", xlabel="set size k", ylabel="identification accuracy")
axis.legend(frameon=False)

# %%
# How far off may it be? The interval counts that 400 people are a sample and that the
# methods differ. Here it is from 60 people to ten times as many, and the truth of all
# 1,672 people falls inside.
few = subsample(60)
model = AccuracyExtrapolator().fit(*few)
measured, further = sizes[sizes <= 60], np.arange(60, 601, 10)
beyond = average_accuracy(win_distribution(margins, np.arange(1672)), further)
lower, upper = model.predict_interval(further)
plot_extrapolation_fan(
    measured,
    average_accuracy(win_distribution(*few), measured),
    further,
    {"auto": model.predict(further)},
    interval=(lower, upper),
    truth=beyond,
)
inside = np.mean((lower <= beyond) & (beyond <= upper))
print(f"from 60 people: the truth lies inside at {inside:.0%} of the set sizes")

# %%
# How much does the prediction scatter? Ten random samples of each size.
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharey=True, layout="constrained")
for axis, n_people in zip(axes, (100, 200, 400, 800), strict=True):
    ends = []
    for _ in range(10):
        found = AccuracyExtrapolator().fit(*subsample(n_people))
        axis.plot(sizes, found.predict(sizes), color="C0", alpha=0.4, linewidth=0.8)
        ends.append(found.predict(1672))
    axis.plot(sizes, truth, color="black")
    axis.axvline(n_people, color="gray", linewidth=0.8)
    axis.set(xscale="log", xlabel="set size k", title=f"from {n_people} people")
    error = np.sqrt(np.mean((np.array(ends) - truth[-1]) ** 2))
    print(f"from {n_people}: among 1,672 {np.mean(ends):.3f}, error {error:.3f}")
print(f"truth {truth[-1]:.3f}")
axes[0].set_ylabel("identification accuracy")
plt.show()
