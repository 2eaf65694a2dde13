"""Information from identification against the truth, and against published figures.

B5  random classes of a multi-response logistic model (Zheng & Benjamini 2016): K = 20
    classes, naive Bayes, half of the responses for training. Root mean squared error
    and mean of each estimate in nats, the published ones beside. At the population's
    accuracy those marked * never exceed the truth.
    The sweep raises the signal of ten responses and prints mean estimates.
Maps  implied information and its sharp lower bound for the curves of a whole brain,
    after checking rows against root finding.

    python benchmarks/information.py [--quick | --full] [--only B5 sweep maps]
"""

import argparse
import math
import time

import numpy as np
from _table import add_row
from scipy import optimize, special

from neuroextrap.stats import (
    TestDesign,
    average_accuracy,
    confusion_information,
    fano_information,
    gaussian_identification_accuracy,
    implied_information,
    min_information,
    win_distribution,
)
from neuroextrap.stats._accuracy import default_set_sizes

SEED = 30_000
N_CLASSES = 20
SIZES = default_set_sizes(N_CLASSES)
BOUND_SIZES = [2, 5, 10, 20]
# design: (dimensions, signal scale, responses per class) and published RMSE (mean)
DESIGNS = {
    "p = q = 3, r = 40": (
        (3, 4 / math.sqrt(3), 40),
        {
            "confusion": (0.122, 0.88),
            "fano *": (0.606, 0.20),
            "implied (K only)": (0.299, 0.52),
            "sharp (K only) *": (0.457, 0.35),
        },
    ),
    "p = q = 50, r = 8000": (
        (50, 4 / math.sqrt(50), 8000),
        {
            "confusion": (0.867, 0.93),
            "fano *": (0.909, 0.89),
            "implied (K only)": (0.079, 1.784),
            "sharp (K only) *": (0.295, 1.51),
        },
    ),
}
SWEEP = {  # truth: confusion, fano, implied (K only), sharp (K only)
    1.54: (0.95, 0.71, 1.48, 1.22),
    2.31: (1.47, 1.20, 2.36, 2.03),
    3.18: (2.00, 1.75, 3.51, 2.95),
    3.68: (2.30, 2.08, 4.41, 3.54),
    4.27: (2.57, 2.39, 5.53, 4.15),
}


def true_information(n_responses, scale):
    """Nats between x and independent Bernoulli(sigmoid(scale * x_i)), x normal."""
    z = (np.arange(200_000) + 0.5) / 200_000
    p = special.expit(scale * special.ndtri(z))
    noise = (special.entr(p) + special.entr(1 - p)).mean()
    return n_responses * (math.log(2) - noise)


def one_sample(n_responses, scale, n_repeats, rng):
    """Draw classes and responses; return naive Bayes margins and labels."""
    x = rng.normal(size=(N_CLASSES, n_responses))
    chance = special.expit(scale * x)
    half = n_repeats // 2
    ones = rng.binomial(half, chance)
    p = (ones + 0.5) / (half + 1)
    y = np.repeat(np.arange(N_CLASSES), half)
    response = (rng.random((len(y), n_responses)) < chance[y]).astype(np.float64)
    return response @ special.logit(p).T + np.log1p(-p).sum(axis=1), y


def estimates(margins, y):
    """Return every estimate in nats."""
    curve = average_accuracy(win_distribution(margins, y), SIZES)
    predicted = margins.argmax(axis=1)
    sharp = min_information(curve, SIZES, base=math.e)
    chosen = np.searchsorted(SIZES, BOUND_SIZES)
    design = TestDesign(N_CLASSES, len(y) / N_CLASSES)
    bound = design.best_information_bound(curve[chosen], BOUND_SIZES)
    return {
        "confusion": confusion_information(y, predicted, base=math.e),
        "confusion, Miller-Madow": confusion_information(
            y, predicted, correction="miller_madow", base=math.e
        ),
        "confusion, Panzeri-Treves": confusion_information(
            y, predicted, correction="panzeri_treves", base=math.e
        ),
        "fano *": fano_information(curve[-1], N_CLASSES, base=math.e),
        "implied (K only)": implied_information(curve[-1], N_CLASSES, base=math.e),
        "implied (all sizes)": implied_information(curve, SIZES, base=math.e),
        "sharp (K only) *": sharp[-1],
        "sharp (largest over k)": sharp.max(),
        "lower bound, 95% *": bound * math.log(2),
    }


