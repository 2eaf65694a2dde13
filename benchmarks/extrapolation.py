"""Extrapolated accuracy against the truth, and against published figures.

B1  ten-dimensional Gaussian classes, one nearest-neighbor score (Zheng, Achanta &
    Benjamini 2018, table 1): root mean squared error, the largest over noise levels.
B2  five-dimensional classes and observations, Gaussian or uniform (Slavutsky &
    Benjamini 2021): error integrated over k = 2..2000.
maps  70,000 regions of 120 classes to 10,000, all at once against one by one.
B3  win probabilities with a closed-form curve: bias at 2, 10 and 100 times K and
    coverage of the jackknife interval.

jackknife  refits that share work against refits from scratch: all are equal, then the
    ratio of CPU times.

families  thirty-five simulated populations and real drawings, those on which rules were
    tuned apart: errors of every method, coverage and width of intervals.

    python benchmarks/extrapolation.py [--quick | --full] [--only maps B1 B2 B3]
    python benchmarks/extrapolation.py --jackknife [--quick | --full]
    python benchmarks/extrapolation.py --families [fresh | held_out | tuning]
"""

import argparse
import itertools
import time
from copy import deepcopy

import numpy as np
from _table import add_row
from families import SIDES, benchmark_families
from scipy import special, stats

from neuroextrap.stats import AccuracyExtrapolator, extrapolate_wins
from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._extrapolation._method import LeftOut, WinSample

SEED = 30_000
SEED_B2 = 40_000
TARGETS = {500: [1000, 2000, 5000, 10_000], 5000: [10_000, 20_000, 50_000, 100_000]}
PUBLISHED_B1 = {
    500: {
        "radial_basis": (0.032, 0.044, 0.073, 0.098),
        "kde_bcv": (0.090, 0.088, 0.079, 0.076),
        "kde_ucv": (0.067, 0.059, 0.051, 0.045),
        "best": (0.032, 0.044, 0.051, 0.045),
    },
    5000: {
        "radial_basis": (0.009, 0.015, 0.032, 0.054),
        "kde_bcv": (0.038, 0.028, 0.035, 0.065),
        "kde_ucv": (0.028, 0.019, 0.053, 0.086),
        "best": (0.009, 0.015, 0.032, 0.054),
    },
}
ALL_B1 = (
    "auto",
    "radial_basis",
    "kde_ucv",
    "kde_bcv",
    "gaussian_mixture",
    "gaussian",
    "tail",
    "pitman_yor",
)
ALL_B2 = ("auto", "gaussian_mixture", "radial_basis", "kde_ucv", "tail", "pitman_yor")


def nearest_center_margins(n_classes, variance, rng, n_dims=10):
    """Scores of one noisy test vector a class against one noisy training vector."""
    centers = rng.normal(size=(n_classes, n_dims))
    noise = np.sqrt(variance)
    train = centers + noise * rng.normal(size=centers.shape)
    test = centers + noise * rng.normal(size=centers.shape)
    return -np.sqrt(squared_distances(test, train))


def squared_distances(a, b):
    """All squared distances between the rows of two arrays."""
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.maximum(squares, 0)


def nearest_center_truth(set_sizes, variance, rng, n_draws=200_000, n_dims=10):
    """Average accuracy by the noncentral chi-square law of a distractor's distance."""
    centers = rng.normal(size=(n_draws, n_dims))
    noise = np.sqrt(variance)
    train = centers + noise * rng.normal(size=centers.shape)
    test = centers + noise * rng.normal(size=centers.shape)
    own = ((test - train) ** 2).sum(1) / (1 + variance)
    lose = stats.ncx2.cdf(own, n_dims, (test**2).sum(1) / (1 + variance))
    return np.array([np.exp((k - 1) * np.log1p(-lose)).mean() for k in set_sizes])


def predictions(methods, margins, y_true, set_sizes):
    """Each method's prediction, shape (n_methods, n_sizes)."""
    return np.array(
        [
            AccuracyExtrapolator(m).fit(margins, y_true).predict(set_sizes)
            for m in methods
        ]
    )


