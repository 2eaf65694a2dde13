"""Bad calls of the searchlight: parameters, samples, labels, runs."""

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from neuroextrap.decoding import (
    IdentificationSearchLight,
    ensemble_information,
    lesion_identification,
)
from tests.analyses import searchlight_of
from tests.bad_calls.calls import BadCall, assert_good_message, options

V, T = ValueError, TypeError
NAN, INF = float("nan"), float("inf")

RNG = np.random.default_rng(0)
Y, RUNS = np.tile(["c0", "c1", "c2"], 4), np.repeat(np.arange(4), 3)
X = RNG.normal(size=(12, 5))
IMG = nibabel.Nifti1Image(RNG.normal(size=(3, 3, 3, 12)), np.diag([3.0, 3, 3, 1]))
MASK = nibabel.Nifti1Image(np.ones((3, 3, 3), "uint8"), IMG.affine)


def fit(imgs=X, y=Y, groups=RUNS, **parameters):
    """Fit a searchlight to small arrays."""
    return searchlight_of(**parameters).fit(imgs, y, groups=groups)


def fit_img(imgs=IMG, mask=MASK, y=Y, groups=RUNS, **parameters):
    """Fit a searchlight to a small image."""
    return searchlight_of(mask, **parameters).fit(imgs, y, groups=groups)


FITTED = fit()


def changed(values, row, value, dtype=object):
    """Return a copy with one entry changed."""
    copy = np.array(values, dtype=dtype)
    copy[row] = value
    return copy


def image(data, affine=None):
    """Return a small image."""
    return nibabel.Nifti1Image(data, IMG.affine if affine is None else affine)


PARAMETERS = [
    ("radius", 0, V),
    ("radius", -1, V),
    ("radius", NAN, V),
    ("radius", INF, V),
    ("radius", "8", V),
    ("radius", None, V),
    ("radius", True, V),
    ("radius", [8.0], V, "radius", "[8.0]"),
    ("n_nearest", 0, V),
    ("n_nearest", -3, V),
    ("n_nearest", 2.5, V),
    ("n_nearest", "9", V),
    ("n_nearest", True, V),
    ("stride", 0, V),
    ("stride", -2, V),
    ("stride", 1.5, V),
    ("stride", None, V),
    ("stride", True, V),
    ("min_voxels", 0, V),
    ("min_voxels", 2.0, V),
    ("min_voxels", "2", V),
    ("min_voxels", True, V),
    ("n_permutations", -1, V),
    ("n_permutations", 10.0, V),
    ("n_permutations", "100", V),
    ("n_permutations", None, V),
    ("n_permutations", True, V),
    ("confidence_level", 0, V),
    ("confidence_level", 1, V),
    ("confidence_level", 95, V),
    ("confidence_level", NAN, V),
    ("confidence_level", "0.95", V),
    ("confidence_level", None, V),
    ("estimator", "gaussian", V),
    ("estimator", "", V),
    ("estimator", None, V),
    ("estimator", 3, V),
    ("estimator", LinearRegression(), V, "estimator", "LinearRegression"),
    ("estimator", LinearRegression, V, "estimator", "LinearRegression"),
    ("shrinkage", "ledoit", V),
    ("shrinkage", -0.1, V),
    ("shrinkage", NAN, V),
    ("shrinkage", INF, V),
    ("shrinkage", None, T),
    ("shrinkage", True, T),
    ("statistic", "f1", V),
    ("statistic", 1, V),
    ("statistic", 4, V),
    ("statistic", None, V),
    ("statistic", 2.5, V),
    ("statistic", ["accuracy"], V, "statistic", "['accuracy']"),
    ("set_sizes", [1, 2], V, "set_sizes", "1"),
    ("set_sizes", [2, 4], V, "set_sizes", "4"),
    ("set_sizes", [], V, "set_sizes"),
    ("set_sizes", [2.5], V, "set_sizes", "2.5"),
    ("set_sizes", "all", V, "set_sizes", "all"),
    ("set_sizes", [[2, 3]], V, "set_sizes", "[[2, 3]]"),
    ("set_sizes", [2, NAN], V, "set_sizes", "nan"),
    ("classes", ["c0", "c9"], V, "classes", "'c9'"),
    ("classes", ["c0"], V, "classes", "'c0'"),
    ("classes", [0, 1], V, "classes", "0, 1"),
    ("classes", "c0", V, "classes", "'c0'"),
    ("classes", [], V, "classes", "(0,)"),
    ("within_runs", "mean", V),
    ("within_runs", True, V),
    ("max_memory", "2 Gb please", V),
    ("max_memory", "1.1.1G", V),
    ("max_memory", "-1G", V),
    ("max_memory", 0, V),
    ("max_memory", -5, V),
    ("max_memory", INF, V),
    ("max_memory", NAN, V),
    ("max_memory", None, V),
    ("max_memory", "1K", V, "max_memory", "1K", "GiB"),
    ("max_memory", True, V),
    ("shard", "0/4", V),
    ("shard", "5/4", V),
    ("shard", "1:4", V),
    ("shard", (1, 2, 3), V),
    ("shard", 2, V),
    ("shard", (1.5, 4), V),
    ("n_jobs", 0, V),
    ("n_jobs", "2", T),
    ("n_jobs", 1.5, T),
    ("n_jobs", True, T),
    ("random_state", -1, V),
    ("random_state", "abc", T),
    ("random_state", 1.5, T),
    ("random_state", [1, 2], T, "random_state", "[1, 2]"),
    ("cv", 1, V),
    ("cv", 0, V),
    ("cv", 9, V, "cv", "9"),
    ("cv", "loro", T),
    ("cv", 2.5, T),
    ("cv", [], V, "cv"),
    ("cv", [1, 2], T, "cv"),
    ("cv", [(np.arange(6), np.arange(6, 99))], V, "cv", "fold 1", "98"),
    ("cv", [(np.arange(6), np.array([-1]))], V, "cv", "fold 1", "-1"),
    ("cv", [(np.arange(6), np.arange(5, 12))], V, "cv", "fold 1"),
    ("cv", [(np.arange(6), np.array([], int))], V, "cv", "fold 1"),
    ("cv", [(np.arange(2), np.arange(2, 12))], V, "fold 1"),
    ("cv", [(np.arange(6.0), np.arange(6.5, 12))], T, "cv", "fold 1", "float64"),
    ("regions", np.ones((2, 3), bool), V, "regions", "(2, 3)"),
    ("regions", np.ones(5), V, "regions", "(5,)"),
    ("regions", scipy.sparse.csr_array((0, 5)), V, "regions", "(0, 5)"),
    ("regions", "spheres", T, "regions", "give them as float"),
    ("save_null", "null.npy", V, "save_null", "n_permutations"),
    ("blocks", [0, 1], V, "blocks", "(2,)"),
    ("noise_covariance", np.ones((20, 3)), V, "noise_covariance", "(20, 3)"),
    ("noise_covariance", np.full((20, 5), NAN), V, "noise_covariance", "NaN"),
    ("memory", 3, T),
]

