"""Options of samples are declared, checked and described in one place."""

import inspect
from dataclasses import fields

import pytest

from neuroextrap.cohorts import analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import labeled_samples
from tests.images.seam import SampleOptions

NAMES = [field.name for field in fields(SampleOptions)]
FUNCTIONS = {
    labeled_samples: {"smoothing_fwhm"},
    IdentificationSearchLight.fit_events: {"label_column"},
    analyze_participants: {"sample_mask", "label_column"},
}
"""The options that each function lacks."""


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_signature_and_docstring_have_every_option(function):
    known = inspect.signature(function).parameters
    text = inspect.getdoc(function)
    defaults = SampleOptions().given(without="samples confounds")
    assert {*NAMES} - known.keys() == FUNCTIONS[function]
    for name in {*NAMES} & known.keys():
        assert f"\n{name} : " in text
        assert known[name].default == defaults.get(name, known[name].default)
    assert "**options" not in text


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("word", ["volume", "label_column", "sample_masks"])
def test_other_words_are_refused_as_python_does(function, word):
    if word in inspect.signature(function).parameters:
        return
    masker = {} if function in list(FUNCTIONS)[1:] else {"masker": None}
    first = (IdentificationSearchLight(),) if "fit" in function.__name__ else ()
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'"):
        function(*first, "a.nii", "b.tsv", **masker, **{word: 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": "trials"}, "samples='trials' must be one of"),
        ({"high_pass": 2.0}, "high_pass=2.0 must be a frequency in Hz between 0"),
        ({"standardize": "psc"}, "standardize='psc' must be True"),
        ({"label_column": "picture"}, "label_column='picture' is for betas"),
        ({"samples": "lsa", "delay": 4.0}, "delay=4.0 is for blocks and volumes"),
        ({"samples": "lss", "detrend": True}, "detrend and standardize are for blocks"),
        ({"smoothing_fwhm": -1.0}, "smoothing_fwhm=-1.0 must be positive"),
    ],
)
def test_they_are_checked_when_made(given, message):
    with pytest.raises(ValueError, match=message):
        SampleOptions(**given)


@pytest.mark.parametrize("name", ["check_t_r", "detrend", "standardize"])
@pytest.mark.parametrize("value", [0, 1, None])
def test_flags_are_flags(name, value):
    with pytest.raises(TypeError, match=f"{name}={value!r} must be True or False"):
        SampleOptions(**{name: value})
