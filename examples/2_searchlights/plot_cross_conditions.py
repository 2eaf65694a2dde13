"""
Does a code carry over from one task to another?
================================================

Eight objects are seen in one task and imagined in another. Two patches of a simulated
brain tell the objects apart in both tasks: the first has one code, the second a new one
in each task. A searchlight cannot tell these patches apart, and permuted labels call
part of the second one shared. Exchanging the names of the objects between the tasks
does not.
"""

# %%
# Simulate both tasks
# -------------------
import nibabel
import numpy as np

rng = np.random.default_rng(0)
n_objects, n_runs, shape = 8, 8, (22, 12, 3)
runs, tasks, objects = [], [], []
for run in range(n_runs):
    for task in ("see", "imagine"):
        runs += [run] * n_objects
        tasks += [task] * n_objects
        objects += rng.permutation(n_objects).tolist()
runs, tasks, objects = np.array(runs), np.array(tasks), np.array(objects)

codes = {task: np.zeros((n_objects, *shape)) for task in ("see", "imagine")}
one_code, first, second = rng.normal(size=(3, n_objects, 8, 10, 3))
for task, other_code in (("see", first), ("imagine", second)):
    codes[task][:, 1:9, 1:11] = one_code
    codes[task][:, 13:21, 1:11] = other_code
volumes = [codes[task][name] for task, name in zip(tasks, objects, strict=True)]
volumes = np.stack(volumes, axis=-1) + 0.8 * rng.normal(size=(*shape, len(runs)))
affine = np.diag([3.0, 3.0, 3.0, 1.0])
imgs = nibabel.Nifti1Image(volumes.astype(np.float32), affine)
mask_img = nibabel.Nifti1Image(np.ones(shape, np.int8), affine)

# %%
# Within a task, and from one task to the other
# ---------------------------------------------
# The names of eight objects can be paired in 40,320 ways, of which 1,000 are drawn.
from nilearn.image import index_img

from neuroextrap.decoding import IdentificationSearchLight, cross_identification

light = IdentificationSearchLight(
    mask_img, radius=5.0, n_permutations=1000, bounds=None
)
seen = np.flatnonzero(tasks == "see")
within = light.fit(index_img(imgs, seen), objects[seen], groups=runs[seen])

across = cross_identification(
    IdentificationSearchLight(mask_img, radius=5.0, n_permutations=1000),
    imgs,
    objects,
    runs,
    tasks,
    train="see",
    test="imagine",
)

# %%
# The same with permuted labels
# -----------------------------
# Folds that train on one task and test on the other: the usual test of a code that
# carries over. It finds too many spheres of the second patch: those in which its two
# codes happen to be a little alike.
folds = [
    (
        np.flatnonzero((runs != run) & (tasks == trained)),
        np.flatnonzero((runs == run) & (tasks != trained)),
    )
    for trained in ("see", "imagine")
    for run in range(n_runs)
]
labels = IdentificationSearchLight(
    mask_img, radius=5.0, cv=folds, n_permutations=1000, bounds=None
).fit(imgs, objects, groups=2 * runs + (tasks == "see"))

# %%
# Spheres with p at most .05, each by itself
# ------------------------------------------
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
for ax, maps, title in zip(
    axes,
    (within.maps_, labels.maps_, across),
    ("seen, within the task", "across, labels permuted", "across, names exchanged"),
    strict=True,
):
    accuracy, p = (
        maps[name].get_fdata()[:, :, 1].T for name in ("accuracy", "p_value")
    )
    drawn = ax.imshow(accuracy, vmin=0, vmax=1, cmap="plasma", origin="lower")
    ax.contour(p <= 0.05, [0.5], colors="white")
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes, label="accuracy among 8")
plt.show()

# %%
# One sphere in twenty is expected by chance:
for name, maps in (("labels permuted", labels.maps_), ("names exchanged", across)):
    p = maps["p_value"].get_fdata()
    for patch, columns in (("one code", slice(2, 8)), ("two codes", slice(14, 20))):
        share = np.mean(p[columns, 2:10] <= 0.05)
        print(f"{name}, patch with {patch}: {share:.2f} of spheres")
