"""Classes of unequal size: accuracy and power of every named classifier.

Two classes (1, 3 or 9 samples of one to one of the other in each of eight runs) and
features of independent noise. Accuracy is that of training on seven runs and testing on
a hundred new samples of each class; power is the share of regions with p <= .05, one
run left out at a time. More samples of one class should cost nothing: accuracy at 3:1
and 9:1 is to be no more than .02 below that at 1:1, where the rest is left out.

    python benchmarks/unequal_classes.py [--quick] [--only NAME ...]
"""

import argparse
import warnings

import numpy as np
import scipy.sparse

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.margins.classifiers._classifier_names import CLASSIFIERS

N_RUNS, N_TESTED = 8, 100
COUNTS = {"1:1": (1, 1), "3:1": (3, 1), "9:1": (9, 1)}
REFITTED = {"svc", "logistic"}  # too slow for permutations
REGIONS = {30: 0.25, 200: 0.12}  # features, and standard deviation of class means


def samples(counts, n_regions, n_features, last, seed):
    """Samples, classes and runs, of which the last has `last` samples of classes."""
    rng = np.random.default_rng(seed)
    sizes = [*[counts] * (N_RUNS - 1), last]
    y = np.concatenate([np.repeat(np.arange(len(counts)), size) for size in sizes])
    runs = np.repeat(np.arange(N_RUNS), [sum(size) for size in sizes])
    means = REGIONS[n_features] * rng.normal(size=(len(counts), n_regions * n_features))
    return means[y] + rng.normal(size=(len(y), means.shape[1])), y, runs


def scores(name, data, n_features, **options):
    """Fit all regions, which are side by side, and return their scores."""
    X, y, runs = data
    members = np.kron(np.eye(X.shape[1] // n_features), np.ones((1, n_features)))
    light = IdentificationSearchLight(
        regions=scipy.sparse.csr_array(members), estimator=name, bounds=None, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that do not converge
        return light.fit(X, y, groups=runs).region_scores_


def row(name, n_features, n_regions, n_permutations):
    """Accuracy at 1:1, what it gains at other ratios, and power at every ratio."""
    cells, balanced = [], None
    for counts in COUNTS.values():
        data = samples(counts, n_regions, n_features, (N_TESTED, N_TESTED), seed=0)
        split = [np.flatnonzero(part) for part in (data[2] < 7, data[2] == 7)]
        found = scores(name, data, n_features, cv=[tuple(split)])["accuracy"]
        shown = found if balanced is None else found - balanced
        balanced = found if balanced is None else balanced
        power = ""
        if n_permutations and name not in REFITTED:
            data = samples(counts, n_regions, n_features, counts, seed=0)
            p = scores(name, data, n_features, n_permutations=n_permutations)["p_value"]
            power = f"{np.mean(p <= 0.05):.2f}"
        sign = "" if shown is balanced else "+"
        error = shown.std(ddof=1) / len(shown) ** 0.5
        cells.append(f"{shown.mean():{sign}.3f} +- {error:.3f} {power:>5}")
    return cells


def main():
    """Print a table for each number of features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no power")
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, metavar="NAME")
    options = parser.parse_args()
    for n_features in REGIONS:
        print(f"\n{n_features} features: accuracy, what it gains, +- error; power")
        print(f"{'':18}" + "".join(f"{ratio:>24}" for ratio in COUNTS))
        for name in options.only or CLASSIFIERS:
            cells = row(name, n_features, 200, 0 if options.quick else 199)
            print(f"{name:18}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
