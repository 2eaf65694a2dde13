"""A good call of everything public that can be called, for a fuzz of its arguments.

``GOOD[room][name]`` is a dictionary of arguments, or makes one where that takes work.
For an estimator it holds parameters and, beside them, arguments of ``fit``.
"""

import functools
import importlib
import inspect

import nibabel
import numpy as np
import pandas as pd
from nilearn.surface import InMemoryMesh, SurfaceImage
from sklearn.linear_model import Ridge

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification, RetinotopicFeatures
from neuroextrap.images import resolve_masker
from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    simulate_hierarchical_scans,
)

RNG = np.random.default_rng(0)
M, LABELS = RNG.normal(size=(12, 4)), np.tile(np.arange(4), 3)
WINS = np.full((2, 4), 0.25)
OF_BOUND = {"accuracy": [0.5], "n_classes": 4, "n_repeats": 3}
OF_MARGINS = {"margins": M, "y_true": LABELS, "set_sizes": [2, 3]}
OF_RUNS = {"n_correct": [[3, 4, 2]], "n_units": [[5, 5, 5]]}
SUBJECTS = RNG.normal(0.3, 0.1, size=(6, 5))
FEW = {"n_permutations": 9}
NULLS = {"scores": SUBJECTS, "null_scores": RNG.normal(0.25, 0.05, size=(6, 20, 5))}
P = RNG.dirichlet([1, 1, 1], size=12)
CURVE = {"n_splits": 2, "pattern": None}

Y, RUNS = np.tile(list("abc"), 6), np.repeat(np.arange(6), 3)
X = RNG.normal(size=(18, 6))
DATA = {"imgs": X, "y": Y, "groups": RUNS}
TRIALS = {"trials": RNG.normal(size=(18, 3, 2)), "y": Y, "groups": RUNS}
REGIONS = np.kron(np.eye(2), np.ones(3))
OTHER = RNG.normal(size=(18, 6))
TWICE = {"imgs": np.concatenate([X, OTHER]), "groups": np.tile(RUNS, 2)}
FEATURES, FILM = RNG.normal(size=(2, 24, 3)), RNG.normal(size=(2, 24, 4))
IMAGES = RNG.normal(size=(4, 8, 8))
EVENTS = pd.DataFrame({"onset": np.arange(0.0, 72, 8), "duration": 4.0})
EVENTS["trial_type"] = list("abcbcacab")


def image(samples):
    """Return samples (n_samples, 6) as an image."""
    data = samples.T.reshape(1, 2, 3, -1)
    return nibabel.Nifti1Image(data, np.diag([3.0, 3, 3, 1]))


IMG, BOLD = image(X), image(RNG.normal(100, 1, size=(40, 6)))
MASK = nibabel.Nifti1Image(np.ones((1, 2, 3), "uint8"), IMG.affine)


def light(data=None, **parameters):
    """Return a searchlight over two regions, fitted if there are data."""
    made = IdentificationSearchLight(regions=REGIONS, **parameters)
    return made if data is None else made.fit(data, Y, groups=RUNS)


@functools.cache
def encoded(alpha=1.0):
    """Return an encoding model that identified."""
    model = EncodingIdentification(encoder=Ridge(alpha))
    return model.fit(FEATURES[0], FILM[0]).identify(FEATURES[1], FILM[1])


@functools.cache
def curves():
    """Return two small learning curves."""
    scans = simulate_hierarchical_scans(n_subjects=6, n_features=20)
    labels = {name: (scans[name], scans.groups) for name in ("coarse", "fine")}
    return {
        name: information_learning_curve(scans.X, *given, n_splits=2)
        for name, given in labels.items()
    }


def masker(**given):
    """Return a masker of six voxels beside other arguments."""
    return {"masker": resolve_masker(MASK), **given}


def surface():
    """Return a masker of two triangles."""
    mesh = InMemoryMesh(np.eye(3), np.array([[0, 1, 2]]))
    sides, data = {"left": mesh, "right": mesh}, {"left": X[0, :3], "right": X[0, 3:]}
    mask = SurfaceImage(sides, {side: values != 0 for side, values in data.items()})
    return {"masker": resolve_masker(mask), "radius": 2.0}


def subjects():
    """Return an analysis of each of four subjects."""
    data = [X + RNG.normal(size=X.shape) for _ in range(4)]
    return {"subjects": [light(each) for each in data], "n_bootstrap": 20}


