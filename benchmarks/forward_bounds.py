"""Lower bounds by forward testing over a whole brain: equality, cost, and height.

A simulated experiment of 8 classes x 12 runs, one run left out at a time, in 9 mm
spheres of nilearn's MNI152 mask at 3 mm. Prints what the bounds add to a fit, with the
time of 69,765 spheres extrapolated from a sample unless --full, and how high they come
at a given accuracy, for one sphere and for 69,765 at once.

    python benchmarks/forward_bounds.py [--quick | --full] [--n-jobs N]

CPU times count all workers: N idle cores take an N-th of them.
"""

import argparse
import os
import time
import warnings

import numpy as np
from _table import add_row
from searchlight import N_CLASSES, N_RUNS, RUNS, Y, simulate

from neuroextrap import stats
from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight

N_SPHERES = 69_765
FIRST_RUNS = (N_RUNS // 3, N_RUNS // 2)


def refitted_bound(x):
    """Bound the Bayes accuracy of samples (n, p) by refitting centroids."""
    n_steps = N_RUNS - FIRST_RUNS[0]
    right = np.empty((N_RUNS, n_steps))
    for start in range(N_RUNS):
        order = (start + np.arange(N_RUNS)) % N_RUNS
        for step in range(n_steps):
            past = np.isin(RUNS, order[: FIRST_RUNS[0] + step])
            here = order[FIRST_RUNS[0] + step] == RUNS
            centers = [x[past & (k == Y)].mean(axis=0) for k in range(N_CLASSES)]
            away = np.square(x[here][:, np.newaxis] - centers).sum(axis=-1)
            right[start, step] = np.sum(away.argmin(axis=1) == Y[here])
    steps = [first - FIRST_RUNS[0] for first in FIRST_RUNS]
    return stats.forward_bayes_accuracy_lower_bound(right, N_CLASSES, first_steps=steps)


def check_refits(n_features=60):
    """Check that the map of a few regions holds the bounds of refits."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(len(Y), 5 * n_features))
    X += 0.4 * rng.normal(size=(N_CLASSES, X.shape[1]))[Y]
    regions = np.kron(np.eye(5), np.ones((1, n_features)))
    light = IdentificationSearchLight(regions=regions).fit(X, Y, groups=RUNS)
    found = light.region_scores_["bayes_accuracy_bound"]
    parts = np.split(X, 5, axis=1)
    expected = [float(refitted_bound(part)) for part in parts]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    print(f"Bounds equal those of refits in {len(parts)} regions.\n")


def fit(masker, image, estimator, bounds, n_jobs, stride):
    """Fit once; return the searchlight, its seconds of wall and of CPU time."""
    light = IdentificationSearchLight(
        masker,
        radius=9.0,
        estimator=estimator,
        bounds=bounds,
        n_jobs=n_jobs,
        regions=Regions(stride=stride),
    )
    wall, before = time.perf_counter(), os.times()
    light.fit(image, Y, groups=RUNS)
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return light, time.perf_counter() - wall, cpu


def print_times(options):
    """Print what the bounds of a whole brain add to a fit."""
    masker, image, _ = simulate(6 if options.quick else 3)
    stride = 1 if options.full or options.quick else 3
    print(
        "classifier         spheres  bounds: none     forward    added, 69,765 spheres"
    )
    for estimator in ("nearest_centroid", "lda"):
        spent = []
        for bounds in (None, "forward"):
            light, wall, cpu = fit(
                masker, image, estimator, bounds, options.n_jobs, stride
            )
            spent.append((wall, cpu))
        n_spheres = int(np.isfinite(light.region_scores_["accuracy"]).sum())
        size, without = f"{n_spheres:,} spheres", ("the fit without", spent[0][1])
        add_row(f"{estimator} with bounds", size, spent[1][1], *without, "of refits")
        more = [b - a for a, b in zip(*spent, strict=True)]
        wall, cpu = (value * N_SPHERES / n_spheres for value in more)
        print(
            f"{estimator:17}  {n_spheres:7,}  {spent[0][0]:10.1f} s  "
            f"{spent[1][0]:8.1f} s    {wall:.0f} s wall, {cpu:.0f} s CPU"
        )


def print_heights(n_regions, n_features=81):
    """Print bounds against accuracies, for one sphere and for all at once."""
    rng = np.random.default_rng(0)
    regions = np.kron(np.eye(n_regions), np.ones((1, n_features)))
    rows = []
    for signal in (0.25, 0.35, 0.45, 0.5, 0.55, 0.6):
        X = rng.normal(size=(len(Y), n_regions * n_features))
        X += signal * rng.normal(size=(N_CLASSES, X.shape[1]))[Y]
        light = IdentificationSearchLight(regions=regions).fit(X, Y, groups=RUNS)
        design, right = light.results_.forward, light.results_.scores.n_correct
        together = stats.forward_bayes_accuracy_lower_bound(
            right.reshape(n_regions, *design.n_units.shape),
            design.n_units,
            first_steps=design.first_steps,
            n_regions=N_SPHERES,
        )
        scores = light.region_scores_
        one = scores["bayes_accuracy_bound"]
        rows.append(np.stack([scores["accuracy"], one, together], axis=1))
    accuracy, one, together = np.concatenate(rows).T
    print("\naccuracy    spheres  bound, one sphere  bound, 69,765 at once (medians)")
    for low, high in ((0.5, 0.56), (0.7, 0.8), (0.96, 0.98), (0.985, 0.995), (1, 2)):
        here = (accuracy >= low) & (accuracy < high)
        if here.any():
            print(
                f"{accuracy[here].mean():8.3f}  {here.sum():9}  "
                f"{np.median(one[here]):17.3f}  {np.median(together[here]):21.3f}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="6 mm voxels")
    size.add_argument("--full", action="store_true", help="every sphere of 3 mm")
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # simulated margins may be of the wrong sign
    check_refits()
    print_times(options)
    print_heights(20 if options.quick else 100)


if __name__ == "__main__":
    main()