def largest_error(errors, n_bootstrap=200):
    """Largest RMSE over noise levels, with a bootstrap standard error.

    errors has shape (n_levels, n_repeats, n_sizes).
    """
    rng = np.random.default_rng(0)

    def largest(e):
        return np.sqrt((e**2).mean(1)).max(0)

    n_repeats = errors.shape[1]
    draws = [
        largest(errors[:, rng.integers(n_repeats, size=n_repeats)])
        for _ in range(n_bootstrap)
    ]
    return largest(errors), np.std(draws, axis=0), np.sqrt((errors**2).mean(1)).mean(0)


def benchmark_b1(n_classes, n_levels, n_repeats, methods):
    """Run B1 from one number of classes and print a table."""
    sizes = TARGETS[n_classes]
    variances = np.linspace(0.01, 0.5, n_levels) * (1 if n_classes == 500 else 0.5)
    errors = np.empty((len(methods), n_levels, n_repeats, len(sizes)))
    for level, variance in enumerate(variances):
        truth = nearest_center_truth(
            sizes, variance, np.random.default_rng([SEED, level])
        )
        for repeat in range(n_repeats):
            rng = np.random.default_rng([SEED, n_classes, level, repeat])
            margins = nearest_center_margins(n_classes, variance, rng)
            found = predictions(methods, margins, np.arange(n_classes), sizes)
            errors[:, level, repeat] = found - truth
    print(
        f"\nB1 from {n_classes} classes to {sizes}: {n_levels} noise levels x "
        f"{n_repeats} data sets\n  largest RMSE (its bootstrap error) | mean RMSE"
    )
    for method, error in zip(methods, errors, strict=True):
        worst, spread, mean = largest_error(error)
        shown = "  ".join(
            f"{w:.4f}({s:.4f})" for w, s in zip(worst, spread, strict=True)
        )
        print(f"  {method:17s} {shown} | " + " ".join(f"{m:.4f}" for m in mean))
        name = "best" if method == "auto" else method
        if name in PUBLISHED_B1[n_classes]:
            row = "          ".join(f"{p:.3f}" for p in PUBLISHED_B1[n_classes][name])
            print(
                f"    published {name:7s} {row}"
                if name == "best"
                else f"    published       {row}"
            )


def draw(kind, shape, scale, rng):
    """Centered draws of standard deviation `scale`."""
    if kind == "normal":
        return scale * rng.normal(size=shape)
    return scale * rng.uniform(-np.sqrt(3), np.sqrt(3), shape)


def centroid_truth(classes, noise, variance, sizes, rng, gallery=20_000, n_dims=5):
    """Average accuracy from a large gallery, unbiased at every k."""
    centers = draw(classes, (gallery, n_dims), 1, rng)
    tests = centers + draw(noise, centers.shape, np.sqrt(variance), rng)
    beaten = np.empty(gallery, int)
    for i in range(0, gallery, 1000):
        d = squared_distances(tests[i : i + 1000], centers)
        own = d[np.arange(1000), np.arange(i, i + 1000)]
        beaten[i : i + 1000] = (d > own[:, None]).sum(1)
    wins = np.bincount(beaten, minlength=gallery) / gallery
    return wins @ accuracy_weights(gallery, sizes)


def benchmark_b2(n_classes, n_repeats, methods, n_dims=5, repeats_per_class=10):
    """Run B2 from one number of classes and print a table."""
    sizes = np.unique(np.rint(np.geomspace(2, 2000, 150)).astype(int))
    every = np.arange(2, 2001)
    settings = list(
        itertools.product(("normal", "uniform"), ("normal", "uniform"), (0.1, 0.2))
    )
    errors = np.empty((len(methods), len(settings), n_repeats))
    for j, (classes, noise, variance) in enumerate(settings):
        truth = centroid_truth(
            classes, noise, variance, sizes, np.random.default_rng([SEED_B2, j])
        )
        for repeat in range(n_repeats):
            rng = np.random.default_rng([SEED_B2, n_classes, j, repeat])
            centers = draw(classes, (n_classes, n_dims), 1, rng)
            y = np.repeat(np.arange(n_classes), repeats_per_class)
            tests = centers[y] + draw(noise, (len(y), n_dims), np.sqrt(variance), rng)
            margins = -np.sqrt(squared_distances(tests, centers))
            gap = predictions(methods, margins, y, sizes) - truth
            whole = np.array([np.interp(np.log(every), np.log(sizes), g) for g in gap])
            errors[:, j, repeat] = np.sqrt((whole**2).mean(1))
    published = {
        100: "notes: ClassExReg .054/.094, two-parameter .038/.064, mean of it and a "
        "calibrated tail .036/.056",
        500: "notes: ClassExReg .0074, two-parameter .0104, mean of it and a "
        "calibrated tail .0053 (means)",
    }[n_classes]
    print(
        f"\nB2 from {n_classes} classes to 2000: 8 settings x {n_repeats} data sets\n"
        f"  mean integrated RMSE / worst setting's median\n  {published}"
    )
    for method, error in zip(methods, errors, strict=True):
        medians = " ".join(f"{m:.3f}" for m in np.median(error, axis=1))
        print(
            f"  {method:17s} {error.mean():.4f} / {np.median(error, axis=1).max():.4f}"
            f"   medians {medians}"
        )


