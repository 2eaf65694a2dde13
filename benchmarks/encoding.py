"""Encoding models against scikit-learn, voxel by voxel, and at the size of Kay 2008.

Run ``python benchmarks/encoding.py [--quick] [--sizes small large solvers regions kay
kay-default kay-gabor]``. One thread. Each ratio compares CPU times of the same run on
the same folds and grid, and is printed only after the results have been compared.
"Naive" is scikit-learn's ElasticNetCV, one voxel at a time; its time is the mean over
the sample stated. Both sides take turns, and of several turns the fastest counts.
"solvers" is the table of docs/developers/elastic_net.rst. Ridge regression is in
ridge.py.
"""

import argparse
import resource
import time
import warnings
from unittest import mock

import numpy as np
from _table import add_row
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, ElasticNetCV
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from neuroextrap.encoding import (
    ElasticNetEncoder,
    GaborPyramid,
    schaefer_strimmer_covariance,
)
from neuroextrap.encoding._margins import mahalanobis_margins
from neuroextrap.models.elastic_net._estimator import (
    SOLVERS,
    cross_validated_elastic_net,
)
from neuroextrap.models.elastic_net._solvers import fold_grams
from neuroextrap.stats import win_distribution

RATIOS = (0.1, 0.5, 0.9)


def simulated(n_samples, n_features, n_targets, seed=0):
    """Features of neighbor correlation 0.5, 20 informative ones, R2 of 0.1 to 0.6."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    weights = np.zeros((n_features, n_targets))
    for v in range(n_targets):
        weights[rng.choice(n_features, 20, replace=False), v] = rng.normal(size=20)
    signal = X @ weights
    share = np.linspace(0.1, 0.6, n_targets)
    noise = rng.normal(size=signal.shape) * np.sqrt((1 - share) / share)
    return X, signal / signal.std(axis=0) + noise


def timed(call):
    """Return (result, CPU seconds); everything here runs in one thread."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def naive_search(X, y, splits):
    """Scikit-learn's search of one voxel."""
    return ElasticNetCV(
        l1_ratio=list(RATIOS), alphas=25, eps=1e-3, cv=splits, max_iter=10_000
    ).fit(X, y)


RUNS = {
    "numba, every grid point": ElasticNetEncoder(early_stopping=False),
    "numba, early stop": ElasticNetEncoder(),
}


def warm_up(X, Y, splits, runs):
    """Compile for the types of these data, before the clock starts."""
    for options in runs:
        few = clone(options).set_params(n_alphas=3, eps=0.1)
        cross_validated_elastic_net(X, Y[:, :1], splits, few)


def fit_once(runs, X, Y, splits, seconds):
    """Fit with the options of each run; keep its shortest `seconds` a voxel."""
    fits = {}
    for name, options in runs.items():
        fits[name], spent = timed(
            lambda o=options: cross_validated_elastic_net(X, Y, splits, o)
        )
        seconds[name] = min(seconds[name], spent / Y.shape[1])
    return fits


def compare(label, shape, n_naive, n_turns):
    """Print ratios and agreement for one size."""
    X, Y = simulated(*shape)
    splits = list(KFold(5).split(X))
    warm_up(X, Y, splits, RUNS.values())
    voxels = np.linspace(0, shape[2] - 1, n_naive).astype(int)
    slow, seconds = np.inf, dict.fromkeys(RUNS, np.inf)
    for _ in range(n_turns):
        naive, spent = timed(lambda: [naive_search(X, Y[:, v], splits) for v in voxels])
        slow = min(slow, spent / n_naive)
        fits = fit_once(RUNS, X, Y, splits, seconds)
    print(f"\n{label}: N {shape[0]}, p {shape[1]}, {shape[2]} voxels, 5 folds,")
    print(
        f"  l1_ratio {RATIOS}, 25 alphas; naive on {n_naive} voxels: "
        f"{slow:.3f} s a voxel; best of {n_turns} turns"
    )
    for name, fit in fits.items():
        same = report(name, fit, voxels, naive, slow, seconds[name])
        size = f"{shape[0]:,} x {shape[1]:,}; a voxel"
        theirs = "scikit-learn ElasticNetCV", slow
        add_row(f"elastic net, {name}", size, seconds[name], *theirs, same)
    check_refit(X, Y, fits["numba, early stop"], voxels[:3])


