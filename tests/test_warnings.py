"""Warnings name the line of whoever called the package, wherever they arise."""

import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest

import neuroextrap
from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import second_level_test

PACKAGE = Path(neuroextrap.__file__).parent


def images(rng):
    return [
        nibabel.Nifti1Image(each, np.eye(4)) for each in rng.normal(size=(4, 2, 2, 2))
    ]


def few_sign_flips(rng):
    second_level_test(images(rng), allow_native_space=True)


def few_exchanges(rng):
    groups = np.repeat(np.eye(2), 2, axis=0)
    given = {"contrast": [1, -1], "allow_native_space": True}
    second_level_test(images(rng), groups, **given)


def few_labelings(rng):
    stats.permute_labels([0, 1, 1], n_permutations=100)


def permuted_without_runs(rng):
    light = IdentificationSearchLight(n_permutations=5, cv=2)
    light.fit(rng.normal(size=(12, 3)), np.tile([0, 1], 6))


CASES = [few_sign_flips, few_exchanges, few_labelings, permuted_without_runs]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_warning_names_the_line_of_the_caller(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case(np.random.default_rng(0))
    assert caught
    assert {each.filename for each in caught} == {__file__}


def test_every_warning_goes_through_one_door():
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "warnings.warn(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["stats/_validation.py"]
