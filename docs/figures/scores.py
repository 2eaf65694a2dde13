"""One decoder, four pools: top-1 falls, bits stay."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.scores import score_identification

rng = np.random.default_rng(1)
embeddings = rng.normal(size=(1000, 60))
decoded = embeddings + 2.1 * rng.normal(size=embeddings.shape)
pools = {size: rng.permutation(1000)[:size] for size in (50, 100, 300, 1000)}
found = {
    size: score_identification(
        decoded=decoded[chosen], candidates=embeddings[chosen], set_sizes=1000 if size == 100 else 2
    )
    for size, chosen in pools.items()
}
table = {size: each.summary.iloc[0] for size, each in found.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
for name, label in (("pairwise_accuracy", "two-way"), ("accuracy", "top-1")):
    values = [row[name] for row in table.values()]
    ends = [[row[f"{name}_{end}"] for row in table.values()] for end in ("lower", "upper")]
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
left.set(xscale="log", ylim=(0, 1.02), xlabel="candidates in the pool", ylabel="accuracy")
left.legend(loc="lower left")
bits = [row["implied_information"] for row in table.values()]
ends = [
    [row[f"implied_information_{end}"] for row in table.values()]
    for end in ("lower", "upper")
]
right.errorbar(list(table), bits, np.abs(np.array(ends) - bits), fmt="o-", ms=4)
right.set(
    xscale="log",
    ylim=(0, max(ends[1]) + 1),
    xlabel="candidates in the pool",
    ylabel="implied information (bits)",
)
for ax in (left, right):
    ax.set_xticks([50, 100, 300, 1000], ["50", "100", "300", "1,000"])
    ax.minorticks_off()
