"""
Planning: how many classes, how many repeats
============================================

Before an experiment there are two questions. How many classes must be shown so that a
desired bound on the *population* they were drawn from is reached? And how often must
each of a *given* set of classes be tested so that a bound for exactly these classes is
reached? The answers depend on the analysis: here it is what the searchlight does by
default, forward testing, with ten runs.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.stats import required_classes, required_repeats

# %%
# Left: classes needed, against the expected accuracy, for a bound on the average Bayes
# accuracy among as many other classes, in one region (solid) and in 70,000 at once
# (dashed). Testing every class ten times a run instead of once (dotted) helps less than
# one might expect: the draw of the classes matters more than the noise of the tests.
#
# Right: tests of each of eight given classes that are needed in every run, for a bound
# on their Bayes accuracy. All bounds are reached with probability 0.8.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
accuracy = np.linspace(0.35, 1.0, 14)
analysis = {"analysis": "forward", "n_runs": 10}
designs = {
    "one region": ({}, "-"),
    "70,000 regions": ({"n_regions": 70_000}, "--"),
    "one region, 10 repeats": ({"n_repeats": 10}, ":"),
}
for color, bound in zip(("C0", "C1"), (0.3, 0.6), strict=True):
    reachable = accuracy[accuracy > bound + 0.06]
    for name, (options, style) in designs.items():
        needed = [required_classes(a, bound, **analysis, **options) for a in reachable]
        label = f"bound {bound}, {name}"
        left.semilogy(reachable, needed, style, color=color, label=label)
left.set(xlabel="expected accuracy", ylabel="number of classes")
left.set_title("for a bound on the population of classes", fontsize=10)
left.legend(fontsize=7)

for color, bound in zip(("C0", "C1"), (0.3, 0.6), strict=True):
    reachable = accuracy[accuracy > bound + 0.06]
    for name, n_regions, style in (("one", 1, "-"), ("70,000", 70_000, "--")):
        options = {"n_classes": 8, "n_regions": n_regions, **analysis}
        needed = [required_repeats(a, bound, **options) for a in reachable]
        label = f"bound {bound}, {name} region{'s' * (n_regions > 1)}"
        right.semilogy(reachable, needed, style, color=color, label=label)
right.set(xlabel="expected accuracy", ylabel="tests of each class in a run")
right.set_title("for a bound on eight given classes", fontsize=10)
right.legend(fontsize=7)
plt.show()

# %%
# With eight classes and an accuracy of 0.8, a bound for the eight themselves needs few
# tests a run; one for their population would need this many classes:
print(required_repeats(0.8, 0.6, n_classes=8, **analysis))
print(required_classes(0.8, 0.6, **analysis))