def report(name, fit, voxels, naive, slow, seconds):
    """One line: speed, agreement of the choice, regret of the CV error."""
    same = np.mean(
        [
            np.isclose(fit.alpha[i], m.alpha_, rtol=1e-9)
            and fit.l1_ratio[i] == m.l1_ratio_
            for i, m in zip(voxels, naive, strict=True)
        ]
    )
    regret = []
    for i, model in zip(voxels, naive, strict=True):
        errors = model.mse_path_.mean(axis=-1)
        r = list(RATIOS).index(fit.l1_ratio[i])
        a = np.argmin(np.abs(fit.alphas[i, r] - fit.alpha[i]))
        regret.append(errors[r, a] / errors.min() - 1)
    stalled = int(fit.n_stalled.sum())
    print(
        f"  {name:24s} {1e3 * seconds:9.2f} ms a voxel  {slow / seconds:7.1f}x  same "
        f"choice {same:6.1%}  regret max {max(regret):.1e}  stalled {stalled}"
    )
    return f"same choice {same:.0%}"


def check_refit(X, Y, fit, voxels):
    """Largest difference of refitted coefficients from a tightly solved ElasticNet."""
    worst = 0.0
    for v in voxels:
        exact = ElasticNet(
            alpha=fit.alpha[v], l1_ratio=fit.l1_ratio[v], tol=1e-12, max_iter=10**5
        ).fit(X, Y[:, v])
        worst = max(worst, np.abs(exact.coef_ - fit.coef[v]).max())
    print(f"  refit coefficients differ by at most {worst:.1e} from ElasticNet")


def compare_solvers(shapes, n_turns):
    """Print a row of CPU times per size: every solver with early stopping."""
    runs = {name: ElasticNetEncoder(solver=name) for name in SOLVERS}
    print("\nCPU ms a voxel, early stop: " + ", ".join(runs))
    for shape in shapes:
        X, Y = simulated(*shape)
        splits = list(KFold(5).split(X))
        warm_up(X, Y, splits, runs.values())
        seconds = dict.fromkeys(runs, np.inf)
        for _ in range(n_turns):
            fits = fit_once(runs, X, Y, splits, seconds)
        fit, *others = fits.values()
        same = np.all(
            [(f.alpha == fit.alpha) & (f.l1_ratio == fit.l1_ratio) for f in others],
            axis=0,
        )
        differ = [np.abs(f.coef - fit.coef)[same].max() for f in others]
        print(
            f"  N {shape[0]:4d}, p {shape[1]:4d}, V {shape[2]:4d}: "
            + ", ".join(f"{1e3 * spent:6.2f}" for spent in seconds.values())
            + f"; same choice {same.mean():.1%}, coefficients differ there by at most "
            f"{max(differ):.1e}"
        )


def photo_patches(n_patches, size, seed=0):
    """Random patches of scikit-learn's two photographs, gray levels in 0..1."""
    from sklearn.datasets import load_sample_images

    rng = np.random.default_rng(seed)
    photos = [np.mean(photo, axis=2) / 255 for photo in load_sample_images().images]
    out = np.empty((n_patches, size, size), dtype=np.float32)
    for patch in out:
        photo = photos[rng.integers(2)]
        r, c = (rng.integers(0, side - size + 1) for side in photo.shape)
        patch[:] = photo[r : r + size, c : c + size]
    return out


def pooled_gabors(n_voxels):
    """Gabor features of photo patches; every voxel pools a neighborhood of them.

    The hard case: neighboring features are nearly collinear and signals are dense.
    """
    images = photo_patches(1750, 64)
    pyramid = GaborPyramid(
        frequencies=(1, 2, 4, 8, 16, 32), step=1.0, max_grid=None, luminance=False
    )
    X = pyramid.fit_transform(images)
    mean = images.mean(axis=(1, 2))[:, None]
    X = np.concatenate([X, mean], axis=1).astype(np.float32)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, local_responses(X[:, :-1], pyramid.feature_positions_, 64, n_voxels)


def default_gabors(n_voxels):
    """Default features of photographs, and voxels that see a part of the image."""
    images = photo_patches(1750, 112)
    pyramid = GaborPyramid()
    X = pyramid.fit_transform(images).astype(np.float32)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, local_responses(X, pyramid.feature_positions_, 112, n_voxels)


def local_responses(X, positions, size, n_voxels):
    """Responses to the features near a place in images of `size` pixels, with noise."""
    rng = np.random.default_rng(1)
    Y = np.empty((len(X), n_voxels), dtype=np.float32)
    share = rng.uniform(0.05, 0.5, size=n_voxels)
    for v in range(n_voxels):
        center = rng.uniform(0.16 * size, 0.84 * size, size=2)
        distance = ((positions - center) ** 2).sum(axis=1) * (64 / size) ** 2
        weights = np.exp(-distance / 50) * rng.random(len(distance))
        signal = X @ weights
        Y[:, v] = signal / signal.std()
        Y[:, v] += rng.normal(size=len(X)) * np.sqrt((1 - share[v]) / share[v])
    return Y


