"""Scores, targets and options that cannot be: what came, what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from neuroextrap.scores import score_identification
from tests.bad_calls.calls import assert_good_message

GOOD = np.random.default_rng(0).normal(size=(12, 12)) + 3 * np.eye(12)
NAMES = [f"image{number}" for number in range(12)]
FRAME = pd.DataFrame(GOOD, columns=NAMES)
INFINITE = np.where(np.eye(12), -np.inf, GOOD)
VECTORS = {"decoded": GOOD, "candidates": GOOD}

CALLS = {
    "nothing": ({}, ValueError, ("decoded and candidates", "0 of the two")),
    "too much": (VECTORS | {"scores": GOOD}, ValueError, ("2 of the two", "beside")),
    "no candidates": ({"decoded": GOOD}, ValueError, ("1 of the two", "without")),
    "averages": ({"scores": [0.8, 0.9]}, ValueError, ("(2,)", "averages already")),
    "one candidate": ({"scores": GOOD[:, :1]}, ValueError, ("(12, 1)", "two")),
    "text": ({"scores": np.array([["a", "b"]] * 2)}, TypeError, ("real numbers",)),
    "nan": (
        {"scores": np.where(np.eye(12), np.nan, GOOD)},
        ValueError,
        ("nan in row 0",),
    ),
    "log of 0": (
        {"scores": INFINITE},
        ValueError,
        ("-inf in row 0", "below all others"),
    ),
    "sparse": (
        {"scores": scipy.sparse.csr_array(GOOD)},
        TypeError,
        ("dtype object", "scores.toarray()"),
    ),
    "complex": ({"scores": GOOD + 1j}, TypeError, ("complex128",)),
    "no targets": (
        {"scores": GOOD[:9]},
        ValueError,
        ("9 trials for 12", "give targets"),
    ),
    "transposed": (
        {"scores": GOOD[:, :9], "targets": np.arange(9)},
        ValueError,
        ("9 entries for 12 trials", "scores.T"),
    ),
    "from one": (
        {"scores": GOOD, "targets": np.arange(12) + 1},
        ValueError,
        ("12, not among", "targets - 1"),
    ),
    "beyond": (
        {"scores": GOOD, "targets": [40] * 12},
        ValueError,
        ("40, not among", "column numbers from 0"),
    ),
    "negative": (
        {"scores": GOOD, "targets": [-1] * 12},
        ValueError,
        ("-1, not among",),
    ),
    "names unknown": ({"scores": GOOD, "targets": NAMES}, ValueError, ("no names",)),
    "numbers, not names": (
        {"scores": FRAME, "targets": np.arange(12)},
        ValueError,
        ("0, 1, 2, ...", "image0, image1, image2", "names of candidates"),
    ),
    "rows of other names": (
        {"scores": FRAME.set_index(pd.Index(list("abcdefghijkl")))},
        ValueError,
        ("a, b, c, ...", "not among the candidates"),
    ),
    "halves": ({"scores": GOOD, "targets": [0.5] * 12}, ValueError, ("0.5",)),
    "missing": (
        {"scores": GOOD, "targets": [None] * 12},
        ValueError,
        ("None in row 0",),
    ),
    "repeated names": (
        {"scores": GOOD, "names": ["a"] * 12},
        ValueError,
        ("names has a more than once",),
    ),
    "few names": ({"scores": GOOD, "names": ["a"]}, ValueError, ("1 entries for 12",)),
    "kind": ({"scores": GOOD, "kind": "cosine"}, ValueError, ("'cosine'", "distance")),
    "metric": (VECTORS | {"metric": "dot"}, ValueError, ("'dot'", "euclidean")),
    "features": (
        {"decoded": GOOD, "candidates": GOOD[:, :3]},
        ValueError,
        ("(12, 12)", "(12, 3)"),
    ),
    "no direction": (
        {"decoded": GOOD * (np.arange(12) != 4)[:, None], "candidates": GOOD},
        ValueError,
        ("decoded", "row 4", "euclidean"),
    ),
    "constant": (
        VECTORS | {"candidates": np.ones((12, 12)), "metric": "correlation"},
        ValueError,
        ("candidates", "row 0"),
    ),
    "one option": ({"scores": GOOD, "set_size": 3}, TypeError, ("'set_size'",)),
    "set size 1": ({"scores": GOOD, "set_sizes": [1, 5]}, ValueError, ("at least 2",)),
    "statistic": ({"scores": GOOD, "statistic": "top1"}, ValueError, ("'top1'",)),
    "large statistic": ({"scores": GOOD, "statistic": 13}, ValueError, ("13", "12")),
    "level": ({"scores": GOOD, "confidence_level": 95}, ValueError, ("95",)),
    "flag": ({"scores": GOOD, "cross_validated": "no"}, TypeError, ("'no'",)),
    "permutations": ({"scores": GOOD, "n_permutations": -1}, ValueError, ("-1",)),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_calls_say_what_to_do(name):
    given, error, says = CALLS[name]
    with pytest.raises(error) as raised:
        score_identification(**given)
    if name != "one option":  # Python's own words
        assert_good_message(str(raised.value), says)


def test_more_trials_than_candidates_and_fewer():
    targets = np.tile(np.arange(12), 5)
    noise = np.random.default_rng(1).normal(size=(60, 12))
    many = score_identification(GOOD[targets] + noise, targets)
    assert many.summary["n_trials"].item() == 60
    few = score_identification(GOOD[:5], np.arange(5), n_permutations=20)
    assert few.summary["n_targets"].item() == 5
    assert few.stimuli["n_trials"].sum() == 5


def test_features_of_vectors_are_matched_by_name():
    features = [f"feature {k}" for k in range(12)]
    decoded = pd.DataFrame(GOOD, columns=features)
    candidates = decoded + np.random.default_rng(1).normal(size=(12, 12))
    expected = score_identification(decoded=decoded, candidates=candidates)
    mixed = candidates[features[::-1]]
    for given in (mixed, candidates.to_numpy(), candidates.add_suffix(" of images")):
        found = score_identification(decoded=decoded, candidates=given)
        pd.testing.assert_frame_equal(found.curve, expected.curve)


def test_half_precision_and_whole_numbers_are_read_as_they_are():
    half = GOOD.astype(np.float16)
    for values in (half, half.astype(np.float64), half.tolist()):
        found = score_identification(values)
        assert found.summary.accuracy.item() == np.mean(
            half.argmax(axis=1) == np.arange(12)
        )


def test_one_target_has_no_interval_bound_or_p_value():
    found = score_identification(GOOD, [3] * 12, n_permutations=9)
    unknown = ["p_value", "bayes_accuracy_bound", "implied_information_lower"]
    assert np.isnan([found.values[name] for name in unknown]).all()
    [note] = found.notes
    assert "trials test 1 of 12 candidates: there is no interval" in note
    assert "nan" not in str(found.generate_report()).split("<h2")[1]
