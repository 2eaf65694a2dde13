"""
When do responses tell stimuli apart? Regions as moments
========================================================

A region is any set of features. Of recordings from sensors (trials x sensors x times)
each moment can be one: all sensors at that time. Everything else stays as it is for
spheres: accuracy curves, bits, lower bounds, and p-values corrected for looking at all
moments by the maximum statistic over time.
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
from scipy.sparse import csr_array

rng = np.random.default_rng(0)
n_stimuli, n_runs, n_repeats, n_sensors = 8, 10, 2, 40
times = np.arange(-100, 600, 20)  # ms
y = np.tile(np.repeat(np.arange(n_stimuli), n_repeats), n_runs)
runs = np.repeat(np.arange(n_runs), n_stimuli * n_repeats)

strength = np.interp(times, [80, 160, 240, 400], [0, 1, 1, 0], left=0, right=0)
patterns = rng.normal(size=(n_stimuli, n_sensors, 1))
mixing = np.eye(n_sensors) + 0.3 * rng.normal(size=(n_sensors, n_sensors)) / 6
noise = mixing @ rng.normal(size=(len(y), n_sensors, len(times)))
noise = gaussian_filter1d(noise, 1.5, axis=2)
trials = 0.35 * strength * patterns[y] + noise / noise.std()
print("trials x sensors x times:", trials.shape)

# %%
# One region per moment
# ---------------------
# Features are sensors and times, one after the other; row t of the matrix of regions
# selects all sensors at time t.
from neuroextrap.decoding import IdentificationSearchLight

n_times = len(times)
moment = np.tile(np.arange(n_times), n_sensors)  # of every feature
feature = np.arange(n_sensors * n_times)
regions = csr_array((np.ones(len(feature)), (moment, feature)))
light = IdentificationSearchLight(regions=regions, estimator="lda", n_permutations=500)
light.fit(trials.reshape(len(y), -1), y, groups=runs)

scores = light.region_scores_
survives = scores["p_value_fwe"] <= 0.05
print("above chance, corrected for all moments:", times[survives], "ms")
peak = int(np.argmax(scores["accuracy"]))
print(
    f"strongest at {times[peak]} ms: {scores['accuracy'][peak]:.0%} of 8 "
    f"(p {scores['p_value_fwe'][peak]:.3f}); the best classifier gets at least "
    f"{scores['bayes_accuracy_bound_fwe'][peak]:.0%}"
)

# %%
# Accuracy above the gray band is above what permuted labels give at *any* moment: the
# band ends at the 95th percentile of their largest accuracy over time. With a test of
# each moment by itself, some moment before the onset would often look significant.
figure, (top, bottom) = plt.subplots(2, sharex=True, layout="constrained")
largest = np.quantile(light.null_maxima_, 0.95)
top.axhspan(
    0, largest, color="0.9", lw=0, label="95% of the largest with permuted labels"
)
top.plot(times, scores["accuracy"], color="#0072B2", label="accuracy")
top.plot(
    times,
    scores["bayes_accuracy_bound_fwe"],
    "--",
    color="#D55E00",
    label="lower bound, all moments at once",
)
top.axhline(1 / n_stimuli, color="0.5", lw=0.8)
top.set(ylabel="accuracy among 8", ylim=(0, 1))
top.legend(frameon=False, fontsize="small")
bottom.plot(times, scores["implied_information"], color="#0072B2")
bottom.fill_between(times, 0, 0.1, where=survives, color="#009E73", step="mid", lw=0)
bottom.set(xlabel="time after onset (ms)", ylabel="implied information (bits)")
for ax in (top, bottom):
    ax.axvline(0, color="0.5", lw=0.8)
plt.show()

# %%
# Windows instead of moments
# --------------------------
# Regions may overlap. Five moments together (100 ms) hold more signal, and blur time.
width = 5
members = [np.flatnonzero((moment >= t) & (moment < t + width)) for t in range(n_times)]
members = members[: n_times - width + 1]
rows = np.repeat(np.arange(len(members)), [len(each) for each in members])
windows = csr_array((np.ones(len(rows)), (rows, np.concatenate(members))))
wide = IdentificationSearchLight(regions=windows, estimator="lda", bounds=None)
wide.fit(trials.reshape(len(y), -1), y, groups=runs)

figure, ax = plt.subplots(layout="constrained")
ax.plot(times, scores["accuracy"], color="#0072B2", label="one moment")
centers = times[: len(members)] + 10 * (width - 1)
ax.plot(centers, wide.region_scores_["accuracy"], color="#CC79A7", label="100 ms")
ax.axhline(1 / n_stimuli, color="0.5", lw=0.8)
ax.set(xlabel="time after onset (ms; center of the window)", ylabel="accuracy among 8")
ax.legend(frameon=False)
plt.show()