NO_FILE: dict = {"": "what is not there is named, not the argument"}
GOOD: dict = {
    "analysis": {name: {} for name in ("Bounds", "Curves", "Keep", "Regions")},
    "datasets": {
        "BivariateNormalProblem": {"correlation": 0.5},
        "gaussian_code_accuracy": {
            "n_features": 3,
            "snr": 1.0,
            "set_sizes": [2, 3],
            "n_draws": 50,
        },
        "gaussian_code_information": {"n_features": 3, "snr": 1.0},
        "plant_codes": {
            "n_features": 9,
            "planted": [[0, 1], [3, 4]],
            "information": [1.0, 2.0],
        },
        "simulate_brain": {
            "mask_img": nibabel.Nifti1Image(np.ones((5, 5, 5), "int8"), 3 * np.eye(4)),
            "information": [3.0],
            "coordinates": [[6.0, 6.0, 6.0]],
            "n_classes": 3,
            "n_runs": 2,
        },
        "simulate_visual_cortex": {"n_train": 8, "n_test": 2, "resolution": 16},
    },
    "decoding": {
        "DissimilaritySearchLight": DATA | {"regions": REGIONS},
        "IdentificationScorer": {"X": X, "y": Y, "groups": RUNS, "cv": 2},
        "IdentificationSearchLight": DATA | {"regions": REGIONS},
        "TargetSearchLight": {
            "imgs": X,
            "targets": OTHER[:, :2],
            "groups": RUNS,
            "regions": REGIONS,
        },
        "compare_decoders": lambda: FEW | {"first": light(X), "second": light(OTHER)},
        "cross_identification": TWICE
        | {"light": light(**FEW), "y": np.tile(Y, 2)}
        | {"conditions": np.repeat(["u", "v"], 18), "train": "u", "test": "v"},
        "ensemble_information": DATA | {"searchlight": light(), "n_draws": 2},
        "lesion_identification": DATA | {"searchlight": light()},
        "multiverse": DATA | {"pipelines": {"one": light(**FEW), "two": light(**FEW)}},
        "simulate_design": DATA
        | {"searchlight": light(**FEW), "effects": [1.0], "n_simulations": 3},
        "temporal_generalization": TRIALS
        | {"searchlight": IdentificationSearchLight()},
        "time_resolved_identification": TRIALS
        | {"searchlight": IdentificationSearchLight()},
        "trial_confound": TWICE
        | {"light": light(**FEW), "y": np.tile(list("ab"), 18)}
        | {"confound": RNG.normal(size=36)},
    },
    "design": {
        "examine": {"y": np.tile(list("abc"), 6), "groups": np.repeat(range(6), 3)}
    },
    "encoding": {
        "ContinuousEncoding": {
            "features": list(FEATURES),
            "imgs": list(FILM),
            "delays": [1],
            "encoder": Ridge(),
        },
        "Delayer": {"delays": [1, 2], "X": M},
        "ElasticNetEncoder": {"cv": 2, "n_alphas": 3, "X": M, "y": M},
        "EncodingIdentification": {
            "features": FEATURES[0],
            "imgs": FILM[0],
            "encoder": Ridge(),
        },
        "GaborPyramid": {"n_orientations": 2, "images": IMAGES},
        "RetinotopicFeatures": {"images": IMAGES},
        "RidgeEncoder": {"cv": 2, "alphas": [1.0, 10.0], "X": M, "y": M},
        "SchaeferStrimmerCovariance": {"X": M},
        "compare_encoding_models": lambda: (
            FEW | {"first": encoded(), "second": encoded(2.0)}
        ),
        "compare_encoding_models_pairwise": lambda: (
            FEW | {"models": {"one": encoded(), "two": encoded(2.0)}}
        ),
        "ensemble_size_curve": {
            "train": (FEATURES[0], FILM[0]),
            "test": (FEATURES[1], FILM[1]),
            "sizes": [2, 4],
            "encoder": Ridge(),
            "n_draws": 2,
        },
        "read_features": NO_FILE,
        "schaefer_strimmer_covariance": {"residuals": M},
    },
    "group": {
        "group_information": subjects,
        "group_permutation_test": NULLS | FEW,
        "prevalence_test": NULLS | FEW,
        "second_level_test": {"imgs": SUBJECTS, **FEW},
        "sign_flip_test": {"imgs": SUBJECTS, **FEW},
    },
    "images": {
        "labeled_samples": lambda: masker(imgs=BOLD, events=EVENTS, t_r=2.0),
        "load_betas": NO_FILE,
        "resolve_masker": {"mask": MASK, "imgs": IMG},
        "to_img": lambda: masker(values=X[0]),
    },
    "learning_curves": {
        "CanonicalVariates": {"X": X, "y": Y},
        "VoxelwiseGaussian": {"X": X, "y": Y},
        "compare_learning_curves": lambda: {"curves": curves()},
        "fine_probabilities": {
            "fine": list("abc"),
            "coarse": list("uuv"),
            "fine_priors": [0.3, 0.3, 0.4],
            "probabilities": np.stack([P[:, 0], 1 - P[:, 0]], axis=1),
        },
        "information_learning_curve": {"X": X, "y": Y, "groups": RUNS, **CURVE},
        "learning_curve_report": lambda: {"curves": curves(), "title": "Curves"},
        "limiting_factor": lambda: {"curve": curves()["coarse"]},
        "pattern_reproducibility": {"X": X, "y": Y, "groups": RUNS, "n_splits": 2},
        "prediction_information": {
            "probabilities": P,
            "y": np.tile([0, 1, 2], 4),
            "priors": [0.3, 0.3, 0.4],
        },
        "protocol_learning_curves": {
            "X": RNG.normal(size=(24, 6)),
            "y": np.tile(list("ab"), 12),
            "groups": np.repeat(range(6), 4),
            "scale": None,
            **CURVE,
        },
        "sensitivity_map": {
            "classifier": CanonicalVariates().fit(X, Y),
            "X": X,
            "y": Y,
        },
        "simulate_hierarchical_scans": {"n_subjects": 2, "n_features": 20},
    },
    "maps": {"read_maps": NO_FILE},
    "margins": {"use_executor": {"executor": None}},
    "plotting": {
        "plot_accuracy_curve": {"set_sizes": [2, 3], "accuracy": [0.8, 0.7]},
        "plot_canonical_coordinates": {"coordinates": X[:, :2], "labels": Y},
        "plot_confusion_matrix": {"confusion": np.eye(3)},
        "plot_extrapolation_fan": {
            "set_sizes": [2, 3],
            "accuracy": [0.8, 0.7],
            "target_sizes": [4, 5],
            "predictions": {"one": [0.6, 0.5]},
        },
        "plot_information_vs_size": {"n_voxels": [2, 4], "information": [1.0, 2.0]},
        "plot_learning_curves": lambda: {"curves": curves()},
        "plot_map": {"img": nibabel.Nifti1Image(np.ones((4, 4, 4)), np.eye(4))},
        "plot_null_distribution": {"null_scores": M[:, 0], "observed": 0.5},
        "plot_receptive_field": {
            "features": RetinotopicFeatures(widths=(0.5,)).fit(IMAGES),
            "weights": np.arange(8.0),
        },
        "plot_temporal_generalization": {
            "times": [0.0, 1.0],
            "scores": np.eye(2),
            "p_value": np.eye(2),
        },
        "plot_time_course": {
            "times": [0.0, 1.0],
            "scores": [0.5, 0.6],
            "p_value": [0.1, 0.01],
        },
    },
    "regions": {"coordinate_spheres": {"coordinates": M[:, :3], "radius": 1.0}},
    "reporting": {
        "peak_table": lambda: {"fitted": light(X)},
    },
    "scores": {"score_identification": {"scores": RNG.normal(size=(8, 8))}},
    "stats": {
        "AccuracyExtrapolator": {"margins": M, "y_true": LABELS},
        "TestDesign": {"n_classes": 4, "n_repeats": 3},
        "accuracy_upper_bound": OF_BOUND,
        "average_accuracy": {"wins": WINS, "set_sizes": [2, 3]},
        "average_accuracy_interval": OF_MARGINS,
        "average_accuracy_jackknife": OF_MARGINS,
        "average_bayes_accuracy_lower_bound": OF_BOUND | {"set_sizes": [4]},
        "average_risk": OF_MARGINS | {"cost": 1 - np.eye(4)},
        "bayes_accuracy_lower_bound": OF_BOUND,
        "binomial_p_value": {"n_correct": 3, "n_test": 9, "n_classes": 3},
        "confusion_information": {"y_true": LABELS, "y_pred": LABELS},
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
        "win_distribution": {"margins": M, "y_true": LABELS},
    },
}


def good_call(room, name):
    """Return a function, parameters by which it is called, and good arguments.

    What scikit-learn checks of an estimator of its own kind has scikit-learn's words.
    """
    thing = getattr(importlib.import_module(f"neuroextrap.{room}"), name)
    good = GOOD[room][name]
    good = good() if callable(good) else good
    parameters = _named(thing)
    if not (inspect.isclass(thing) and hasattr(thing, "fit")):
        return thing, parameters, good
    of_data = [each for each in _named(thing.fit) if each not in parameters]

    def fit(**given):
        """Make an estimator and fit it."""
        fitting = {name: given.pop(name) for name in of_data if name in given}
        fitted = thing(**given).fit(**fitting)
        if thing.__name__ == "IdentificationScorer":  # all is done in there
            fitted.score(fitting["X"], fitting["y"])

    own = "X" not in of_data or room == "decoding"
    return fit, [*parameters, *(of_data if own else ())], good


def _named(thing):
    """Return the names of what a function takes, as words of the caller."""
    given = inspect.signature(thing).parameters.values()
    names = [each.name for each in given if each.kind is not each.VAR_KEYWORD]
    return [name for name in names if name not in ("self", "verbose")]
