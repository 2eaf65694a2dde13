"""Many trials, few features, against scikit-learn: one labeling, and permutations.

Trials of single neurons or of sensors: simulated, ten folds of consecutive trials. The
predictions of each classifier are compared with refits first. Then CPU times of one
cross-validation under the observed labels, and of each permutation, against those that
scikit-learn takes to fit and predict the same folds; last, how far memory rises above
the data in a process of its own, for growing numbers of trials, beside the estimate.

    python benchmarks/trials.py [--quick]
"""

import argparse

import numpy as np
import scipy.sparse
from _process import cpu_seconds, in_a_process, memory_rise
from _table import add_row
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from threadpoolctl import threadpool_limits

from neuroextrap.design._folds import make_design
from neuroextrap.margins._engine import observed_margins, score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import estimate_memory
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.algebra._grams import scatter_penalty
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier

THEIRS = {
    "nearest_centroid": NearestCentroid(),
    "gaussian_nb": GaussianNB(),
    "ridge": RidgeClassifier(alpha=100.0),
    "lda": LinearDiscriminantAnalysis(),
}
N_FOLDS = 10
# trials, features, classes, permutations timed
SHAPES = [(8800, 66, 440, 20), (8800, 66, 8, 50), (60_600, 24, 8, 20)]
QUICK = [(2200, 33, 110, 20), (4000, 24, 8, 50)]
ROW = "{:<18}{:>13}{:>14}{:>8}{:>16}{:>8}   {}"


def simulate(n_trials, n_features, n_classes, seed=0):
    """Return float32 trials (centered), classes, and ten blocks that hold them all."""
    rng = np.random.default_rng(seed)
    size = n_trials // N_FOLDS
    y = np.concatenate(
        [rng.permutation(np.arange(size) % n_classes) for _ in range(N_FOLDS)]
    )
    X = rng.normal(size=(len(y), n_features))
    X += 0.6 * rng.normal(size=(n_classes, n_features))[y]
    X -= X.mean(axis=0)
    return X.astype(np.float32), y, np.repeat(np.arange(N_FOLDS), size)


def make_plan(name, y, blocks, n_permutations=0):
    """Plan blocks left out one at a time, with permutations within blocks."""
    rng = np.random.default_rng(1)
    parts = np.split(y, N_FOLDS)
    permuted = [
        np.concatenate([rng.permutation(part) for part in parts])
        for _ in range(n_permutations)
    ]
    n_classes = int(y.max()) + 1
    return Plan(
        kernel=resolve_classifier(name),
        design=make_design(y, n_classes, groups=blocks),
        codes=np.stack([y, *permuted]),
        statistic=resolve_statistic("accuracy", n_classes, [2, n_classes]),
    )


def refitted(name, X, y, train, test):
    """Predict a fold by a refit, with the penalty of all samples where there is one."""
    x = X.astype(float)
    if name == "nearest_centroid":
        return NearestCentroid().fit(x[train], y[train]).predict(x[test])
    if name == "gaussian_nb":
        return GaussianNB(var_smoothing=0).fit(x[train], y[train]).predict(x[test])
    (penalty, _), indicators = scatter_penalty(x, "auto"), np.eye(y.max() + 1)[y]
    if name == "ridge":
        fit = Ridge(alpha=penalty).fit(x[train], indicators[train])
        return fit.predict(x[test]).argmax(axis=1)
    sums = indicators[train].T @ x[train]
    means = sums / indicators[train].sum(axis=0)[:, None]
    within = x[train] - means[y[train]]
    weights = np.linalg.solve(within.T @ within + penalty * np.eye(x.shape[1]), means.T)
    return (x[test] @ weights - 0.5 * (means.T * weights).sum(axis=0)).argmax(axis=1)


