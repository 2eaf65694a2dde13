"""Cost against regions, samples, features, classes and permutations, with exponents.

Every point runs in a process of its own, on simulated regions: CPU time, how far memory
rises above the data, and what the plan estimated beforehand. One number varies, the
others are those of the first line. First, regions analyzed alone must give the scores
that they have among others, and the first permutations must not depend on how many
follow. Exponents are slopes of log cost against log number. Last, from what a region, a
feature and a permutation cost, the table of the page on planning large studies. Where a
feature costs something in every permutation, the unit is that of both.

    python benchmarks/scale.py [--quick] [--classifiers NAME ...]
"""

import argparse
import datetime
import time

import numpy as np
import scipy.sparse
from _planning import planning_table, seconds_of_a_sphere
from _process import in_a_process, memory_rise
from _table import add_row, machine
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from neuroextrap.design._folds import make_design
from neuroextrap.margins import _resources as _cost
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier

CLASSIFIERS = ("nearest_centroid", "gaussian_nb", "ridge", "lda")
PER_FEATURE = {"gaussian_nb"}  # whose permutations cost something for every feature
PLANNED = ("nearest_centroid", "ridge", "lda")
BASE = {"regions": 32, "runs": 12, "features": 100, "classes": 8, "permutations": 100}
POINTS = {
    "regions": (32, 64, 128),
    "runs": (6, 12, 24),
    "features": (50, 200, 800),
    "classes": (8, 16, 32),
    "permutations": (100, 400, 1600),
}
QUICK = {"regions": (8, 16), "features": (50, 200), "permutations": (100, 1000)}
QUICK_BASE = BASE | {"regions": 16}
# many classes: few runs, regions and permutations, so that a point takes seconds
FEW = {"regions": 4, "runs": 3, "permutations": 5}
MANY_CLASSES = (250, 500, 1000)
ESTIMATED = {"regions", "classes"}  # axes at whose end estimates are compared
total = 0.0  # CPU seconds of all processes