SAMPLES = [
    ("imgs", X[0], V, "imgs", "(5,)"),
    ("imgs", X[None], V, "imgs", "(1, 12, 5)"),
    ("imgs", X[:10], V, "imgs", "10", "12"),
    ("imgs", np.zeros((12, 0)), V, "imgs"),
    ("imgs", np.zeros((12, 5)), V, "imgs", "constant"),
    ("imgs", np.full((12, 5), NAN), V, "imgs", "NaN"),
    ("imgs", X.astype(complex), T, "imgs", "complex128"),
    ("imgs", X.astype(object), T, "imgs", "object"),
    ("imgs", X.astype(str), T, "imgs", "<U"),
    ("imgs", np.ma.masked_greater(X, 1), T, "imgs", "masked"),
    ("imgs", X.tolist(), T, "imgs", "float"),
    ("imgs", pd.DataFrame(X).assign(name="a"), T, "imgs", "object"),
    ("imgs", scipy.sparse.csr_array(X), T, "imgs", "csr_array"),
    ("imgs", None, V, "imgs", "mask=None"),
    ("imgs", 3, T, "imgs", "int"),
    ("imgs", [], V, "imgs"),
    ("imgs", "no_such_image.nii.gz", V, "imgs", "no_such_image.nii.gz"),
    ("imgs", "no_such_*.nii.gz", V, "imgs", "no_such_*.nii.gz"),
    ("y", Y[:10], V, "y", "10"),
    ("y", Y[None], V, "y", "(1, 12)"),
    ("y", None, V, "y", "None"),
    ("y", "c0", V, "y", "c0"),
    ("y", [], V, "y"),
    ("y", np.zeros(12), V, "y", "0.0"),
    ("y", changed(np.arange(12) % 3, 3, NAN, float), V, "y", "NaN", "3"),
    ("y", changed(Y, 3, None), V, "y", "None", "3"),
    ("y", changed(Y, 3, NAN), V, "y", "nan", "3"),
    ("y", changed(Y, 3, 7), T, "y", "int", "str"),
    ("y", pd.Categorical(changed(Y, 3, None)), V, "y", "nan", "3"),
    ("y", np.ma.masked_equal(np.arange(12) % 3, 2), T, "y", "masked"),
    ("y", Y == 1j, V, "y"),
    ("y", (np.arange(12) % 3).astype(complex), T, "y", "complex128"),
    ("groups", None, V, "groups", "None"),
    ("groups", np.zeros(12), V, "groups", "one"),
    ("groups", RUNS[:6], V, "groups", "(6,)"),
    ("groups", changed(RUNS, 3, NAN, float), V, "groups", "NaN", "3"),
    ("groups", changed(RUNS, 3, None), V, "groups", "None", "3"),
    ("groups", changed(RUNS, 3, "a"), T, "groups", "int", "str"),
    ("groups", np.ma.masked_equal(RUNS, 2), T, "groups", "masked"),
    ("groups", RUNS.astype(complex), T, "groups", "complex128"),
    ("groups", "run", V, "groups", "()"),
]

