"""Published identification in pools of all sizes, on one axis of bits.

``published_pools.tsv`` has a row for each figure, with the text in which it was read.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import binom, norm

from neuroextrap.stats import gaussian_identification_accuracy

ROUNDING = 0.01  # how far another report of the same result may be
POOL = 1000
Z = np.linspace(-9, 9, 9001)


def accuracy_of(bits, set_size, n_best):
    """Chance that the target is among the best few of a set, in the Gaussian limit."""
    if n_best == 1:
        return float(gaussian_identification_accuracy(bits, set_size))
    beaten = norm.sf(Z + np.sqrt(2 * bits * np.log(2)))  # by one distractor
    among = binom.cdf(n_best - 1, set_size - 1, beaten)
    return float(np.trapezoid(norm.pdf(Z) * among, Z))


def bits_of(accuracy, set_size, n_best):
    """Information whose limit has this accuracy, at most 40 bits, 0 at chance."""
    if accuracy <= n_best / set_size:
        return 0.0
    if accuracy >= accuracy_of(40.0, set_size, n_best):
        return 40.0
    return brentq(lambda bits: accuracy_of(bits, set_size, n_best) - accuracy, 0, 40)


def read_pools(folder):
    """Read the table; add bits, their ends, and accuracy among 1,000."""
    table = pd.read_csv(folder / "published_pools.tsv", sep="\t")
    n_best = table["statistic"].map({"top-1": 1, "top-5": 5})
    for name, step in (("bits", 0), ("lower", -ROUNDING), ("upper", ROUNDING)):
        shifted = zip(
            table["accuracy"] + step, table["candidates"], n_best, strict=True
        )
        table[name] = [bits_of(*row) for row in shifted]
    table["among"] = gaussian_identification_accuracy(table["bits"], POOL)
    return table


def draw(table):
    """Draw a row for each decoder, a mark for each published figure."""
    rows = table["paper"].str.partition(",")[0] + ": " + table["decoder"]
    names = list(dict.fromkeys(rows))[::-1]
    place = {name: number for number, name in enumerate(names)}
    ax = plt.subplots(figsize=(8, 0.38 * len(names) + 1.6), layout="constrained")[1]
    for marker, (statistic, of_kind) in zip(
        "os", table.groupby("statistic"), strict=True
    ):
        reach = np.abs(of_kind[["lower", "upper"]].T - of_kind["bits"])
        how = {"fmt": marker, "ms": 5, "lw": 1, "label": statistic}
        how |= {"mfc": "white"} if statistic != "top-1" else {}
        at = rows[of_kind.index].map(place)
        ax.errorbar(of_kind["bits"], at, xerr=reach, **how)
    for _, marks in table.groupby(rows):
        ordered = marks.sort_values("bits")
        for number, mark in enumerate(ordered.itertuples()):
            pool = mark.candidates
            text = f"{pool:,}" if pool < 1e6 else f"$10^{{{np.log10(pool):.1f}}}$"
            ax.annotate(
                text,
                (mark.bits, place[rows[mark.Index]]),
                xytext=(0, (4, -10)[number % 2]),
                textcoords="offset points",
                fontsize=7,
                ha="center",
            )
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set(xlim=(0, 30), ylim=(-0.7, len(names) - 0.2), xlabel="implied bits")
    ax.grid(axis="x", lw=0.4)
    top = ax.secondary_xaxis("top")
    shares = (0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.99)
    top.set_xticks([bits_of(share, POOL, 1) for share in shares])
    top.set_xticklabels([f"{share:.0%}" for share in shares], fontsize="small")
    top.set_xlabel(f"the same in top-1 among {POOL:,}")
    ax.legend(loc="upper right", fontsize="small", title="published as", framealpha=1)


here = Path.cwd() if "__file__" not in globals() else Path(__file__).parent
draw(read_pools(here))
