"""Best classes of the nearest centroid in short integers: no other than in full."""

import numpy as np
import pytest

from neuroextrap.design._design import Labelings
from neuroextrap.design._folds import make_design
from neuroextrap.margins.algebra import _screen
from neuroextrap.margins.algebra._class_sums import round_terms
from neuroextrap.margins.algebra._screen import may_be_short
from neuroextrap.margins.classifiers import _centroid_exact, _centroid_screen
from neuroextrap.margins.compiled import _centroid_screen as loops
from neuroextrap.margins.compiled._leads import ShortGroups


def outlier(rng, n):
    """Factors (n, 1) of samples, of which one is far larger than the others."""
    return np.where(rng.permutation(n) == 0, 1e4, 1.0)[:, np.newaxis]


# samples of every class in each run
RUNS = {
    "one": [1] * 6,
    "two": [2] * 4,
    "unequal": [1, 3, 2],
    "many": [8] * 5,
    "two runs": [5, 1],
}
KINDS = {
    "normal": lambda rng, n: rng.standard_normal((n, 30)),
    "one feature": lambda rng, n: rng.standard_normal((n, 1)),
    "offset": lambda rng, n: 1e3 + rng.standard_normal((n, 30)),
    "whole": lambda rng, n: rng.integers(-2, 3, (n, 4)).astype(float),
    "equal": lambda rng, n: np.ones((n, 3)),
    "zero": lambda rng, n: np.zeros((n, 3)),
    "outlier": lambda rng, n: rng.standard_normal((n, 30)) * outlier(rng, n),
    "heavy tails": lambda rng, n: rng.standard_cauchy((n, 20)),
    "minute": lambda rng, n: 1e-18 * rng.standard_normal((n, 30)),
    "tiny": lambda rng, n: 1e-14 * rng.standard_normal((n, 30)),
    "huge": lambda rng, n: 1e12 * rng.standard_normal((n, 30)),
    "nearly equal": lambda rng, n: 1 + 1e-6 * rng.integers(-1, 2, (n, 5)),
}  # fmt: skip


