"""Random files and arguments: a result, or one line that names what came and a remedy.

Seeds are fixed. Nothing here asks for one particular message; what is asked is that no
error of another library, no hang and no traceback comes through.
"""

import contextlib
import decimal
import functools
import inspect
import io
import signal
import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from neuroextrap import datasets, encoding, learning_curves, stats
from neuroextrap.cohorts._cohort_records import read_configuration
from neuroextrap.design import examine
from neuroextrap.group import (
    group_permutation_test,
    prevalence_test,
    second_level_test,
    sign_flip_test,
)
from neuroextrap.images import load_betas
from neuroextrap.images._events import read_events
from neuroextrap.images._feature_files import Photographs
from neuroextrap.images._opening import open_image, read_image
from neuroextrap.maps import read_maps
from neuroextrap.regions import coordinate_spheres
from neuroextrap.scores import score_identification

OWN = (ValueError, TypeError)
SECONDS = 5
RNG = np.random.default_rng(0)
M, Y = RNG.normal(size=(12, 4)), np.tile(np.arange(4), 3)
WINS = np.full((2, 4), 0.25)
OF_BOUND = {"accuracy": [0.5], "n_classes": 4, "n_repeats": 3}
OF_MARGINS = {"margins": M, "y_true": Y, "set_sizes": [2, 3]}
OF_RUNS = {"n_correct": [[3, 4, 2]], "n_units": [[5, 5, 5]]}
GOOD = {
    "AccuracyExtrapolator": {},
    "TestDesign": {"n_classes": 4, "n_repeats": 3},
    "accuracy_upper_bound": OF_BOUND,
    "average_accuracy": {"wins": WINS, "set_sizes": [2, 3]},
    "average_accuracy_interval": OF_MARGINS,
    "average_accuracy_jackknife": OF_MARGINS,
    "average_bayes_accuracy_lower_bound": OF_BOUND | {"set_sizes": [4]},
    "average_risk": OF_MARGINS | {"cost": 1 - np.eye(4)},
    "bayes_accuracy_lower_bound": OF_BOUND,
    "binomial_p_value": {"n_correct": 3, "n_test": 9, "n_classes": 3},
    "confusion_information": {"y_true": Y, "y_pred": Y},
    "default_set_sizes": {"n_classes": 4},
    "e_value_false_discovery_rate": {"e_values": [1.0, 2, 30]},
    "extrapolate_risk": {
        "risk": [0.1, 0.2, 0.3],
        "fit_set_sizes": [2, 3, 4],
        "set_sizes": [6],
    },
    "extrapolate_wins": {"wins": WINS, "n_test": 12, "set_sizes": [9]},
    "fano_information": {"accuracy": 0.5, "n_classes": 4},
    "forward_bayes_accuracy_lower_bound": OF_RUNS,
    "forward_e_value": OF_RUNS | {"accuracy": 0.25},
    "gaussian_identification_accuracy": {"information": 1.0, "set_sizes": [4]},
    "implied_information": {"accuracy": [0.5], "set_sizes": [4]},
    "implied_information_interval": OF_MARGINS,
    "implied_information_jackknife": OF_MARGINS,
    "information_drift": {"accuracy": [0.8, 0.7, 0.6], "set_sizes": [2, 3, 4]},
    "information_lower_bound": OF_BOUND | {"set_sizes": [4]},
    "max_average_accuracy": {"information": 1.0, "n_classes": 4},
    "max_statistic_p_value": {"scores": [0.5], "null_maxima": [0.1, 0.2, 0.6]},
    "min_information": {"accuracy": 0.5, "n_classes": 4},
    "paired_sign_flip_test": {"differences": M, "n_permutations": 20},
    "permutation_p_value": {"score": 0.5, "null_scores": [0.1, 0.2, 0.6]},
    "permute_labels": {"y": np.tile(["a", "b"], 30), "n_permutations": 3},
    "required_classes": {"accuracy": 0.5, "bound": 0.2, "analysis": "split"},
    "required_repeats": {
        "accuracy": 0.5,
        "bound": 0.3,
        "n_classes": 4,
        "analysis": "split",
    },
    "required_subjects": {"pilot": [0.6, 0.7, 0.5], "test": "t", "baseline": 0.4},
    "resolution_information": {"n_classes": 4, "n_test": 12, "set_sizes": [2, 3]},
    "step_down_p_value": {"scores": [0.5, 0.6], "null_scores": M[:, :2]},
    "tail_p_value": {"score": 0.5, "null_scores": RNG.normal(size=99)},
    "true_discoveries": {"scores": [0.5, 0.6], "thresholds": [0.1, 0.2]},
    "true_discovery_thresholds": {"largest": RNG.normal(size=(99, 3))},
    "win_distribution": {"margins": M, "y_true": Y},
}
NAN = float("nan")
MANY = 10**5
BAD = [
    *(NAN, np.inf, -np.inf, -1, 0, -0.5, 2.5, 1e308, MANY, 10**30, True, 1 + 2j),
    *("x", "5", b"5", None, [], ["a", "b"], [[1, 2], [3]], {"a": 1}, {1, 2}, len),
    *(object(), slice(3), (i for i in "ab"), pd.NA, decimal.Decimal("0.5")),
    *(np.array([NAN, NAN]), np.full((2, 3), np.inf), np.ones((0, 3)), np.array(0.5)),
    *(np.ones((2, 2, 2)), np.array([1, None]), np.array([True, False]), np.array("x")),
    *(np.datetime64("2020-01-01"), np.array(["2020-01-01"], "M8[D]"), np.ones(3) * 1j),
    *(np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked),
    *(pd.Series([0.5, 0.4]), pd.DataFrame({"a": [0.5, 0.2]})),
]


