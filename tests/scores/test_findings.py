"""What is doubtful about scores is seen, and told everywhere; good scores are not."""

import json
import re
from html import unescape

import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.scores import score_identification


def decoded(n=200, noise=2.0, seed=0, n_features=30):
    """Scores of a simulated decoder for random candidates."""
    rng = np.random.default_rng(seed)
    candidates = rng.normal(size=(n, n_features))
    trials = candidates + noise * rng.normal(size=candidates.shape)
    return trials, candidates


def good(seed=0):
    trials, candidates = decoded(seed=seed)
    return trials @ (candidates / np.linalg.norm(candidates, axis=1)[:, None]).T


def distances():
    return {"scores": -good()}, {"reversed_scores": "doubtful"}


def weak_distances():
    scores = good() + 15 * np.random.default_rng(1).normal(size=(200, 200))
    return {"scores": -scores}, {"reversed_scores": "doubtful"}


def told_wrongly():
    return {"scores": good(), "kind": "distance"}, {"reversed_scores": "doubtful"}


def counted_from_one():
    targets = np.arange(150) + 1
    return {"scores": good()[:150], "targets": targets}, {
        "shifted_targets": "doubtful",
    }


def transposed_softmax():
    scores = np.exp(good())
    return {"scores": scores / scores.sum(axis=0)}, {"normalized_columns": "doubtful"}


def centered_over_trials():
    scores = good()
    return {"scores": scores - scores.mean(axis=0)}, {"normalized_columns": "doubtful"}


def candidates_with_themselves():
    return {"scores": np.corrcoef(decoded()[1])}, {"symmetric_scores": "doubtful"}


def half_precision_softmax():
    scores = np.exp(12 * good())
    scores /= scores.sum(axis=1, keepdims=True)
    return {"scores": scores.astype(np.float16)}, {
        "tied_scores": "note",
        "near_duplicates": "note",  # candidates whose scores are nearly all 0
    }


def with_hubs():
    scores = good()
    scores[:, :3] += 4
    return {"scores": scores}, {"hubs": "note"}


def frames_of_a_film():
    trials, candidates = decoded()
    candidates[100:] = candidates[:100] + 0.02 * decoded(seed=1)[0][:100]
    trials[100:] = candidates[100:] + 2 * decoded(seed=2)[1][:100]
    return {"decoded": trials, "candidates": candidates}, {
        "near_duplicates": "doubtful"
    }


def one_repeated_candidate():
    scores = good()
    scores[:, 7] = scores[:, 3]
    return {"scores": scores}, {"near_duplicates": "note"}


def augmented_trials():
    scores, targets = np.repeat(good(), 2, axis=0), np.arange(200).repeat(2)
    return {"scores": scores, "targets": targets}, {"repeated_trials": "doubtful"}


def one_pair():
    targets = np.tile([0, 1], 10)
    scores = np.eye(2)[targets] + good()[:20, :2] / 9
    return {"scores": scores, "targets": targets}, {"few_targets": "note"}


def cross_validated():
    return {"scores": good(), "cross_validated": True}, {"trained_on_trials": "note"}


CASES = (
    distances,
    weak_distances,
    told_wrongly,
    counted_from_one,
    transposed_softmax,
    centered_over_trials,
    candidates_with_themselves,
    half_precision_softmax,
    with_hubs,
    frames_of_a_film,
    one_repeated_candidate,
    augmented_trials,
    one_pair,
    cross_validated,
)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_finding_is_told_in_all_places(case, tmp_path, recwarn):
    given, expected = case()
    found = score_identification(**given, n_permutations=19)
    seen = {finding.name: finding.grade for finding in found.findings}
    assert {name: grade for name, grade in seen.items() if name in expected} == expected
    assert set(seen) - set(expected) <= {"hubs", "tied_scores"}
    warned = [str(warning.message) for warning in recwarn]
    found.to_directory(tmp_path / "out", report=True)
    told = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    page = unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page).group(1)
    for finding in found.findings:
        assert (finding.note in warned) == (finding.grade == "doubtful")
        assert f"{finding.grade}: {finding.note}" in found.notes
        assert finding.name in {f["name"] for f in told["scores"]["scores"]["findings"]}
        assert finding.note in page
        assert (finding.because in verdict) == (finding.grade == "doubtful")


