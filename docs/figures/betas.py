"""Which regressors of a first-level model are samples: one of every condition."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from nilearn.glm.first_level import make_first_level_design_matrix

rng = np.random.default_rng(0)
events = pd.DataFrame(
    {
        "onset": np.arange(12) * 20.0 + 6,
        "duration": 8.0,
        "trial_type": ["face", "house", "chair"] * 4,
    }
)
design = make_first_level_design_matrix(
    2.0 * np.arange(124),
    events,
    hrf_model="spm + derivative",
    drift_model="polynomial",
    drift_order=0,
    add_regs=rng.normal(size=(124, 6)).cumsum(axis=0),
    add_reg_names=[f"motion {axis}" for axis in range(1, 7)],
)
samples = np.isin(design.columns, events["trial_type"])
values = (design / design.abs().max()).to_numpy()

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for chosen, colors in ((samples, "PuOr"), (~samples, "gray")):
    shown = np.ma.masked_array(values, np.broadcast_to(~chosen, values.shape))
    ax.imshow(shown, aspect="auto", cmap=colors, vmin=-1, vmax=1, interpolation="none")
ax.set_xticks(range(len(design.columns)), design.columns, rotation=60, ha="right")
for label, chosen in zip(ax.get_xticklabels(), samples, strict=True):
    label.set_weight("bold" if chosen else "normal")
ax.set(ylabel="volume", title="samples of one run: in color")
