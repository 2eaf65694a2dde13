"""The table of parameters is that of the analyses, and nothing else lists them."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import neuroextrap
from neuroextrap.analysis import Regions
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import (
    DissimilaritySearchLight,
    IdentificationSearchLight,
    TargetSearchLight,
)
from neuroextrap.encoding import ContinuousEncoding, EncodingIdentification
from tests.analyses import searchlight_of
from tests.analysis.seam import (
    KINDS,
    PARAMETERS,
    WITHOUT_EFFECT,
    Option,
    Parameter,
    RunParameters,
    SampleOptions,
    _region_run,
    choose_regions,
    command_words,
    described_parameters,
    flat_parameters,
    of_arrays,
    of_no_places,
    parameters,
    read_options,
)

ANALYSES = (IdentificationSearchLight, EncodingIdentification, TargetSearchLight)


def options_of(function):
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "imgs", "events", "derivatives", "out", "analysis")
        and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        *((analysis().kind, flat_parameters(analysis())) for analysis in ANALYSES),
        ("samples", options_of(IdentificationSearchLight.fit_events)),
        ("group", options_of(analyze_group)),
        ("continuous", ContinuousEncoding().get_params()),
        ("dissimilarity", DissimilaritySearchLight().get_params()),
    ],
)
def test_every_parameter_is_in_the_table_once(kind, names):
    assert sorted(row.name for row in parameters(kind)) == sorted(names)


def test_a_cohort_takes_its_own_parameters_and_those_of_samples_and_stimuli():
    told = options_of(analyze_participants)
    names = {row.name for row in parameters("cohort", "samples", "stimuli")}
    of_images = {"stimulus_images", "image_size", "model"}  # features, in Python
    assert names - {*told} == {*of_images, "sample_mask"}
    assert {*told} <= names


def test_options_of_samples_have_one_default():
    rows = {row.name: row for row in parameters("samples")}
    defaults = {field.name: field.default for field in fields(SampleOptions)}
    assert rows.keys() == defaults.keys() - {"label_column"}
    for name, row in rows.items():
        assert row.option is None or (row.option.default or None) == (
            defaults[name] or None
        )


def test_roles_are_of_few_words():
    assert {row.role for row in PARAMETERS} == {"result", "identity", "resource"}
    assert not [row for row in PARAMETERS if row.own and row.role != "result"]


def test_resources_are_what_descriptions_leave_out():
    """Those of every kind of analysis, and nothing that changes a result."""
    kinds = ("searchlight", "encoding", "targets", "continuous", "dissimilarity")
    for row in parameters(*kinds):
        assert (row.role == "resource") == (row.name in WITHOUT_EFFECT), row.name


def test_a_range_is_checked_where_it_is_declared(monkeypatch):
    row = Parameter("radius", "result", KINDS, Option("size", 1, kind=int, least=3))
    monkeypatch.setattr(_region_run, "PARAMETERS", (row,))
    with pytest.raises(ValueError, match="radius=2 must be an integer of at least 3"):
        RunParameters.of(IdentificationSearchLight(radius=2))
    assert RunParameters.of(searchlight_of(radius=3, stride="x")).radius == 3


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        (Option("n", least=1), [1, 5, None, np.int64(3)], [0, 1.0, True, "1"]),
        (Option("n", 2, least=1), [1, 5], [None, 0, 2.5]),
        (
            Option("x", 1.0, above=0, below=1),
            [0.5, np.float32(0.1)],
            [0, 1, "1", True, None],
        ),
        (Option("t"), ["anything", 3, None], []),
    ],
)
def test_numbers_are_within_their_range(option, good, bad):
    for value in good:
        option.check("x", value)
    for value in bad:
        with pytest.raises(ValueError, match=f"x={re.escape(repr(value))} must be "):
            option.check("x", value)


DECLARED = """
sizes: wholes N = [2]: how many there are
    (default: two)
way: one_of a|none first:
    the way: a, or b
