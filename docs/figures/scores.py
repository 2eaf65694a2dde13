"""One decoder, four pools: top-1 falls, bits stay."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.scores import score_identification

ENDS = "lower", "upper"

rng = np.random.default_rng(0)
embeddings = rng.normal(size=(1000, 60))
decoded = embeddings + 2 * rng.normal(size=embeddings.shape)
pools = {size: rng.permutation(1000)[:size] for size in (50, 100, 300, 1000)}
found = {
    size: score_identification(
        decoded=decoded[chosen],
        candidates=embeddings[chosen],
        set_sizes=1000 if size == 100 else 2,
    )
    for size, chosen in pools.items()
}
table = {size: each.summary.iloc[0] for size, each in found.items()}


def interval(name):
    """Lower and upper ends of a number, (2, n_pools)."""
    rows = table.values()
    return np.array([[row[f"{name}_{end}"] for row in rows] for end in ENDS])


figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
for name, label in (("pairwise_accuracy", "two-way"), ("accuracy", "top-1")):
    values = [row[name] for row in table.values()]
    ends = [
        [row[f"{name}_{end}"] for row in table.values()] for end in ("lower", "upper")
    ]
    errors = np.abs(np.array(ends) - values)
    left.errorbar(list(table), values, errors, fmt="o-", ms=4, label=label)
guess = found[100].curve.iloc[-1]
left.errorbar(
    [1060],
    [guess.accuracy],
    [[guess.accuracy - guess.lower], [guess.upper - guess.accuracy]],
    fmt="s",
    mfc="white",
    color="#D55E00",
    label="top-1 among 1,000,\npredicted from 100",
)
left.set(
    xscale="log", ylim=(0, 1.02), xlabel="candidates in the pool", ylabel="accuracy"
)
left.legend(loc="lower left")
bits = [row["implied_information"] for row in table.values()]
ends = interval("implied_information")
right.errorbar(list(table), bits, np.abs(ends - bits), fmt="o-", ms=4)
right.set(xscale="log", ylim=(0, ends.max() + 1), ylabel="implied information (bits)")
for ax in (left, right):
    ax.set_xlabel("candidates in the pool")
    ax.set_xticks([50, 100, 300, 1000], ["50", "100", "300", "1,000"])
    ax.minorticks_off()
