"""Best classes in whole numbers: the shares that sums of full precision give."""

import numpy as np
import pytest

from neuroextrap.design._design import Labelings
from neuroextrap.design._folds import make_design
from neuroextrap.margins._best_classes import sort_by_class
from neuroextrap.margins.algebra import _screen
from neuroextrap.margins.algebra._class_sums import round_terms
from neuroextrap.margins.algebra._screen import (
    Terms,
    count_terms,
    may_be_short,
    whole_tables,
    whole_terms,
)
from neuroextrap.margins.classifiers import _ridge

KINDS = ["normal", "offset", "heavy tails", "nearly equal", "equal", "zero"]


def design_of(
    n_classes=5, n_runs=4, repeats=1, *, unbalanced=False, seed=0, n_labelings=12
):
    """A design with samples in no order, and labelings of its samples."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(n_classes), repeats), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes * repeats)
    order = rng.permutation(len(y))
    y, runs = y[order], runs[order]
    design = make_design(y, n_classes, groups=runs)
    codes = np.stack([y] * n_labelings)
    for labeling in codes[1:]:
        rows = [np.arange(len(y))] if unbalanced else []
        for run in rows or [np.flatnonzero(runs == r) for r in range(n_runs)]:
            labeling[run] = rng.permutation(labeling[run])
    return design, Labelings(codes, n_classes)


def terms_of(kind, design, seed=0):
    """What samples add to the margins of test points, 0 where they do not train."""
    rng = np.random.default_rng(seed)
    shape = len(design.test), design.n_samples
    terms = {
        "normal": lambda: rng.standard_normal(shape),
        "offset": lambda: 1.0 + 1e-4 * rng.standard_normal(shape),
        "heavy tails": lambda: rng.standard_cauchy(shape) ** 3,
        "nearly equal": lambda: 1.0 + 1e-7 * rng.integers(-1, 2, shape),
        "equal": lambda: np.ones(shape),
        "zero": lambda: np.zeros(shape),
    }[kind]()
    for (train, _), rows in zip(design.folds, design.fold_slices, strict=True):
        held = np.setdiff1d(np.arange(design.n_samples), train)
        terms[rows, held[:, np.newaxis]] = 0.0
    return round_terms(terms[np.newaxis], design.n_samples)[0]


def naive_shares(terms, labelings, design, weights, dtype):
    """Shares of best classes one test point after the other."""
    shares = np.zeros(labelings.n_labelings)
    for b, codes in enumerate(labelings.codes):
        sums = [terms[:, codes == k].sum(axis=1) for k in range(design.n_classes)]
        margins = np.array(sums).astype(dtype).T
        for i, sample in enumerate(design.test):
            best = margins[i] == margins[i].max()
            if best[codes[sample]]:
                shares[b] += 1 / best.sum() * weights[i, b]
    return shares


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unbalanced", [True, False])
@pytest.mark.parametrize("repeats", [2, 12])
def test_shares_are_those_of_full_precision(kind, dtype, repeats, unbalanced):
    design, labelings = design_of(repeats=repeats, unbalanced=unbalanced)
    terms, counted = terms_of(kind, design), count_terms(labelings, design)
    assert counted.balanced != unbalanced
    screen = whole_terms(terms, counted, design)
    short = counted.balanced and counted.n_most <= 32
    assert screen.table.dtype == (np.int16 if short else np.int32)
    fill = _ridge._count
    ones = np.ones((len(design.test), labelings.n_labelings))
    found = fill(terms, screen, labelings, design, 1.0, dtype)
    naive = naive_shares(terms, labelings, design, ones, dtype)
    np.testing.assert_allclose(found, naive, rtol=1e-14)
    weights = np.random.default_rng(1).random(ones.shape)
    again = Labelings(labelings.codes, labelings.n_classes)
    found = fill(terms, screen, again, design, weights, dtype)
    naive = naive_shares(terms, again, design, weights, dtype)
    np.testing.assert_array_equal(found, naive)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labelings", [1, 16, 35])
@pytest.mark.parametrize("repeats", [1, 8])
def test_labelings_side_by_side_give_the_same(repeats, n_labelings, dtype):
    """Regions of all kinds at once, some with hardly a sure lead."""
    design, labelings = design_of(repeats=repeats, n_labelings=n_labelings)
    assert may_be_short(labelings, design)
    terms = np.stack([terms_of(kind, design) for kind in KINDS])
    counted = count_terms(labelings, design)
    screens = [whole_terms(x, counted, design) for x in terms]
    tables = whole_tables(terms, counted, design)
    ones = np.ones((len(design.test), n_labelings))
    random = np.random.default_rng(1).random(ones.shape)
    for each, weights in ((1.0, ones), (random, random)):
        again = Labelings(labelings.codes, labelings.n_classes)
        found = _ridge._count_side_by_side(terms, tables, again, design, each, dtype)
        args = again, design, each, dtype
        one_by_one = [
            _ridge._count(*pair, *args) for pair in zip(terms, screens, strict=True)
        ]
        np.testing.assert_array_equal(found, one_by_one)
        naive = [naive_shares(x, again, design, weights, dtype) for x in terms]
        np.testing.assert_allclose(found, naive, rtol=1e-14)


def test_points_may_be_tested_twice_or_never():
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(4), 6)
    folds = [(np.arange(8, 24), np.arange(8)), (np.arange(4, 24), np.arange(4))]
    design = make_design(y, 4, cv=folds)
    labelings = Labelings(np.stack([np.roll(y, 4 * i) for i in range(5)]), 4)
    assert may_be_short(labelings, design)
    terms = rng.standard_normal((12, 24))
    for rows, (train, _) in zip(design.fold_slices, design.folds, strict=True):
        terms[rows, np.setdiff1d(np.arange(24), train)[:, None]] = 0.0
    terms = round_terms(terms[None], 24)
    tables = whole_tables(terms, count_terms(labelings, design), design)
    weights = rng.random((12, 5))
    found = _ridge._count_side_by_side(
        terms, tables, labelings, design, weights, np.float64
    )
    expected = naive_shares(terms[0], labelings, design, weights, np.float64)
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lead_beyond_the_slack_is_a_lead_in_single_precision(kind):
    design, labelings = design_of(repeats=4)
    terms, counted = terms_of(kind, design), count_terms(labelings, design)
    table, slack, lowest = whole_terms(terms, counted, design)
    whole = labelings.one_hot(float).transpose(2, 1, 0) @ table.astype(float)
    exact = labelings.one_hot(float).transpose(2, 1, 0) @ terms.T
    assert (whole > float(lowest)).all()
    assert np.abs(whole).max() * 2 <= 2**31
    if table.dtype == np.int16:
        assert np.ptp(whole, axis=1).max() < 2**15
    ahead = whole[:, :, np.newaxis] - whole[:, np.newaxis] > slack
    margins = exact.astype(np.float32)
    assert (margins[:, :, np.newaxis] > margins[:, np.newaxis])[ahead].all()
    if kind == "normal":
        assert ahead.mean() > 0.38  # of 2 in 5: most leads are sure


@pytest.mark.parametrize("kind", KINDS)
def test_a_lead_of_short_integers_beyond_the_slack_is_a_lead(kind):
    """In the whole range of short integers, which no sum leaves."""
    design, labelings = design_of(repeats=4)
    terms, counted = terms_of(kind, design), count_terms(labelings, design)
    [table] = whole_tables(terms[np.newaxis], counted, design)
    whole = labelings.one_hot(float).transpose(2, 1, 0) @ table.astype(float)
    exact = labelings.one_hot(float).transpose(2, 1, 0) @ terms.T
    assert np.abs(whole).max() < 2**15
    ahead = whole[:, :, np.newaxis] - whole[:, np.newaxis] > counted.n_most
    margins = exact.astype(np.float32)
    assert (margins[:, :, np.newaxis] > margins[:, np.newaxis])[ahead].all()
    if kind == "normal":
        assert ahead.mean() > 0.395  # of 2 in 5: nearly all leads are sure
        coarse, slack, _ = whole_terms(terms, counted, design)
        finer = np.abs(table).sum() / np.abs(coarse.astype(int)).sum()
        assert slack == counted.n_most
        assert finer > 2.0


def test_sums_that_are_no_numbers_are_an_error():
    design, labelings = design_of()
    terms, counted = terms_of("normal", design), count_terms(labelings, design)
    terms[3, np.flatnonzero(terms[3])[0]] = np.nan
    with pytest.raises(ValueError, match="margins contain NaN"):
        whole_terms(terms, counted, design)
    with pytest.raises(ValueError, match="margins contain NaN"):
        whole_tables(terms[np.newaxis], counted, design)


def test_classes_are_balanced_if_all_train_alike_in_every_fold():
    design, labelings = design_of(repeats=2)
    assert count_terms(labelings, design) == Terms(6, True)
    _, others = design_of(repeats=2, unbalanced=True)
    counted = count_terms(others, design)
    assert not counted.balanced
    assert counted.n_most > 6


def test_what_labelings_are_sorted_into_is_kept():
    design, labelings = design_of()
    order = np.arange(design.n_samples)
    first = sort_by_class(labelings, design, order)
    assert sort_by_class(labelings, design, order) is first
    assert _screen.count_terms(labelings, design) is count_terms(labelings, design)
