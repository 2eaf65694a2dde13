"""Inner products that neighbors share, and forward tests as windows in a circle."""

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._class_sums import exact_digits
from neuroextrap.margins.algebra._cyclic_windows import cyclic_windows
from neuroextrap.margins.algebra._growing_folds import growing_chains
from neuroextrap.margins.algebra._overlapping_grams import fill_grams
from neuroextrap.margins.classifiers import _centroid_growing

N, N_FEATURES = 13, 60


def overlapping(seed=0):
    """Neighbors, the same region twice, regions apart, one feature, all features."""
    rng = np.random.default_rng(seed)
    rows = [np.arange(a, a + 20) for a in range(0, 40, 3)]
    rows += [rows[-1], np.array([5]), np.array([5]), np.arange(N_FEATURES)]
    rows += [np.flatnonzero(rng.random(N_FEATURES) < 0.5) for _ in range(4)]
    member = np.zeros((len(rows), N_FEATURES), dtype=np.float32)
    for row, features in zip(member, rows, strict=True):
        row[features] = 1
    return rng.standard_normal((N_FEATURES, N)), scipy.sparse.csr_array(member)


def products(x, regions):
    return np.stack([x[r].T @ x[r] for r in regions.toarray().astype(bool)])


def test_products_of_neighbors_equal_their_own():
    x, regions = overlapping()
    x[3] *= 1e4  # comes and goes
    out = np.full((regions.shape[0], N, N), np.nan)
    fill_grams(x, regions, out, None)
    scale = np.abs(products(x, regions)).max()
    np.testing.assert_allclose(out, products(x, regions), atol=1e-13 * scale, rtol=0)
    np.testing.assert_array_equal(out, out.swapaxes(1, 2))


@pytest.mark.parametrize("scale", [1e2, 1e5, 1e9])
def test_what_was_large_leaves_nothing_behind(scale):
    x, regions = overlapping(4)
    x[[10, 25]] *= scale  # in some regions, then in others
    x[:, 2] *= 1e4  # one sample is always large
    x[18, 5] *= scale  # another in some regions
    out = np.empty((regions.shape[0], N, N))
    fill_grams(x, regions, out, None)
    for gram, expected in zip(out, products(x, regions), strict=True):
        length = np.sqrt(expected.diagonal())
        error = np.abs(gram - expected) / np.outer(length, length)
        assert error.max() < 1e-9


def test_rounded_products_add_up_in_any_order():
    x, regions = overlapping(2)
    x *= np.logspace(-3, 3, N)
    out, exact = np.empty((2, regions.shape[0], N, N))
    fill_grams(x, regions, out, 4 * N**2)
    fill_grams(x, regions, exact, None)
    rng = np.random.default_rng(3)
    for gram, own in zip(out, exact, strict=True):
        terms = np.tile(gram.ravel(), 4) * rng.choice([-1, 1], 4 * N**2)
        sums = {float(np.cumsum(rng.permutation(terms))[-1]) for _ in range(20)}
        assert len(sums) == 1
        unit = 2.0 ** -(exact_digits(4 * N**2) - 1) * own.diagonal().max()
        assert np.abs(gram - own).max() <= unit


def circle(sizes, order, lengths, seed=0):
    """Folds that test each part after so many parts before it, samples in no order."""
    rng = np.random.default_rng(seed)
    samples = rng.permutation(sum(sizes))
    parts = np.split(samples, np.cumsum(sizes)[:-1])
    folds = []
    for start in order:
        around = [parts[(start + i) % len(parts)] for i in range(len(parts))]
        folds += [(np.concatenate(around[:n]), around[n]) for n in lengths]
    return Design(tuple(folds), len(samples), 3)


CIRCLES = {
    "forward tests": ((5, 5, 5, 5), range(4), (2, 3)),
    "parts of unequal sizes": ((3, 7, 4, 5, 6), range(5), (2, 3, 4)),
    "no fold after few parts": ((4, 4, 4, 4, 4), range(5), (3, 4)),
}


@pytest.mark.parametrize("case", CIRCLES)
def test_windows_in_a_circle_equal_growing_chains(case, monkeypatch):
    design = circle(*CIRCLES[case])
    windows = cyclic_windows(design, growing_chains(design))
    assert (windows.fold >= 0).sum() == len(design.folds)
    rng = np.random.default_rng(1)
    x = rng.integers(-50, 50, (11, design.n_samples)).astype(float)
    grams = np.stack([x.T @ x, x[:4].T @ x[:4], x[4:].T @ x[4:]])
    codes = np.empty((1, design.n_samples), dtype=int)
    for part in np.split(windows.samples, windows.edges[1:-1]):
        codes[0, part] = np.arange(len(part)) % 3  # every part has every class
    shape = len(design.test), 3, len(grams), 1

    def fill():
        out = np.full(shape, np.nan, dtype=np.float32)
        labelings = Labelings(codes, 3)
        _centroid_growing.fill_growing(out, grams, design, labelings)
        return out

    by_windows = fill()
    monkeypatch.setattr(_centroid_growing, "cyclic_windows", lambda *_: None)
    design.__dict__.pop("_kept")
    np.testing.assert_array_equal(by_windows, fill())
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        shares = np.eye(3)[codes[0, train]] / np.bincount(codes[0, train])
        cross = grams[:, test[:, np.newaxis], train] @ shares
        lengths = shares.T @ grams[:, train[:, np.newaxis], train] @ shares
        expected = 2 * cross - np.einsum("skk->sk", lengths)[:, np.newaxis]
        found = by_windows[rows, ..., 0].transpose(2, 0, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def one_order(n_parts=4):
    return circle((4,) * n_parts, [0], range(1, n_parts))


def one_fold_twice():
    design = circle((4, 4, 4), range(3), (1, 2))
    return Design((*design.folds, design.folds[-1]), 12, 3)


def other_way_round():
    folds = circle((4, 4, 4, 4), range(4), (2, 3)).folds
    backwards = [(folds[0][0], folds[5][1]), (np.concatenate(folds[0]), folds[0][1])]
    return Design((*folds[2:], *backwards), 16, 3)


@pytest.mark.parametrize("make", [one_order, one_fold_twice, other_way_round])
def test_other_folds_are_no_windows_in_a_circle(make):
    design = make()
    assert cyclic_windows(design, growing_chains(design)) is None


@pytest.mark.parametrize("sizes", [(5, 5, 5), (3, 6, 4, 2), (8, 7)])
def test_folds_that_train_on_all_others_equal_refits(sizes):
    rng = np.random.default_rng(2)
    n = sum(sizes)
    tests = np.split(rng.permutation(n), np.cumsum(sizes)[:-1])
    folds = tuple((np.setdiff1d(np.arange(n), test), np.sort(test)) for test in tests)
    design = Design(folds, n, 2)
    x = rng.integers(-9, 9, (n, 6)).astype(float)
    codes = np.arange(n) % 2
    gram = (x @ x.T)[np.ix_(design.order, design.order)]
    out = np.empty((n, 2, 1), dtype=np.float32)
    _centroid_growing.fill_others(out, gram[None], design, Labelings(codes[None], 2))
    for rows, (train, test) in zip(design.fold_slices, folds, strict=True):
        means = np.stack([x[train][codes[train] == k].mean(axis=0) for k in (0, 1)])
        expected = 2 * x[test] @ means.T - (means**2).sum(axis=1)
        np.testing.assert_allclose(out[rows, :, 0], expected, rtol=1e-5, atol=1e-4)
