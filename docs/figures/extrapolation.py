"""From 100 classes to 1,000: prediction, its interval, and the truth."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import euclidean_distances

from neuroextrap.stats import AccuracyExtrapolator, average_accuracy, win_distribution

rng = np.random.default_rng(3)
n_all, n_shown, n_features = 1000, 100, 8
patterns = rng.normal(size=(n_all, n_features))
learned, tested = (patterns + 0.32 * rng.normal(size=patterns.shape) for _ in range(2))
margins = -euclidean_distances(tested, learned, squared=True)

shown = slice(n_shown)  # classes are in random order
model = AccuracyExtrapolator().fit(margins[shown, shown], np.arange(n_shown))
sizes = np.unique(np.geomspace(2, n_shown, 15).astype(int))
beyond = np.unique(np.geomspace(n_shown, n_all, 20).astype(int))
measured = average_accuracy(
    win_distribution(margins[shown, shown], np.arange(n_shown)), sizes
)
every = np.r_[sizes, beyond]
truth = average_accuracy(win_distribution(margins, np.arange(n_all)), every)
predicted = model.predict(beyond)
lower, upper = model.predict_interval(beyond)
naive = AccuracyExtrapolator("logistic").fit(margins[shown, shown], np.arange(n_shown))

figure, ax = plt.subplots(figsize=(7, 3.4))
ax.plot(every, truth, color="0.5", lw=4, alpha=0.4, label="truth, all 1,000 classes")
ax.plot(sizes, measured, "o", ms=4, color="#0072B2", label="measured, 100 classes")
ax.plot(beyond, predicted, "--", color="#D55E00", label="predicted from the 100")
ax.plot(
    beyond, naive.predict(beyond), ":", color="#009E73", label='naive line, "logistic"'
)
ax.fill_between(
    beyond, lower, upper, color="#D55E00", alpha=0.15, lw=0, label="90% interval"
)
ax.axvline(n_shown, color="0.8", lw=1, zorder=0)
ax.set(
    xscale="log",
    ylim=(0, 1.02),
    xlabel="number of classes to choose from",
    ylabel="accuracy",
)
ax.legend(loc="lower left")
