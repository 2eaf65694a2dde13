"""Parameters of runs: the same checks, sizes and regions for every analysis."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

from neuroextrap.analysis import Bounds, Keep, Regions
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from tests.analyses import searchlight_of
from tests.analysis.seam import (
    RegionAnalysis,
    RunParameters,
    choose_regions,
    flat_parameters,
    nested_parameters,
)
from tests.stats.seam import default_set_sizes

ANALYSES = [IdentificationSearchLight, EncodingIdentification]


def test_an_analysis_without_a_kind_cannot_be_made():
    class Nameless(RegionAnalysis):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nameless()


@pytest.mark.parametrize("analysis", ANALYSES)
def test_every_analysis_has_the_parameters_of_runs(analysis):
    parameters = RunParameters.of(analysis(n_permutations=7, shard="1/2"))
    assert {"radius", "n_jobs", "cv"} <= vars(parameters).keys()
    assert vars(parameters).keys() == flat_parameters(analysis()).keys()
    assert (parameters.n_permutations, parameters.shard) == (7, "1/2")


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1}, "radius=-1 must be a length in mm above 0"),
        ({"radius": "8"}, "radius='8' must be a length"),
        ({"confidence_level": 1}, "confidence_level=1 must be a number between"),
        ({"min_voxels": 0}, "min_voxels=0 must be an integer of at least 1"),
        ({"stride": 1.5}, "stride=1.5 must be an integer"),
        ({"n_permutations": -1}, "n_permutations=-1 must be an integer of at least 0"),
        ({"save_null": "null.npy"}, "save_null needs permutations"),
    ],
)
def test_checks_are_those_of_all_analyses(analysis, options, message):
    with pytest.raises(ValueError, match=message):
        RunParameters.of(analysis(**nested_parameters(analysis, options)))


def test_set_sizes_are_those_given_or_the_default_ones():
    given = RunParameters.of(IdentificationSearchLight(set_sizes=[2, 4]))
    np.testing.assert_array_equal(given.resolve_set_sizes(9), [2, 4])
    default = RunParameters.of(IdentificationSearchLight())
    np.testing.assert_array_equal(default.resolve_set_sizes(40), default_set_sizes(40))


def test_regions_are_those_of_the_parameters():
    members = np.eye(4, dtype=bool)[:3]
    parameters = RunParameters.of(
        IdentificationSearchLight(regions=Regions(members, min_voxels=1))
    )
    choice = parameters.choose_regions(None, 4)
    expected = choose_regions(None, 4, regions=members)
    np.testing.assert_array_equal(choice.regions.toarray(), expected.regions.toarray())
    usable = parameters.usable_regions(choice, np.array([True, False, True, True]))
    np.testing.assert_array_equal(usable.n_features, [1, 0, 1])


def test_places_that_cannot_be_are_refused_before_any_work(tmp_path):
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    data = rng.normal(size=(12, 4)), y, runs
    (tmp_path / "file").write_text("")
    for options, message in (
        ({"save_null": tmp_path / "none" / "null.npy"}, "in a folder that exists"),
        ({"save_null": tmp_path}, "must be a file in a folder"),
        ({"checkpoint": tmp_path / "file"}, "must be the path of a folder"),
    ):
        light = searchlight_of(n_permutations=3, **options)
        with pytest.raises(ValueError, match=message):
            light.fit(*data)


def test_fitted_analyses_are_copied_and_pickled_with_their_values():
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    light = IdentificationSearchLight(
        regions=Regions(np.eye(6, dtype=bool), min_voxels=1),
        bounds=Bounds("folds", confidence_level=0.9),
        keep=Keep(per_fold=True),
    )
    fitted = clone(light).fit(rng.normal(size=(12, 6)), y, groups=runs)
    assert fitted.fold_wins_.shape == (4, 6, 3)
    for again in (deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.fold_wins_, fitted.fold_wins_)
        assert again.standard_error(0).tolist() == fitted.standard_error(0).tolist()
        assert again.bounds == light.bounds


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("keep", [True, 5, {"per_fold": True}, Regions()])
def test_what_is_no_file_is_not_kept(analysis, keep):
    with pytest.raises(TypeError, match=r"keep \(save_null\) is .*; give the path"):
        RunParameters.of(analysis(keep=keep, n_permutations=9))


@pytest.mark.parametrize("analysis", ANALYSES)
def test_values_say_the_same_as_plain_words(analysis):
    plain = flat_parameters(analysis())
    assert flat_parameters(analysis(regions=Regions(), keep=Keep())) == plain
    assert nested_parameters(analysis, plain) == analysis().get_params(deep=False)
    changed = nested_parameters(analysis, plain | {"stride": True, "save_null": "x"})
    assert (changed["regions"].stride, changed["keep"]) == (True, "x")
