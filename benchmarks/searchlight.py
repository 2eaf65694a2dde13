"""Searchlight identification against nilearn's SearchLight: equality, then ratios.

A simulated experiment of 8 classes x 12 runs in nilearn's MNI152 mask, one run left
out at a time. nilearn's SearchLight is timed on a stated sample of the same spheres
with the same folds and a scikit-learn classifier of the same kind, on one core; its
whole-brain and permutation costs are that time per sphere, multiplied. Our own
whole-brain permutation time is measured with --full, else extrapolated from a sample.

    python benchmarks/searchlight.py [--quick | --full] [--n-jobs N]

Permutations are timed with the folds of the lower bounds, by the clock and in CPU time
(other work on the machine lengthens the first), and beside one float32 product of all
samples with all labelings, which is what a matrix library would need at the least.

--quick takes a 6 mm mask and few permutations; ratios are then smaller, for what is
fixed in a run weighs more. Run on an idle machine: both sides suffer from other work.
"""

import argparse
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import threadpoolctl
from _table import add_row
from nilearn.decoding import SearchLight
from nilearn.maskers import NiftiMasker
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.design._folds import make_design
from neuroextrap.design._forward_tests import cyclic_folds, forward_parts
from neuroextrap.design._tests import forward_folds
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._loading import mask_lattice
from neuroextrap.images._maskers import mni152_mask
from neuroextrap.margins._engine import observed_margins, score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.algebra._grams import ridge_penalty
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.regions._regions import lattice_spheres

N_CLASSES, N_RUNS = 8, 12
Y = np.tile(np.arange(N_CLASSES), N_RUNS)
RUNS = np.repeat(np.arange(N_RUNS), N_CLASSES)
CHECKED = list(range(8))  # of the sampled spheres
THEIRS = {
    "nearest_centroid": NearestCentroid(),
    "gaussian_nb": GaussianNB(),
    "ridge": RidgeClassifier(alpha=100.0),
    "lda": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}


def simulate(resolution, seed=0):
    """Return masker, image and array of noise with weak patterns everywhere."""
    rng = np.random.default_rng(seed)
    masker = resolve_masker(mni152_mask(resolution))
    size = masker.n_elements_
    X = rng.standard_normal((len(Y), size), dtype=np.float32)
    X += 0.15 * rng.standard_normal((N_CLASSES, size), dtype=np.float32)[Y]
    return masker, to_img(X, masker), X - X.mean(axis=0)


def seconds(function, *args, **options):
    """Run once; return the result and its wall time."""
    start = time.perf_counter()
    result = function(*args, **options)
    return result, time.perf_counter() - start


