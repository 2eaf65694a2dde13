"""Segments of films: candidates, wins and p-values against enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import ContinuousEncoding
from neuroextrap.stats import average_accuracy
from tests.analyses import series
from tests.encoding.seam import (
    correlation_length,
    cut_segments,
    segment_margins,
    segment_p_values,
    segment_wins,
    shifted_scores,
)

RUN = np.repeat([0, 1, 2], [25, 31, 22])
WIDTH, APART = 3, 4


def made(seed=0, n_voxels=4, signal=0.5):
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=(len(RUN), n_voxels))
    responses = signal * predictions + rng.normal(size=predictions.shape)
    variance = rng.uniform(0.5, 2, n_voxels)
    segments = cut_segments(RUN, WIDTH, APART)
    margins = segment_margins(responses, predictions, variance, segments)
    return responses, predictions, variance, segments, margins


def windows_by_loops():
    """Rows of the windows of each run, side by side from its first row."""
    found = []
    for number in range(3):
        rows = [t for t in range(len(RUN)) if RUN[t] == number]
        while len(rows) >= WIDTH:
            found.append((number, rows[:WIDTH]))
            rows = rows[WIDTH:]
    return found


def test_candidates_lie_a_correlation_length_away():
    """At least so many rows lie between windows of a run; other runs have none."""
    segments, windows = made()[3], windows_by_loops()
    assert segments.rows.tolist() == [rows for _, rows in windows]
    for i, (run, rows) in enumerate(windows):
        for j, (other, others) in enumerate(windows):
            between = max(min(others) - max(rows), min(rows) - max(others)) - 1
            expected = run == other and between >= APART
            assert segments.rivals[i, j] == expected


def test_margins_are_log_likelihoods():
    """Differences within a row, by loops over rows and voxels."""
    responses, predictions, variance, segments, margins = made()

    def likelihood(i, j):
        total = 0.0
        for t, u in zip(segments.rows[i], segments.rows[j], strict=True):
            for v in range(4):
                error = responses[t, v] - predictions[u, v]
                total -= error**2 / variance[v] / 2
        return total

    for i, j in [(0, 3), (7, 2), (12, 9), (20, 24)]:
        same = segments.run[i] == segments.run[j]
        difference = margins[i, j] - margins[i, i]
        assert np.isfinite(difference) == same
        if same:
            assert difference == pytest.approx(likelihood(i, j) - likelihood(i, i))


def test_accuracy_is_that_among_random_candidates():
    """Enumerating all sets of other candidates of each window."""
    *_, segments, margins = made()
    wins = segment_wins(margins, segments)
    assert wins.sum() == pytest.approx(1)
    smallest = min(int(row.sum()) for row in segments.rivals)
    assert len(wins) == segments.n_candidates == smallest + 1
    for size in (2, 3, smallest + 1):
        shares = []
        for i, row in enumerate(segments.rivals):
            sets = list(itertools.combinations(np.flatnonzero(row), size - 1))
            won = [
                all(margins[i, i] > margins[i, j] for j in others) for others in sets
            ]
            shares.append(np.mean(won))
        assert average_accuracy(wins, size) == pytest.approx(np.mean(shares))


def test_ties_count_half():
    """Predictions that are all equal are at chance."""
    *_, segments, margins = made()
    wins = segment_wins(np.zeros_like(margins), segments)
    np.testing.assert_allclose(wins, 1 / len(wins))
    total = sum(part[0] for part in shifted_scores(np.zeros_like(margins), segments))
    assert total / len(margins) == pytest.approx(0.5)


def test_p_values_count_all_shifts_of_windows():
    """Two regions, two runs: every pair of shifts, by loops."""
    rng = np.random.default_rng(3)
    run = np.repeat([0, 1], [12, 10])
    segments = cut_segments(run, 2, 2)
    parts = [rng.normal(size=(22, 5)) for _ in range(2)]
    margins = [
        segment_margins(0.2 * f + rng.normal(size=f.shape), f, np.ones(5), segments)
        for f in parts
    ]
    scores = [shifted_scores(m, segments) for m in margins]
    found = segment_p_values(
        [np.stack(part) for part in zip(*scores, strict=True)],
        segments,
        n_permutations=29,
        random_state=0,
    )
    null = []
    for shifts in itertools.product(range(6), range(5)):
        row = []
        for m in margins:
            shares = []
            for i in range(11):
                first, n = (0, 6) if i < 6 else (6, 5)
                truth = first + (i - first + shifts[segments.run[i]]) % n
                others = np.flatnonzero(segments.rivals[truth])
                shares.append(np.mean([m[i, truth] > m[i, j] for j in others]))
            row.append(np.mean(shares))
        null.append(row)
    null = np.round(null, 10)
    np.testing.assert_allclose(found["p_value"], (null >= null[0]).mean(axis=0))
    largest = null.max(axis=1)
    expected = [(largest >= t).mean() for t in null[0]]
    np.testing.assert_allclose(found["p_value_fwe"], expected)


def test_correlation_length_of_known_series():
    """AR(c) falls to 1/e after -1 / log(c) rows."""
    rng = np.random.default_rng(0)
    slow, fast = series(rng, 4000, 6, 0.9), series(rng, 4000, 6, 0.3)
    assert correlation_length(fast, fast) == 1
    assert 9 <= correlation_length(slow, fast) <= 11
    assert correlation_length(slow, fast) == correlation_length(fast, slow)
    constant = np.ones((4000, 2))
    assert correlation_length(fast, constant) == 1


def story(seed, effect, lengths=(120, 120, 150, 150), correlation=0.5):
    rng = np.random.default_rng(seed)
    weights = effect * rng.normal(size=(4, 8))
    features = [series(rng, n, 4, correlation) for n in lengths]
    return features, [
        X @ weights + series(rng, len(X), 8, correlation) for X in features
    ]


def test_segments_of_regions():
    """Voxels that follow the story identify its parts, the others do not."""
    features, responses = story(0, 0.7)
    for Y in responses:
        Y[:, 4:] = np.random.default_rng(len(Y)).permuted(Y[:, 4:], axis=0)
    responses[1][:, 7] = np.nan
    regions = np.kron(np.eye(2), np.ones((1, 4)))[[0, 1, 1]]
    regions[2] = np.arange(8) == 7  # nothing usable
    model = ContinuousEncoding(
        encoder=Ridge(), delays=(0,), t_r=2.0, regions=regions, n_permutations=99
    ).fit(features[:2], responses[:2])
    found = model.identify_segments(features[2:], responses[2:], seconds=12)
    assert found.wins_.shape == (3, found.n_candidates_)
    assert found.n_segments_ == 50
    assert found["accuracy"][0] > 0.9
    assert found["pairwise_accuracy"][1] < 0.65
    assert found["p_value_fwe"][0] == 0.01
    assert found["implied_information"][0] > 3
    assert all(np.isnan(values[2]) for values in found.values())
    np.testing.assert_allclose(found.curves_[:2, -1], found["accuracy"][:2])


def test_what_cannot_be_cut():
    features, responses = story(0, 1.0)
    model = ContinuousEncoding(encoder=Ridge()).fit(features[:2], responses[:2])
    with pytest.raises(ValueError, match="time between them is not known; give t_r"):
        model.identify_segments(features[2:], responses[2:])
    model.set_params(t_r=2.0)
    with pytest.raises(ValueError, match="identify shorter segments"):
        model.identify_segments(features[2:], responses[2:], seconds=200)
    with pytest.raises(ValueError, match="seconds=-1 must be positive"):
        model.identify_segments(features[2:], responses[2:], seconds=-1)
