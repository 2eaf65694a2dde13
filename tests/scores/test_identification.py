"""Identification by scores against loops, enumeration, scikit-learn and the stats."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.special import expit, log_softmax, logit
from scipy.stats import rankdata, t
from sklearn.metrics import top_k_accuracy_score

from neuroextrap import stats
from neuroextrap.scores import score_identification
from tests.scores.seam import _reading
from tests.stats.seam import default_set_sizes


def some_scores(seed=0, n_candidates=8, repeats=(1, 3, 2, 0, 1, 2, 1, 1), digits=0):
    """Scores with ties, unequal repeats, and a candidate without trials."""
    rng = np.random.default_rng(seed)
    targets = np.repeat(np.arange(n_candidates), repeats)
    scores = rng.normal(size=(len(targets), n_candidates))
    scores[np.arange(len(targets)), targets] += 1.2
    return scores.round(digits), targets


def chance_within(row, target, others, n_best):
    """Chance to be among the best of a set, by every order of those that tie."""
    better = sum(row[c] > row[target] for c in others)
    tied = sum(row[c] == row[target] for c in others)
    places = [better + place for place in range(tied + 1)]
    return np.mean([place < n_best for place in places])


def naive_accuracy(scores, targets, set_size, n_best=1):
    """Average over all sets of candidates, all trials of a target, all targets."""
    per_target = {}
    for row, target in zip(scores, targets, strict=True):
        rest = [c for c in range(scores.shape[1]) if c != target]
        sets = itertools.combinations(rest, set_size - 1)
        chances = [chance_within(row, target, others, n_best) for others in sets]
        per_target.setdefault(target, []).append(np.mean(chances))
    return np.mean([np.mean(values) for values in per_target.values()])


@pytest.mark.parametrize("digits", [0, 6])
@pytest.mark.parametrize("seed", range(3))
def test_curve_and_top_5_are_those_of_all_sets(seed, digits):
    scores, targets = some_scores(seed, digits=digits)
    found = score_identification(scores, targets)
    for row in found.curve[found.curve.source == "measured"].itertuples():
        twin = naive_accuracy(scores, targets, row.set_size)
        assert row.accuracy == pytest.approx(twin, abs=1e-12)
        twin = naive_accuracy(scores, targets, row.set_size, n_best=5)
        assert row.top_5 == pytest.approx(twin, abs=1e-12)


def test_ranks_are_those_of_loops():
    scores, targets = some_scores()
    ranks = [
        1 + sum(row > row[target]) + (sum(row == row[target]) - 1) / 2
        for row, target in zip(scores, targets, strict=True)
    ]
    found = score_identification(scores, targets)
    assert found.summary["median_rank"].item() == np.median(ranks)
    own = found.stimuli.set_index("candidate")["median_rank"]
    assert own["1"] == np.median(np.array(ranks)[targets == 1])
    assert np.isnan(own["3"])


def test_attracted_trials_are_those_of_loops():
    scores, targets = some_scores(3)
    attracted = np.zeros(8)
    for row, target in zip(scores, targets, strict=True):
        best = np.flatnonzero(row == row.max())
        for candidate in best[best != target]:
            attracted[candidate] += 1 / len(best)
    table = score_identification(scores, targets).stimuli
    np.testing.assert_allclose(
        table.set_index("candidate")["attracted"].sort_index(), attracted, atol=1e-12
    )


@pytest.mark.parametrize("k", [1, 5])
def test_it_is_scikit_learns_top_k_accuracy(k):
    scores, targets = some_scores(1, digits=9)
    repeats = np.bincount(targets, minlength=8)
    twin = top_k_accuracy_score(
        targets, scores, k=k, labels=np.arange(8), sample_weight=1 / repeats[targets]
    )
    found = score_identification(scores, targets).summary
    name = {1: "accuracy", 5: "top_5"}[k]
    assert found[name].item() == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("statistic", ["accuracy", "pairwise_accuracy", 3])
@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_all_exchanges(seed, statistic):
    rng = np.random.default_rng(seed)
    targets = np.array([0, 1, 2, 2, 4])
    scores = rng.normal(size=(5, 5)).round() + np.eye(5)[targets]
    size = {"accuracy": 5, "pairwise_accuracy": 2, 3: 3}[statistic]
    orders = sorted(set(itertools.permutations(targets)))
    assert len(orders) == 60
    values = [naive_accuracy(scores, order, size) for order in orders]
    observed = naive_accuracy(scores, targets, size)
    twin = np.mean(np.array(values) >= observed - 1e-9)
    found = score_identification(
        scores, targets, statistic=statistic, n_permutations=1000
    )
    assert found.values["p_value"] == pytest.approx(twin)
    assert "few_exchanges" in {finding.name for finding in found.findings}


def test_targets_are_exchanged_within_groups():
    scores, groups = np.diag([1, 2, 3, 4]), [0, 0, 1, 1]
    with pytest.warns(UserWarning, match="only 3 other pairings"):
        found = score_identification(scores, groups=groups, n_permutations=99)
    assert found.values["p_value"] == 0.25


@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
def test_vectors_rank_as_distances_of_scipy(metric):
    rng = np.random.default_rng(0)
    candidates = rng.normal(size=(40, 12)) + 3
    decoded = candidates + 2 * rng.normal(size=(40, 12))
    found = score_identification(decoded=decoded, candidates=candidates, metric=metric)
    distances = cdist(decoded, candidates, metric)
    np.testing.assert_array_equal(
        found.ranks.middle, np.diag(rankdata(distances, axis=1))
    )


def test_repeated_vectors_tie():
    rng = np.random.default_rng(0)
    candidates = rng.normal(size=(31, 768)).astype(np.float32)
    candidates = np.concatenate([candidates, candidates])
    decoded = candidates + 0.01 * rng.normal(size=candidates.shape)
    with pytest.warns(UserWarning, match="100.0% of the candidates have a near-dup"):
        found = score_identification(decoded=decoded, candidates=candidates)
    assert (found.ranks.tied == 1).all()
    assert found.summary["accuracy"].item() == 0.5


@pytest.mark.parametrize(
    "change",
    [
        lambda s: log_softmax(s, axis=1),
        lambda s: rankdata(s, axis=1).astype(int),
        lambda s: s * np.arange(1, len(s) + 1)[:, None] - 7,
        lambda s: np.exp(s),
    ],
)
def test_increasing_functions_of_a_row_change_nothing(change):
    scores, targets = some_scores(2, digits=6)
    first = score_identification(scores, targets, n_permutations=50)
    second = score_identification(change(scores), targets, n_permutations=50)
    inside = first.curve.source == "measured"
    pd.testing.assert_frame_equal(first.curve[inside], second.curve[inside])
    assert first.values["p_value"] == second.values["p_value"]


def test_curve_bits_and_bounds_are_those_of_stats():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 2)
    scores = rng.normal(size=(80, 40)) + 2 * np.eye(40)[y]
    found = score_identification(scores, y, set_sizes=[7, 100], confidence_level=0.9)
    inside = found.curve[found.curve.source == "measured"]
    sizes, usual = inside.set_size.to_numpy(), default_set_sizes(40)
    ends = stats.average_accuracy_interval(scores, y, sizes, confidence_level=0.9)
    np.testing.assert_allclose(inside[["lower", "upper"]].T, ends)
    wins = stats.win_distribution(scores, y)
    bits = stats.implied_information(stats.average_accuracy(wins, usual), usual)
    assert found.values["implied_information"] == pytest.approx(float(bits))
    ends = stats.implied_information_interval(scores, y, usual, confidence_level=0.9)
    lower, upper = (
        found.values[f"implied_information_{e}"] for e in ("lower", "upper")
    )
    assert (lower, upper) == pytest.approx(tuple(map(float, ends)))
    assert sizes.tolist() == sorted({*usual, 7})
    [last] = found.curve[found.curve.source == "predicted"].itertuples()
    model = stats.AccuracyExtrapolator().fit(scores, y)
    ends = model.predict_interval(100, 0.9)
    predicted = [float(value) for value in (model.predict(100), *ends)]
    assert [last.accuracy, last.lower, last.upper] == pytest.approx(predicted)
    design = {"n_classes": 40, "n_repeats": 2, "confidence_level": 0.9}
    bound = stats.average_bayes_accuracy_lower_bound(
        inside.accuracy.iloc[-1], set_sizes=40, **design
    )
    assert found.values["average_bayes_accuracy_bound"] == pytest.approx(float(bound))
    bound = stats.bayes_accuracy_lower_bound(
        inside.accuracy.iloc[-1], method="clopper_pearson", **design
    )
    assert found.values["bayes_accuracy_bound"] == pytest.approx(float(bound))


def test_intervals_count_tested_candidates():
    rng = np.random.default_rng(0)
    y = np.arange(4).repeat(5)
    scores = rng.normal(size=(20, 60)) + 2 * np.eye(60)[y]
    found = score_identification(scores, y, set_sizes=[10])
    row = found.curve.set_index("set_size").loc[10]
    every = []
    for out in range(60):
        rows, kept = np.flatnonzero(y != out), np.delete(np.arange(60), out)
        places = np.searchsorted(kept, y[rows])
        wins = stats.win_distribution(scores[np.ix_(rows, kept)], places)
        every.append(stats.average_accuracy(wins, 10))
    error = np.sqrt(59 / 60 * ((every - np.mean(every)) ** 2).sum())
    slope = row.accuracy * (1 - row.accuracy)
    half = t.ppf(0.975, 3) * error / slope  # four targets, three degrees of freedom
    twin = expit(logit(row.accuracy) + np.array([-half, half]))
    assert [row.lower, row.upper] == pytest.approx(list(twin))


def test_bounds_speak_of_candidates_with_trials():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 200)) + 4 * np.eye(30, 200)
    found = score_identification(scores, np.arange(30))
    among_tested = score_identification(scores[:, :30])
    for name in ("bayes_accuracy_bound", "information_bound"):
        assert found.values[name] == among_tested.values[name] > 0
    assert found.summary["n_candidates"].item() == 200


def test_cross_validated_scores_have_no_bounds():
    scores, targets = some_scores()
    found = score_identification(scores, targets, cross_validated=True)
    assert np.isnan(found.values["bayes_accuracy_bound"])
    assert np.isnan(found.values["information_bound"])


def test_block_size_does_not_matter(monkeypatch):
    scores, targets = some_scores(5)
    whole = score_identification(scores, targets)
    monkeypatch.setattr(_reading, "_BLOCK", 17)
    pieces = score_identification(scores, targets)
    pd.testing.assert_frame_equal(whole.curve, pieces.curve)
    pd.testing.assert_frame_equal(whole.stimuli, pieces.stimuli)


def test_names_in_any_order_give_the_same():
    scores, targets = some_scores(4, digits=6)
    names = np.array(list("hgfedcba"))
    order = np.random.default_rng(1).permutation(8)
    frame = pd.DataFrame(scores[:, order], columns=names[order])
    by_number = score_identification(scores, targets)
    by_name = score_identification(frame, names[targets])
    by_index = score_identification(frame.set_index(pd.Index(names[targets])))
    for found in (by_name, by_index):
        pd.testing.assert_frame_equal(found.curve, by_number.curve)
        assert found.stimuli.candidate[0] == names[int(by_number.stimuli.candidate[0])]


def test_a_perfect_decoder_has_what_its_trials_resolve():
    found = score_identification(np.diag(np.arange(1, 31)), set_sizes=10)
    best = stats.resolution_information(30, 30, default_set_sizes(30))
    assert found.values["implied_information"] == pytest.approx(float(best))
    assert found.values["implied_information_upper"] == np.inf


@pytest.mark.parametrize("n_candidates", [2, 3])
def test_few_candidates(n_candidates):
    scores = np.eye(n_candidates)[np.tile(np.arange(n_candidates), 6)]
    scores[0] = scores[0][::-1]
    found = score_identification(
        scores, np.tile(np.arange(n_candidates), 6), set_sizes=2, n_permutations=9
    )
    assert found.summary["accuracy"].item() == pytest.approx(1 - 1 / len(scores))
    assert np.isnan(found.summary["accuracy_lower"].item()) == (n_candidates == 2)
    assert "first choice among" in str(found.generate_report())
