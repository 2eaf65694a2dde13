"""
Is it the class, or the reaction time?
======================================

Two kinds of words are read, and the second kind takes longer to answer. One patch of a
simulated brain follows the reaction time and knows nothing of the words; another tells
the kinds of words apart. A searchlight finds both.
"""

# %%
# Simulate trials
# ---------------
import nibabel
import numpy as np

rng = np.random.default_rng(0)
n_runs, n_trials, shape = 8, 16, (22, 10, 3)
words = np.concatenate(
    [rng.permutation(["noun", "verb"] * (n_trials // 2)) for _ in range(n_runs)]
)
runs = np.repeat(np.arange(n_runs), n_trials)
reaction_time = 0.7 + 0.1 * (words == "verb") + 0.1 * rng.normal(size=len(words))

volumes = rng.normal(size=(len(words), *shape))
volumes[:, 1:9, 1:9] += 6 * (reaction_time - 0.7)[:, None, None, None]
code = 0.7 * rng.normal(size=(8, 8, 3))
volumes[words == "verb", 13:21, 1:9] += code
affine = np.diag([3.0, 3.0, 3.0, 1.0])
imgs = nibabel.Nifti1Image(np.moveaxis(volumes, 0, 3).astype(np.float32), affine)
mask_img = nibabel.Nifti1Image(np.ones(shape, np.int8), affine)

# %%
# Three ways, one call
# --------------------
# The same analysis of the reaction time itself; labels exchanged within pairs of trials
# that are alike in it; and for comparison labels exchanged within runs.
from neuroextrap.decoding import IdentificationSearchLight, trial_confound

light = IdentificationSearchLight(mask_img, radius=5.0, n_permutations=500, bounds=None)
maps = trial_confound(light, imgs, words, runs, reaction_time)
print(maps.summary_)

# %%
# Where
# -----
# White lines enclose spheres with a family-wise p of at most .05.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
for ax, drawn, p_value, title in zip(
    axes,
    ("accuracy", "accuracy", "confound_accuracy"),
    ("unrestricted_p_value_fwe", "p_value_fwe", "confound_p_value_fwe"),
    ("words, ignoring time", "words, alike in time", "reaction time (3 levels)"),
    strict=True,
):
    accuracy, p = (maps[name].get_fdata()[:, :, 1].T for name in (drawn, p_value))
    image = ax.imshow(accuracy, vmin=0.2, vmax=1, cmap="plasma", origin="lower")
    ax.contour(p <= 0.05, [0.5], colors="white")
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=axes, label="accuracy")
plt.show()

# %%
# The same numbers as a table, the spheres with the smallest p-values first:
columns = ["x", "y", "z", "accuracy", "p_value_fwe", "unrestricted_p_value_fwe"]
table = maps.table_.sort_values(["p_value_fwe", "accuracy"], ascending=[True, False])
print(table[columns].head(5).round(3).to_string(index=False))
