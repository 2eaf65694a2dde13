"""Which of forty stimuli was shown: responses against predictions."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from neuroextrap.encoding._margins import mahalanobis_margins
from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.stats import (
    average_accuracy,
    average_accuracy_interval,
    win_distribution,
)

rng = np.random.default_rng(0)
n_train, n_test, n_features, n_voxels = 200, 40, 20, 30
features = rng.normal(size=(n_train + n_test, n_features))
weights = rng.normal(size=(n_features, n_voxels))
responses = features @ weights + 8 * rng.normal(size=(len(features), n_voxels))

model = RidgeCV(np.logspace(0, 4, 9)).fit(features[:n_train], responses[:n_train])
noise = responses[:n_train] - model.predict(features[:n_train])
predicted, shown = model.predict(features[n_train:]), np.arange(n_test)
margins = mahalanobis_margins(responses[n_train:], predicted, np.cov(noise.T))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
centered = margins - margins.max(1, keepdims=True)
image = left.imshow(centered, cmap="viridis", vmin=np.quantile(centered, 0.1))
figure.colorbar(image, ax=left, label="margin below the best candidate")
best = margins.argmax(1)
left.plot(best, shown, ".", color="#D55E00", ms=6)
left.set(
    xlabel="candidate (its predicted response)",
    ylabel="measured response",
    title=f"{np.mean(best == shown):.0%} of picks (dots) on the diagonal",
)
sizes = np.array([2, 3, 5, 8, 12, 20, 30, 40])
curve = average_accuracy(win_distribution(margins, shown), sizes)
interval = average_accuracy_interval(margins, shown, sizes)
plot_accuracy_curve(sizes, curve, interval=interval, ax=right)
right.set(title="accuracy curve", xlabel="number of candidates", ylabel="accuracy")