class Hang(Exception):  # noqa: N818
    """A call took longer than it may."""


@contextlib.contextmanager
def at_most(seconds):
    """Raise `Hang` when the block takes more CPU time, where the system can tell."""

    def ring(number, frame):
        raise Hang

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def refusal(call, *names):
    """Return what is wrong with how a call ends, "" where nothing is."""
    try:
        with at_most(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except Hang:
        return "it hangs"
    except OWN as error:
        text = str(error)
        if any(name in text for name in names) and "\n" not in text:
            return ""
        return f"{type(error).__name__}: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_every_public_function_is_tried():
    functions = {name for name in stats.__all__ if callable(getattr(stats, name))}
    assert functions == set(GOOD)


SUBJECTS = RNG.normal(0.3, 0.1, size=(6, 5))
NULLS = {"scores": SUBJECTS, "null_scores": RNG.normal(0.25, 0.05, size=(6, 20, 5))}
FEW = {"n_permutations": 20}
ELSEWHERE = {
    examine: {"y": np.tile(list("abc"), 6), "groups": np.repeat(range(6), 3)},
    group_permutation_test: NULLS | FEW,
    prevalence_test: NULLS | FEW,
    score_identification: {"scores": RNG.normal(size=(12, 12))},
    second_level_test: {"imgs": SUBJECTS, **FEW},
    sign_flip_test: {"imgs": SUBJECTS, **FEW},
}
NO_FILE: dict = {"": "what is not there is named, not the argument"}
P = RNG.dirichlet([1, 1, 1], size=12)
NESTED = {"fine": list("abc"), "coarse": list("uuv"), "fine_priors": [0.3, 0.3, 0.4]}
OF_ROOMS = {
    (datasets, "BivariateNormalProblem"): {"correlation": 0.5},
    (datasets, "gaussian_code_accuracy"): {
        "n_features": 3,
        "snr": 1.0,
        "set_sizes": [2, 3],
        "n_draws": 50,
    },
    (datasets, "gaussian_code_information"): {"n_features": 3, "snr": 1.0},
    (datasets, "plant_codes"): {
        "n_features": 9,
        "planted": [[0, 1], [3, 4]],
        "information": [1.0, 2.0],
    },
    (encoding, "read_features"): NO_FILE,
    (encoding, "schaefer_strimmer_covariance"): {"residuals": M},
    (learning_curves, "center_groups"): {"X": M, "groups": Y},
    (learning_curves, "fine_probabilities"): NESTED
    | {"probabilities": np.stack([P[:, 0], 1 - P[:, 0]], axis=1)},
    (learning_curves, "prediction_information"): {
        "probabilities": P,
        "y": np.tile([0, 1, 2], 4),
        "priors": [0.3, 0.3, 0.4],
    },
    (learning_curves, "simulate_hierarchical_scans"): {
        "n_subjects": 2,
        "n_features": 20,
    },
}
ELSEWHERE |= {getattr(*place): good for place, good in OF_ROOMS.items()}
ELSEWHERE |= {coordinate_spheres: {"coordinates": M[:, :3], "radius": 1.0}}
ELSEWHERE |= {load_betas: NO_FILE, read_maps: NO_FILE}
CALLED = {getattr(stats, name): good for name, good in GOOD.items()} | ELSEWHERE
IMAGES = RNG.normal(size=(4, 8, 8))
FITTED = {
    encoding.Delayer: ({"delays": [1, 2]}, M),
    encoding.ElasticNetEncoder: ({"cv": 2, "n_alphas": 3}, M, M),
    encoding.GaborPyramid: ({"n_orientations": 2}, IMAGES),
    encoding.RetinotopicFeatures: ({}, IMAGES),
    encoding.RidgeEncoder: ({"cv": 2, "alphas": [1.0, 10.0]}, M, M),
    encoding.SchaeferStrimmerCovariance: ({}, M),
    learning_curves.CanonicalVariates: ({}, M, Y),
    learning_curves.VoxelwiseGaussian: ({}, M, Y),
}


def fitted(cls):
    """Return a function that makes an estimator and fits it, and good arguments."""
    good, *data = FITTED[cls]

    @functools.wraps(cls, updated=())
    def fit(**parameters):
        return cls(**parameters).fit(*data)

    fit.__signature__ = inspect.signature(cls)
    return fit, good


@pytest.mark.parametrize(
    "function", [*CALLED, *FITTED], ids=lambda function: function.__name__
)
@pytest.mark.filterwarnings("ignore")  # of few subjects
def test_arguments(function):
    """Every argument takes every bad value; another one may be named for it."""
    if function in FITTED:
        function, good = fitted(function)
    else:
        good = CALLED[function]
    if good != NO_FILE:
        function(**good)
    parameters = [
        argument.name
        for argument in inspect.signature(function).parameters.values()
        if argument.kind is not argument.VAR_KEYWORD and argument.name != "verbose"
    ]
    wrong = {}
    for argument in parameters:
        for bad in BAD:
            if bad is MANY and argument in ("n_alphas", "n_orientations"):
                continue  # they may be asked for, and take their time
            given = {} if good == NO_FILE else good
            names = [*parameters, str(bad)] if good == NO_FILE else parameters
            call = functools.partial(function, **given | {argument: bad})
            if told := refusal(call, *names):
                wrong[f"{argument}={bad!r:.60}"] = told
    assert not wrong


def spoiled(content, rng):
    """Return bytes with some of them changed, or cut, or both."""
    content = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(0, 12)):
        content[place] = rng.integers(256)
    cut = rng.integers(len(content) + 1) if rng.random() < 0.5 else len(content)
    return bytes(content[:cut])


