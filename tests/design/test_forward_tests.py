"""Forward tests: which folds they are, and what is counted, against naive twins."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold

from tests.design.seam import (
    BoundOptions,
    Design,
    Labelings,
    Plan,
    chronological_order,
    code_labels,
    cyclic_folds,
    forward_folds,
    forward_parts,
    forward_tests,
    make_design,
    resolve_classifier,
    resolve_statistic,
    score_regions,
)
from tests.margins.cases import take_path
from tests.margins.twins import (
    GaussianNBTwin,
    LDATwin,
    NearestCentroidTwin,
    noise_gaps,
)


def labeled(n_runs=6, n_classes=3, repeats=1):
    y = np.tile(np.repeat(np.arange(n_classes), repeats), n_runs)
    return y, np.repeat(np.arange(n_runs), n_classes * repeats)


def forward_of(y, groups, *, cv=None, **options):
    n_classes = y.max() + 1
    design = make_design(y, n_classes, cv=cv, groups=groups)
    parts = forward_parts(y, n_classes, design, groups)
    assert not isinstance(parts, str), parts
    options = {"units": None} | options
    return forward_folds(*cyclic_folds(parts), y, n_classes, **options)


def plan_of(y, runs, classifier, tests, **options):
    design = make_design(y, y.max() + 1, groups=runs)
    return Plan(
        resolve_classifier(classifier, shrinkage=0.3),
        design,
        y[None].astype(np.int32),
        resolve_statistic("accuracy", y.max() + 1, [2]),
        forward=tests,
        **options,
    )


def score(x, y, runs, classifier, tests, regions=None, **options):
    if regions is None:
        regions = scipy.sparse.csr_array(np.ones((1, x.shape[1]), dtype=bool))
    plan = plan_of(y, runs, classifier, tests, **options)
    return score_regions((x - x.mean(axis=0)).astype(np.float32), regions, plan)


@pytest.mark.parametrize("n_runs", [2, 3, 5, 12])
def test_every_order_trains_on_what_precedes(n_runs):
    y, runs = labeled(n_runs)
    tests = forward_of(y, runs)
    shortest = int(np.ceil(n_runs / 3))
    expected = []
    for start in range(n_runs):
        cycle = [(start + i) % n_runs for i in range(n_runs)]
        lengths = range(shortest, n_runs)
        expected += [(set(cycle[:length]), {cycle[length]}) for length in lengths]
    found = [(set(runs[a]), set(runs[b])) for a, b in tests.design.folds]
    assert found == expected
    assert tests.outcomes.n_units.shape == (n_runs, n_runs - shortest)
    longer = int(np.ceil(n_runs / 2)) - shortest
    assert tests.outcomes.first_steps.tolist() == sorted({0, longer})


def test_many_runs_are_joined_and_orders_spaced_evenly():
    y, runs = labeled(24, 2)
    assert forward_of(y, runs).outcomes.n_units.shape == (12, 16)
    y, runs = labeled(100, 2)
    tests = forward_of(y, runs)
    assert tests.outcomes.n_units.shape == (12, 13)
    assert set(tests.outcomes.n_units.ravel()) == {10}  # five runs of two classes
    first = [runs[tests.design.folds[13 * order][1]][0] for order in range(12)]
    assert first[0] == 35  # seven of twenty parts train
    assert len(set(first)) == 12


def test_runs_go_in_the_order_of_their_rows_whatever_their_names():
    y, _ = labeled(4)
    names = np.repeat(["run-10", "run-9", "b", "a"], 3)
    train, test = forward_of(y, names).design.folds[0]
    assert set(names[train]) == {"run-10", "run-9"}
    assert set(names[test]) == {"b"}
    order = np.random.default_rng(0).permutation(12)  # rows not sorted by run
    first_rows = [int(np.flatnonzero(names[order] == n)[0]) for n in np.unique(names)]
    by_time = np.unique(names)[np.argsort(first_rows)]
    train, test = forward_of(y[order], names[order]).design.folds[0]
    assert set(names[order][train]) == set(by_time[:2])
    assert set(names[order][test]) == {by_time[2]}


def test_runs_that_lack_a_class_are_joined_with_the_next():
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 2])
    runs = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 4, 5])
    design = make_design(y, 3, groups=runs)
    parts = forward_parts(y, 3, design, runs)
    # run 1 lacks class 2, run 3 has one class; run 5, at the end, joins the last part
    assert parts.tolist() == [0] * 3 + [1] * 6 + [2] * 5


def test_parts_have_every_class_when_each_run_has_only_one():
    y = np.tile([0, 1, 2], 4).repeat(2)
    runs = np.arange(12).repeat(2)
    parts = forward_parts(y, 3, make_design(y, 3, groups=runs), runs)
    assert parts.tolist() == np.repeat([0, 1, 2, 3], 6).tolist()


def test_two_folds_that_leave_whole_runs_out_are_tested_run_by_run():
    y, runs = labeled(4)
    folds = [
        (np.flatnonzero(~np.isin(runs, out)), np.flatnonzero(np.isin(runs, out)))
        for out in ([0, 1], [1, 2])
    ]
    parts = forward_parts(y, 3, make_design(y, 3, cv=folds, groups=runs), runs)
    np.testing.assert_array_equal(parts, runs)
    one = make_design(y, 3, cv=folds[:1], groups=runs)
    assert forward_parts(y, 3, one, runs).startswith("the folds do not leave whole")


def test_the_chronological_order_of_fewer_runs_is_the_start_of_that_of_more():
    rng = np.random.default_rng(3)
    y, runs = labeled(30, 2, repeats=2)
    keep = rng.random(len(y)) > 0.4  # runs that lack a class, and unequal repeats
    y, runs = y[keep], runs[keep]
    folds = chronological_order(y, 2, runs)
    assert len(folds) > 12  # though more than 24 runs are joined in cyclic orders
    for n_runs in range(3, 31):
        rows = runs < n_runs
        fewer = chronological_order(y[rows], 2, runs[rows])
        for (train, test), (a, b) in zip(fewer, folds, strict=False):
            np.testing.assert_array_equal(train, a)
            np.testing.assert_array_equal(test, b)
            assert set(y[train]) == set(y[test]) == {0, 1}
            assert runs[train].max() < runs[test].min()


@pytest.mark.parametrize(
    ("cv", "why"),
    [
        ([(np.arange(6), np.arange(6, 9))], "do not leave whole runs out"),
        (
            [(np.arange(3, 9), np.arange(3)), (np.arange(3), np.arange(4, 9))],
            "do not leave whole runs out",
        ),
        (  # every sample is tested once, but two of the runs do not train together
            [
                (np.roll(np.arange(9), -3 * f)[3:6], 3 * f + np.arange(3))
                for f in range(3)
            ],
            "do not leave whole runs out",
        ),
    ],
)
def test_other_designs_have_no_parts(cv, why):
    y, runs = labeled(3)
    design = make_design(y, 3, cv=cv, groups=runs)
    assert why in forward_parts(y, 3, design, runs)


def test_folds_of_several_runs_are_the_parts():
    y, runs = labeled(6)
    folds = [
        (np.flatnonzero(runs % 3 != f), np.flatnonzero(runs % 3 == f)) for f in range(3)
    ]
    parts = forward_parts(y, 3, make_design(y, 3, cv=folds, groups=runs), runs)
    np.testing.assert_array_equal(parts, runs % 3)


def test_folds_that_split_runs_and_overlap_are_no_parts():
    y, runs = labeled(4, 3, 2)
    folds = [
        (np.setdiff1d(np.arange(24), test), test)
        for test in (np.arange(9), np.arange(6, 15), np.arange(12, 24))
    ]
    design = make_design(y, 3, cv=folds, groups=runs)
    assert "do not leave whole runs out" in forward_parts(y, 3, design, runs)


@pytest.mark.parametrize("first", [2, 3, 4, 5])
@pytest.mark.parametrize("lacking", [False, True])
def test_early_runs_only_train_in_chronological_order(first, lacking):
    y, runs = labeled(6)
    if lacking:  # run 3 is joined with run 4
        y, runs = np.delete(y, 8), np.delete(runs, 8)
    parts = [[0], [1], [2, 3], [4], [5]] if lacking else [[run] for run in range(6)]
    expected = [
        (np.flatnonzero(runs < part[0]), np.flatnonzero(np.isin(runs, part)))
        for part in parts[1:]
        if part[0] >= first - 1
    ]
    found = chronological_order(y, 3, runs, first)
    assert len(found) == len(expected)
    for fold, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(fold[0], other[0])
        np.testing.assert_array_equal(fold[1], other[1])


def test_weights_of_steps_and_of_runs_in_time():
    sizes = [[1, 1, 1], [1, 2, 3], [2, 2, 2], [3, 5, 4], [1, 4, 4]]
    y = np.concatenate([np.repeat([0, 1, 2], size) for size in sizes])
    runs = np.repeat(np.arange(5), [sum(size) for size in sizes])
    in_time = chronological_order(y, 3, runs, 3)
    tests = forward_of(y, runs, chronological=in_time)
    np.testing.assert_array_equal(tests.design.unlabeled, np.flatnonzero(runs < 2))
    assert forward_of(y, runs).design.unlabeled is None
    heaviest = np.array([1 / (3 * min(sizes[run])) for run in (2, 3, 4)])
    np.testing.assert_allclose(tests.outcomes.chronological, [[6, 12, 9], heaviest])
    sums = tests.sums.toarray()
    for fold, (_, test) in enumerate(tests.design.folds):
        own = tests.design.fold_slices[fold]
        shares = 1 / np.bincount(y[test])[y[test]]
        np.testing.assert_allclose(sums[fold, own], shares / shares.max(), rtol=1e-6)
        assert np.count_nonzero(sums[fold]) == len(test)


def test_no_two_parts_with_every_class_are_no_forward_tests():
    y = np.array([0, 0, 1, 1])
    folds = (np.arange(2), np.arange(2, 4)), (np.arange(2, 4), np.arange(2))
    assert "no two sets" in forward_parts(y, 2, Design(folds, 4, 2), None)


def test_folds_that_leave_several_runs_out_are_tested_run_by_run():
    from sklearn.model_selection import LeavePGroupsOut

    y, runs = labeled(5)
    tests = forward_of(y, runs, cv=LeavePGroupsOut(2))
    assert tests.outcomes.n_units.shape == (5, 3)


def naive_outcomes(x, y, tests, fit, units=None):
    """Refit fold by fold; mean outcome of a unit, units of a class, and classes."""
    sums = []
    for train, test in tests.design.folds:
        model = fit(x[train], y[train])
        correct = model.predict(x[test]) == y[test]
        unit = np.arange(len(test)) if units is None else units[test]
        weights, outcomes = [], []
        classes = np.unique(y)
        for label in classes:
            members = np.unique(unit[y[test] == label])
            for member in members:
                inside = (unit == member) & (y[test] == label)
                outcomes.append(correct[inside].mean())
                weights.append(1 / (len(classes) * len(members)))
        sums.append(np.dot(weights, outcomes) / max(weights))
    return np.array(sums)


def unbalanced(rng):
    y = np.concatenate(
        [np.repeat([0, 1, 2], rng.integers(1, 4, size=3)) for _ in range(6)]
    )
    runs = np.zeros(len(y), dtype=int)
    runs[np.flatnonzero(np.diff(y) < 0) + 1] = 1
    return y, np.cumsum(runs)


TWINS = {
    "nearest_centroid": lambda x: NearestCentroidTwin().fit,
    "gaussian_nb": lambda x: GaussianNBTwin(x.var(axis=0)).fit,
    "lda": lambda x: LDATwin(0.3 * x.var(axis=0).mean() * len(x)).fit,
    "estimator": lambda x: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5).fit,
}


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("name", TWINS)
def test_outcomes_equal_those_of_refitted_classifiers(name, balanced):
    rng = np.random.default_rng([3, balanced])
    y, runs = labeled(6, 3, 4) if balanced else unbalanced(rng)
    if name == "gaussian_nb" and not balanced:
        y, runs = np.tile(y, 3), np.concatenate([runs, runs + 6, runs + 12])
    x = (rng.normal(size=(3, 8))[y] + 1.5 * rng.normal(size=(len(y), 8))).astype(
        np.float32
    )
    classifier = name
    if name == "estimator":
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    tests = forward_of(y, runs)
    found = score(x, y, runs, classifier, tests)
    expected = naive_outcomes(x, y, tests, TWINS[name](x.astype(float)))
    np.testing.assert_allclose(found.n_correct[0], expected, rtol=1e-6)
    assert 0.2 < found.n_correct[0].sum() / tests.outcomes.n_units.sum() < 0.98


def test_blocks_and_runs_are_counted_as_they_depend():
    rng = np.random.default_rng(5)
    y, runs = labeled(6, 3, 4)
    x = (rng.normal(size=(3, 8))[y] + 1.5 * rng.normal(size=(len(y), 8))).astype(
        np.float32
    )
    blocks = np.arange(len(y)) // 2  # two of each class in a run
    blocks[1] = blocks[-1] + 1  # and once three
    tests = forward_of(y, runs, units=blocks)
    found = score(x, y, runs, "nearest_centroid", tests)
    expected = naive_outcomes(x, y, tests, NearestCentroidTwin().fit, blocks)
    np.testing.assert_allclose(found.n_correct[0], expected, rtol=1e-6)
    tested = [len(np.unique(blocks[test])) for _, test in tests.design.folds]
    assert tests.outcomes.n_units.ravel().tolist() == tested
    heaviest = [
        max(
            1 / (3 * len(np.unique(blocks[test][y[test] == label])))
            for label in range(3)
        )
        for _, test in tests.design.folds
    ]
    np.testing.assert_allclose(tests.outcomes.unit_weights.ravel(), heaviest)
    whole = forward_of(y, runs, units=blocks, runs=runs)
    assert (whole.outcomes.n_units == 1).all()
    found = score(x, y, runs, "nearest_centroid", whole)
    np.testing.assert_allclose(
        found.n_correct[0], expected * np.array(heaviest), rtol=1e-6
    )


def test_the_noise_is_that_of_the_average_over_orders():
    y, runs = labeled(6, 4, 2)
    # six runs, four tested in an order, two points of every class in each
    assert forward_of(y, runs).outcomes.noise == pytest.approx(1 / 8)
    y, runs = unbalanced(np.random.default_rng(1))
    tests = forward_of(y, runs)
    n_steps, noises = tests.outcomes.n_units.shape[1], []
    for order in range(6):
        precision = 0.0
        for _, test in tests.design.folds[order * n_steps : (order + 1) * n_steps]:
            precision += 1 / np.mean(1 / np.bincount(y[test]))
        noises.append(1 / np.sqrt(precision))
    assert tests.outcomes.noise == pytest.approx(np.mean(noises) ** 2)
    # whole runs: every run's accuracy is one number between 0 and 1
    y, runs = labeled(6, 4, 2)
    assert forward_of(y, runs, runs=runs).outcomes.noise == pytest.approx(4 / 4)


def test_forward_wins_are_the_weighted_average_of_all_steps():
    rng = np.random.default_rng(7)
    y, runs = unbalanced(rng)
    x = (rng.normal(size=(3, 5))[y] + rng.normal(size=(len(y), 5))).astype(np.float32)
    tests = forward_of(y, runs)
    found = score(x, y, runs, "nearest_centroid", tests)
    sums = naive_outcomes(x, y, tests, NearestCentroidTwin().fit)
    accuracy = (sums * tests.outcomes.unit_weights.ravel()).reshape(6, -1)
    precision = np.array(
        [1 / np.mean(1 / np.bincount(y[test])) for _, test in tests.design.folds]
    ).reshape(6, -1)
    expected = np.mean((accuracy * precision).sum(axis=1) / precision.sum(axis=1))
    assert found.forward_wins[0].sum() == pytest.approx(1)
    assert found.forward_wins[0, -1] == pytest.approx(expected)


@pytest.mark.parametrize("classifier", ["nearest_centroid", "gaussian_nb"])
def test_sums_over_features_count_the_same(classifier):
    rng = np.random.default_rng(8)
    y, runs = labeled(6, 3, 4)
    x = rng.normal(size=(3, 40))[y] + 2 * rng.normal(size=(len(y), 40))
    members = scipy.sparse.csr_array(rng.random((150, 40)) < 0.3)
    tests = forward_of(y, runs)
    found = [
        score(x, y, runs, classifier, tests, members, by_sums=how)
        for how in (True, False)
    ]
    np.testing.assert_array_equal(found[0].n_correct, found[1].n_correct)
    np.testing.assert_allclose(found[0].forward_wins, found[1].forward_wins, atol=1e-12)


@pytest.mark.parametrize("classifier", ["lda", "ridge"])
@pytest.mark.parametrize("shrinkage", ["auto", 0.3, 1e-4, 0.0])
def test_growing_folds_equal_folds_one_by_one(classifier, shrinkage, monkeypatch):
    rng = np.random.default_rng(9)
    y, runs = unbalanced(rng)
    y, runs = np.tile(y, 2), np.concatenate([runs, runs + 6])
    design = forward_of(y, runs).design
    # the last region has more features than samples, which needs a penalty
    sizes = (2, 4, 1) if shrinkage == 0 else (4, 3, 90)
    xs = [rng.normal(size=(len(y), p)) for p in sizes]
    kernel = resolve_classifier(classifier, shrinkage=shrinkage)
    codes = np.stack([y, np.roll(y, 1)])
    fast = kernel.margins(kernel.prepare(xs, design), Labelings(codes, 3))
    take_path(monkeypatch, "products")
    slow = kernel.margins(kernel.prepare(xs, design), Labelings(codes, 3))
    tolerance = 2e-5 * np.abs(slow).max(axis=(0, 1))
    assert (np.abs(fast - slow) <= tolerance).all()


def test_growing_folds_mix_with_regions_that_have_no_penalty():
    rng = np.random.default_rng(10)
    y, runs = labeled(6, 3, 2)
    design = forward_of(y, runs).design
    xs = [rng.normal(size=(len(y), 3)) for _ in range(3)]
    kernel = resolve_classifier("lda", shrinkage="auto")
    xs[1][:, 1:] = 1e3 * y[:, None] * [1, 2] + 1e-9 * xs[1][:, 1:]  # hardly shrunk
    together = kernel.margins(kernel.prepare(xs, design), Labelings(y[None], 3))
    for region, x in enumerate(xs):
        alone = kernel.margins(kernel.prepare([x], design), Labelings(y[None], 3))
        np.testing.assert_array_equal(together[:, :, region], alone[:, :, 0])


def test_designs_that_do_not_grow_have_no_chains():
    y, runs = labeled(6)
    assert make_design(y, 3, groups=runs).chains == ()
    chains = forward_of(y, runs).design.chains
    assert [len(chain.edges) for chain in chains] == [5] * 6


def test_growing_centroids_equal_refits():
    rng = np.random.default_rng(12)
    y, runs = unbalanced(rng)
    design = forward_of(y, runs).design
    x = rng.normal(size=(len(y), 90)) + 5
    kernel = resolve_classifier("nearest_centroid")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(y[None], 3))
    x = x - x.mean(axis=0)
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        means = np.stack([x[train][y[train] == k].mean(axis=0) for k in range(3)])
        expected = 2 * x[test] @ means.T - (means**2).sum(axis=1)
        expected -= noise_gaps(y[train]) * x[train].var(axis=0, ddof=1).sum()
        np.testing.assert_allclose(margins[rows, :, 0], expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("classifier", ["lda", "ridge"])
def test_what_forward_tests_share_with_the_folds_changes_nothing(
    classifier, monkeypatch
):
    rng = np.random.default_rng(13)
    y, runs = labeled(8)
    x = rng.normal(size=(3, 60))[y] + 2 * rng.normal(size=(len(y), 60))
    members = scipy.sparse.csr_array(rng.random((70, 60)) < 0.6)
    tests = forward_of(y, runs)
    shared = score(x, y, runs, classifier, tests, members)
    monkeypatch.setattr(
        "neuroextrap.margins.algebra._operators.kept_with",
        lambda xs, name, make: make(),
    )
    alone = score(x, y, runs, classifier, tests, members)
    for result in ("wins", "n_correct", "forward_wins"):
        np.testing.assert_array_equal(getattr(shared, result), getattr(alone, result))


@pytest.mark.parametrize(
    "folds",
    [
        [([2, 3, 4, 5], [0, 1]), ([0, 1, 4, 5], [2, 3]), ([0, 1, 2], [4, 5])],
        [([2, 3, 4, 5], [0, 1]), ([0, 3, 4, 5], [1, 2]), ([0, 1, 2, 3], [4, 5])],
    ],
    ids=["one does not train on all others", "one sample is tested twice"],
)
def test_folds_that_are_no_partition_are_no_parts(folds):
    folds = tuple((np.array(train), np.array(test)) for train, test in folds)
    parts = forward_parts(np.tile([0, 1], 3), 2, Design(folds, 6, 2), None)
    assert isinstance(parts, str)


def test_blocks_that_extend_over_what_is_tested_are_no_units():
    y, row = np.tile([0, 1], 12), np.arange(24)
    labels = code_labels(y, None, None, 2 * (row // 8) + y)  # over two folds each
    design = make_design(labels.codes, 2, cv=KFold(6))
    options = BoundOptions("auto", "samples", "cyclic", 0.95, False, None)
    assert "a block extends over several" in forward_tests(labels, design, options)
    labels = code_labels(y, None, None, 2 * (row // 4) + y)
    assert forward_tests(labels, design, options).outcomes.n_units.max() == 2
