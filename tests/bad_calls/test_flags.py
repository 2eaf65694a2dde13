"""Flags are True or False: "no" is not taken for yes, by any public callable."""

import importlib
import inspect
import pkgutil

import numpy as np
import pandas as pd
import pytest
from nibabel import Nifti1Image

import neuroextrap
from neuroextrap import (
    cohorts,
    decoding,
    encoding,
    group,
    images,
    learning_curves,
    plotting,
    scores,
    stats,
)
from neuroextrap.analysis import Keep
from tests.bad_calls.seam import RegionAnalysis, RegionMaps, check_flags


def flags():
    """Yield name and flags of every public callable and method."""
    found = {"RegionMaps.to_directory": RegionMaps.to_directory}
    for room in pkgutil.iter_modules(neuroextrap.__path__):
        module = importlib.import_module(f"neuroextrap.{room.name}")
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            found[name] = value
            if inspect.isclass(value):
                own = {
                    n: m for n, m in inspect.getmembers(value, callable) if n[0] != "_"
                }
                found |= {f"{name}.{n}": method for n, method in own.items()}
    for name, value in found.items():
        if not (getattr(value, "__module__", None) or "").startswith("neuroextrap"):
            continue  # scikit-learn's get_params and the like
        try:
            parameters = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            continue
        for each in parameters:
            if isinstance(each.default, bool):
                yield name, each.name


ROWS = np.random.default_rng(0).normal(size=(12, 4))
Y, RUNS = np.tile([0, 1], 6), np.repeat([0, 1, 2], 4)
SQUARES = np.random.default_rng(1).uniform(size=(6, 16, 16))
SERIES = Nifti1Image(np.random.default_rng(2).normal(size=(2, 2, 2, 20)), np.eye(4))
MASK = Nifti1Image(np.ones((2, 2, 2), np.uint8), np.eye(4))
EVENTS = pd.DataFrame(
    {"onset": [0.0, 20.0], "duration": 10.0, "trial_type": ["face", "cat"]}
)


def _samples(read):
    def call(**flag):
        masker = images.resolve_masker(MASK)
        return read(SERIES, EVENTS, masker=masker, t_r=2.0, **flag)

    return call


def _fit_events(**flag):
    light = decoding.IdentificationSearchLight(MASK)
    return light.fit_events([SERIES] * 2, [EVENTS] * 2, t_r=2.0, **flag)


def _fit(kind, *data):
    return lambda **flag: kind(**flag).fit(*data)


def _write_analysis(**flag):
    light = decoding.IdentificationSearchLight(bounds=None).fit(ROWS, Y, groups=RUNS)
    return light.to_directory("no_such_folder", **flag)


def _plot_map(**flag):
    light = decoding.IdentificationSearchLight(bounds=None).fit(ROWS, Y, groups=RUNS)
    return light.plot_map("accuracy", **flag)


def _merge(**flag):
    return RegionAnalysis.merge(None, **flag)