def run(design, n_draws, n_repeats=None):
    """Return estimates by name, (n_draws,) each, and the truth."""
    n_responses, scale, repeats = design
    rows = []
    for draw in range(n_draws):
        rng = np.random.default_rng([SEED, n_responses, draw])
        sample = one_sample(n_responses, scale, n_repeats or repeats, rng)
        rows.append(estimates(*sample))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def benchmark_b5(n_draws, largest):
    """Print RMSE and means of the two published designs."""
    for title, (design, published) in DESIGNS.items():
        truth = true_information(*design[:2])
        repeats = min(design[2], largest)
        print(f"\nB5 {title}: truth {truth:.3f} nats, {n_draws} draws, r = {repeats}")
        print(f"  {'':26s}{'RMSE':>7s}{'mean':>7s}{'published RMSE (mean)':>26s}")
        for name, values in run(design, n_draws, repeats).items():
            rmse = np.sqrt(np.mean((values - truth) ** 2))
            known = published.get(name)
            beside = f"{known[0]:.3f} ({known[1]:.2f})" if known else "-"
            print(f"  {name:26s}{rmse:7.3f}{values.mean():7.2f}{beside:>26s}")


def benchmark_sweep(n_draws):
    """Print mean estimates for growing signal, ten responses, r = 1000."""
    names = ("confusion", "fano *", "implied (K only)", "sharp (K only) *")
    print(f"\nsweep p = q = 10, r = 1000, {n_draws} draws: mean (published)")
    print(f"  truth  {'':2s}" + "".join(f"{name:>20s}" for name in names))
    for truth, published in SWEEP.items():
        scale = optimize.brentq(lambda s, t=truth: true_information(10, s) - t, 0.1, 50)
        means = run((10, scale, 1000), n_draws)
        cells = [
            f"{means[name].mean():.2f} ({known:.2f})"
            for name, known in zip(names, published, strict=True)
        ]
        print(f"  {truth:5.2f}  {'':2s}" + "".join(f"{cell:>20s}" for cell in cells))


def best_of(function, repeats=3):
    """Return the shortest CPU time in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def by_root_finding(curve, sizes):
    """Minimize the squared distance of one curve; nats."""

    def distance(shift):
        fitted = gaussian_identification_accuracy(shift**2 / 2, sizes, base=math.e)
        return np.square(curve - fitted).sum()

    found = optimize.minimize_scalar(distance, bounds=(0, 8), method="bounded")
    return found.x**2 / 2


def benchmark_maps(n_regions):
    """Time a brain's curves, one call against one root finding a region."""
    rng = np.random.default_rng(SEED)
    n_classes = 121
    sizes = np.arange(2, n_classes + 1)
    wins = rng.dirichlet(np.linspace(0.2, 3, n_classes), size=n_regions)
    curves = average_accuracy(wins, sizes)
    few = range(0, n_regions, n_regions // 5)
    naive = [by_root_finding(curves[i], sizes) for i in few]
    fast = implied_information(curves[list(few)], sizes, base=math.e)
    np.testing.assert_allclose(fast, naive, rtol=1e-4)
    one = best_of(lambda: by_root_finding(curves[0], sizes))
    print(f"\nmaps: {n_regions} curves of {len(sizes)} set sizes")
    for name, call in (
        ("curves", lambda: average_accuracy(wins, sizes)),
        ("implied information", lambda: implied_information(curves, sizes)),
        ("sharp bound, every size", lambda: min_information(curves, sizes)),
    ):
        print(f"  {name:26s}{best_of(call):7.2f} s")
    whole = best_of(lambda: implied_information(curves, sizes))
    ratio = one * n_regions / whole
    print(f"  root finding: {1e3 * one:.0f} ms a region, {ratio:.0f} times as long")
    size, naive = f"{n_regions:,} curves, {len(sizes)} set sizes", one * n_regions
    add_row("implied information", size, whole, "root finding", naive, "five curves")


def main():
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds")
    parser.add_argument("--full", action="store_true", help="some minutes")
    parser.add_argument("--only", nargs="+", default=["B5", "sweep", "maps"])
    args = parser.parse_args()
    scale = 0 if args.quick else 2 if args.full else 1
    if "B5" in args.only:
        benchmark_b5(*[(10, 400), (60, 8000), (400, 8000)][scale])
    if "sweep" in args.only:
        benchmark_sweep([3, 20, 100][scale])
    if "maps" in args.only:
        benchmark_maps([7000, 70_000, 70_000][scale])


if __name__ == "__main__":
    main()
