"""Learning curves from one decomposition, against one decomposition a split.

Simulated scans of the size of Kjems et al. 2002: 18 subjects x 10 scans, 30,000
voxels, 150 random splits at every training size, reproducibility of sensitivity maps
included. Two set-ups: two labels at 17 training sizes (1 to 17 subjects) and ten
agnostic labels at 16 (2 to 17: with ten labels one subject leaves nothing to estimate
the noise from).

The naive way decomposes the voxels of every training set. It is timed on a stated
sample of splits, spread over the training sizes, and extrapolated to all; on the same
splits its information, error and reproducibility must equal ours.

    python benchmarks/learning_curves.py [--quick] [--jobs N]
"""

import argparse
import time

import numpy as np
from _table import add_row
from scipy import linalg
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

from neuroextrap.learning_curves import information_learning_curve
from neuroextrap.learning_curves._splits import draw_split


def simulate(n_subjects, n_scans, n_voxels, rng):
    """Scans with a difference between two conditions and a trend over scans."""
    groups = np.repeat(np.arange(n_subjects), n_scans)
    scan = np.tile(np.arange(n_scans), n_subjects)
    X = rng.standard_normal((len(groups), n_voxels))
    X += 0.04 * np.outer(scan >= n_scans // 2, rng.standard_normal(n_voxels))
    X += 0.02 * np.outer(scan - scan.mean(), rng.standard_normal(n_voxels))
    X += rng.standard_normal((n_subjects, n_voxels))[groups]
    return X, scan, groups


def naive_model(X, y, n_components):
    """Decompose the voxels of one training set; eigenvectors of W^-1 B."""
    right = np.linalg.svd(X, full_matrices=False)[2][:n_components]
    q = X @ right.T
    indicator = np.eye(y.max() + 1)[y]
    counts = indicator.sum(axis=0)
    means = indicator.T @ q / counts[:, None]
    within = (q - means[y]).T @ (q - means[y]) / (len(y) - len(counts))
    between = (means * counts[:, None]).T @ means
    vectors = linalg.eigh(between, within)[1][:, ::-1]
    maps = vectors[:, : min(len(counts) - 1, n_components)].T @ right
    return maps, means @ vectors[:, : len(maps)]


def naive_posterior(maps, means, X):
    """Log posteriors of equally likely Gaussian classes in canonical space."""
    squares = np.sum(((X @ maps.T)[:, None] - means) ** 2, axis=2)
    return log_softmax(-0.5 * squares, axis=1)


def naive_sensitivity(maps, means, X, y):
    """Mean squared derivative of the true class's posterior."""
    p = np.exp(naive_posterior(maps, means, X))
    slopes = (means[y] - p @ means) * p[np.arange(len(y)), y][:, None]
    return np.sum((maps.T @ (slopes.T @ slopes / len(y))) * maps.T, axis=1)


def naive_split(X, y, groups, order, size, n_components):
    """Information, error and reproducibility of one split, from the voxels."""
    rows = np.isin(groups, order[:size])
    model = naive_model(X[rows], y[rows], n_components)
    logs, truth = naive_posterior(*model, X[~rows]), y[~rows]
    own = logs[np.arange(len(truth)), truth]
    information = np.mean(own + np.log(y.max() + 1)) / np.log(2)
    agreement = np.nan
    if 2 * size <= len(order):
        twin = np.isin(groups, order[size : 2 * size])
        second = naive_model(X[twin], y[twin], n_components)
        agreement = np.corrcoef(
            naive_sensitivity(*model, X[rows], y[rows]),
            naive_sensitivity(*second, X[twin], y[twin]),
        )[0, 1]
    return information, np.mean(logs.argmax(axis=1) != truth), agreement


def time_naive(X, y, groups, sizes, curve):
    """CPU seconds of one split a size the naive way, and the largest difference."""
    means = np.array([X[groups == g].mean(axis=0) for g in np.unique(groups)])
    centered, n_groups = X - means[groups], len(means)
    root = int(np.random.default_rng(0).integers(2**63))
    holds = np.ones((n_groups, 1), dtype=bool)
    worst, started = 0.0, time.process_time()
    for i, size in enumerate(sizes):
        order = draw_split(root, size, 0, holds, twin=2 * size <= n_groups)
        kept = int(curve.n_components[i, 0])
        with np.errstate(invalid="ignore"):  # maps of saturated posteriors are zero
            found = naive_split(centered, y, groups, order, size, kept)
        names = ("information", "error_rate", "reproducibility")
        ours = [curve[name][i, 0] for name in names]
        worst = max(worst, np.nanmax(np.abs(np.subtract(found, ours))))
    return time.process_time() - started, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3,000 voxels, 30 splits")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the wall run")
    args = parser.parse_args()
    n_voxels, n_splits = (3_000, 30) if args.quick else (30_000, 150)
    X, scan, groups = simulate(18, 10, n_voxels, np.random.default_rng(0))
    print(
        f"18 subjects x 10 scans, {n_voxels} voxels, {n_splits} splits a size; wall "
        f"with {args.jobs} processes; CPU with one process and one BLAS thread, the\n"
        "naive way extrapolated from one split a size; difference: largest, on these "
        "splits, of information, error and reproducibility\n"
        f"{'set-up':20}{'sizes':>6}{'wall s':>8}{'CPU s':>8}{'naive CPU s':>13}"
        f"{'ratio':>7}{'difference':>12}"
    )
    setups = (
        ("2 labels, 10 PCs", scan // 5, np.arange(1, 18)),
        ("10 labels, 10 PCs", scan, np.arange(2, 18)),
    )
    for name, y, sizes in setups:
        options = {
            "train_sizes": sizes,
            "n_splits": n_splits,
            "prior_weight": None,
        }
        started = time.perf_counter()
        information_learning_curve(X, y, groups, n_jobs=args.jobs, **options)
        wall = time.perf_counter() - started
        with threadpool_limits(1):
            started = time.process_time()
            curve = information_learning_curve(X, y, groups, **options)
            ours = time.process_time() - started
            naive, worst = time_naive(X, y, groups, sizes, curve)
        print(
            f"{name:20}{len(sizes):6}{wall:8.1f}{ours:8.1f}{naive * n_splits:13.0f}"
            f"{naive * n_splits / ours:7.0f}{worst:12.1e}",
            flush=True,
        )
        if not worst < 1e-6:
            raise SystemExit(f"{name}: splits done the naive way differ")
        size = f"180 scans x {n_voxels:,} voxels, {n_splits} splits"
        naive *= n_splits
        add_row(f"learning curve, {name}", size, ours, "naive", naive, "a split a size")


if __name__ == "__main__":
    main()
