"""The table of parameters is that of the analyses, and nothing else lists them."""

import inspect

import pytest

from neuroextrap.analysis import Regions
from neuroextrap.analysis._parameters import (
    PARAMETERS,
    of_arrays,
    of_no_places,
    parameters,
)
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.maps._parameters import described_parameters, flat_parameters

ANALYSES = (IdentificationSearchLight, EncodingIdentification)


def options_of(function):
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "imgs", "events")
        and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        *((analysis().kind, flat_parameters(analysis())) for analysis in ANALYSES),
        ("samples", options_of(IdentificationSearchLight.fit_events)),
    ],
)
def test_every_parameter_is_in_the_table_once(kind, names):
    assert sorted(row.name for row in parameters(kind)) == sorted(names)


def test_roles_are_of_few_words():
    assert {row.role for row in PARAMETERS} == {"result", "identity", "resource"}
    assert not [row for row in PARAMETERS if row.own and row.role != "result"]


@pytest.mark.parametrize("analysis", ANALYSES)
def test_sidecars_and_identities_leave_out_resources_only(analysis):
    rows = parameters(analysis().kind)
    kept = {row.name for row in rows if row.role != "resource"}
    assert described_parameters(analysis()).keys() == kept


def test_what_chooses_regions_is_what_regions_are_chosen_by():
    chosen = {row.name for row in PARAMETERS if row.chooses_regions}
    assert chosen == set(options_of(choose_regions)) - {"masker", "n_features", "names"}
    assert chosen <= set(inspect.signature(RunParameters).parameters)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_where_features_have_no_place_nothing_chooses_regions(analysis):
    regions = Regions(stride=3)
    asked = analysis("mask.nii", radius=4.0, regions=regions, labels_img="atlas.nii")
    plain = of_no_places(asked)
    assert plain.keys() >= {"mask", "labels_img", "n_nearest"}
    assert plain.items() <= flat_parameters(analysis()).items()
    assert "radius" not in plain


@pytest.mark.parametrize("analysis", ANALYSES)
def test_copies_of_arrays_keep_all_that_results_mean(analysis):
    changed = {"statistic": "pairwise_accuracy", "set_sizes": [2, 3], "radius": 4.0}
    changed |= {"max_memory": "1M"}
    places = {"mask": "mask.nii", "labels_img": "atlas.nii"}
    resources = {"n_jobs": 7, "checkpoint": "work", "shard": "1/2", "verbose": 1}
    regions = Regions(n_nearest=9, min_voxels=5)
    asked = analysis(**changed, **places, **resources, regions=regions)
    alone = flat_parameters(of_arrays(asked))
    assert alone == flat_parameters(analysis(**changed)) | {"min_voxels": 1}
    assert asked.mask == "mask.nii"
