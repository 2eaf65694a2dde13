"""RidgeEncoder against scikit-learn and himalaya, in accuracy of results and in time.

Run ``python benchmarks/ridge.py [--quick] [--sizes voxels kernels bands brain]``. One
thread; CPU times of one run, after the results have been compared. himalaya
(https://github.com/gallantlab/himalaya) is no dependency: where it is not installed its
rows are left out.

voxels   a penalty per voxel: RidgeCV of scikit-learn and of himalaya.
kernels  10,912 features, 1,000 samples, 60 voxels: himalaya's KernelRidgeCV.
bands    banded ridge regression with the same weights: himalaya's GroupRidgeCV.
brain    1,750 samples, 2,208 features, 25,000 voxels: himalaya's RidgeCV.
"""

import argparse
import importlib.util
import resource
import time
import warnings

import numpy as np
from _table import add_row
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from neuroextrap.encoding import RidgeEncoder

ALPHAS = np.logspace(0, 6, 13)
N_FOLDS = 5


def simulated(n_samples, n_features, n_targets, seed=0):
    """Standardized, correlated features; targets of R2 of 0.05 to 0.5, mean zero."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_samples, 40)).astype(np.float32)
    X = factors @ rng.normal(size=(40, n_features)).astype(np.float32)
    X += 4 * rng.normal(size=X.shape).astype(np.float32)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = rng.normal(size=(n_features, n_targets)).astype(np.float32)
    signal = X @ weights
    share = np.linspace(0.05, 0.5, n_targets, dtype=np.float32)
    noise = rng.normal(size=signal.shape).astype(np.float32)
    Y = signal / signal.std(axis=0) + noise * np.sqrt((1 - share) / share)
    return X, Y - Y.mean(axis=0)


def timed(call):
    """Return (result, CPU seconds)."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def agreement(ours, theirs, ours_predicted, predicted):
    """Describe how equal penalties are, and predictions where these are the same.

    Penalties have voxels on the last axis, predictions are (n_samples, n_voxels).
    """
    same = np.isclose(ours, theirs)
    same = same if same.ndim == 1 else same.all(axis=0)
    difference = np.abs(ours_predicted - predicted)[:, same].max() / predicted.std()
    return (
        f"same penalties {same.mean():6.1%}, their predictions differ by at most "
        f"{difference:.0e} SD"
    )


def report(name, seconds, ours, text="", shape=None):
    """Print one row: CPU seconds, and how many times ours they are."""
    print(f"  {name:34s} {seconds:8.2f} s  {seconds / ours:6.2f}x  {text}", flush=True)
    if shape is not None:
        size = f"{shape[0]:,} x {shape[1]:,}, {shape[2]:,} voxels"
        add_row("RidgeEncoder", size, ours, name, seconds, text.split(",")[0])


def has_himalaya():
    """Say whether himalaya is there; a line where it is not."""
    found = importlib.util.find_spec("himalaya") is not None
    if not found:
        print("  (himalaya is not installed: its rows are left out)")
    return found


def own_fit(X, Y, **options):
    """Fit RidgeEncoder once to few data, to load what it needs, then timed."""
    encoder = RidgeEncoder(ALPHAS, cv=N_FOLDS, shared_samples=0, **options)
    RidgeEncoder(ALPHAS[:2]).fit(X[:50, :5], Y[:50, :1])
    return timed(lambda: encoder.fit(X, Y))


def himalaya_ridge(X, Y, *, kernel=False):
    """Fit himalaya's RidgeCV, or KernelRidgeCV, to the same folds."""
    from himalaya.kernel_ridge import KernelRidgeCV
    from himalaya.ridge import RidgeCV as HimalayaRidgeCV

    cls = KernelRidgeCV if kernel else HimalayaRidgeCV
    model = cls(alphas=ALPHAS.astype(X.dtype), cv=KFold(N_FOLDS))
    if not kernel:
        model.set_params(fit_intercept=True)
    return timed(lambda: model.fit(X, Y))


