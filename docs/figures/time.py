"""Accuracy at every moment of simulated trials, and from one moment to others."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d

from neuroextrap.decoding import (
    IdentificationSearchLight,
    temporal_generalization,
    time_resolved_identification,
)
from neuroextrap.plotting import plot_temporal_generalization, plot_time_course

rng = np.random.default_rng(3)
times = np.arange(-100, 500, 40)
y, runs = np.tile(np.arange(8), 10), np.repeat(np.arange(10), 8)
patterns = 0.6 * rng.normal(size=(2, 8, 30, 1))  # early and late ones differ
early = np.interp(times, [60, 120, 180], [0, 1, 0], left=0, right=0)
late = np.interp(times, [120, 220, 400], [0, 1, 0], left=0, right=0)
noise = gaussian_filter1d(rng.normal(size=(len(y), 30, len(times))), 0.7, axis=2)
trials = early * patterns[0, y] + late * patterns[1, y] + noise / noise.std()

light = IdentificationSearchLight(n_permutations=200)
found = time_resolved_identification(light, trials, y, runs, times=times)
pairs = temporal_generalization(light, trials, y, runs, times=times)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
plot_time_course(
    times,
    found.table["accuracy"],
    p_value=found.table["p_value_fwe"],
    lower_bound=found.table["bayes_accuracy_bound"],
    chance=1 / 8,
    xlabel="time after onset (ms)",
    ylabel="accuracy among 8",
    ax=left,
)
plot_temporal_generalization(
    times,
    pairs.scores["accuracy"],
    p_value=pairs.scores["p_value_fwe"],
    xlabel="tested at (ms)",
    ylabel="trained at (ms)",
    label="accuracy among 8",
    ax=right,
)