def beta_curve(k):
    """U ~ Beta(3, 1)."""
    return 3 / (3 + k - 1)


def certain_curve(k):
    """U = 1 with probability 0.3, else Beta(2, 1)."""
    return 0.3 + 0.7 * 2 / (2 + k - 1)


LAWS_B3 = {
    "Beta(3,1)": (beta_curve, lambda n, rng: rng.beta(3, 1, n)),
    "0.3 at U=1, else Beta(2,1)": (
        certain_curve,
        lambda n, rng: np.where(rng.random(n) < 0.3, 1.0, rng.beta(2, 1, n)),
    ),
}


def uniform_margins(wins, rng):
    """Scores whose win probabilities given the test point are `wins`."""
    n_classes = len(wins)
    margins = rng.random((n_classes, n_classes))
    margins[np.arange(n_classes), np.arange(n_classes)] = wins
    return margins


def benchmark_b3(n_classes, n_repeats, methods):
    """Run B3 and print a table."""
    sizes = np.array([2, 10, 100]) * n_classes
    print(
        f"\nB3 closed-form curves from K = {n_classes}, {n_repeats} data sets: bias, "
        "RMSE and coverage of +-1.96 jackknife errors at 2K, 10K, 100K"
    )
    for name, (curve, sampler) in LAWS_B3.items():
        truth = curve(sizes)
        print(f"  {name}: truth {np.round(truth, 4)}")
        for method in methods:
            error, covered = [], []
            for repeat in range(n_repeats):
                rng = np.random.default_rng([SEED, n_classes, repeat])
                margins = uniform_margins(sampler(n_classes, rng), rng)
                model = AccuracyExtrapolator(method).fit(margins, np.arange(n_classes))
                error.append(model.predict(sizes) - truth)
                width = 1.96 * model.standard_error(sizes, max_refits=20)
                covered.append(np.abs(error[-1]) <= width)
            error = np.array(error)
            print(
                f"    {method:17s} bias {error.mean(0).round(4)} "
                f"RMSE {np.sqrt((error**2).mean(0)).round(4)} "
                f"coverage {np.mean(covered, axis=0).round(2)}"
            )


def benchmark_maps(n_regions, n_classes=120, n_test=600, n_single=40):
    """Time the batched fits after checking them against single ones."""
    rng = np.random.default_rng(SEED)
    mean, spread = rng.normal(1, 1, n_regions), np.exp(rng.normal(0, 0.3, n_regions))
    wins = np.zeros((n_regions, n_classes))
    for _ in range(n_test):
        win = special.ndtr(mean + spread * rng.normal(size=n_regions))
        beaten = rng.binomial(n_classes - 1, win)
        wins[np.arange(n_regions), beaten] += 1 / n_test
    print(f"\nmaps: {n_regions} regions of {n_classes} classes to 10,000")
    for method in ("gaussian", "gaussian_mixture", "auto"):
        start = time.perf_counter()
        single = [
            AccuracyExtrapolator(method).fit_wins(w, n_test).predict(10_000)
            for w in wins[:n_single]
        ]
        each = (time.perf_counter() - start) / n_single
        start = time.perf_counter()
        found = extrapolate_wins(wins, n_test, [10_000], method=method)
        together = time.perf_counter() - start
        gap = np.abs(found[:n_single, 0] - single).max()
        print(
            f"  {method:17s} {together:.1f} s, {each * n_regions / together:.0f} times "
            f"faster than one by one; largest difference {gap:.1e}"
        )


