"""
Top-1 among 50 or among 242? Scores of any decoder, in bits
===========================================================

Retrieval reports how often the right candidate comes first, which says as much
about the size of the pool as about the decoder. Here written characters are
retrieved: five drawings of each have to find the mean of fifteen others, by the
correlation of pixels. Random pools of 25 to all 242 characters give top-1
accuracies that cannot be compared, and bits that can.

The drawings are read from the folder ``omniglot_small`` under the environment
variable ``NEUROEXTRAP_DATA``. Without it, simulated characters take their place.
"""

# %%
# Vectors: what was decoded, and the candidates
# ---------------------------------------------
import io
import os
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from neuroextrap.scores import score_identification


def read_drawings(folder):
    """Read all drawings at 21 x 21 pixels, shape (n_characters, 20, 441)."""
    from matplotlib.image import imread

    drawings = {}
    for path in sorted(Path(folder).glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                parts = Path(name).parts
                if name.endswith(".png") and "__MACOSX" not in parts:
                    ink = 1 - imread(io.BytesIO(archive.read(name))).reshape(105, 105)
                    small = ink.reshape(21, 5, 21, 5).mean(axis=(1, 3)).ravel()
                    drawings.setdefault(parts[-3:-1], {})[name[-6:-4]] = small
    return np.array([[d[k] for k in sorted(d)] for _, d in sorted(drawings.items())])


def simulate_drawings(n_characters=242, n_features=60):
    """Draw characters and drawings from nested normal distributions."""
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(1 + np.arange(n_features))
    centers = 0.5 * rng.normal(size=(n_characters, 1, n_features))
    return scale * (centers + rng.normal(size=(n_characters, 20, n_features)))


folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "omniglot_small"
real = bool(os.environ.get("NEUROEXTRAP_DATA")) and folder.is_dir()
drawings = read_drawings(folder) if real else simulate_drawings()
print("real drawings" if real else "simulated drawings", drawings.shape)
n_all = len(drawings)


def retrieve(chosen, set_sizes):
    """Find the characters of some drawings among the same characters."""
    return score_identification(
        decoded=drawings[chosen, 15:].reshape(-1, drawings.shape[-1]),
        candidates=drawings[chosen, :15].mean(axis=1),
        targets=np.repeat(np.arange(len(chosen)), 5),
        metric="correlation",
        set_sizes=set_sizes,
        n_permutations=199,
    )


# %%
# Four pools, one decoder
# -----------------------
# Each smaller pool predicts the accuracy among all characters, with a 90% interval.
rng = np.random.default_rng(0)
rows = []
for n_candidates in (25, 50, 100, n_all):
    found = retrieve(rng.permutation(n_all)[:n_candidates], [n_all])
    row = found.summary.iloc[0]
    among_all = found.curve.set_index("set_size").loc[n_all]
    rows.append(
        {
            "pool": n_candidates,
            "top-1": row["accuracy"],
            "two-way": row["pairwise_accuracy"],
            "bits": row["implied_information"],
            "bits, from": row["implied_information_lower"],
            "bits, to": row["implied_information_upper"],
            f"top-1 among {n_all}": among_all["accuracy"],
            "from": among_all["lower"],
            "to": among_all["upper"],
        }
    )
table = pd.DataFrame(rows)
print(table.round(2).to_string(index=False))

# %%
# Top-1 falls with the pool, bits do not
# --------------------------------------
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.plot(table["pool"], table["two-way"], "o-", label="two-way")
left.plot(table["pool"], table["top-1"], "o-", label="top-1")
left.set(xscale="log", ylim=(0, 1.02), xlabel="candidates", ylabel="accuracy")
left.legend(frameon=False)
errors = [table["bits"] - table["bits, from"], table["bits, to"] - table["bits"]]
right.errorbar(table["pool"], table["bits"], errors, fmt="o-")
right.set(xscale="log", xlabel="candidates", ylabel="implied information (bits)")
right.set_ylim(bottom=0)

# %%
# Which characters are hard, and what is doubtful
# -----------------------------------------------
print(found.stimuli.head(5).round(2).to_string(index=False))
print(found.notes or "nothing is doubtful")
plt.show()