IMAGES = [
    ("mask", image(np.zeros((3, 3, 3))), V, "mask"),
    ("mask", image(np.ones((4, 4, 4))), V, "(4, 4, 4)"),
    ("mask", image(np.ones((3, 3, 3)), np.eye(4)), V, "mask", "affine"),
    ("mask", image(np.full((3, 3, 3), NAN)), V, "mask"),
    ("mask", 5, T, "mask", "int"),
    ("mask", "no_such_mask.nii", V, "mask", "no_such_mask.nii"),
    ("mask", X, T, "mask", "ndarray"),
    ("imgs", X, V, "imgs", "mask"),
    ("imgs", MASK, V, "imgs", "1"),
    ("imgs", [MASK] * 11 + [IMG], V, "imgs", "23"),
    ("imgs", [MASK] * 11 + [7], T, "imgs[11]", "int"),
    ("imgs", image(np.ones((3, 3, 3, 2, 6))), V, "imgs", "(3, 3, 3, 2, 6)"),
    ("imgs", image(np.ones((3, 3, 4, 12))), V, "(3, 3, 4"),
    ("imgs", image(1j * RNG.normal(size=(3, 3, 3, 12))), T, "imgs", "complex128"),
    ("labels_img", image(np.zeros((3, 3, 3))), V, "labels_img"),
    ("labels_img", "aal.nii", V, "labels_img", "aal.nii"),
    ("process_mask_img", image(np.zeros((3, 3, 3))), V, "process_mask_img"),
    ("process_mask_img", 4, T, "process_mask_img", "int"),
    ("n_nearest", 99, V, "n_nearest", "99", "27"),
    ("stride", 9.0, V, "stride", "9.0"),
]

ASKED = [
    ("accuracy_curve", (0, [99]), V, "set_sizes", "99"),
    ("extrapolate", ([1],), V, "set_sizes", "1"),
    ("merge", (3,), T, "int"),
    ("merge", (FITTED,), V, "part"),
]

UNFITTED = [
    "maps_",
    "region_scores_",
    "wins_",
    "table_",
    "classes_",
    "results_",
    "run_",
]


def estimators():
    """Return calls of attributes before fit."""
    light = IdentificationSearchLight()
    return [
        BadCall(
            f"unfitted.{name}",
            lambda name=name: getattr(light, name),
            NotFittedError,
            ("fit", "IdentificationSearchLight"),
        )
        for name in UNFITTED
    ] + [
        BadCall(
            f"unfitted.{name}()",
            lambda name=name: getattr(light, name)(0),
            NotFittedError,
            ("fit", "IdentificationSearchLight"),
        )
        for name in ("accuracy_curve", "bound_curve", "to_directory", "extrapolate")
    ]


OTHERS = [
    BadCall(
        "extrapolate(method)",
        lambda: FITTED.extrapolate([9], method="magic"),
        V,
        ("method", "magic"),
    ),
    BadCall(
        "ensemble(n_draws=0)",
        lambda: ensemble_information(
            IdentificationSearchLight(), X, Y, RUNS, n_draws=0
        ),
        V,
        ("n_draws", "0"),
    ),
    BadCall(
        "ensemble(n_voxels=[0])",
        lambda: ensemble_information(
            IdentificationSearchLight(), X, Y, RUNS, n_voxels=[0]
        ),
        V,
        ("n_voxels", "0"),
    ),
    BadCall(
        "ensemble(n_voxels=[9])",
        lambda: ensemble_information(
            IdentificationSearchLight(), X, Y, RUNS, n_voxels=[9]
        ),
        V,
        ("n_voxels", "9"),
    ),
    BadCall(
        "ensemble(searchlight=3)",
        lambda: ensemble_information(3, X, Y, RUNS),
        T,
        ("searchlight", "int"),
    ),
    BadCall(
        "lesion(searchlight=3)",
        lambda: lesion_identification(3, X, Y, RUNS),
        T,
        ("searchlight", "int"),
    ),
]

CALLS = [
    *options("fit", fit, PARAMETERS),
    *options("fit", fit, SAMPLES),
    *options("fit_img", fit_img, IMAGES),
    *[
        BadCall(
            f"{name}{args}",
            lambda name=name, args=args: getattr(FITTED, name)(*args),
            error,
            says,
        )
        for name, args, error, *says in ASKED
    ],
    *estimators(),
    *OTHERS,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", CALLS, ids=lambda bad: bad.name)
def test_a_bad_call_says_what_to_do(bad):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        bad.call()
    assert type(caught.value) is bad.error, repr(caught.value)
    assert_good_message(str(caught.value), bad.says)