def scratch_refits(model, parts, sizes):
    """Predictions of the method fitted anew to every part of the sample."""
    found = []
    for sample in parts.samples():
        part = WinSample.from_margins(sample.margins, sample.y_true)
        found.append(deepcopy(model.method_).fit(part).projected_accuracy(sizes))
    return np.array(found)


def cpu_time(function):
    """What a function returns, and the seconds of CPU that it took."""
    start = time.process_time()
    found = function()
    return found, time.process_time() - start


def benchmark_jackknife(n_classes, n_refits, methods):
    """Check that shared refits are those from scratch, then print how much faster."""
    margins = nearest_center_margins(n_classes, 0.2, np.random.default_rng(SEED))
    sizes = n_classes * np.array([2.0, 4.0, 10.0])
    print(f"\njackknife: {n_refits} refits of {n_classes} classes, to {sizes}")
    for method in methods:
        model = AccuracyExtrapolator(method).fit(margins, np.arange(n_classes))
        scratch, slow = cpu_time(
            lambda model=model: scratch_refits(
                model, LeftOut(model.sample_, n_refits), sizes
            )
        )
        shared, fast = cpu_time(
            lambda model=model: [
                refit.projected_accuracy(sizes)
                for refit in model.method_.refits(LeftOut(model.sample_, n_refits))
            ]
        )
        np.testing.assert_allclose(shared, scratch, rtol=1e-5)
        size = f"{n_classes:,} classes, {n_refits} refits"
        add_row(f"jackknife, {method}", size, fast, "from scratch", slow, "all refits")
        print(
            f"  {method:17s} {fast:.1f} s of CPU time, from scratch {slow:.1f} s: "
            f"{slow / fast:.1f} times; largest difference "
            f"{np.abs(shared - scratch).max():.0e}",
            flush=True,
        )


def read_arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--full", action="store_true", help="hours: published sizes")
    parts = ["maps", "jackknife", "B1", "B2", "B3"]
    parser.add_argument("--only", nargs="+", default=parts)
    parser.add_argument("--auto", action="store_true", help="the default method only")
    parser.add_argument("--families", nargs="?", const="fresh", choices=list(SIDES))
    parser.add_argument("--jackknife", action="store_true", help="its speed alone")
    parser.add_argument("--seed", type=int, default=2026, help="of the populations")
    return parser.parse_args()


def run_published(args):
    """Run the comparisons with published figures, and that of maps."""
    scale = 0 if args.quick else 2 if args.full else 1
    methods_b1, methods_b2 = (("auto",),) * 2 if args.auto else (ALL_B1, ALL_B2)
    start = time.perf_counter()
    if "maps" in args.only:
        benchmark_maps([4000, 70_000, 70_000][scale])
    if "jackknife" in args.only:
        benchmark_jackknife(300 if scale < 1 else 1000, 30, ("auto",))
    if "B1" in args.only:
        benchmark_b1(500, *[(5, 2), (25, 20), (50, 200)][scale], methods_b1)
        if scale:
            benchmark_b1(5000, *[(), (8, 8), (50, 200)][scale], methods_b1)
    if "B2" in args.only:
        benchmark_b2(100, [1, 6, 50][scale], methods_b2)
        if scale:
            benchmark_b2(500, [0, 2, 20][scale], methods_b2)
    if "B3" in args.only:
        methods = ("gaussian_mixture", "gaussian", "pitman_yor", "monotone_mple")
        benchmark_b3(100, [3, 40, 400][scale], methods)
    print(f"\n{time.perf_counter() - start:.0f} s")


def main():
    """Run what the command line asks for."""
    args = read_arguments()
    if args.families:
        repeats = dict.fromkeys((8, 20, 50), 1) if args.quick else None
        benchmark_families(args.families, seed=args.seed, repeats=repeats)
        return
    if args.jackknife:
        n_classes = 300 if args.quick else 5000 if args.full else 1000
        benchmark_jackknife(n_classes, 100, ("auto", "gaussian_mixture", "tail"))
        return
    run_published(args)


if __name__ == "__main__":
    main()
