"""
Which photograph was seen?
==========================

An encoding model learns how voxels respond to the Gabor energies of images. Given the
response to a new image, it picks the candidate whose prediction fits best, and the
accuracy among many more candidates than were shown can be extrapolated.
The brain is simulated: patches of two photographs drive voxels at the occipital pole,
all other voxels are noise.
"""

# %%
# Stimuli, features, responses
# ----------------------------
import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.datasets import simulate_visual_cortex
from neuroextrap.encoding import (
    EncodingIdentification,
    GaborPyramid,
    RetinotopicFeatures,
    RidgeEncoder,
    compare_encoding_models,
)

cortex = simulate_visual_cortex(n_train=300, n_test=60, resolution=10)
train, test = cortex.is_train, ~cortex.is_train
responses = cortex.masker.transform(cortex.imgs)[:, cortex.responsive]


# %%
# Fit and identify
# ----------------
# Noise covariance and penalties come only from training responses. Pairings of
# responses and stimuli are permuted within the test runs.
def identify(transformer):
    features = transformer.fit(cortex.stimuli[train]).transform(cortex.stimuli)
    model = EncodingIdentification(encoder=RidgeEncoder(), n_permutations=999)
    model.fit(features[train], responses[train])
    return model.identify(features[test], responses[test], groups=cortex.runs[test])


gabor, retinotopic = identify(GaborPyramid()), identify(RetinotopicFeatures())
for name, model in (("Gabor", gabor), ("retinotopic", retinotopic)):
    scores = {key: value[0] for key, value in model.region_scores_.items()}
    print(
        f"{name}: {scores['accuracy']:.2f} among 60 (chance {1 / 60:.2f}), "
        f"{scores['implied_information']:.1f} bits implied, at least "
        f"{scores['information_bound']:.1f} bits, p = {scores['p_value']:.3f}; "
        f"0.10 reached at {model.extrapolator(0).set_size_at(accuracy=0.10):.0f} images"
    )

# %%
# Is the Gabor model better?
# --------------------------
# The two models' outcomes are exchanged image by image.
difference = compare_encoding_models(gabor, retinotopic)
print(
    f"difference {difference['accuracy_difference'][0]:.2f}, "
    f"p = {difference['p_value'][0]:.3f}"
)

# %%
# Curves, and what they say of larger sets
# ----------------------------------------
fig, ax = plt.subplots()
further = np.geomspace(60, 1e5, 40).astype(int)
for name, model in (("Gabor", gabor), ("retinotopic", retinotopic)):
    (line,) = ax.plot(*model.accuracy_curve(0, np.arange(2, 61)), label=name)
    predicted = model.extrapolator(0).predict(further)
    ax.plot(further, predicted, linestyle="--", color=line.get_color())
ax.axhline(0.1, color="gray", linewidth=0.8)
ax.set(xscale="log", xlabel="set size", ylabel="identification accuracy", ylim=(0, 1))
ax.legend()
plt.show()