SEEDS = [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 20))]


@pytest.mark.filterwarnings("default::UserWarning")
def test_findings_are_told_on_the_command_line(tmp_path, capsys):
    np.save(tmp_path / "a.npy", -good())
    assert main(["scores", str(tmp_path / "a.npy"), str(tmp_path / "out")]) == 0
    seen = capsys.readouterr()
    assert "doubtful: the target scores above another candidate in 0.0" in seen.out
    assert "warning: the target scores above" in seen.err


@pytest.mark.parametrize("seed", SEEDS)
def test_good_scores_have_no_findings(seed):
    assert score_identification(good(seed)).findings == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_guesses_have_no_findings(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(60, 40))
    assert score_identification(scores, rng.integers(40, size=60)).findings == ()


@pytest.mark.parametrize("kind", ["hits", "ranks of few", "two digits"])
def test_equal_rows_by_ties_are_not_repeated_trials(kind):
    rng = np.random.default_rng(0)
    targets = rng.integers(6, size=300)
    scores = rng.normal(size=(300, 6)) + 2 * np.eye(6)[targets]
    if kind == "hits":
        scores = scores == scores.max(axis=1, keepdims=True)
    elif kind == "ranks of few":
        scores = scores.argsort(axis=1).argsort(axis=1)
    else:
        scores = scores.round()
    found = score_identification(scores.astype(float), targets).findings
    assert "repeated_trials" not in {finding.name for finding in found}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_copies_of_trials_make_bounds_too_large():
    once = score_identification(good())
    given, _ = augmented_trials()
    twice = score_identification(**given)
    np.testing.assert_array_equal(once.measured.accuracy, twice.measured.accuracy)
    bound = "bayes_accuracy_bound"
    assert twice.values[bound] > once.values[bound]  # which is why they are doubtful


def test_constant_scores_tie_and_are_not_called_symmetric():
    found = score_identification(np.ones((30, 30)))
    assert {finding.name for finding in found.findings} == {"tied_scores"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_targets", [3, 40])
def test_guesses_that_prefer_some_candidates_are_not_reversed(seed, n_targets):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(500, 40)) + 3 * np.linspace(0, 1, 40)
    targets = np.r_[np.arange(n_targets), np.zeros(500 - n_targets, dtype=int)]
    seen = {f.name for f in score_identification(scores, targets).findings}
    assert not seen & {"reversed_scores", "shifted_targets"}


def test_two_candidates_are_turned_around_too():
    targets = np.tile([0, 1], 30)
    scores = -np.eye(2)[targets] + 0.1 * np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(UserWarning, match="smaller scores are taken"):
        found = score_identification(scores, targets)
    assert found.summary["accuracy"].item() == 1.0


def test_distances_that_are_found_are_those_that_are_told():
    told = score_identification(-good(), kind="distance")
    with pytest.warns(UserWarning, match="smaller scores are taken to be more alike"):
        found = score_identification(-good())
    np.testing.assert_array_equal(found.curve.accuracy, told.curve.accuracy)
    assert found.values["bayes_accuracy_bound"] < told.values["bayes_accuracy_bound"]


def test_ranks_are_taken_as_distances():
    ranks = np.argsort(np.argsort(-good(), axis=1), axis=1) + 1
    with pytest.warns(UserWarning, match="as of distances or ranks"):
        found = score_identification(ranks)
    plain = score_identification(good())
    inside = plain.curve.source == "measured"
    np.testing.assert_array_equal(
        found.curve.accuracy[inside], plain.curve.accuracy[inside]
    )


def test_near_duplicates_are_left_out_of_their_own_bits():
    given, _ = frames_of_a_film()
    with pytest.warns(UserWarning, match="have a near-duplicate"):
        found = score_identification(**given)
    values = found.values
    assert values["near_duplicates"] == 1.0
    alone = score_identification(
        decoded=given["decoded"][:100], candidates=given["candidates"][:100]
    )
    assert values["implied_information_distinct"] == pytest.approx(
        alone.values["implied_information"]
    )
    assert values["implied_information"] < values["implied_information_distinct"]
    table = found.stimuli.set_index("candidate")
    assert table.loc["100", "repeats"] == "0"
    assert table.loc["0", "repeats"] == ""