TOML = b"""\
radius = 4.0
samples = "blocks"
confounds = ["motion", "wm_csf"]
[pipeline.small]
n_permutations = 19
[[runs]]
bold = "sub-01_bold.nii.gz"
"""
EVENTS = b"""\
onset\tduration\ttrial_type\trun
0.0\t2.5\tface\t1
4.0\t2.5\thouse\t1
8.0\t1.5\tface\t2
"""


FEAT = b"""\
set fmri(level) 1
set fmri(evs_orig) 1
set fmri(evs_real) 1
set fmri(evtitle1) "face"
set fmri(convolve1) 3
set fmri(deriv_yn1) 0
set fmri(ncon_real) 1
set fmri(con_real1.1) 1
"""


def png(size=(9, 7)):
    """Return a small picture as bytes."""
    image = pytest.importorskip("PIL.Image")
    file, values = io.BytesIO(), np.random.default_rng(3).integers(256, size=size)
    image.fromarray(values.astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def nifti():
    """Return a small image as bytes."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return nibabel.Nifti1Image(values, np.diag([3.0, 3, 3, 1])).to_bytes()


def spm():
    """Return an SPM.mat as bytes."""
    names = ["Sn(1) face*bf(1)", "Sn(1) R1", "Sn(1) constant"]
    file = io.BytesIO()
    savemat(file, {"SPM": {"xX": {"name": np.array(names, dtype=object)}}})
    return file.getvalue()


def hdf5():
    """Return a result of GLMsingle as bytes."""
    file = io.BytesIO()
    with pytest.importorskip("h5py").File(file, "w") as written:
        written["betasmd"] = np.zeros((2, 2, 2, 3), "float32")
    return file.getvalue()


def array():
    """Return an array of betas as bytes."""
    file = io.BytesIO()
    np.save(file, np.zeros((2, 2, 2, 3), "float32"))
    return file.getvalue()


def betas(path):
    """Read the betas of a model; images that a changed model names are not there."""
    ones = nibabel.Nifti1Image(np.ones((2, 2, 2), "uint8"), np.eye(4))
    for name in ("beta_0001.nii", "mask.nii", "pe1.nii", "stats/pe1.nii"):
        (path.parent / name).parent.mkdir(exist_ok=True)
        nibabel.save(ones, path.parent / name)
    table = pd.DataFrame({"trial_type": ["a", "b", "c"], "run": 1})
    if path.suffix in (".mat", ".fsf"):
        table = None
    load_betas(path.parent if path.suffix == ".fsf" else path, table, mask=ones)


def photographs(path):
    """Read a picture as stimuli are."""
    return Photographs([path])[:]


def image(path):
    """Read an image with its data."""
    return read_image(open_image(path, "imgs"))


FILES = {
    "a.toml": (lambda: TOML, read_configuration, 300),
    "a.tsv": (lambda: EVENTS, lambda path: read_events(str(path)), 300),
    "a.png": (png, photographs, 300),
    "a.nii": (nifti, image, 300),
    "SPM.mat": (spm, betas, 300),
    "a.hdf5": (hdf5, betas, 300),
    "a.npy": (array, betas, 300),
    "design.fsf": (lambda: FEAT, betas, 300),
}


@pytest.mark.parametrize("name", FILES)
def test_files_with_wrong_bytes(name, tmp_path):
    make, read, n_times = FILES[name]
    content, path, wrong = make(), tmp_path / name, []
    path.write_bytes(content)
    read(path)
    changed = [spoiled(content, np.random.default_rng(seed)) for seed in range(n_times)]
    for seed, other in enumerate(changed):
        path.write_bytes(other)
        told = refusal(functools.partial(read, path), str(path), str(path.parent))
        wrong += [(seed, told)] if told else []
    assert not wrong


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{b=" * 5_000])
def test_deep_toml(text, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"deep\.toml is no TOML .*correct it"):
        read_configuration(path)


def test_pictures_that_claim_too_many_pixels(tmp_path):
    """A PNG of few bytes whose header says 100,000 x 100,000."""
    import zlib

    content = bytearray(png())
    content[16:24] = (100_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    path = tmp_path / "bomb.png"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bomb\.png has too many pixels .*smaller"):
        photographs(path)
