"""Fano's bound and confusion tables."""

import math

import numpy as np
import pytest

from neuroextrap.stats import confusion_information, fano_information
from tests.stats.seam import _relevant_responses


def entropy(labels):
    """Plug-in entropy of a list of labels in bits."""
    counts = np.array([list(labels).count(each) for each in set(labels)])
    p = counts / counts.sum()
    return -(p * np.log2(p)).sum()


def test_fano_by_hand():
    # K = 4, error 1/4: log 4 - h(1/4) - (1/4) log 3
    expected = 2 + 0.25 * math.log2(0.25) + 0.75 * math.log2(0.75) - 0.25 * math.log2(3)
    np.testing.assert_allclose(fano_information(0.75, 4), expected)


@pytest.mark.parametrize("k", range(2, 60))
def test_fano_at_chance_is_nothing_to_the_last_digit(k):
    assert fano_information(1 / k, k) == 0


def test_fano_limits():
    values = fano_information([0, 0.2, 0.25, 1, np.nan], 4)
    np.testing.assert_allclose(values, [0, 0, 0, 2, np.nan], atol=1e-15)
    grid = fano_information(np.linspace(0.25, 1, 99), 4)
    assert (np.diff(grid) > 0).all()
    assert fano_information(np.ones((3, 1)), [2, 4]).shape == (3, 2)
    np.testing.assert_allclose(fano_information(1, 8, base=math.e), math.log(8))


@pytest.mark.parametrize(
    ("accuracy", "k", "base", "message"),
    [
        (-0.2, 2, 2, "accuracy must lie in"),
        (0.5, 1, 2, "n_classes must be"),
        (0.5, 2, 0, "base must be"),
    ],
)
def test_fano_refuses(accuracy, k, base, message):
    with pytest.raises(ValueError, match=message):
        fano_information(accuracy, k, base=base)


def test_plug_in_is_sum_of_entropies():
    rng = np.random.default_rng(0)
    y, z = rng.integers(4, size=60), rng.integers(3, size=60)
    pairs = list(zip(y.tolist(), z.tolist(), strict=True))
    expected = entropy(y.tolist()) + entropy(z.tolist()) - entropy(pairs)
    np.testing.assert_allclose(confusion_information(y, z), expected)
    np.testing.assert_allclose(
        confusion_information(y, z, base=math.e), expected * math.log(2)
    )


def test_miller_madow_by_hand():
    y, z = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    bias = (3 - 2 - 2 + 1) / (2 * 6) / math.log(2)
    np.testing.assert_allclose(
        confusion_information(y, z, correction="miller_madow"),
        confusion_information(y, z) - bias,
    )


def test_panzeri_treves_with_all_responses_seen_is_the_table_size():
    # 3 stimuli x 2 responses, all cells full: bias (3 - 1)(2 - 1) / (2 n)
    y = np.repeat([0, 1, 2], 400)
    z = np.tile([0, 1], 600)
    bias = 2 / (2 * 1200) / math.log(2)
    np.testing.assert_allclose(
        confusion_information(y, z, correction="panzeri_treves"), -bias
    )


def likely_responses(row):
    """Number of responses whose expected occupied count is nearest the observed."""
    n, seen = sum(row), [count for count in row if count]
    distances = {}
    for unseen in range(len(row) - len(seen) + 1):
        rest = unseen * (1 - (n / (n + len(seen))) ** (1 / n))
        if unseen:
            p = [(1 - rest) * (c + 1) / (n + len(seen)) for c in seen]
            p += [rest / unseen] * unseen
        else:
            p = [c / n for c in seen]
        np.testing.assert_allclose(sum(p), 1)
        expected = sum(1 - (1 - each) ** n for each in p)
        distances[len(seen) + unseen] = abs(len(seen) - expected)
    return min(distances, key=distances.get)


def test_panzeri_treves_counts_likely_responses():
    table = np.array([[30, 2, 0, 0], [3, 4, 5, 0], [1, 1, 1, 9], [6, 0, 0, 0]])
    y = np.repeat(np.arange(4), table.sum(axis=1))
    z = np.concatenate([np.repeat(np.arange(4), row) for row in table])
    relevant = [likely_responses(row.tolist()) for row in table]
    assert sum(relevant) > np.count_nonzero(table)
    bias = (sum(relevant) - 4 - 4 + 1) / (2 * table.sum()) / math.log(2)
    np.testing.assert_allclose(
        confusion_information(y, z, correction="panzeri_treves"),
        confusion_information(y, z) - bias,
    )


