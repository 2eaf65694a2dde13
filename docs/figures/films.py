"""A simulated film: the learned response over delays, and segments of any length."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

from neuroextrap.encoding import ContinuousEncoding
from neuroextrap.stats import average_accuracy

rng = np.random.default_rng(0)
n_features, n_voxels, t_r = 6, 20, 1.5
true = np.array([0.0, 0.3, 0.9, 1.0, 0.7, 0.35, 0.1, 0.0])  # by delay in volumes
weights = rng.normal(size=(n_features, n_voxels))
weights[0, 0] = 2.0


def run(n_volumes):
    """Draw slow features, and responses that follow them, with slow noise."""
    slow = lfilter([1], [1, -0.6], rng.normal(size=(n_volumes + 50, 26)), axis=0)[50:]
    features, noise = slow[:, :n_features], slow[:, n_features:]
    response = lfilter(true, [1], features, axis=0)
    return features, response @ weights + 10 * noise


features, responses = zip(*(run(200) for _ in range(6)), strict=True)
model = ContinuousEncoding(delays=range(8), t_r=t_r, within_runs="center")
model.fit(list(features[:4]), list(responses[:4]))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
learned = model.encoder_.coef_[0].reshape(8, n_features)[:, 0]
scale = np.concatenate(features[:4])[:, 0].std()
seconds = np.arange(8) * t_r
left.plot(seconds, weights[0, 0] * true, color="0.6", lw=4, label="true")
left.plot(seconds, learned / scale, "o-", color="#0072B2", label="learned")
left.set(xlabel="delay (s)", ylabel="weight", title="one feature, one voxel")
left.legend(frameon=False)

colors = ("#009E73", "#D55E00")
lengths, curves = [3, 6, 9, 12, 18], []
for length in lengths:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.identify_segments(
            list(features[4:]), list(responses[4:]), seconds=length
        )
    curves.append([average_accuracy(found.wins_[0], k) for k in (2, 10)])
for k, curve, color in zip((2, 10), np.transpose(curves), colors, strict=True):
    right.plot(lengths, curve, "o-", color=color, label=f"among {k}")
    right.axhline(1 / k, color=color, ls=":", lw=1)
right.set(xlabel="length of segments (s)", ylabel="accuracy", ylim=(0, 1.02))
right.set(title="segments identified (dotted: chance)")
right.legend(frameon=False)
figure.tight_layout()
