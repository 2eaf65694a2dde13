"""
Comparing codes by information: spike count, latency, or both
=============================================================

Does a neuron encode the stimulus by how many spikes it fires, or by when the first one
comes? Nelken and colleagues (2005) compared such codes by their information. Here 32
stimuli are simulated in a population of neurons whose spike counts and first-spike
latencies both depend on the stimulus, so that the two codes can be compared separately
and together, by the confusion table and by implied information.
"""

# %%
# Simulate counts and latencies
# -----------------------------
import numpy as np

from neuroextrap.decoding import IdentificationScorer

rng = np.random.default_rng(0)
n_stimuli, n_runs, n_neurons = 32, 8, 60
tuning = rng.normal(size=(2, n_stimuli, n_neurons))
stimulus = np.concatenate([rng.permutation(n_stimuli) for _ in range(n_runs)])
run = np.repeat(np.arange(n_runs), n_stimuli)
counts = rng.poisson(np.exp(1.0 + 0.2 * tuning[0, stimulus]))
latency = 20.0 * np.exp(-0.155 * tuning[1, stimulus])  # ms
latency = latency * rng.gamma(shape=5.0, scale=1 / 5.0, size=latency.shape)

# variance-stabilized, so that a step is as noisy everywhere; both in unit noise
count_code = 2 * np.sqrt(counts)
latency_code = np.log(latency) / np.sqrt(1 / 5.0 + 1 / 50)
codes = {
    "spike count": count_code,
    "latency": latency_code,
    "both": np.hstack([count_code, latency_code]),
}

# %%
# Information of each code, one run left out at a time
# ----------------------------------------------------
from neuroextrap import stats

sizes = np.arange(2, n_stimuli + 1)
curves, table = {}, {}
for name, X in codes.items():
    wins = IdentificationScorer().win_distribution(X, stimulus, groups=run)
    curves[name] = stats.average_accuracy(wins, sizes)
    table[name] = [float(stats.implied_information(curves[name], sizes))]

# %%
# The confusion table needs predictions; a nearest-centroid classifier again
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.neighbors import NearestCentroid

for name, X in codes.items():
    predicted = cross_val_predict(
        NearestCentroid(), X, stimulus, groups=run, cv=LeaveOneGroupOut()
    )
    for correction in (None, "panzeri_treves"):
        information = stats.confusion_information(
            stimulus, predicted, correction=correction
        )
        table[name].append(float(information))

print("bits          implied  plug-in  corrected")
for name, row in table.items():
    print(f"{name:12s}" + "".join(f"{value:9.2f}" for value in row))

# %%
# Eight predictions a stimulus cannot fill a table of 32 x 32: the plug-in is biased
# upwards, which makes codes look more alike than they are, and no value may pass
# log2(32) = 5 bits. Implied information uses the rank of the right stimulus, not
# only the best guess. Counts and latencies of this simulation are tuned independently,
# equally reliable, and independent given the stimulus, so that the bits of the two
# should nearly add up.
print(f"sum of parts {table['spike count'][0] + table['latency'][0]:8.2f} (implied)")

# %%
from neuroextrap.plotting import plot_accuracy_curve

ax = None
colors = ("#0072B2", "#D55E00", "#009E73")
for (name, curve), color in zip(curves.items(), colors, strict=True):
    ax = plot_accuracy_curve(
        sizes, curve, label=name, color=color, chance=name == "both", ax=ax
    )