def their_seconds(masker, img, radius, centers, estimator):
    """Time nilearn's SearchLight on some spheres; return accuracies and s a sphere."""
    inside = np.zeros(masker.n_elements_)
    inside[centers] = 1
    process = to_img(inside, masker)
    process = type(process)((process.get_fdata() == 1).astype(np.int8), process.affine)
    light = SearchLight(
        mask_img=masker.mask_img_,
        process_mask_img=process,
        radius=radius,
        estimator=estimator,
        cv=LeaveOneGroupOut(),
        scoring="accuracy",
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, spent = seconds(light.fit, img, Y, groups=RUNS)
    scores = NiftiMasker(masker.mask_img_).fit().transform(light.scores_img_)
    return np.ravel(scores)[centers], spent / len(centers)


def make_plan(classifier, n_permutations=0, *, forward=False):
    """Plan leave-one-run-out with within-run permutations, and forward tests."""
    design = make_design(Y, N_CLASSES, groups=RUNS)
    codes = Y[None]
    if n_permutations:
        permuted = stats.permute_labels(
            Y, groups=RUNS, n_permutations=n_permutations, random_state=0
        )
        codes = np.concatenate([codes, permuted])
    tests = None
    if forward:
        parts = forward_parts(Y, N_CLASSES, design, RUNS)
        tests = forward_folds(*cyclic_folds(parts), Y, N_CLASSES, units=None)
    return Plan(
        kernel=resolve_classifier(classifier),
        design=design,
        codes=codes,
        statistic=resolve_statistic("accuracy", N_CLASSES, [2, N_CLASSES]),
        forward=tests,
    )


def refitted(classifier, x, train, test):
    """Predict a fold by a refit, with the label-free penalty of the whole region."""
    if classifier == "nearest_centroid":
        return NearestCentroid().fit(x[train], Y[train]).predict(x[test])
    if classifier == "gaussian_nb":
        return GaussianNB(var_smoothing=0).fit(x[train], Y[train]).predict(x[test])
    penalty = ridge_penalty(x - x.mean(axis=0))
    if classifier == "ridge":
        fit = Ridge(alpha=penalty).fit(x[train], np.eye(N_CLASSES)[Y[train]])
        return fit.predict(x[test]).argmax(axis=1)
    means = np.stack([x[train][Y[train] == k].mean(axis=0) for k in range(N_CLASSES)])
    within = x[train] - means[Y[train]]
    scatter = within.T @ within + penalty * np.eye(x.shape[1])
    weights = np.linalg.solve(scatter, means.T)
    scores = x[test] @ weights - 0.5 * (means.T * weights).sum(axis=0)
    return scores.argmax(axis=1)


def check_refits(classifier, X, spheres, plan):
    """Check that predictions equal those of refits; return how many."""
    same, total = 0, 0
    for sphere in np.linspace(0, spheres.shape[0] - 1, 5).astype(int):
        margins = observed_margins(X, spheres, plan, sphere)
        x = X[:, spheres[[sphere]].indices].astype(float)
        predicted = np.concatenate(
            [refitted(classifier, x, *fold) for fold in plan.design.folds]
        )
        same += (margins.argmax(axis=1) == predicted).sum()
        total += len(predicted)
    if same < total:
        print(f"  {classifier}: {same} of {total} predictions equal refits (float32)")
    if same < 0.995 * total:
        sys.exit(f"{classifier}: only {same} of {total} predictions equal refits")


def one_map(masker, img, X, spheres, radius, n_sample):
    """Compare one map: margins and wins alone, and the whole fit."""
    rng = np.random.default_rng(1)
    centers = np.sort(rng.choice(masker.n_elements_, n_sample, replace=False))
    print(f"one map, {spheres.shape[0]} spheres; nilearn on {n_sample} of them")
    row = "{:<18}{:>14}{:>16}{:>12}{:>10}{:>12}{:>10}"
    print(
        row.format(
            "classifier",
            "nilearn ms",
            "margins+wins ms",
            "ratio",
            "fit s",
            "fit ms",
            "ratio",
        )
    )
    theirs = {}
    for name, estimator in THEIRS.items():
        plan = make_plan(name)
        check_refits(name, X, spheres, plan)
        accuracy, theirs[name] = their_seconds(masker, img, radius, centers, estimator)
        scores, spent = seconds(score_regions, X, spheres, plan)
        if name == "nearest_centroid":  # the only one with nothing to tune
            np.testing.assert_allclose(scores.wins[centers, -1], accuracy, atol=1e-5)
        light = IdentificationSearchLight(
            masker.mask_img_, radius=radius, estimator=name
        )
        _, whole = seconds(light.fit, img, Y, groups=RUNS)
        n = spheres.shape[0]
        print(
            row.format(
                name,
                f"{1e3 * theirs[name]:.1f}",
                f"{1e3 * spent / n:.3f}",
                f"{theirs[name] * n / spent:.0f}x",
                f"{whole:.1f}",
                f"{1e3 * whole / n:.3f}",
                f"{theirs[name] * n / whole:.0f}x",
            )
        )
        size, other = f"{n:,} spheres", ("nilearn SearchLight", theirs[name] * n)
        add_row(f"{name}, one map", size, whole, *other, "predictions of refits")
    return theirs


def product_seconds(n_permutations):
    """CPU seconds of one matrix product of all samples with all labelings, float32."""
    rng = np.random.default_rng(0)
    plan = make_plan("ridge", n_permutations)
    left = rng.random((len(Y), len(Y)), dtype=np.float32)
    right = rng.random((len(Y), plan.batch_width * N_CLASSES), dtype=np.float32)
    np.matmul(left, right)
    n_batches = sum(1 for _ in plan.batches())
    spent = [cpu_seconds(np.matmul, left, right)[1] for _ in range(30)]
    return np.median(spent) * n_batches


def cpu_seconds(function, *args, **options):
    """Run once; return the result and the CPU time of this process's threads."""
    start = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - start


def permutations(X, spheres, theirs, n_permutations, n_sample, n_jobs):
    """Compare permutation runs with max-statistic inference and forward bounds."""
    n, timed, how = spheres.shape[0], spheres, "all spheres"
    if n_sample:  # some tasks of neighbors: forward tests share their voxels' sums
        size = min(128, n_sample // 2)
        starts = np.linspace(0, n - size, n_sample // size).astype(int)
        timed = spheres[(starts[:, None] + np.arange(size)).ravel()]
        how = f"a sample of {n_sample} spheres in blocks of {size} neighbors"
    print(
        f"{n_permutations} permutations and forward tests, {n_jobs} workers, measured "
        f"on {how}; minutes "
        "of the whole brain by the clock and by CPU time shared by the workers"
    )
    row = "{:<18}{:>14}{:>12}{:>12}{:>12}{:>10}{:>12}{:>10}"
    heads = "classifier,clock ms,minutes,CPU ms,minutes,products,product ms,ratio"
    print(row.format(*heads.split(",")))
    for name in ("nearest_centroid", "ridge", "lda"):
        plan = make_plan(name, n_permutations, forward=True)
        score_regions(X, timed[:256], plan, n_jobs=n_jobs)  # starts the workers
        before = product_seconds(n_permutations)
        (_, clock), cpu = cpu_seconds(
            seconds, score_regions, X, timed, plan, n_jobs=n_jobs
        )
        product = (before + product_seconds(n_permutations)) / 2
        clock, cpu = clock / timed.shape[0], cpu / timed.shape[0]
        in_threads = plan.kernel.prefer == "threads"  # others are not in this process
        ratio = theirs[name] * (n_permutations + 1) / clock
        print(
            row.format(
                name,
                f"{1e3 * clock:.2f}",
                f"{clock * n / 60:.1f}",
                f"{1e3 * cpu:.2f}" if in_threads else "-",
                f"{cpu * n / n_jobs / 60:.1f}" if in_threads else "-",
                f"{cpu / product:.1f}" if in_threads else "-",
                f"{1e3 * product:.2f}",
                f"{ratio:.0f}x",
            )
        )


def exponents(X, spheres, n_permutations):
    """Fit how time grows with regions and with permutations."""
    for name in ("nearest_centroid", "ridge"):
        counts = np.array([128, 256, 512])
        plan = make_plan(name, n_permutations)
        spent = [
            min(seconds(score_regions, X, spheres[:c], plan)[1] for _ in range(2))
            for c in counts
        ]
        by_regions = np.polyfit(np.log(counts), np.log(spent), 1)[0]
        numbers = n_permutations * np.array([1, 2, 4])
        spent = [
            min(
                seconds(score_regions, X, spheres[:128], make_plan(name, b))[1]
                for _ in range(2)
            )
            for b in numbers
        ]
        by_permutations = np.polyfit(np.log(numbers), np.log(spent), 1)[0]
        print(
            f"{name}: time grows as regions^{by_regions:.2f}, "
            f"permutations^{by_permutations:.2f}"
        )


def peak_memory(resolution, radius, n_permutations, n_regions):
    """Fit in a process of its own; return CPU seconds of the fit and peak GiB."""
    code = (
        "import sys, time, resource; sys.path.insert(0, 'benchmarks'); "
        "import searchlight as s, numpy as np\n"
        f"masker, img, X = s.simulate({resolution})\n"
        "mask, _ = s.mask_lattice(masker)\n"
        f"step = max(1, masker.n_elements_ // {n_regions})\n"
        "inside = np.full(masker.n_elements_, 0.0); inside[::step] = 1\n"
        "center = s.to_img(inside, masker)\n"
        f"light = s.IdentificationSearchLight(masker.mask_img_, radius={radius}, "
        f"n_permutations={n_permutations}, process_mask_img=center, n_jobs=2)\n"
        "start = time.process_time(); light.fit(img, s.Y, groups=s.RUNS)\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(time.process_time() - start, peak)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(x) for x in done.stdout.split()[-2:]]


def resolutions(fine, coarse, radius):
    """Compare a finer brain with a coarser one: time and memory."""
    whole = 10**9
    base, base_memory = min(peak_memory(coarse, radius, 0, whole) for _ in range(3))
    text = f"{coarse} mm, {radius:.0f} mm spheres: fit {base:.1f} CPU s"
    print(f"{text}, peak {base_memory:.2f} GiB")
    for r in (radius * fine / coarse, radius):
        spent, peak = min(peak_memory(fine, r, 0, whole) for _ in range(3))
        print(
            f"{fine} mm, {r:.0f} mm spheres: fit {spent:.1f} CPU s "
            f"({spent / base:.1f}x), peak {peak:.2f} GiB"
        )
    _, peak = peak_memory(coarse, radius, 1000, 2000)
    print(f"{coarse} mm, 1,000 permutations (2,000 spheres): peak {peak:.2f} GiB")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="6 mm, 50 permutations")
    size.add_argument("--full", action="store_true", help="permute in every sphere")
    parser.add_argument("--n-jobs", type=int, default=2)
    args = parser.parse_args()
    coarse, fine, radius = (6, 4, 18.0) if args.quick else (3, 2, 9.0)
    n_theirs, n_permutations = (6, 50) if args.quick else (40, 1000)
    masker, img, X = simulate(coarse)
    mask, affine = mask_lattice(masker)
    spheres, spent = seconds(lattice_spheres, mask, affine, radius)
    members = spheres.nnz / spheres.shape[0]
    print(
        f"{masker.n_elements_} voxels of {coarse} mm, {radius:.0f} mm spheres of "
        f"{members:.0f} voxels on average, built in {spent:.2f} s"
    )
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        theirs = one_map(masker, img, X, spheres, radius, n_theirs)
        n_sample = 0 if args.full else 64 if args.quick else 1024
        permutations(X, spheres, theirs, n_permutations, n_sample, args.n_jobs)
        exponents(X, spheres, 50 if args.quick else 250)
    resolutions(fine, coarse, radius)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
