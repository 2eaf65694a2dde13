"""
When do responses tell stimuli apart? Moments as regions
========================================================

Recordings over time (trials x channels x times) are identified at every moment, from
all channels together: accuracy, bits, lower bounds, and p-values corrected for looking
at all moments by the maximum statistic over time. Then classifiers of one moment are
tested at all others.
"""

# %%
# Trials whose patterns appear, move and fade
# -------------------------------------------
# Eight stimuli, ten runs of two trials each, 40 sensors, a sample every 20 ms. The
# patterns of the stimuli are there from 80 to 400 ms after onset; between 160 and 240
# ms they are strongest. Noise is correlated over sensors and over time.
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d

rng = np.random.default_rng(0)
n_stimuli, n_runs, n_repeats, n_sensors = 8, 10, 2, 40
times = np.arange(-100, 600, 20)  # ms
shown = np.repeat(np.arange(n_stimuli), n_repeats)
y = np.concatenate([rng.permutation(shown) for _ in range(n_runs)])
runs = np.repeat(np.arange(n_runs), n_stimuli * n_repeats)

strength = np.interp(times, [80, 160, 240, 400], [0, 1, 1, 0], left=0, right=0)
patterns = rng.normal(size=(n_stimuli, n_sensors, 1))
mixing = np.eye(n_sensors) + 0.3 * rng.normal(size=(n_sensors, n_sensors)) / 6
noise = mixing @ rng.normal(size=(len(y), n_sensors, len(times)))
noise = gaussian_filter1d(noise, 1.5, axis=2)
trials = 0.35 * strength * patterns[y] + noise / noise.std()
print("trials x sensors x times:", trials.shape)

# %%
# Every moment
# ------------
# MNE's epochs can be given instead of the array, and bring their times.
from neuroextrap.decoding import (
    IdentificationSearchLight,
    temporal_generalization,
    time_resolved_identification,
)
from neuroextrap.plotting import plot_temporal_generalization, plot_time_course

light = IdentificationSearchLight(estimator="lda", n_permutations=500)
found = time_resolved_identification(light, trials, y, runs, times=times)
table = found.table
survives = table["p_value_fwe"] <= 0.05
print("above chance, corrected for all moments:", times[survives], "ms")
peak = table.loc[table["accuracy"].idxmax()]
print(
    f"strongest at {peak['time']:.0f} ms: {peak['accuracy']:.0%} of 8 "
    f"(p {peak['p_value_fwe']:.3f}); the best classifier gets at least "
    f"{peak['bayes_accuracy_bound_fwe']:.0%}"
)

# %%
# Accuracy above the gray band exceeds that of permuted labels at *any* moment: the
# band ends at the 95th percentile of their largest accuracy over time. With a test of
# each moment by itself, some moment before the onset would often look significant.
figure, (top, bottom) = plt.subplots(2, sharex=True, layout="constrained")
largest = np.quantile(found.searchlight.null_maxima_, 0.95)
top.axhspan(0, largest, color="0.9", lw=0)
plot_time_course(
    times,
    table["accuracy"],
    p_value=table["p_value_fwe"],
    lower_bound=table["bayes_accuracy_bound_fwe"],
    chance=1 / n_stimuli,
    xlabel="",
    ylabel="accuracy among 8",
    ax=top,
)
plot_time_course(
    times,
    table["implied_information"],
    p_value=table["p_value_fwe"],
    xlabel="time after onset (ms)",
    ylabel="information (bits)",
    ax=bottom,
)
plt.show()

# %%
# Windows instead of moments
# --------------------------
# Windows of five moments (100 ms) hold more signal and blur time.
light = IdentificationSearchLight(estimator="lda", bounds=None)
wide = time_resolved_identification(light, trials, y, runs, times=times, window=5)

ax = plot_time_course(times, table["accuracy"], label="one moment")
plot_time_course(
    wide.times,
    wide.table["accuracy"],
    label="100 ms",
    chance=1 / n_stimuli,
    color="#CC79A7",
    xlabel="time after onset (ms; center of the window)",
    ylabel="accuracy among 8",
    ax=ax,
)
plt.show()

# %%
# From one moment to others
# -------------------------
# These patterns grow and fade, but do not change: a classifier of 160 ms also works
# at 300 ms. The line surrounds what survives the correction: on the diagonal moments at
# which stimuli can be told apart (labels permuted), off it pairs of moments whose
# stimuli correspond (names of stimuli exchanged between them).
light = IdentificationSearchLight(n_permutations=200)
pairs = temporal_generalization(light, trials, y, runs, times=times)
plot_temporal_generalization(
    times,
    pairs.scores["accuracy"],
    p_value=pairs.scores["p_value_fwe"],
    xlabel="test (ms after onset)",
    ylabel="training (ms after onset)",
    label="accuracy among 8",
)
plt.show()