CALLS = {
    "RegionMaps.to_directory": lambda **flag: RegionMaps({}).to_directory(
        "no_such_folder", **flag
    ),
    "analyze_group": lambda **flag: cohorts.analyze_group("no_such_folder", **flag),
    "analyze_participants": lambda **flag: cohorts.analyze_participants(
        "no_such_folder", "out", samples="blocks", **flag
    ),
    "Keep": lambda **flag: decoding.IdentificationSearchLight(keep=Keep(**flag)).fit(
        ROWS, Y, groups=RUNS
    ),
    "IdentificationSearchLight.fit_events": _fit_events,
    "IdentificationSearchLight.merge": _merge,
    "IdentificationSearchLight.plot_map": _plot_map,
    "IdentificationSearchLight.to_directory": _write_analysis,
    "compare_decoders": lambda **flag: decoding.compare_decoders(None, None, **flag),
    "ElasticNetEncoder": _fit(encoding.ElasticNetEncoder, ROWS, ROWS),
    "EncodingIdentification": _fit(encoding.EncodingIdentification, ROWS, ROWS),
    "ContinuousEncoding": _fit(encoding.ContinuousEncoding, [ROWS] * 2, [ROWS] * 2),
    "TargetSearchLight": _fit(decoding.TargetSearchLight, ROWS, ROWS[:, :2], RUNS),
    "TargetSearchLight.merge": _merge,
    "TargetSearchLight.plot_map": _plot_map,
    "TargetSearchLight.to_directory": _write_analysis,
    "score_identification": lambda **flag: scores.score_identification(
        SQUARES[0], **flag
    ),
    "EncodingIdentification.merge": _merge,
    "EncodingIdentification.plot_map": _plot_map,
    "EncodingIdentification.to_directory": _write_analysis,
    "GaborPyramid": _fit(encoding.GaborPyramid, SQUARES),
    "RetinotopicFeatures": _fit(encoding.RetinotopicFeatures, SQUARES),
    "SchaeferStrimmerCovariance": _fit(encoding.SchaeferStrimmerCovariance, ROWS),
    "compare_encoding_models": lambda **flag: encoding.compare_encoding_models(
        None, None, **flag
    ),
    "compare_encoding_models_pairwise": (
        lambda **flag: encoding.compare_encoding_models_pairwise({}, **flag)
    ),
    "group_information": lambda **flag: group.group_information([], **flag),
    "group_permutation_test": lambda **flag: group.group_permutation_test(
        ROWS, np.zeros((12, 9, 4)), **flag
    ),
    "prevalence_test": lambda **flag: group.prevalence_test(
        ROWS, np.zeros((12, 9, 4)), **flag
    ),
    "second_level_test": lambda **flag: group.second_level_test(ROWS, **flag),
    "sign_flip_test": lambda **flag: group.sign_flip_test(ROWS, **flag),
    "labeled_samples": _samples(images.labeled_samples),
    "prediction_information": lambda **flag: learning_curves.prediction_information(
        [[0.5, 0.5], [1.0, 0.0]], [1, 0], priors=[0.5, 0.5], **flag
    ),
    "plot_accuracy_curve": lambda **flag: plotting.plot_accuracy_curve(
        [2, 4], [0.9, 0.8], **flag
    ),
    "plot_confusion_matrix": lambda **flag: plotting.plot_confusion_matrix(
        np.eye(2), **flag
    ),
    "plot_learning_curves": lambda **flag: plotting.plot_learning_curves({}, **flag),
    "paired_sign_flip_test": lambda **flag: stats.paired_sign_flip_test(ROWS, **flag),
}
"""For every callable with a flag, a call that lacks nothing but the flag."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_flag_is_looked_at():
    assert {name for name, _ in flags()} == set(CALLS)


@pytest.mark.parametrize(("name", "flag"), sorted(flags()))
@pytest.mark.parametrize("value", ["no", 0, None])
def test_words_and_numbers_are_no_flags(name, flag, value, tmp_path):
    expected = f"{flag}={value!r} must be True"
    if flag == "allow_mixed":  # a flag, or names of what may differ
        expected = f"{value!r} is nothing that can differ"
    with pytest.raises((TypeError, ValueError), match=expected):
        CALLS[name](**{flag: value})
    assert not list(tmp_path.iterdir())  # nothing was written


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_, np.bool_(1)])
def test_booleans_of_numpy_are_flags(value):
    check_flags(two_sided=value)
    found = stats.paired_sign_flip_test(ROWS, two_sided=value, step_down=value)
    same = stats.paired_sign_flip_test(
        ROWS, two_sided=bool(value), step_down=bool(value)
    )
    np.testing.assert_array_equal(found.p_value, same.p_value)
    assert (found.p_value_fwe_step_down is None) == (not value)
    light = decoding.IdentificationSearchLight(keep=Keep(per_fold=value), bounds=None)
    light.fit(ROWS, Y, groups=RUNS)
