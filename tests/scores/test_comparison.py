"""Two decoders on one pool by enumeration, on two by independent jackknives."""

import itertools
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from neuroextrap import stats
from neuroextrap.scores import score_identification
from tests.scores.seam import named_notes, scores_report


def decoder(noise, n=60, seed=0, names=None, rows=None):
    """Result of a simulated decoder of given candidates."""
    rng = np.random.default_rng(100)
    candidates = (
        rng.normal(size=(400, 20))[:n]
        if rows is None
        else (rng.normal(size=(400, 20))[rows])
    )
    trials = candidates + noise * np.random.default_rng(seed).normal(
        size=candidates.shape
    )
    scores = trials @ candidates.T - (candidates**2).sum(axis=1) / 2
    frame = pd.DataFrame(scores, columns=names, index=names)
    return score_identification(frame, set_sizes=[10, 50])


def test_p_is_that_of_all_flips():
    rng = np.random.default_rng(2)
    first = score_identification(rng.normal(size=(8, 8)) + 2 * np.eye(8), statistic=3)
    second = score_identification(rng.normal(size=(8, 8)) + np.eye(8))
    each = [found.ranks.among(3) for found in (first, second)]
    difference = each[0] - each[1]
    sums = [
        abs(np.dot(signs, difference)) for signs in itertools.product([-1, 1], repeat=8)
    ]
    twin = np.mean(np.array(sums) >= abs(difference.sum()) - 1e-12)
    assert first.compare(second).p_value == pytest.approx(twin)


def test_better_and_worse_turn_around():
    first, second = decoder(1.0), decoder(2.0, seed=1)
    there, back = first.compare(second), second.compare(first)
    assert there.is_paired
    assert there.p_value < 0.01
    assert there.findings == ()
    np.testing.assert_allclose(there.table.difference, -back.table.difference)
    np.testing.assert_allclose(there.table.lower, -back.table.upper)
    assert (there.table.lower > 0).all()
    assert there.table.quantity.tolist() == [
        "implied_information",
        *(f"accuracy_among_{k}" for k in (2, 10, 50, 60)),
    ]


def test_intervals_are_those_of_leaving_candidates_out():
    first, second = decoder(1.2, n=12), decoder(1.5, n=12, seed=4)
    found = first.compare(second).table.set_index("quantity")
    values = []
    for noise, seed in ((1.2, 0), (1.5, 4)):
        rng = np.random.default_rng(100)
        candidates = rng.normal(size=(400, 20))[:12]
        draws = np.random.default_rng(seed).normal(size=candidates.shape)
        trials = candidates + noise * draws
        scores = trials @ candidates.T - (candidates**2).sum(axis=1) / 2
        each = []
        for out in range(12):
            kept = np.delete(np.arange(12), out)
            wins = stats.win_distribution(scores[np.ix_(kept, kept)], np.arange(11))
            each.append(stats.average_accuracy(wins, 10))
        values.append(each)
    difference = np.subtract(*values)
    error = np.sqrt(11 / 12 * ((difference - difference.mean()) ** 2).sum())
    row = found.loc["accuracy_among_10"]
    assert row.upper - row.lower == pytest.approx(2 * 2.2009852 * error)


def test_pools_in_another_order_are_paired_by_name():
    order = np.random.default_rng(5).permutation(40)
    names = np.array([f"word{k}" for k in range(40)])
    first = decoder(1.0, n=40, names=names)
    second = decoder(1.5, n=40, seed=1, names=names)
    rng = np.random.default_rng(100)
    candidates = rng.normal(size=(400, 20))[:40]
    trials = candidates + 1.5 * np.random.default_rng(1).normal(size=(40, 20))
    scores = trials @ candidates.T - (candidates**2).sum(axis=1) / 2
    turned = score_identification(
        pd.DataFrame(scores[order][:, ::-1], index=names[order], columns=names[::-1]),
        set_sizes=[10, 50],
    )
    straight, mixed = first.compare(second), first.compare(turned)
    assert mixed.is_paired
    pd.testing.assert_frame_equal(straight.table, mixed.table)


def test_different_pools_say_what_may_be_compared():
    small, large = decoder(1.0, n=50), decoder(1.0, n=300, seed=3)
    with pytest.warns(UserWarning, match="random samples of the same kind"):
        found = small.compare(large)
    assert not found.is_paired
    assert np.isnan(found.p_value)
    row = found.table.set_index("quantity").loc["implied_information"]
    assert row.lower < 0 < row.upper
    assert "accuracy_among_50" in set(found.table.quantity)
    assert "accuracy_among_300" not in set(found.table.quantity)


@pytest.mark.parametrize("change", ["renamed", "unnamed", "other targets"])
def test_pools_that_look_alike_are_not_paired(change):
    names = [f"word{k}" for k in range(40)]
    first = decoder(1.0, n=40, names=names)
    if change == "renamed":
        second = decoder(1.0, n=40, seed=1, names=[*names[:-1], "word99"])
    elif change == "unnamed":
        second = decoder(1.0, n=40, seed=1)
    else:
        frame = pd.DataFrame(np.eye(40), columns=names).iloc[:30]
        frame += np.random.default_rng(0).normal(size=frame.shape) / 9
        second = score_identification(frame, names[:30])
    with pytest.warns(UserWarning, match="tested on different targets or candidates"):
        assert not first.compare(second).is_paired


def test_what_is_tested_must_be_known_of_both():
    first, second = (
        score_identification(np.diag(np.arange(1, 61)), statistic=statistic)
        for statistic in (37, "accuracy")
    )
    with pytest.raises(ValueError, match="no accuracy among 37; give both the same"):
        first.compare(second)
    assert second.compare(first).p_value == 1.0  # among all, both are known


@pytest.mark.filterwarnings("ignore:the target scores above:UserWarning")
def test_what_is_doubtful_of_one_is_said_first_of_both(tmp_path):
    rng = np.random.default_rng(0)
    good = rng.normal(size=(60, 60)) + 3 * np.eye(60)
    found = {"good": score_identification(good), "turned": score_identification(-good)}
    both = {("good", "turned"): found["good"].compare(found["turned"])}
    page = unescape(str(scores_report(found, both)))
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page).group(1)
    assert verdict.startswith("No difference between good and turned was shown (p 1)")
    assert "the target scores above another candidate in 0.0" in verdict
    (doubt,) = named_notes(found, both)
    assert doubt.startswith("turned: doubtful: the target scores above")
    assert f"<li>{doubt}" in page
    assert "<th>good</th>" in re.sub(r"<th[^>]*>", "<th>", page)
    assert named_notes({"": found["turned"]}, {}) == found["turned"].notes


def test_two_candidates_are_compared_without_intervals():
    targets = np.tile([0, 1], 20)
    first, second = (
        score_identification(
            np.eye(2)[targets] + 0.4 * np.random.default_rng(seed).normal(size=(40, 2)),
            targets,
        )
        for seed in (0, 1)
    )
    compared = first.compare(second)
    assert compared.table.lower.isna().all()
    page = str(scores_report({"a": first, "b": second}, {("a", "b"): compared}))
    assert "nan" not in page.split("What this does not show")[0].split("</figure>")[-1]


def test_a_decoder_does_not_differ_from_itself():
    found = decoder(1.0).compare(decoder(1.0))
    assert found.p_value == 1.0
    assert (found.table.difference == 0).all()
    assert (found.table.upper[1:] > 0).all()  # half a lost point remains
