"""Bad calls of encoding models: parameters, features, responses, stimuli."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from neuroextrap.encoding import (
    ElasticNetEncoder,
    EncodingIdentification,
    GaborPyramid,
    RetinotopicFeatures,
    compare_encoding_models,
    ensemble_size_curve,
    schaefer_strimmer_covariance,
)
from tests.analyses import encoding_of
from tests.bad_calls.calls import BadCall, assert_good_message, options
from tests.bad_calls.seam import mahalanobis_margins

V, T = ValueError, TypeError
NAN = float("nan")
RNG = np.random.default_rng(0)
F = RNG.normal(size=(30, 3))
R = F @ RNG.normal(size=(3, 4)) + RNG.normal(size=(30, 4))
F2, R2 = F[20:], R[20:]


def fit(features=F[:20], imgs=R[:20], groups=None, **parameters):
    """Train a model."""
    model = encoding_of(encoder=Ridge(), **parameters)
    return model.fit(features, imgs, groups)


FITTED = fit()


def identify(features=F2, imgs=R2, groups=None, **options):
    """Identify stimuli with a trained model."""
    return FITTED.identify(features, imgs, groups, **options)


def with_parameters(**parameters):
    """Train a model with these parameters and identify."""
    model = encoding_of(**{"encoder": Ridge()} | parameters)
    return model.fit(F[:20], R[:20]).identify(F2, R2)


def encode(X=F, y=R, **parameters):
    """Fit an elastic net."""
    return ElasticNetEncoder(**parameters).fit(X, y)


def spoiled(values, value):
    """Return a copy with one entry changed."""
    copy = values.copy()
    copy[0, 0] = value
    return copy


PARAMETERS = [
    ("rule", "full", V),
    ("rule", None, V),
    ("repeats", "mean", V),
    ("radius", -1, V),
    ("n_nearest", 0, V),
    ("min_voxels", 0, V),
    ("n_permutations", -1, V),
    ("confidence_level", 2, V),
    ("statistic", "f1", V),
    ("set_sizes", [1], V, "set_sizes", "1"),
    ("set_sizes", [11], V, "set_sizes", "11"),
    ("max_memory", "much", V),
    ("shard", "3/2", V),
    ("n_jobs", 0, V),
    ("n_jobs", "4", T),
    ("random_state", -1, V),
    ("random_state", "seed", T),
    ("memory", 7, T),
    ("save_null", "x.npy", V, "save_null", "n_permutations"),
    ("noise_covariance", np.ones((9, 2)), V, "noise_covariance", "(9, 2)"),
    ("encoder", "lasso", T, "encoder", "lasso"),
    ("encoder", Ridge, T, "encoder", "Ridge"),
    ("cv", 1, V),
    ("cv", 99, V),
    ("cv", "loo", T),
    ("regions", np.ones((2, 9)), V, "regions", "(2, 9)"),
]

TRAINING = [
    ("features", F[:19], V, "features", "19", "20"),
    ("features", F[:20, 0], V, "features", "(20,)"),
    ("features", spoiled(F[:20], NAN), V, "features", "NaN"),
    ("features", spoiled(F[:20], np.inf), V, "features", "infinity"),
    ("features", np.ones((20, 3)), V, "features", "constant"),
    ("features", F[:20].astype(complex), T, "features", "complex128"),
    ("features", F[:20].astype(str), T, "features", "<U"),
    ("features", np.ma.masked_greater(F[:20], 1), T, "features", "masked"),
    ("features", None, T, "features"),
    ("imgs", R[:20, 0], V, "imgs", "(20,)"),
    ("imgs", R[:20].astype(complex), T, "imgs", "complex128"),
    ("imgs", np.ma.masked_greater(R[:20], 1), T, "imgs", "masked"),
    ("imgs", np.full((20, 4), NAN), V, "imgs", "NaN"),
    ("groups", np.arange(5), V, "groups", "(5,)"),
]

TEST = [
    ("features", F2[:5], V, "imgs", "10", "5"),
    ("features", F2[:, :2], V, "features", "2", "3"),
    ("features", F[:10], V, "trained on", "10"),
    ("features", np.repeat(F2[:5], 2, axis=0), V, "identical"),
    ("features", spoiled(F2, NAN), V, "features", "NaN"),
    ("features", F2[:1], V, "features"),
    ("imgs", R2[:, :2], V, "imgs", "2", "4"),
    ("imgs", R2[:4], V, "imgs", "4", "10"),
    ("imgs", R2.astype(str), T, "imgs", "<U"),
    ("groups", np.arange(3), V, "groups", "(3,)"),
    ("groups", [None] * 10, V, "groups", "None"),
    ("groups", np.full(10, NAN), V, "groups", "NaN"),
    ("stimuli", np.arange(3), V, "stimuli", "(3,)"),
    ("stimuli", np.full(10, 99), V, "stimuli", "99"),
    ("stimuli", np.full(10, -1), V, "stimuli", "-1"),
    ("stimuli", np.arange(10.0), V, "stimuli", "float64"),
    ("distractors", F[:3, :2], V, "distractors", "2"),
    ("distractors", F2[:2], V, "identical"),
]

ENCODER = [
    ("l1_ratios", (), V, "l1_ratios"),
    ("l1_ratios", (0.0,), V, "l1_ratios", "0.0"),
    ("l1_ratios", (1.5,), V, "l1_ratios", "1.5"),
    ("n_alphas", 0, V),
    ("n_alphas", 2.5, T),
    ("eps", 0.0, V),
    ("eps", 2.0, V),
    ("cv", 1, V),
    ("cv", 99, V),
    ("tol", -1.0, V),
    ("solver", "magic", V),
    ("n_jobs", 0, V),
    ("n_jobs", "2", T),
]

OTHERS = [
    BadCall(
        "unfitted.predict",
        lambda: EncodingIdentification().predict(F),
        NotFittedError,
        ("EncodingIdentification", "fit"),
    ),
    BadCall(
        "unfitted.identify",
        lambda: EncodingIdentification().identify(F, R),
        NotFittedError,
        ("EncodingIdentification", "fit"),
    ),
    BadCall("fitted.maps_", lambda: fit().maps_, NotFittedError, ("identify",)),
    BadCall(
        "fitted.posterior", lambda: fit().posterior(0), NotFittedError, ("identify",)
    ),
    BadCall(
        "posterior(prior of 3)",
        lambda: identify().posterior(0, np.ones(3)),
        V,
        ("prior", "(3,)", "10"),
    ),
    BadCall(
        "posterior(negative)",
        lambda: identify().posterior(0, -np.ones(10)),
        V,
        ("prior",),
    ),
    BadCall(
        "predict(2 columns)",
        lambda: FITTED.predict(F[:, :2]),
        V,
        ("features", "2", "3"),
    ),
    BadCall(
        "prediction_maps(-1)",
        lambda: identify().prediction_maps(-1),
        V,
        ("n_permutations", "-1"),
    ),
    BadCall(
        "compare(unfitted)",
        lambda: compare_encoding_models(
            EncodingIdentification(), EncodingIdentification()
        ),
        V,
        ("first", "identify"),
    ),
    BadCall(
        "compare(3)",
        lambda: compare_encoding_models(identify(), 3),
        T,
        ("second", "int"),
    ),
    BadCall(
        "compare(statistic)",
        lambda: compare_encoding_models(identify(), with_parameters(), statistic="f1"),
        V,
        ("statistic", "f1"),
    ),
    BadCall(
        "ensemble(vary)",
        lambda: ensemble_size_curve((F[:20], R[:20]), (F2, R2), sizes=[2], vary="runs"),
        V,
        ("vary", "runs"),
    ),
    BadCall(
        "ensemble(sizes)",
        lambda: ensemble_size_curve((F[:20], R[:20]), (F2, R2), sizes=[99]),
        V,
        ("sizes", "99"),
    ),
    BadCall(
        "mahalanobis(shapes)",
        lambda: mahalanobis_margins(R2, R2[:, :2], np.eye(4)),
        V,
        ("predictions", "2"),
    ),
    BadCall(
        "mahalanobis(covariance)",
        lambda: mahalanobis_margins(R2, R2, np.eye(3)),
        V,
        ("covariance", "(3, 3)"),
    ),
    BadCall(
        "covariance(1 row)",
        lambda: schaefer_strimmer_covariance(R2[:1]),
        V,
        ("residuals",),
    ),
    BadCall(
        "covariance(NaN)",
        lambda: schaefer_strimmer_covariance(spoiled(R2, NAN)),
        V,
        ("residuals", "NaN"),
    ),
    BadCall("gabor(vector)", lambda: GaborPyramid().fit(np.ones(9)), V, ("(9,)",)),
    BadCall(
        "gabor(NaN)", lambda: GaborPyramid().fit(np.full((2, 8, 8), NAN)), V, ("NaN",)
    ),
    BadCall(
        "gabor(n_orientations)",
        lambda: GaborPyramid(n_orientations=0).fit(np.ones((2, 16, 16))),
        V,
        ("n_orientations", "0"),
    ),
    BadCall(
        "gabor(compression)",
        lambda: GaborPyramid(compression="gzip").fit(np.ones((2, 16, 16))),
        V,
        ("compression", "gzip"),
    ),
    BadCall(
        "gabor(unfitted)",
        lambda: GaborPyramid().transform(np.ones((2, 8, 8))),
        NotFittedError,
        ("fit",),
    ),
    BadCall(
        "retinotopic(vector)",
        lambda: RetinotopicFeatures().fit(np.ones(9)),
        V,
        ("(9,)",),
    ),
    BadCall(
        "retinotopic(step)",
        lambda: RetinotopicFeatures(step=0).fit(np.ones((2, 16, 16))),
        V,
        ("step", "0"),
    ),
]

CALLS = [
    *options("model", with_parameters, PARAMETERS),
    *options("fit", fit, TRAINING),
    *options("identify", identify, TEST),
    *options("encoder", encode, ENCODER),
    *OTHERS,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", CALLS, ids=lambda bad: bad.name)
def test_a_bad_call_says_what_to_do(bad):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        bad.call()
    assert type(caught.value) is bad.error, repr(caught.value)
    assert_good_message(str(caught.value), bad.says)
