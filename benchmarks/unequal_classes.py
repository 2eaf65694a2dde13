"""Classes of unequal size: accuracy and power of every named classifier.

Two classes (1, 3 or 9 samples of one to one of the other in each of eight runs) and
features of independent noise. Accuracy is averaged over the classes; power is the share
of regions with p <= .05. More samples of one class should cost nothing: accuracy at 3:1
and 9:1 is to be no more than .02 below that at 1:1, where the rest is left out.

    python benchmarks/unequal_classes.py [--quick]
"""

import argparse
import warnings

import numpy as np
import scipy.sparse

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.margins.classifiers._registry import CLASSIFIERS

N_RUNS = 8
COUNTS = {"1:1": (1, 1), "3:1": (3, 1), "9:1": (9, 1)}
REFITTED = {"svc", "logistic"}
REGIONS = {30: 0.25, 200: 0.12}  # features, and standard deviation of class means


def samples(counts, n_regions, n_features, effect, seed):
    """Samples, classes and runs; regions are side by side."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(len(counts)), counts), N_RUNS)
    runs = np.repeat(np.arange(N_RUNS), sum(counts))
    means = effect * rng.normal(size=(len(counts), n_regions * n_features))
    return means[y] + rng.normal(size=(len(y), means.shape[1])), y, runs


def scores(name, counts, n_regions, n_features, n_permutations, seed=0):
    """Fit all regions; their accuracies, and p-values if there are permutations."""
    X, y, runs = samples(counts, n_regions, n_features, REGIONS[n_features], seed)
    members = np.kron(np.eye(n_regions), np.ones((1, n_features)))
    light = IdentificationSearchLight(
        regions=scipy.sparse.csr_array(members),
        estimator=name,
        n_permutations=n_permutations,
        bounds=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that do not converge
        return light.fit(X, y, groups=runs).region_scores_


def row(name, n_features, n_regions, n_permutations):
    """Accuracy, its error, and power at every ratio."""
    cells = []
    for counts in COUNTS.values():
        found = scores(name, counts, n_regions, n_features, n_permutations)
        accuracy = found["accuracy"]
        error, p = accuracy.std() / len(accuracy) ** 0.5, found.get("p_value")
        power = "" if p is None else f"{np.mean(p <= 0.05):.2f}"
        cells.append(f"{accuracy.mean():.3f} +- {error:.3f} {power:>5}")
    return cells


def main():
    """Print a table for each number of features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute or two")
    quick = parser.parse_args().quick
    for n_features in REGIONS:
        print(f"\n{n_features} features: accuracy +- standard error, power")
        print(f"{'':18}" + "".join(f"{ratio:>24}" for ratio in COUNTS))
        for name in CLASSIFIERS:
            size = (60, 99) if quick else (400, 199)
            if name in REFITTED:
                size = (20, 0) if quick else (60, 99)
            cells = row(name, n_features, *size)
            print(f"{name:18}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