def problem(classifier, regions, runs, features, classes, permutations):
    """Return data, regions that share half of their features, and the plan."""
    rng = np.random.default_rng(0)
    y, blocks = np.tile(np.arange(classes), runs), np.repeat(range(runs), classes)
    n_features = features * (regions + 1) // 2
    X = rng.standard_normal((len(y), n_features), dtype=np.float32)
    X += 0.2 * rng.standard_normal((classes, n_features), dtype=np.float32)[y]
    X -= X.mean(axis=0)
    columns = np.arange(features) + np.arange(regions)[:, None] * (features // 2)
    rows = np.repeat(np.arange(regions), features)
    members = np.ones(columns.size, dtype=bool), (rows, columns.ravel() % n_features)
    members = scipy.sparse.csr_array(members, shape=(regions, n_features))
    permuted = [
        np.concatenate([rng.permutation(classes) for _ in range(runs)])
        for _ in range(permutations)
    ]
    plan = Plan(
        kernel=resolve_classifier(classifier),
        design=make_design(y, classes, groups=blocks),
        codes=np.stack([y, *permuted]),
        statistic=resolve_statistic("accuracy", classes, [2, classes]),
    )
    return X, members, plan


def check(classifier):
    """Stop unless regions and permutations do not depend on their company."""
    X, members, plan = problem(classifier, **BASE | {"regions": 12, "permutations": 20})
    _, _, fewer = problem(classifier, **BASE | {"regions": 12, "permutations": 10})
    scores = []
    for chosen, some in ((members, plan), (members[3:6], plan), (members, fewer)):
        null = np.empty((some.n_permutations, chosen.shape[0]), dtype=np.float32)
        score_regions(X, chosen, some, null=null)
        scores.append(null)
    np.testing.assert_array_equal(scores[0][:, 3:6], scores[1], err_msg=classifier)
    np.testing.assert_array_equal(scores[0][:10], scores[2], err_msg=classifier)


def point(classifier, size, is_last):
    """Return CPU seconds and MiB of data and run, with the estimates if ``is_last``.

    And the CPU seconds of the process.
    """
    X, members, plan = problem(classifier, **size)
    null = np.empty((plan.n_permutations, members.shape[0]), dtype=np.float32)
    few = Plan(plan.kernel, plan.design, plan.codes[:2], plan.statistic)
    with threadpool_limits(1):
        score_regions(X, members[:1], few)  # imports, compiles
        spent, rise = memory_rise(lambda: score_regions(X, members, plan, null=null))
        found = [spent, (rise + X.nbytes) / 2**20]
        if is_last:
            found.append(_cost.estimate_seconds(X, members, plan))
            found.append(_cost.estimate_memory(X, members, plan) / 2**20)
    return found, time.process_time()


def vary(classifier, name, values, base):
    """Print the points of one axis, and the exponents."""
    global total
    found = []
    for value in values:
        size, is_last = base | {name: value}, value == values[-1]
        is_last &= name in ESTIMATED
        row, of_process = in_a_process(point, classifier, size, is_last)
        total += of_process
        found.append(row)
        spent, mebibytes, *estimates = found[-1]
        text = f"{classifier:<18}{name:>13}{value:>7,}{spent:>10.3f}{mebibytes:>9.0f}"
        if estimates:
            text += f"{estimates[0] / spent:>16.2f}{estimates[1] / mebibytes:>13.2f}"
        print(text, flush=True)
    if len(values) > 1:
        logs = np.log(values), np.log([row[:2] for row in found])
        in_time, in_memory = np.polyfit(*logs, 1)[0]
        print(f"{'':18}grows as {name}^{in_time:.2f}, memory {name}^{in_memory:.2f}")
    return found


def print_units(classifier, points, measured, base):
    """Print and return what a region costs: once, for a feature, for a permutation."""
    rows, spent = [], []
    for name in ("features", "permutations"):
        for value, seconds in zip(points[name], measured[name], strict=True):
            size = base | {name: value}
            n_features, n_permutations = size["features"], size["permutations"]
            row = [1, n_features, n_permutations]
            if classifier in PER_FEATURE:
                row = [1, 0, n_features * n_permutations]
            rows.append(row)
            spent.append(seconds / base["regions"])
    rows, spent = np.array(rows, dtype=float), np.array(spent)
    # relative errors count: points differ by orders of magnitude
    units = 1e6 * nnls(rows / spent[:, None], np.ones(len(rows)))[0]
    once, feature, permutation = units
    text = f"{feature:.2f} us a feature, {permutation:.2f} us a permutation"
    if classifier in PER_FEATURE:
        text = f"{permutation:.2f} us a feature and permutation"
    print(f"{'':18}a region of 8 classes x 12 runs: {once:.0f} us, and {text}")
    size = "8 classes x 12 runs; 1,000 regions"
    equality = "regions alone, fewer permutations"
    each = 1e-6 * permutation * (100 if classifier in PER_FEATURE else 1)
    add_row(f"{classifier}, a permutation", size, 1000 * each, "", None, equality)
    return units


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute")
    parser.add_argument("--classifiers", nargs="+", default=CLASSIFIERS)
    args = parser.parse_args()
    points, classes = (QUICK, (60,)) if args.quick else (POINTS, MANY_CLASSES)
    base, units = QUICK_BASE if args.quick else BASE, {}
    print(", ".join(f"{value} {name}" for name, value in base.items()))
    print(
        f"{'classifier':<18}{'':>20}{'CPU s':>10}{'MiB':>9}{'estimated time':>16}"
        f"{'and memory':>13}"
    )
    for classifier in args.classifiers:
        check(classifier)
        measured = {}
        for name, values in points.items():
            found = vary(classifier, name, values, base)
            measured[name] = [row[0] for row in found]
        units[classifier] = print_units(classifier, points, measured, base)
        vary(classifier, "classes", classes, base | FEW)
    planned = {name: units[name] for name in PLANNED if name in units}
    for name, of_classifier in planned.items():
        spent = 1e3 * seconds_of_a_sphere(of_classifier, 1000)
        print(f"{name}: {spent:.1f} CPU ms a sphere of 257 voxels, 1,000 permutations")
    print(f"\n{planning_table(planned)}\n")
    whole = total + time.process_time()
    print(f"{machine()}; {datetime.datetime.now(datetime.UTC).date()}")
    print(f"{whole:.0f} CPU seconds in all; memory is that of all data and the run")


if __name__ == "__main__":
    main()
