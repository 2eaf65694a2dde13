"""
Zheng and Benjamini (2016): four readings of one confusion
==========================================================

Twenty classes drawn at random, ten binary responses whose chances depend on the class,
naive Bayes trained on half of 1000 responses a class. The mutual information is known.
The paper estimates it from what the classifier gets right; the published figures are
drawn beside ours as crosses (numbers read from the authors' own result files).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize, special

from neuroextrap import stats

N_CLASSES, N_RESPONSES, N_TRIALS = 20, 10, 1000
published = {  # true nats: confusion, Fano, implied, sharp bound
    1.54: (0.95, 0.71, 1.48, 1.22),
    2.31: (1.47, 1.20, 2.36, 2.03),
    3.18: (2.00, 1.75, 3.51, 2.95),
    3.68: (2.30, 2.08, 4.41, 3.54),
    4.27: (2.57, 2.39, 5.53, 4.15),
}


def true_information(scale):
    """Nats between a class and its responses, which are independent given the class."""
    z = (np.arange(20_000) + 0.5) / 20_000
    p = special.expit(scale * special.ndtri(z))
    return N_RESPONSES * np.mean(np.log(2) - special.entr(p) - special.entr(1 - p))


def margins_of_one_experiment(scale, rng):
    """Train naive Bayes on half of the trials; return its scores of the other half."""
    chance = special.expit(scale * rng.normal(size=(N_CLASSES, N_RESPONSES)))
    half = N_TRIALS // 2
    p = (rng.binomial(half, chance) + 0.5) / (half + 1)
    y = np.repeat(np.arange(N_CLASSES), half)
    response = rng.random((len(y), N_RESPONSES)) < chance[y]
    return response @ special.logit(p).T + np.log1p(-p).sum(axis=1), y


def estimates(margins, y):
    """Return four estimates in nats, from all classes at once as in the paper."""
    accuracy = stats.win_distribution(margins, y)[-1]
    return (
        stats.confusion_information(y, margins.argmax(axis=1), base=np.e),
        stats.fano_information(accuracy, N_CLASSES, base=np.e),
        stats.implied_information([accuracy], [N_CLASSES], base=np.e),
        stats.min_information(accuracy, N_CLASSES, base=np.e),
    )


rng = np.random.default_rng(0)
truths = np.array(list(published))
found = []
for truth in truths:
    scale = optimize.brentq(lambda s, t=truth: true_information(s) - t, 0.1, 50)
    draws = [estimates(*margins_of_one_experiment(scale, rng)) for _ in range(10)]
    found.append(np.mean(draws, axis=0))
found, printed = np.array(found), np.array(list(published.values()))

# %%
# The plug-in estimate of the confusion table cannot exceed log 20 = 3.0 nats, Fano's
# bound is far below. The implied information follows the truth and overshoots where ten
# responses are few for its limit; the sharp lower bound stays below, and is close.
names = "confusion table", "Fano", "implied information", "sharp lower bound"
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for column, name in enumerate(names):
    (line,) = ax.plot(truths, found[:, column], "o-", ms=4, label=name)
    ax.plot(truths, printed[:, column], "x", ms=9, color=line.get_color())
ax.plot(truths, truths, color="0.6", lw=1, label="truth")
ax.set(xlabel="true information (nats)", ylabel="estimate (nats)")
ax.legend(frameon=False)
plt.show()

# %%
# Ours, and as published:
print(f"{'truth':>6}", *(f"{name:>22}" for name in names))
for truth, ours, theirs in zip(truths, found, printed, strict=True):
    pairs = zip(ours, theirs, strict=True)
    print(f"{truth:6.2f}", *(f"{a:13.2f} ({b:.2f})  " for a, b in pairs))
print(f"largest difference {np.abs(found - printed).max():.2f} nats")
