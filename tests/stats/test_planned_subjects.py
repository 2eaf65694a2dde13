"""A study of as many subjects as planned has the power, by the tests themselves."""

import numpy as np
import pytest

from neuroextrap.group import prevalence_test, sign_flip_test
from neuroextrap.stats import required_subjects
from tests.stats.seam import population_accuracy_lower_bound

pytestmark = pytest.mark.filterwarnings("ignore:(all|.*, with 999 permuted maps)")
PILOT = np.array([0.31, 0.24, 0.38, 0.27, 0.35, 0.29, 0.22, 0.33])
MEAN, SD = PILOT.mean(), PILOT.std(ddof=1)
N_STUDIES = [
    pytest.param(1500, id="quick"),
    pytest.param(12_000, id="full", marks=pytest.mark.slow),
]


def found_by_t(rng, n_subjects, n_studies):
    studies = rng.normal(MEAN, SD, size=(n_subjects, n_studies))
    maps = sign_flip_test(studies, baseline=0.27, random_state=1)
    return maps["p_value"] <= 0.05


def found_by_prevalence(rng, n_subjects, n_studies):
    found = []
    for n in np.full(n_studies // 300, 300):
        scores = rng.normal(MEAN, SD, size=(n_subjects, n))
        null = rng.normal(0.15, 0.1, size=(n_subjects, 999, n))
        maps = prevalence_test(scores, null, n_permutations=2)
        found.append(maps["p_value_prevalence"] <= 0.05)
    return np.concatenate(found)


def found_by_information(rng, n_subjects, n_studies):
    both = MEAN * (1 - MEAN) / SD**2 - 1
    size = n_subjects, n_studies
    accuracy = rng.beta(MEAN * both, (1 - MEAN) * both, size=size)
    return population_accuracy_lower_bound(accuracy) >= 0.25


PLANS = {
    "t": (found_by_t, {"baseline": 0.27}),
    "prevalence": (found_by_prevalence, {"baseline": 0.15, "null_sd": 0.1}),
    "information": (found_by_information, {"baseline": 0.25}),
}


@pytest.mark.parametrize("n_studies", N_STUDIES)
@pytest.mark.parametrize("power", [0.6, 0.9])
@pytest.mark.parametrize("test", PLANS)
def test_so_many_subjects_have_the_power_and_one_fewer_do_not(test, power, n_studies):
    found, options = PLANS[test]
    n_subjects = required_subjects(PILOT, test=test, power=power, **options)
    rng = np.random.default_rng(2)
    error = 3 * np.sqrt(power * (1 - power) / n_studies)
    assert found(rng, n_subjects, n_studies).mean() >= power - error - 0.01
    assert found(rng, n_subjects - 1, n_studies).mean() < power + error + 0.01


def test_regions_and_confident_pilots_take_more_subjects():
    for test, (_, options) in PLANS.items():
        one = required_subjects(PILOT, test=test, **options)
        for more in ({"n_regions": 50}, {"pilot_confidence": 0.8}, {"power": 0.95}):
            assert required_subjects(PILOT, test=test, **options, **more) > one


def test_a_safeguard_keeps_the_power_in_most_pilots():
    """Of plans from small pilots; taken as they are, about half have less power."""
    rng = np.random.default_rng(4)
    true = required_subjects([0.3, 1.3], test="t", baseline=0)
    enough = {0.5: [], 0.8: []}
    for _ in range(100):
        pilot = rng.normal(0.8, np.sqrt(0.5), size=10)
        for confidence, kept in enough.items():
            try:
                n = required_subjects(
                    pilot, test="t", baseline=0, pilot_confidence=confidence
                )
            except ValueError:  # nothing is planned
                continue
            kept.append(n >= true)
    assert np.mean(enough[0.5]) < 0.6
    assert np.mean(enough[0.8]) > 0.7


def test_few_subjects_have_too_few_flips():
    strong = [5.0, 5.1, 4.9, 5.0]
    assert required_subjects(strong, test="t", baseline=0) == 5  # 1 / 2**4 > .05
    assert required_subjects(strong, test="t", baseline=0, confidence_level=0.999) == 10


@pytest.mark.parametrize(
    ("pilot", "options", "message"),
    [
        ([0.3], {}, "n_subjects at least 2"),
        ([[0.3, 0.4]], {}, "n_subjects at least 2"),
        ([0.3, np.nan], {}, "finite scores"),
        ([0.3, 0.3], {}, "subjects that differ"),
        ([0.2, 0.25], {}, "baseline=0.25 must be below the mean"),
        ([0.25, 0.30], {"pilot_confidence": 0.99}, "with pilot_confidence=0.99"),
        (PILOT, {"test": "median"}, "'median' must be one of"),
        (PILOT, {"null_sd": 0.1}, "without for the others"),
        (PILOT, {"test": "prevalence"}, "with null_sd for 'prevalence'"),
        (PILOT, {"test": "prevalence", "null_sd": 0.0}, "null_sd must be above 0"),
        (PILOT, {"test": "prevalence", "null_sd": 0.02}, "do not have a power"),
        (PILOT, {"power": 1.0}, "power must lie"),
        (PILOT, {"n_regions": 0}, "n_regions"),
        (100 * PILOT, {"test": "information"}, "accuracies between 0 and 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(pilot, options, message):
    options = {"test": "t", "baseline": 0.25} | options
    with pytest.raises(ValueError, match=message):
        required_subjects(pilot, **options)