of_python
is_on: flag word=on = True: leave it on
weight: real 'A W' above=0 below=1 = 0.5: its weight
"""


def test_options_are_declared_as_help_reads():
    assert read_options(DECLARED) == {
        "sizes": Option("how many there are", [2], "N", int, many=True, said="two"),
        "way": Option("the way: a, or b", choices=("a", "none"), first=True),
        "of_python": None,
        "is_on": Option("leave it on", True, kind=bool, word="on"),
        "weight": Option("its weight", 0.5, "A W", float, above=0.0, below=1.0),
    }


@pytest.mark.parametrize("analysis", ANALYSES)
def test_sidecars_and_identities_leave_out_resources_only(analysis):
    rows = parameters(analysis().kind)
    kept = {row.name for row in rows if row.role != "resource"}
    assert described_parameters(analysis()).keys() == kept


def test_what_chooses_regions_is_what_regions_are_chosen_by():
    chosen = {row.name for row in PARAMETERS if row.section == "regions"}
    assert chosen == set(options_of(choose_regions)) - {"masker", "n_features", "names"}
    for analysis in ANALYSES:
        assert chosen <= flat_parameters(analysis()).keys()


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


@pytest.mark.parametrize(
    "analysis", [*ANALYSES, DissimilaritySearchLight, ContinuousEncoding]
)
def test_an_unknown_parameter_names_the_one_that_was_meant(analysis):
    name = next(iter(inspect.signature(analysis).parameters))
    with pytest.raises(TypeError, match=rf"unexpected .*; did you mean {name}\?"):
        analysis(**{f"{name}s": None})
    with pytest.raises(TypeError, match=r"argument 'unheard_of'$"):
        analysis(unheard_of=None)


def test_words_of_nilearn_name_ours():
    with pytest.raises(TypeError, match=r"'mask_img'; did you mean mask\?"):
        IdentificationSearchLight(mask_img=None)
    with pytest.raises(TypeError, match=r"'scoring'; did you mean statistic\?"):
        IdentificationSearchLight(scoring="accuracy")
    with pytest.raises(TypeError, match=r"did you mean t_r\?"):
        IdentificationSearchLight().fit_events([], [], tr=2.0)


def lists_in(source, names):
    """Return literal lists, and texts of words, most of which are some names."""
    found = []
    for node in ast.walk(ast.parse(source)):
        entries = getattr(node, "elts", [node])
        texts = [e.value for e in entries if isinstance(e, ast.Constant)]
        words = " ".join(text for text in texts if isinstance(text, str)).split()
        n_names = sum(word in names for word in words)
        if n_names >= 3 and n_names >= 0.6 * len(words) and words not in found:
            found.append(words)
    return found


LISTED = {"design/_permutations.py": "a sentence"}
"""Files that may have such a list, and why."""


def test_no_list_of_parameters_is_kept_beside_the_table():
    """What is for whom is asked of the table, of a signature or of fields."""
    names = {name for row in PARAMETERS for name in (row.name, row.word)}
    source = 'listed, text, others = ("radius", "cv"), "cv radius shard", {"cv", "x"}'
    assert lists_in(source, names) == [["cv", "radius", "shard"]]
    package = Path(neuroextrap.__file__).parent
    found = {
        path.relative_to(package).as_posix(): listed
        for path in package.rglob("*.py")
        if (listed := lists_in(path.read_text("utf-8"), names))
    }
    assert found.keys() == LISTED.keys(), found


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("give bounds=Bounds(test_units='runs')", "give --test-units runs"),
        (
            "average them (fit_events(samples='blocks'))",
            "average them (--samples blocks)",
        ),
        ("do this, or give blocks=... of all; or not", "do this; or not"),
        (
            "do this, or give classes=... of all",
            "do this, or give --classes ... of all",
        ),
        ("radius=-1.5, within_runs=None.", "--radius -1.5, --within-runs none."),
        ("n_partitions=3 or standardize=True", "--curve-partitions 3 or --standardize"),
        ("check_t_r=False", "--no-check-t-r"),
        ("estimator=KNN(3), encoder=Ridge()", "estimator=KNN(3), encoder=Ridge()"),
        ("cv=None, X=3, /data/radius=3.nii", "cv=None, X=3, /data/radius=3.nii"),
        ("see neuroextrap.decoding.TargetSearchLight; it", "see --targets; it"),
        ("see neuroextrap.decoding.multiverse", "see neuroextrap.decoding.multiverse"),
    ],
)
def test_words_of_the_command_line(said, words):
    assert command_words(said) == words
