"""Which copes of a FEAT run are samples: those that are one original EV alone."""

import matplotlib.pyplot as plt
import numpy as np

evs = ["face", "house", "chair", "motion 1", "motion 2"]
copes = ["face", "house", "chair", "face - house", "mean of all"]
contrasts = np.zeros((len(copes), len(evs)))
contrasts[:3, :3] = np.eye(3)
contrasts[3, :2] = 1, -1
contrasts[4, :3] = 1 / 3
samples = ((contrasts != 0).sum(axis=1) == 1) & (contrasts.sum(axis=1) == 1)

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for chosen, colors in ((samples, "Oranges"), (~samples, "Greys")):
    hidden = np.broadcast_to(~chosen[:, None], contrasts.shape)
    shown = np.ma.masked_array(np.abs(contrasts), hidden)
    ax.imshow(shown, aspect="auto", cmap=colors, vmin=0, vmax=2, interpolation="none")
for (row, column), weight in np.ndenumerate(contrasts):
    text = f"{weight:.2f}".rstrip("0").rstrip(".") if weight else ""
    ax.text(column, row, text, ha="center", va="center")
ax.set_xticks(range(len(evs)), evs)
ax.set_yticks(
    range(len(copes)), [f"cope{i}: {name}" for i, name in enumerate(copes, start=1)]
)
for label, chosen in zip(ax.get_yticklabels(), samples, strict=True):
    label.set_weight("bold" if chosen else "normal")
ax.set(title="contrasts of one run: samples in color")
