"""
From one classifier to a curve, bits and bounds
===============================================

A single region: 96 stimuli, four runs, 80 voxels whose responses carry 8 bits about the
stimulus. Trained on three runs and tested on the fourth, a nearest-centroid classifier
picks the right stimulus among 96, and, by counting, among any smaller number of them.
"""

# %%
# Margins, wins, curve
# --------------------
import numpy as np
from sklearn.metrics import euclidean_distances

from neuroextrap import stats
from neuroextrap.datasets import (
    gaussian_code_accuracy,
    gaussian_code_information,
    plant_codes,
)

n_classes = 96
data = plant_codes(80, [range(80)], [8.0], n_classes=n_classes, n_runs=4)
train, test = data.runs < 3, data.runs == 3
centroids = np.stack([data.X[train & (data.y == c)].mean(0) for c in range(n_classes)])
margins = -euclidean_distances(data.X[test], centroids, squared=True)
y_true = data.y[test]

wins = stats.win_distribution(margins, y_true)
sizes = np.array([2, 3, 5, 8, 12, 20, 30, 50, 70, 96])
curve = stats.average_accuracy(wins, sizes)
interval = stats.average_accuracy_interval(margins, y_true, sizes)

# %%
# The bound holds with 95% confidence for the best possible classifier among k random
# stimuli of this kind; it needs one test response per stimulus (``n_repeats=1``), a
# random sample of stimuli, and test data that nothing was tuned on.
bound = stats.average_bayes_accuracy_lower_bound(
    curve, n_classes=n_classes, n_repeats=1, set_sizes=sizes
)

from neuroextrap.plotting import plot_accuracy_curve

ax = plot_accuracy_curve(sizes, curve, interval=interval, lower_bound=bound)
truth = gaussian_code_accuracy(80, data.snr[0], sizes)
ax.plot(sizes, truth, color="0.3", label="best possible (truth)")
ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))

# %%
# Bits
# ----
# Implied information describes this classifier, which learned the patterns from three
# noisy responses; no classifier trained on them can use more than the second number.
implied = stats.implied_information(curve, sizes)
usable = gaussian_code_information(80, data.snr[0], n_train=3)
best = stats.TestDesign(n_classes, 1).best_information_bound(curve, sizes)
print(f"implied information          {implied:5.2f} bits")
print(f"usable from three responses  {usable:5.2f} bits")
print(f"carried by the response      {data.information[0]:5.2f} bits")
print(f"at least (95% confidence)    {best:5.2f} bits")
print(f"drift per doubling of k      {stats.information_drift(curve, sizes):5.2f} bits")

# %%
# Two other measures from the same test set: neither can exceed log2(96) = 6.6 bits.
# Fano bounds from below, and the confusion table of one response per stimulus is biased
# upwards.
predicted = margins.argmax(axis=1)
print(f"Fano                         {stats.fano_information(curve[-1], 96):5.2f} bits")
plug_in = stats.confusion_information(y_true, predicted)
print(f"confusion table, plug-in     {plug_in:5.2f} bits")
