"""
A searchlight along the cortical surface
========================================

Data on a surface mesh: regions are discs whose radius is measured along the surface,
one hemisphere at a time. The mesh is fsaverage5, which nilearn brings along; a patch of
one hemisphere carries a code of known information, the rest is noise.
"""

# %%
# A mesh, and a patch to plant a code in
# --------------------------------------
import numpy as np
from nilearn.datasets import load_fsaverage
from nilearn.maskers import SurfaceMasker
from nilearn.surface import SurfaceImage

from neuroextrap.datasets import plant_codes
from neuroextrap.images import to_img

mesh = load_fsaverage("fsaverage5")["pial"]
ones = {part: np.ones(len(m.coordinates)) for part, m in mesh.parts.items()}
masker = SurfaceMasker().fit(SurfaceImage(mesh, ones))
vertex = 2000  # of the left hemisphere
places = np.concatenate([m.coordinates for m in mesh.parts.values()])
patch = np.flatnonzero(np.linalg.norm(places - places[vertex], axis=1) <= 15)
n_vertices = masker.n_elements_
print(f"{n_vertices} vertices, {len(patch)} of them with a code of 8 bits")

# %%
# Six stimuli in eight runs
# -------------------------
data = plant_codes(n_vertices, [patch], [8.0], n_classes=6, n_runs=8, random_state=1)
imgs = to_img(data.X, masker)

# %%
# The same searchlight as in a volume
# -----------------------------------
# Every vertex is the center of a disc; ``process_mask_img`` would choose among them.
from neuroextrap.decoding import IdentificationSearchLight

light = IdentificationSearchLight(masker, radius=15, n_permutations=50)
light.fit(imgs, data.y, groups=data.runs)
scores = light.region_scores_
print(
    f"at the planted vertex: {scores['implied_information'][vertex]:.1f} bits implied,"
)
print(f"corrected p {scores['p_value_fwe'][vertex]:.3f}")
found = np.flatnonzero(scores["p_value_fwe"] < 0.05)
print(
    f"{len(found)} discs at corrected p < 0.05, {np.isin(found, patch).sum()} of their"
)
print("centers within the patch; the others reach into it")

# %%
from nilearn.datasets import load_fsaverage_data
from nilearn.plotting import plot_surf_stat_map, show

plot_surf_stat_map(
    stat_map=light.maps_["implied_information"],
    surf_mesh=mesh,
    bg_map=load_fsaverage_data(mesh_type="pial"),  # sulci
    hemi="left",
    view="ventral",
    threshold=0.5,
    vmin=0,
    cmap="plasma",
    title="implied information (bits)",
)
show()
