"""Decoding a number in every sphere: CPU time against nilearn's SearchLight with Ridge.

Voxels are standardized, so that one penalty means the same in all spheres. Each side is
timed on two numbers of centers, the difference of which is the time of a sphere; both
must find the same squared errors, and run in turns, in one process.

    OPENBLAS_NUM_THREADS=1 python benchmarks/targets.py [--quick]
"""

import argparse
import sys
import time
import warnings

import nibabel
import numpy as np
from _table import add_row
from nilearn.decoding import SearchLight
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut

from neuroextrap.decoding import TargetSearchLight

SETTINGS = [(12, 4), (12, 8), (8, 12), (8, 24)]  # runs, samples of each
SHAPE, RADIUS, SHRINKAGE = (18, 18, 18), 9.0, 1.0
FEW, SOME, MANY = 2, 4, 12  # edges of the cubes of centers
ROW = "{:<24}{:>14}{:>12}{:>8}"


def volume(values):
    """Return an image of voxels of 3 mm."""
    return nibabel.Nifti1Image(values, np.diag([3.0, 3, 3, 1]))


def cube(edge):
    """Return a mask of centers in the middle."""
    mask, first = np.zeros(SHAPE, np.int8), (SHAPE[0] - edge) // 2
    mask[(slice(first, first + edge),) * 3] = 1
    return volume(mask)


def data(n_runs, n_samples, seed=0):
    """Return standardized voxels as an image, a number for each sample, and runs."""
    rng = np.random.default_rng(seed)
    runs = np.repeat(np.arange(n_runs), n_samples)
    y = rng.normal(size=len(runs))
    X = rng.normal(size=(*SHAPE, len(runs))) + 0.2 * y
    X = (X - X.mean(axis=-1, keepdims=True)) / X.std(axis=-1, keepdims=True)
    return volume(X.astype(np.float32)), y, runs


def seconds(light, img, y, runs):
    """Fit; return the CPU time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light.fit(img, y, groups=runs)
    return time.process_time() - start


def light_of(edge):
    """Return the searchlight of a number."""
    return TargetSearchLight(
        volume(np.ones(SHAPE, np.int8)),
        process_mask_img=cube(edge),
        radius=RADIUS,
        shrinkage=SHRINKAGE,
        bounds=None,
    )


def theirs(edge, n):
    """Return nilearn's searchlight, with the same penalty in all spheres."""
    return SearchLight(
        volume(np.ones(SHAPE, np.int8)),
        process_mask_img=cube(edge),
        radius=RADIUS,
        estimator=Ridge(SHRINKAGE * n),
        cv=LeaveOneGroupOut(),
        scoring="neg_mean_squared_error",
    )


def check(light, other, y, runs):
    """Exit unless squared errors of both agree in the centers of the other."""
    found = other.scores_img_.get_fdata()
    folds = runs[light.run_.plan.design.test]
    for place in np.argwhere(found != 0)[:4]:
        decoded = light.decoded_targets(tuple(3.0 * place))[:, 0]
        errors = np.square(decoded - y[light.run_.plan.design.test])
        mean = np.mean([errors[folds == fold].mean() for fold in np.unique(folds)])
        if not np.isclose(-mean, found[tuple(place)], rtol=1e-4):
            sys.exit(f"errors differ at {place}: {mean} and {-found[tuple(place)]}")


def compare(n_runs, n_samples, turns):
    """Print and add one row."""
    img, y, runs = data(n_runs, n_samples)
    lights = *map(light_of, (SOME, MANY)), *(theirs(e, len(y)) for e in (FEW, SOME))
    seconds(light_of(FEW), img, y, runs)  # loads what is compiled
    times = [[seconds(each, img, y, runs) for each in lights] for _ in range(turns)]
    check(*lights[1:3], y, runs)
    least = np.min(times, axis=0)
    each = (least[1] - least[0]) / (MANY**3 - SOME**3)
    slow = (least[3] - least[2]) / (SOME**3 - FEW**3)
    size = f"{n_runs} runs of {n_samples} samples"
    ratio = f"{slow / each:.0f}"
    print(ROW.format(size, f"{1e3 * each:.3f} ms", f"{1e3 * slow:.2f} ms", ratio))
    add_row("decode a number", size, each, "nilearn, Ridge", slow, "errors of spheres")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small setting")
    quick = parser.parse_args().quick
    print(ROW.format("a sphere", "neuroextrap", "nilearn", "ratio"))
    for setting in SETTINGS[:1] if quick else SETTINGS:
        compare(*setting, turns=1 if quick else 3)


if __name__ == "__main__":
    main()
