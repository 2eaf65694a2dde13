"""Reaction times that differ between classes, and what two remedies make of it."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight, trial_confound

rng = np.random.default_rng(0)
n_runs, n_trials, n_regions, n_voxels = 8, 20, 30, 10
runs = np.repeat(np.arange(n_runs), n_trials)
regions = np.kron(np.eye(n_regions), np.ones(n_voxels))
light = IdentificationSearchLight(regions=regions, bounds=None)
apart = [0.0, 0.5, 1.0, 2.0, 3.0]
ignored, within, mistaken = [], [], []
for d in apart:
    shares, accuracies = [], []
    for _ in range(3):
        y = rng.permuted(np.tile([0, 1], (n_runs, n_trials // 2)), axis=1).ravel()
        time = d * y + rng.normal(size=len(y))
        noise = rng.normal(size=(len(y), n_regions * n_voxels))
        x = time[:, None] * rng.normal(size=n_regions * n_voxels) + noise
        maps = trial_confound(light.set_params(n_permutations=99), x, y, runs, time)
        names = ("unrestricted_p_value", "p_value")
        shares.append([np.mean(maps[name] <= 0.05) for name in names])
        both = np.stack([np.ones(len(y)), time], axis=1)
        rest = x - both @ np.linalg.lstsq(both, x, rcond=None)[0]
        plain = light.set_params(n_permutations=0).fit(rest, y, groups=runs)
        accuracies.append(plain.region_scores_["accuracy"].mean())
    ignored.append(np.mean(shares, axis=0)[0])
    within.append(np.mean(shares, axis=0)[1])
    mistaken.append(np.mean(accuracies))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot(apart, ignored, "o-", color="#D55E00", label="exchanged within runs")
left.plot(apart, within, "o-", color="#0072B2", label="within pairs alike in time")
left.axhline(0.05, color="0.5", lw=1)
left.set(ylabel="regions with p at most .05", ylim=(-0.03, 1.03))
left.legend(frameon=False)
right.plot(apart, mistaken, "o-", color="#D55E00", label="time regressed out")
right.axhline(0.5, color="0.5", lw=1, label="chance")
right.set(ylabel="accuracy", ylim=(0.3, 0.55))
right.legend(frameon=False)
for ax in (left, right):
    ax.set(xlabel="difference of classes in time (SD)")