def check(name, X, y, plan, whole):
    """Stop unless predictions are those of refits, up to ties of float32."""
    predicted = observed_margins(X, whole, plan, 0).argmax(axis=1)
    folds = plan.design.folds
    again = np.concatenate([refitted(name, X, y, *fold) for fold in folds])
    same = (predicted == again).mean()
    if same < 0.999:
        raise SystemExit(f"{name}: only {same:.2%} of predictions equal refits")
    return f"{same:.2%} of predictions"


def of_scikit_learn(name, X, y, folds):
    """Fit and predict every fold."""
    for train, test in folds:
        THEIRS[name].fit(X[train], y[train]).predict(X[test])


def compare(n_trials, n_features, n_classes, n_permutations):
    """Print the ratios of one shape."""
    X, y, blocks = simulate(n_trials, n_features, n_classes)
    whole = scipy.sparse.csr_array(np.ones((1, n_features), dtype=bool))
    size = f"{len(y):,} x {n_features}, {n_classes} classes"
    print(f"\n{size}; CPU ms, one thread, {n_permutations} permutations")
    header = "scikit-learn", "one labeling", "ratio", "a permutation", "ratio"
    print(ROW.format("classifier", *header, "equal to refits"))
    for name in THEIRS:
        plan = make_plan(name, y, blocks)
        same = check(name, X, y, plan, whole)
        folds = plan.design.folds
        theirs = min(cpu_seconds(of_scikit_learn, name, X, y, folds) for _ in range(2))
        one = min(
            cpu_seconds(score_regions, X, whole, make_plan(name, y, blocks))
            for _ in range(2)
        )
        score_regions(X, whole, make_plan(name, y, blocks, 1))  # compiles
        many = min(
            cpu_seconds(
                score_regions, X, whole, make_plan(name, y, blocks, n_permutations)
            )
            for _ in range(2)
        )
        each = max(many - one, 1e-9) / n_permutations
        cells = [1e3 * theirs, 1e3 * one, theirs / one, 1e3 * each, theirs / each]
        print(ROW.format(name, *(f"{cell:.1f}" for cell in cells), same), flush=True)
        add_row(f"{name}, one labeling", size, one, "scikit-learn", theirs, same)
        add_row(f"{name}, a permutation", size, each, "scikit-learn", theirs, same)


def warm_up(name, n_trials, n_features, n_classes):
    """Import and compile what permutations of as many features and classes need."""
    few, y, blocks = simulate(max(1100, n_trials // 10), n_features, n_classes)
    whole = scipy.sparse.csr_array(np.ones((1, n_features), dtype=bool))
    score_regions(few, whole, make_plan(name, y, blocks, 1))


def rise(name, shape, n_permutations):
    """Return MiB that memory rises above the data, and the estimate of the plan."""
    X, y, blocks = simulate(*shape)
    whole = scipy.sparse.csr_array(np.ones((1, shape[1]), dtype=bool))
    plan = make_plan(name, y, blocks, n_permutations)
    with threadpool_limits(1):
        warm_up(name, *shape)
        _, more = memory_rise(score_regions, X, whole, plan)
    held = X.nbytes + plan.codes.nbytes
    return (more + held) / 2**20, estimate_memory(X, whole, plan) / 2**20


def memory(n_features, n_classes, numbers):
    """Print how memory grows with the trials, and the estimates."""
    print(
        f"\nMiB of data and run, in brackets as estimated; {n_features} features, "
        f"{n_classes} classes, 4 permutations"
    )
    for name in THEIRS:
        rises, text = [], ""
        for n in numbers:
            found = in_a_process(rise, name, (n, n_features, n_classes), 4)
            rises.append(found[0])
            text += f"  {n:,}: {found[0]:.0f} ({found[1]:.0f})"
        slope = np.polyfit(np.log(numbers), np.log(rises), 1)[0]
        print(f"{name:<18}{text}; grows as trials^{slope:.2f}", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer trials")
    quick = parser.parse_args().quick
    with threadpool_limits(1):
        for shape in QUICK if quick else SHAPES:
            compare(*shape)
        memory(24, 8, (15_150, 60_600) if quick else (15_150, 30_300, 60_600))


if __name__ == "__main__":
    main()