def penalty_per_voxel(n_samples, n_features, n_targets):
    """Compare with RidgeCV of scikit-learn (leaves one sample out) and himalaya."""
    X, Y = simulated(n_samples, n_features, n_targets)
    print(f"\nvoxels: N {n_samples}, p {n_features}, {n_targets} voxels")
    encoder, ours = own_fit(X, Y)
    report("RidgeEncoder", ours, ours)
    naive = RidgeCV(ALPHAS, alpha_per_target=True)
    _, seconds = timed(lambda: naive.fit(X, Y))
    few = slice(0, 60)  # as many folds as samples
    one_out = RidgeEncoder(ALPHAS, cv=KFold(60), shared_samples=0).fit(
        X[few], Y[few, ::50]
    )
    other = RidgeCV(ALPHAS, alpha_per_target=True).fit(X[few], Y[few, ::50])
    pair = one_out.predict(X[few]), other.predict(X[few])
    text = agreement(one_out.alpha_, other.alpha_, *pair)
    report(
        "scikit-learn RidgeCV, leave one out",
        seconds,
        ours,
        f"on 60 samples {text}",
        (*X.shape, Y.shape[1]),
    )
    if has_himalaya():
        model, seconds = himalaya_ridge(X, Y)
        text = agreement(
            encoder.alpha_, model.best_alphas_, encoder.predict(X), model.predict(X)
        )
        report("himalaya RidgeCV", seconds, ours, text, (*X.shape, Y.shape[1]))


def wide_features(n_samples, n_features, n_targets):
    """Compare with himalaya's kernel ridge, which has no intercept within folds."""
    X, Y = simulated(n_samples, n_features, n_targets)
    print(f"\nkernels: N {n_samples}, p {n_features}, {n_targets} voxels")
    encoder, ours = own_fit(X, Y)
    report("RidgeEncoder", ours, ours)
    if has_himalaya():
        model, seconds = himalaya_ridge(X, Y, kernel=True)
        text = agreement(
            encoder.alpha_, model.best_alphas_, encoder.predict(X), model.predict(X)
        )
        shape = *X.shape, Y.shape[1]
        text = f"{text} (no intercept there)"
        report("himalaya KernelRidgeCV", seconds, ours, text, shape)


def bands(n_samples, n_features, n_targets, n_weights):
    """Compare banded ridge regression with the same candidate weights."""
    X, Y = simulated(n_samples, n_features, n_targets)
    labels = np.repeat([0, 1, 2], [n_features // 2, n_features // 4, n_features // 4])
    weights = np.random.default_rng(1).dirichlet(np.ones(3), size=n_weights)
    print(
        f"\nbands: N {n_samples}, p {n_features} in 3 bands, {n_targets} voxels, "
        f"{n_weights} weights"
    )
    encoder, ours = own_fit(X, Y, bands=labels, band_weights=weights)
    report("RidgeEncoder(bands=...)", ours, ours)
    if not has_himalaya():
        return
    from himalaya.ridge import GroupRidgeCV

    options = {
        "n_iter": weights.astype(X.dtype),
        "alphas": ALPHAS.astype(X.dtype),
        "progress_bar": False,
        "warn": False,
    }
    model = GroupRidgeCV(
        groups=labels, solver_params=options, fit_intercept=True, cv=KFold(N_FOLDS)
    )
    _, seconds = timed(lambda: model.fit(X, Y))
    penalties = np.log(encoder.band_weights_ / encoder.alpha_[:, np.newaxis]).T
    text = agreement(penalties, model.deltas_, encoder.predict(X), model.predict(X))
    report("himalaya GroupRidgeCV", seconds, ours, text, (*X.shape, Y.shape[1]))


def whole_brain(n_targets):
    """Compare at the size of Kay et al. 2008 with the default Gabor features."""
    X, Y = simulated(1750, 2208, n_targets)
    print(f"\nbrain: N 1750, p 2208, {n_targets} voxels")
    encoder, ours = own_fit(X, Y)
    report("RidgeEncoder", ours, ours)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  peak memory of the process {peak:.1f} GiB, data {Y.nbytes / 2**30:.1f}")
    if has_himalaya():
        model, seconds = himalaya_ridge(X, Y)
        text = agreement(
            encoder.alpha_, model.best_alphas_, encoder.predict(X), model.predict(X)
        )
        report("himalaya RidgeCV", seconds, ours, text, (*X.shape, Y.shape[1]))


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about half a minute")
    parser.add_argument(
        "--sizes", nargs="+", default=["voxels", "kernels", "bands", "brain"]
    )
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # of himalaya
    if "voxels" in args.sizes:
        penalty_per_voxel(1000, 500, 200 if args.quick else 2000)
    if "kernels" in args.sizes:
        wide_features(*(500, 3000, 60) if args.quick else (1000, 10_912, 60))
    if "bands" in args.sizes:
        bands(*(300, 400, 50, 5) if args.quick else (800, 2208, 89, 20))
    if "brain" in args.sizes and not args.quick:
        whole_brain(25_000)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
