"""A simulated film: unique and shared variance of two bands, and noise ceilings."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.encoding import ContinuousEncoding

rng = np.random.default_rng(0)
kinds = np.repeat(["motion", "both", "words"], 40)
weights = rng.normal(size=(4, 120))
weights[:2, kinds == "words"] = 0
weights[2:, kinds == "motion"] = 0
mixed, noise = 0.6, 2.0


def draw(n_volumes):
    """Draw two bands that go together, and what responses are without noise."""
    motion, own = rng.normal(size=(2, n_volumes, 2))
    words = mixed * motion + np.sqrt(1 - mixed**2) * own
    both = np.hstack([motion, words])
    signal = np.zeros((n_volumes, 120))
    signal[2:] = both[:-2] @ weights
    return {"motion": motion, "words": words}, signal


films = [draw(300) for _ in range(4)]
shown = [films[i] for i in (0, 1, 2, 3, 3)]  # the last one twice
features = [each for each, _ in shown]
imgs = [signal + noise * rng.normal(size=signal.shape) for _, signal in shown]
model = ContinuousEncoding(t_r=2.0).fit(features[:3], imgs[:3])
maps = model.partition(features[3:], imgs[3:])
scores = model.score(features[3:], imgs[3:])

long, signal = draw(20_000)
total = signal.var(axis=0) + noise**2 / 2
both = np.hstack(list(long.values()))
lost = {}
for name, columns in (("motion", slice(2, 4)), ("words", slice(0, 2))):
    kept = both[:-2, columns]
    rest = signal[2:] - kept @ np.linalg.lstsq(kept, signal[2:], rcond=None)[0]
    lost[name] = rest.var(axis=0) / total
lost["shared"] = signal.var(axis=0) / total - lost["motion"] - lost["words"]

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), width_ratios=[3, 2])
colors = {"motion": "#0072B2", "shared": "0.6", "words": "#D55E00"}
for place, (part, color) in enumerate(colors.items()):
    found = maps["r2_shared" if part == "shared" else f"r2_unique_of_{part}"]
    for group, kind in enumerate(("motion", "both", "words")):
        inside, x = kinds == kind, group + (place - 1) * 0.27
        low, middle, high = np.quantile(found[inside], [0.25, 0.5, 0.75])
        mean = found[inside].mean()
        left.bar(x, mean, 0.25, color=color, label=part if not group else None)
        left.plot([x, x], [low, high], color="k", lw=1)
        truth = lost[part][inside].mean()
        left.plot([x - 0.13, x + 0.13], [truth, truth], color="k", lw=2)
left.set_xticks(range(3), ["motion", "both", "words"])
left.set(xlabel="what voxels follow", ylabel="explained variance (line: truth)")
left.axhline(0, color="k", lw=0.8)
left.set_ylim(top=0.55)
left.legend(frameon=False, title="unique to")

ceiling = np.sqrt(scores["noise_ceiling"])
right.scatter(ceiling, scores["correlation"], s=12, color="0.3")
right.plot([0, 1], [0, 1], color="0.6", lw=1)
right.set(xlabel="largest correlation", ylabel="correlation in new runs")
right.set(xlim=(0, 1), ylim=(0, 1))
figure.tight_layout()
