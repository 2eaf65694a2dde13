"""
Train on others, test on a new brain: before and after alignment
================================================================

Ten subjects tell four conditions apart with the same code, but each brain has it in
other voxels. A decoder of the others fails in a new subject until brains are aligned
by a film that all of them saw: data that hold nothing about the conditions.
"""

# %%
# Subjects whose voxels are mixed differently
# -------------------------------------------
# A shared space of 8 dimensions is rotated into the 60 voxels of each subject. There
# are 200 volumes of a film, and the mean response to each condition.
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.stats import special_ortho_group

n_subjects, n_conditions, n_voxels = 10, 4, 60
rng = np.random.default_rng(0)
code = np.zeros((n_conditions, n_voxels))
code[:, :8] = rng.normal(size=(n_conditions, 8))
film = np.zeros((200, n_voxels))
film[:, :8] = 2 * rng.normal(size=(200, 8))
mixed = [special_ortho_group.rvs(n_voxels, random_state=rng) for _ in range(n_subjects)]
films = [film @ own + rng.normal(size=film.shape) for own in mixed]
means = [code @ own + 0.3 * rng.normal(size=code.shape) for own in mixed]

# %%
# Leave one subject out
# ---------------------
# Groups are subjects, and names of conditions are exchanged within each of them. Each
# subject saw the conditions in an order of their own, which ``order`` tells.
from neuroextrap.decoding import IdentificationSearchLight

y = np.tile(np.arange(n_conditions), n_subjects)
subjects = np.repeat(np.arange(n_subjects), n_conditions)
order = np.concatenate([rng.permutation(n_conditions) for _ in range(n_subjects)])


def decode(responses):
    """Identify the conditions of each subject by those of the others."""
    light = IdentificationSearchLight(
        within_runs="center", n_permutations=199, bounds=None
    )
    light.fit(np.concatenate(responses), y, groups=subjects, order=order)
    return [light.region_scores_[k][0] for k in ("accuracy", "p_value")]


decoded = {"as they are": decode(means)}
print("accuracy {:.2f} (chance .25), p = {:.3f}".format(*decoded["as they are"]))

# %%
# Align by the film
# -----------------
# Every subject is rotated to the first one. No response to a condition is used, so that
# p-values stay valid. ``fmralign`` does it where it is installed (and in parcels of
# real brains, by other methods too); else scipy finds the same rotation.
try:
    from fmralign import PairwiseAlignment
except ImportError:
    PairwiseAlignment = None


def align(own, film):
    """Return the responses of a subject, rotated as its film is to the first one's."""
    if PairwiseAlignment is None:
        return own @ orthogonal_procrustes(film, films[0])[0]
    return PairwiseAlignment(method="procrustes").fit(film, films[0]).transform(own)


aligned = [align(own, film) for own, film in zip(means, films, strict=True)]
decoded["aligned by a film"] = decode(aligned)
print("accuracy {:.2f}, p = {:.3f}".format(*decoded["aligned by a film"]))

# %%
# Aligned by what is tested
# -------------------------
# Rotations that are found with the responses themselves make subjects alike whether
# they share anything or not: without any code, everything is decoded.
nothing = [rng.normal(size=code.shape) for _ in range(n_subjects)]
turned = [own @ orthogonal_procrustes(own, nothing[0])[0] for own in nothing]
decoded["noise, aligned by itself:\nnever do this"] = decode(turned)
for name, (accuracy, p) in decoded.items():
    plt.bar(name, accuracy)
    plt.text(name, accuracy, f"p = {p:.3f}", ha="center", va="bottom")
plt.axhline(1 / 4, color="gray", linestyle=":")
plt.text(-0.38, 0.26, "chance")
plt.ylabel("identification accuracy in a new brain")
plt.show()
