"""Two conditions that occur in the same runs, compared run by run, and as if not."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight, compare_decoders

rng = np.random.default_rng(0)
n_trials, n_regions, n_voxels = 24, 20, 10
regions = np.kron(np.eye(n_regions), np.ones(n_voxels))
differs = np.arange(n_regions) % 2 == 0  # more is told about attended objects
plain = np.linspace(0.1, 0.5, n_regions)


def fitted(code, gain, quality):
    """Return a searchlight of a condition whose runs differ in quality.

    Its code is as good as that of the other, but of other voxels.
    """
    runs = np.repeat(np.arange(len(quality)), n_trials)
    y = rng.permuted(np.tile(np.arange(n_trials) % 4, (len(quality), 1)), axis=1)
    own = rng.permuted(np.arange(n_voxels) + np.zeros((n_regions, 1), int), axis=1)
    code = np.take_along_axis(code, own[None], axis=2) * gain[:, None]
    x = code.reshape(4, -1)[y.ravel()] * quality[runs][:, None]
    x += rng.normal(size=x.shape)
    light = IdentificationSearchLight(regions=regions, bounds=None)
    return light.fit(x, y.ravel(), groups=runs)


numbers, paired, unpaired, level = [4, 6, 8, 12, 16], [], [], []
for n_runs in numbers:
    rates = []
    for _ in range(8):
        quality = rng.uniform(0.3, 1.7, size=n_runs)  # the subject may doze
        code = rng.normal(size=(4, n_regions, n_voxels))
        gains = plain + 0.3 * differs, plain
        both = [fitted(code, gain, quality) for gain in gains]
        by_run, apart = (compare_decoders(*both, paired=how) for how in ("runs", None))
        finds = by_run["p_value"] <= 0.05
        alone = apart["p_value"] <= 0.05
        rates.append([finds[differs].mean(), alone[differs].mean()])
        rates[-1].append(finds[~differs].mean())
    for values, rate in zip(
        (paired, unpaired, level), np.mean(rates, axis=0), strict=True
    ):
        values.append(rate)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
survives = by_run["p_value_fwe"] <= 0.05
for rows, color, label in (
    (~survives, "0.65", "not shown to differ"),
    (survives, "#D55E00", "p at most .05 over all regions"),
):
    x, y = by_run["second_accuracy"][rows], by_run["first_accuracy"][rows]
    left.plot(x, y, "o", color=color, label=label)
left.plot([0.25, 1], [0.25, 1], color="0.5", lw=1)
left.set(xlabel="accuracy, ignored", ylabel="accuracy, attended", ylim=(0.2, 1.2))
left.legend(frameon=False, loc="upper left")
right.plot(numbers, paired, "o-", color="#0072B2", label='differ, paired="runs"')
right.plot(numbers, unpaired, "o--", color="#0072B2", label="differ, paired=None")
right.plot(numbers, level, "o-", color="0.5", label='do not differ, "runs"')
right.axhline(0.05, color="0.5", lw=1)
right.set(xlabel="runs", ylabel="regions with p at most .05", ylim=(-0.03, 1.3))
right.legend(frameon=False, loc="upper left")
