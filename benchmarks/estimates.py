"""What a run was estimated to take, against what it took: CPU time and memory.

Every classifier that has a name, and one of scikit-learn's, on short designs with many
regions (with permutations and without, lower bounds on and off) and on designs with
many trials or many classes. A run and its estimate have a fresh process each; time is
that of all regions, without the labels before and the tables after. Runs that are
estimated to take too long, or too much memory, are left out. The last line says
which estimates are off by more than a factor of 1.5, of times of at least half a second
and memory of 100 MiB or more: constants dominate below. Ratios
are estimate over measured.

    python benchmarks/estimates.py [--quick] [--classifiers NAME ...]
"""

import argparse
import warnings

import numpy as np
import scipy.sparse
from _process import cpu_seconds, in_a_process, memory_rise
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.margins.classifiers._classifier_names import CLASSIFIERS

REFITTED = "LogisticRegression"  # scikit-learn's, refitted for every labeling
# samples, features of a region, classes, runs, regions, permutations, lower bounds
SHAPES = {
    "short": (96, 113, 8, 12, 1000, 0, False),
    "short, bounds": (96, 113, 8, 12, 500, 0, True),
    "short, permuted": (96, 113, 8, 12, 128, 500, True),
    "many trials and classes": (8800, 66, 440, 10, 1, 100, False),
    "many trials": (60_600, 24, 8, 10, 1, 200, False),
    "many classes": (600, 84, 200, 3, 1, 400, False),
}
QUICK = {
    "short": (48, 113, 8, 6, 500, 0, False),
    "short, permuted": (48, 113, 8, 6, 32, 100, True),
    "many trials": (20_000, 24, 8, 10, 1, 10, False),
    "many classes": (300, 84, 100, 3, 1, 50, False),
}
FEWER = 4  # samples and classes of the run before, that imports and compiles
MOST_SECONDS, MOST_MEMORY = 25.0, 6 * 2**30
JUDGED = 0.5, 100 * 2**20  # seconds, bytes
ROW = "{:<20}{:<26}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}"


def problem(name, shape):
    """Return a searchlight, and its data: X, y and runs."""
    n, p, n_classes, n_runs, n_regions, n_permutations, has_bounds = shape
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(n_runs), n // n_runs)
    y = np.concatenate(
        [rng.permutation(np.arange(n // n_runs) % n_classes) for _ in range(n_runs)]
    )
    # neighbors share half of their features
    n_features = p if n_regions == 1 else p * (n_regions + 1) // 2
    columns = np.arange(p) + np.arange(n_regions)[:, None] * (p // 2)
    rows = np.repeat(np.arange(n_regions), p)
    members = np.ones(columns.size, dtype=bool), (rows, columns.ravel() % n_features)
    regions = scipy.sparse.csr_array(members, shape=(n_regions, n_features))
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    X += 0.3 * rng.standard_normal((n_classes, n_features), dtype=np.float32)[y]
    estimator = LogisticRegression() if name == REFITTED else name
    light = IdentificationSearchLight(
        regions=regions,
        estimator=estimator,
        n_permutations=n_permutations,
        bounds="forward" if has_bounds else None,
        max_memory=MOST_MEMORY * 4,
        n_jobs=1,
    )
    warnings.simplefilter("ignore")
    return light, X, y, runs


def estimated(name, shape):
    """Return seconds and bytes that a run is estimated to take."""
    with threadpool_limits(1):
        cost = plan_decoding(*problem(name, shape)).cost()
    return cost["seconds"], cost["memory"]


def smaller(shape):
    """Return a smaller run with the same loops: fewer regions, else fewer samples."""
    n, p, n_classes, n_runs, n_regions, n_permutations, has_bounds = shape
    if n_regions == 1:
        n, n_classes = n_runs * (n // n_runs // FEWER), max(3, n_classes // FEWER)
    few = min(2, n_regions), min(2, n_permutations)
    return n, p, n_classes, n_runs, *few, has_bounds


def measured(name, shape):
    """Return seconds and bytes that the run takes, its data included."""
    given, spent = problem(name, shape), []

    def run():
        planned = plan_decoding(*given)
        spent.append(cpu_seconds(planned.score))

    with threadpool_limits(1):
        plan_decoding(*problem(name, smaller(shape))).score()  # imports, compiles
        _, rise = memory_rise(run)
    return spent[0], rise + given[1].nbytes


def compare(name, text, shape):
    """Print a row; return the ratios of time and memory, None if not judged."""
    try:
        cost = in_a_process(estimated, name, shape)
    except ValueError as error:
        if "max_memory" not in str(error):
            raise
        print(f"{name:<20}{text:<26}  refused: {error}", flush=True)
        return None
    if cost[0] > MOST_SECONDS or cost[1] > MOST_MEMORY:
        why = f"left out: {cost[0]:.0f} s, {cost[1] / 2**30:.1f} GiB"
        print(f"{name:<20}{text:<26}  {why}", flush=True)
        return None
    spent, taken = in_a_process(measured, name, shape)
    ratios = cost[0] / spent, cost[1] / taken
    cells = f"{cost[0]:.2f}", f"{spent:.2f}", f"{cost[1] / 2**20:.0f}"
    cells = (*cells, f"{taken / 2**20:.0f}", f"{ratios[0]:.2f}", f"{ratios[1]:.2f}")
    print(ROW.format(name, text, *cells), flush=True)
    sizes = zip((spent, taken), JUDGED, ratios, strict=True)
    return [ratio if size >= least else None for size, least, ratio in sizes]


def main():
    """Print the table, and which estimates are off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, some minutes")
    parser.add_argument("--classifiers", nargs="+", default=[*CLASSIFIERS, REFITTED])
    parser.add_argument("--shapes", nargs="+", metavar="NAME", help="some designs")
    args = parser.parse_args()
    shapes, off = QUICK if args.quick else SHAPES, []
    header = "s, est.", "CPU s", "MiB, est.", "MiB", "time", "memory"
    print(ROW.format("classifier", "design", *header))
    for text in args.shapes or shapes:
        for name in args.classifiers:
            ratios = compare(name, text, shapes[text]) or ()
            off += [
                f"{name}, {text}: {what} {ratio:.2f}"
                for what, ratio in zip(("time", "memory"), ratios, strict=False)
                if ratio is not None and not 1 / 1.5 <= ratio <= 1.5
            ]
    print(f"off by more than 1.5: {'; '.join(off) or 'none'}")


if __name__ == "__main__":
    main()