@pytest.mark.parametrize("correction", ["miller_madow", "panzeri_treves"])
def test_corrections_remove_most_of_the_bias(correction):
    rng = np.random.default_rng(1)
    n_draws, n, k = 300, 120, 4
    stay = 0.6
    joint = np.full((k, k), (1 - stay) / (k * (k - 1)))
    np.fill_diagonal(joint, stay / k)
    truth = 2 + (joint * np.log2(joint * k)).sum()
    estimates = []
    for _ in range(n_draws):
        y, z = np.divmod(rng.choice(k * k, size=n, p=joint.ravel()), k)
        estimates.append(
            [
                confusion_information(y, z),
                confusion_information(y, z, correction=correction),
            ]
        )
    plug_in, corrected = np.mean(estimates, axis=0) - truth
    assert plug_in > 0.03
    assert abs(corrected) < plug_in / 2


@pytest.mark.parametrize(
    ("y", "z", "options", "message"),
    [
        ([0, 1], [0], {}, "of one length"),
        ([], [], {}, "of one length"),
        ([[0]], [[0]], {}, "of one length"),
        ([0], [0], {"correction": "jackknife"}, "must be one of None"),
        ([0], [0], {"base": 1}, "base must be"),
    ],
)
def test_confusion_refuses(y, z, options, message):
    with pytest.raises(ValueError, match=message):
        confusion_information(y, z, **options)


@pytest.mark.parametrize("correction", [None, "miller_madow", "panzeri_treves"])
def test_a_table_is_worth_its_labels(correction):
    rng = np.random.default_rng(3)
    y, z = rng.integers(5, size=90), rng.integers(4, size=90)
    table = np.zeros((7, 4))  # two stimuli that were never shown
    np.add.at(table, (y, z), 1)
    found = confusion_information(table, correction=correction)
    expected = confusion_information(y, z, correction=correction)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_shared_ties_and_proportions():
    # one class answered at random among two: half a bit each way
    table = np.array([[2.0, 2.0], [0.0, 4.0]])
    split = np.array([[0.5, 0.5], [0.0, 1.0]])
    expected = confusion_information([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1])
    for given in (table, split, split / 2):
        np.testing.assert_allclose(confusion_information(given), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="give counts instead of proportions"):
        confusion_information(split / 2, correction="miller_madow")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0, 1, 1], "give y_pred, or the confusion"),
        ([[1, -1], [0, 1]], "not negative and not all zero, got -1.0"),
        ([[0, 0], [0, 0]], "not all zero"),
        ([[np.nan, 1], [0, 1]], "must be finite"),
        (np.zeros((0, 0)), "not all zero"),
    ],
)
def test_tables_that_are_none(table, message):
    with pytest.raises(ValueError, match=message):
        confusion_information(table)


def bayes_count(row):
    """Panzeri & Treves 1996, cell by cell: how many cells explain those seen."""
    n, seen = sum(row), [count for count in row if count]

    def expected(n_unseen):
        chances = [count / n for count in seen]
        if n_unseen:
            mass = n_unseen * (1 - (n / (n + len(seen))) ** (1 / n))
            chances = [(1 - mass) * (c + 1) / (n + len(seen)) for c in seen]
            chances += [mass / n_unseen] * n_unseen
        return sum(1 - (1 - chance) ** n for chance in chances)

    away = [abs(len(seen) - expected(k)) for k in range(len(row) - len(seen) + 1)]
    k = 0
    while k + 1 < len(away) and away[k + 1] < away[k]:
        k += 1
    return len(seen) + k


def test_unseen_responses_are_counted_as_in_the_paper():
    rng = np.random.default_rng(4)
    counts = [rng.multinomial(n, rng.dirichlet(np.ones(9))) for n in (3, 6, 12, 40)]
    found = [_relevant_responses(row) for row in counts]
    assert found == [bayes_count(row.tolist()) for row in counts]
    assert any(f > (row > 0).sum() for f, row in zip(found, counts, strict=True))
    assert _relevant_responses(np.array([5, 40, 1])) == 3