def sparse_signals(n_voxels):
    """The simulation of the other sizes, at the size of Kay 2008."""
    X, Y = simulated(1750, 10_921, n_voxels)
    return X.astype(np.float32), Y.astype(np.float32)


def kay_size(label, source, n_voxels):
    """Project the fit of Kay et al. 2008 from a sample of voxels."""
    X, Y = source(n_voxels)
    splits = list(KFold(5).split(X))
    options = ElasticNetEncoder()
    cross_validated_elastic_net(  # compile for float32
        X[:100, :20], Y[:100, :1], list(KFold(5).split(X[:100])), options
    )
    once = 0.0

    def timed_grams(*args):
        nonlocal once
        folds, once = timed(lambda: fold_grams(*args))
        return folds

    with mock.patch(
        "neuroextrap.models.elastic_net._estimator.fold_grams", timed_grams
    ):
        fit, seconds = timed(lambda: cross_validated_elastic_net(X, Y, splits, options))
    voxel = (seconds - once) / n_voxels
    total = once + 25_000 * voxel / 2
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    # what the sample does not hold: coefficients and predictions of all voxels
    more = 25_000 * 4 * (X.shape[1] + 2 * len(X)) / 2**30
    print(f"\nKay size, {label}: N {X.shape[0]}, p {X.shape[1]}, float32;")
    print(
        f"  sample of {n_voxels} voxels, one thread: {1e3 * voxel:.0f} "
        f"ms a voxel, {once:.0f} s once; stalled {int(fit.n_stalled.sum())}"
    )
    print(
        f"  25,000 voxels on two cores: {total / 60:.0f} minutes; peak of the sample "
        f"{peak:.1f} GiB, all coefficients and predictions add {more:.1f} GiB"
    )


def region_costs(n_regions):
    """CPU seconds of covariances and identification of many regions."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(100, 251, size=n_regions)
    E = rng.normal(size=(1750, 4000)).astype(np.float32)
    members = [np.sort(rng.choice(4000, size, replace=False)) for size in sizes]
    Y, F = rng.normal(size=(2, 120, 4000)).astype(np.float32)
    blocks = [E[:, region] for region in members]
    start = time.process_time()
    covariances = [schaefer_strimmer_covariance(block)[0] for block in blocks]
    middle = time.process_time()
    pairs = list(zip(members, covariances, strict=True))
    for first in range(0, n_regions, 8):  # wins of several regions at once
        margins = [
            mahalanobis_margins(Y[:, region], F[:, region], sigma)
            for region, sigma in pairs[first : first + 8]
        ]
        win_distribution(margins, np.arange(120))
    end = time.process_time()
    scale = 1000 / n_regions
    print(
        f"\n1,000 regions of 100-250 voxels (measured on {n_regions}), 1,750 residuals"
    )
    print(
        f"  covariances {scale * (middle - start):.2f} CPU s, identification at "
        f"M = 120 {scale * (end - middle):.2f} CPU s"
    )


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about two minutes")
    parser.add_argument(
        "--sizes", nargs="+", default=["small", "large", "regions", "kay"]
    )
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="the best alpha is the smallest")
    warnings.filterwarnings("ignore", message="Objective did not converge")
    if "small" in args.sizes:
        compare("small", (200, 100, 1000), 100, 1 if args.quick else 3)
    if "large" in args.sizes:
        compare(
            "large", (1000, 1000, 10 if args.quick else 24), 2 if args.quick else 6, 1
        )
    if "solvers" in args.sizes:
        shapes = (200, 100, 400), (800, 512, 60), (800, 512, 600), (1000, 1000, 60)
        shapes = [(n, p, 20) for n, p, _ in shapes] if args.quick else shapes
        compare_solvers(shapes, 1 if args.quick else 2)
    if "regions" in args.sizes:
        region_costs(100 if args.quick else 1000)
    if "kay" in args.sizes and not args.quick:
        kay_size("20 informative features a voxel", sparse_signals, 64)
    if "kay-default" in args.sizes and not args.quick:
        kay_size("default Gabor features of photographs", default_gabors, 16)
    if "kay-gabor" in args.sizes and not args.quick:
        kay_size("pooled Gabor features of photographs", pooled_gabors, 8)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