def case(runs, kind="normal", n_classes=5, n_labelings=33, seed=0, effect=0.0):
    """Inner products of three regions, a design in no order, and labelings."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(n_classes), n) for n in RUNS[runs]])
    run = np.repeat(np.arange(len(RUNS[runs])), np.multiply(RUNS[runs], n_classes))
    order = rng.permutation(len(y))
    y, run = y[order], run[order]
    codes = np.stack([y] * n_labelings)
    for labeling in codes[1:]:
        for rows in (np.flatnonzero(run == r) for r in range(len(RUNS[runs]))):
            labeling[rows] = rng.permutation(labeling[rows])
    design = make_design(y, n_classes, groups=run)
    xs = [KINDS[kind](rng, len(y)) for _ in range(3)]
    xs = [x + effect * rng.standard_normal((n_classes, x.shape[1]))[y] for x in xs]
    grams = np.stack([(x @ x.T)[design.order[:, None], design.order] for x in xs])
    grams = (grams + grams.swapaxes(1, 2)) / 2
    for gram in grams:
        round_terms(gram[None], 4 * len(y) ** 2)
    return grams, design, Labelings(codes, n_classes)


def both_ways(grams, design, labelings, weights=0.1):
    assert may_be_short(labelings, design)
    found = _centroid_exact._count_side_by_side(grams, design, labelings, weights)
    again = Labelings(labelings.codes, labelings.n_classes)
    expected = _centroid_exact._count_one_by_one(grams, design, again, weights)
    return found, expected


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_those_of_full_precision(runs, kind):
    for n_classes, seed in ((2, 0), (5, 1), (7, 2)):
        grams, design, labelings = case(runs, kind, n_classes, seed=seed)
        np.testing.assert_array_equal(*both_ways(grams, design, labelings))
        rng = np.random.default_rng(0)
        weights = rng.random((design.n_samples, labelings.n_labelings))
        np.testing.assert_array_equal(*both_ways(grams, design, labelings, weights))


@pytest.mark.parametrize("n_labelings", [1, 15, 16, 17, 400])
@pytest.mark.parametrize("effect", [0.0, 0.5, 3.0])
def test_whatever_the_number_of_labelings_and_the_effect(n_labelings, effect):
    some = case("one", n_labelings=n_labelings, effect=effect)
    found, expected = both_ways(*some)
    np.testing.assert_array_equal(found, expected)
    assert found.shape == (3, n_labelings)
    if effect == 3.0:
        assert (found[:, 0] > 0.9 * some[1].n_samples).all()


def units(grams, design, labelings):
    """One region in units, and what of it the loops were given."""
    n, n_most = design.n_samples, int(labelings.training_counts(design).max())
    alone = _centroid_screen._are_alone(labelings, design)
    shapes = ((n, n), np.float32), ((n, n), np.int16), (n, np.int16)
    slack = int(np.ceil(1.5 * n_most)) + 4
    arrays = (np.empty(*shape) for shape in shapes)
    whole = loops.Whole(*arrays, n_most, slack, alone)
    table = np.empty((n, n))
    _centroid_exact._fill_apart(table, grams[0], design)
    return whole, loops._fill_whole(grams[0], table, whole)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["normal", "one feature", "heavy tails", "outlier"])
def test_a_lead_beyond_the_slack_is_a_lead_in_single_precision(runs, kind):
    """By the loops' own leads; and most leads of usual data are sure."""
    grams, design, labelings = case(runs, kind, n_labelings=16)
    whole, fit = units(grams, design, labelings)
    assert fit
    assert whole.alone == (runs == "one")
    groups = _centroid_exact._groups(labelings, design, 1.0)
    short = ShortGroups(groups.members, groups.edges, groups.codes.astype(np.int16))
    n, n_folds = design.n_samples, len(design.folds)
    leads, squares = _centroid_screen._work(n, n_folds, 5)
    loops.fill_short_blocks(whole.table, leads.blocks)
    edges = np.array([0, *(rows.stop for rows in design.fold_slices)])
    filled = loops._fill_sure(whole, (short, groups), 0, edges, (leads, squares))
    margins = _centroid_exact.exact_margins(grams[:1], design, labelings)
    truth = labelings.codes[:, design.test].T[:, None]
    own = np.take_along_axis(margins, truth, axis=1)[:, 0]
    np.put_along_axis(margins, truth, -np.inf, axis=1)
    rivals = margins.max(axis=1)
    sure, never = leads.lead > whole.slack, leads.lead < -whole.slack
    if not filled:
        assert kind != "normal"
        return
    assert (own[sure] > rivals[sure]).all()
    assert (own[never] < rivals[never]).all()
    # what is not out of range is the lead in units, to less than the slack
    factors = _centroid_exact.training_factors(labelings, design, float)[0][:, 0]
    exact = (own.astype(float) - rivals) / factors[design.fold_of_test]
    scale = whole.gram[0, 0] / grams[0][0, 0]
    scores = leads.sums[:n] - leads.constants[design.fold_of_test].astype(int)
    lead = leads.lead.astype(int)
    inside = (np.abs(scores) < 2**15 - 1).all(axis=1) & (np.abs(lead) < 2**15 - 1)
    assert np.abs(exact * scale - lead)[inside].max() <= whole.slack
    if kind == "normal":
        assert (sure | never).mean() > 0.9


def test_numbers_that_are_none_are_found():
    for place in ((0, 0), (0, 7), (7, 0)):
        for value in (np.nan, np.inf):
            grams, design, labelings = case("one")
            grams[1][place] = value
            with pytest.raises(ValueError, match="margins contain NaN"):
                _centroid_exact._count_side_by_side(grams, design, labelings, 0.1)


def test_unbalanced_classes_and_long_sums_are_left_to_full_precision(monkeypatch):
    _, design, labelings = case("one")
    assert may_be_short(labelings, design)
    codes = labelings.codes.copy()
    codes[1, np.flatnonzero(codes[1] == 0)[0]] = 1
    assert not may_be_short(Labelings(codes, 5), design)
    _, design, labelings = case("many", n_classes=3)
    assert labelings.training_counts(design).max() == 32
    assert may_be_short(labelings, design)
    monkeypatch.setattr(_screen, "_MAX_SUMS", 100)
    assert not may_be_short(labelings, design)
