"""Nine pipelines of one simulated experiment: p-values alone, and over all."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight, multiverse

rng = np.random.default_rng(3)
n_classes, n_runs, n_regions, n_voxels = 6, 8, 40, 12
y = rng.permuted(np.tile(np.arange(n_classes), (n_runs, 1)), axis=1).ravel()
runs = np.repeat(np.arange(n_runs), n_classes)
X = rng.normal(size=(len(y), n_regions, n_voxels))
X[:, :4] += 0.35 * rng.normal(size=(n_classes, 4, n_voxels))[y]
pipelines = {
    f"{name}, {words}": IdentificationSearchLight(
        regions=np.kron(np.eye(n_regions), np.ones(n_voxels)),
        estimator=name,
        statistic=statistic,
        n_permutations=999,
    )
    for name in ("nearest_centroid", "ridge", "lda")
    for statistic, words in (
        ("accuracy", "accuracy"),
        (2, "pairs"),
        ("implied_information", "bits"),
    )
}
table = multiverse(pipelines, X.reshape(len(y), -1), y, runs).table_
table = table.sort_values("p_value_fwe", ascending=False)

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
place = np.arange(len(table))
for column, marker, color, label in (
    ("p_value_fwe_alone", "o", "0.6", "had it been the only one"),
    ("p_value_fwe", "D", "#0072B2", "over all nine pipelines"),
):
    ax.plot(table[column], place, marker, color=color, label=label)
ax.axvline(0.05, color="#D55E00", ls="--", lw=1)
ax.set_yticks(place, table["pipeline"], fontsize=8)
ax.set(xlabel="smallest family-wise p-value", xscale="log")
ax.legend(frameon=False, fontsize=8)
plt.show()
