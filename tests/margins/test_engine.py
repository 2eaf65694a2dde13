"""The loop over regions and labelings: one result, however it is cut."""

import numpy as np
import pytest
import scipy.sparse

from neuroextrap import stats
from tests.margins.seam import (
    LDAMargins,
    MarginKernel,
    NearestCentroidMargins,
    Plan,
    RidgeMargins,
    _engine,
    _plan,
    _task,
    estimate_memory,
    estimate_seconds,
    make_design,
    observed_margins,
    parse_memory,
    resolve_classifier,
    resolve_statistic,
    score_regions,
    unpacked_largest,
    with_path,
)
from tests.margins.twins import noise_gaps


def make_case(n_classes=4, n_runs=5, n_features=40, n_regions=30, seed=0):
    """Random samples, runs and overlapping regions of unequal size."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes)
    X = rng.normal(size=(n_classes, n_features))[y] * 0.5
    X = (X + rng.normal(size=(len(y), n_features))).astype(np.float32)
    members = rng.random((n_regions, n_features)) < 0.2
    members[:, :3] = True
    return X - X.mean(axis=0), y, runs, scipy.sparse.csr_array(members)


def make_plan(y, runs, n_permutations=0, **options):
    """Leave-one-run-out nearest centroid with within-run permutations."""
    n_classes = y.max() + 1
    design = make_design(y, n_classes, groups=runs)
    codes = y[None]
    if n_permutations:
        permuted = stats.permute_labels(
            y, groups=runs, n_permutations=n_permutations, random_state=0
        )
        codes = np.concatenate([codes, permuted])
    defaults = {
        "kernel": NearestCentroidMargins(),
        "statistic": resolve_statistic("accuracy", n_classes, [2, n_classes]),
    }
    return Plan(design=design, codes=codes, **(defaults | options))


def naive_margins(x, codes, train, test, n_classes):
    """Refit by hand: minus squared distance to class means, leveled."""
    means = np.stack(
        [x[train][codes[train] == c].mean(axis=0) for c in range(n_classes)]
    )
    distances = ((x[test][:, None] - means) ** 2).sum(axis=2)
    variance = x[train].var(axis=0, ddof=1).sum()
    return -distances - variance * noise_gaps(codes[train])


def naive_wins(X, regions, codes, design):
    """Wins of one labeling, region by region and fold by fold."""
    out = []
    for region in range(regions.shape[0]):
        x = X[:, regions[[region]].indices].astype(float)
        margins = np.concatenate(
            [naive_margins(x, codes, *fold, design.n_classes) for fold in design.folds]
        )
        out.append(stats.win_distribution(margins, codes[design.test]))
    return np.array(out)


def test_wins_equal_refits_by_hand_for_every_labeling():
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 12)
    null = np.empty((12, regions.shape[0]), dtype=np.float32)
    scores = score_regions(X, regions, plan, null=null)
    expected = [naive_wins(X, regions, codes, plan.design) for codes in plan.codes]
    np.testing.assert_allclose(scores.wins, expected[0], atol=1e-12)
    accuracy = np.array([wins[:, -1] for wins in expected])
    np.testing.assert_allclose(scores.score, accuracy[0], atol=1e-12)
    np.testing.assert_allclose(null, accuracy[1:], atol=1e-6)
    np.testing.assert_allclose(scores.maxima, accuracy[1:].max(axis=1), atol=1e-12)
    ordered = -np.sort(-accuracy[1:], axis=1)
    largest, _ = unpacked_largest(scores.largest)
    np.testing.assert_array_equal(largest, ordered.astype(np.float32))
    reached = (accuracy[1:] >= accuracy[0] - 1e-9).sum(axis=0)
    np.testing.assert_array_equal(scores.n_reached, reached)


def test_sums_over_features_equal_gram_matrices():
    X, y, runs, regions = make_case(seed=3)

    class GramOnly(MarginKernel):
        name = "nearest_centroid"
        prepare = NearestCentroidMargins.prepare
        margins = NearestCentroidMargins.margins

    by_sums = score_regions(X, regions, make_plan(y, runs))
    by_grams = score_regions(X, regions, make_plan(y, runs, kernel=GramOnly()))
    assert with_path(make_plan(y, runs), regions).by_sums
    grams = make_plan(y, runs, kernel=GramOnly())
    assert not with_path(grams, regions).by_sums
    np.testing.assert_array_equal(by_sums.wins, by_grams.wins)


@pytest.mark.parametrize("n_permutations", [0, 3, 40])
def test_workers_do_not_change_a_bit(n_permutations, monkeypatch):
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 7)
    monkeypatch.setattr(_plan, "_MIN_TASK_REGIONS", 1)
    monkeypatch.setattr(_plan, "_MAX_TASK_REGIONS", 9)
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, n_permutations)
    one = score_regions(X, regions, plan, n_jobs=1)
    two = score_regions(X, regions, plan, n_jobs=2)
    for name in ("wins", "score", "n_reached", "maxima", "largest"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("n_permutations", [0, 40])
def test_task_size_does_not_change_a_bit(n_permutations, monkeypatch):
    X, y, runs, regions = make_case()
    whole = score_regions(X, regions, make_plan(y, runs, n_permutations))
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 4)
    monkeypatch.setattr(_plan, "_MIN_TASK_REGIONS", 1)
    monkeypatch.setattr(_plan, "_MAX_TASK_REGIONS", 4)
    parts = score_regions(X, regions, make_plan(y, runs, n_permutations))
    for name in ("wins", "score", "n_reached", "maxima", "largest"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_width_of_a_pass_does_not_change_the_result(monkeypatch):
    X, y, runs, regions = make_case()
    whole = score_regions(X, regions, make_plan(y, runs, 40))
    monkeypatch.setattr(_plan, "PASS_SIZE", 20 * 4 * 8)
    parts = score_regions(X, regions, make_plan(y, runs, 40))
    np.testing.assert_array_equal(whole.n_reached, parts.n_reached)
    np.testing.assert_array_equal(whole.maxima, parts.maxima)


@pytest.mark.parametrize("kernel", ["nearest_centroid", "gaussian_nb", "lda"])
@pytest.mark.parametrize("counted", [1, 20 * 4 * 17, 2**30])
def test_how_many_labelings_are_counted_together_does_not_change_a_bit(
    kernel, counted, monkeypatch
):
    monkeypatch.setattr(_plan, "PASS_SIZE", 20 * 4 * 16)
    X, y, runs, regions = make_case()
    y = np.where(np.arange(len(y)) == 2, 1, y)  # unequal classes
    plan = make_plan(y, runs, 60, kernel=resolve_classifier(kernel), by_sums=False)
    monkeypatch.setattr(_task, "_COUNTED", 20 * 4 * 40)
    whole = score_regions(X, regions, plan)
    monkeypatch.setattr(_task, "_COUNTED", counted)
    parts = score_regions(X, regions, plan)
    for name in ("wins", "score", "n_reached", "maxima", "largest"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_pairing_permutes_test_labels_against_fixed_margins():
    X, y, runs, regions = make_case(n_classes=6, n_runs=4)
    train, test = np.flatnonzero(runs < 2), np.flatnonzero(runs >= 2)
    design = make_design(y, 6, cv=[(train, test)])
    codes = np.tile(y, (9, 1))
    codes[1:, test] = stats.permute_labels(
        y[test], groups=runs[test], n_permutations=8, random_state=0
    )
    plan = Plan(
        kernel=NearestCentroidMargins(),
        design=design,
        codes=codes,
        statistic=resolve_statistic(2, 6, [2, 6]),
        pairing=True,
    )
    null = np.empty((8, regions.shape[0]), dtype=np.float32)
    score_regions(X, regions, plan, null=null)
    for region in range(regions.shape[0]):
        x = X[:, regions[[region]].indices].astype(float)
        fixed = naive_margins(x, y, train, test, 6)
        for b in range(8):
            wins = stats.win_distribution(fixed, codes[1 + b, test])
            expected = stats.average_accuracy(wins, [2])[0]
            np.testing.assert_allclose(null[b, region], expected, atol=1e-6)


@pytest.mark.parametrize("sums", [False, True])
def test_general_splits_equal_refits_by_hand(sums):
    X, y, runs, regions = make_case(n_runs=6)
    cv = [
        (np.flatnonzero(runs < 3), np.flatnonzero(runs == 5)),
        (np.flatnonzero(runs > 1), np.flatnonzero(runs == 0)[::-1]),
    ]
    design = make_design(y, 4, cv=cv)
    plan = Plan(
        kernel=NearestCentroidMargins(),
        design=design,
        codes=np.concatenate([y[None], y[None, ::-1].repeat(10, axis=0)]),
        statistic=resolve_statistic("accuracy", 4, [2, 4]),
        by_sums=sums,
    )
    scores = score_regions(X, regions, plan)
    np.testing.assert_allclose(
        scores.wins, naive_wins(X, regions, y, design), atol=1e-12
    )


def test_unbalanced_classes_weigh_equally_within_every_labeling():
    X, y, runs, regions = make_case(n_runs=6)
    keep = ~((y == 0) & np.isin(runs, [0, 1]))
    X, y, runs = X[keep], y[keep], runs[keep]
    plan = make_plan(y, runs, 10)
    scores = score_regions(X, regions, plan)
    np.testing.assert_allclose(
        scores.wins, naive_wins(X, regions, y, plan.design), atol=1e-12
    )
    np.testing.assert_allclose(scores.wins.sum(axis=1), 1)


def test_empty_regions_stay_nan_and_out_of_the_maximum():
    X, y, runs, regions = make_case()
    dense = regions.toarray()
    dense[[0, 7]] = False
    scores = score_regions(X, scipy.sparse.csr_array(dense), make_plan(y, runs, 10))
    assert np.isnan(scores.wins[[0, 7]]).all()
    assert not scores.done[[0, 7]].any()
    assert np.isfinite(scores.maxima).all()


def test_shards_together_equal_the_whole(monkeypatch):
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 7)
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 20)
    whole = score_regions(X, regions, plan)
    parts = [score_regions(X, regions, plan, shard=(i, 2)) for i in range(2)]
    assert not (parts[0].done & parts[1].done).any()
    maxima = np.maximum(parts[0].maxima, parts[1].maxima)
    np.testing.assert_array_equal(maxima, whole.maxima)
    assert np.isneginf(parts[0].largest[:, -1]).all()
    joined = np.where(parts[0].done, parts[0].score, parts[1].score)
    np.testing.assert_array_equal(joined, whole.score)


def test_a_run_resumes_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 7)
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 20)
    whole = score_regions(X, regions, plan)

    def stop_after_two(done, total):
        if done >= 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_regions(
            X, regions, plan, checkpoint=tmp_path / "c", progress=stop_after_two
        )
    computed = []
    original = _engine.run_task
    monkeypatch.setattr(
        _engine, "run_task", lambda *args: computed.append(1) or original(*args)
    )
    resumed = score_regions(X, regions, plan, checkpoint=tmp_path / "c")
    assert len(computed) == 3  # 5 tasks of 7 regions, two of them stored
    for name in ("wins", "score", "n_reached", "maxima", "largest"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))


@pytest.mark.parametrize("kernel", [RidgeMargins(), LDAMargins()])
def test_many_labelings_are_not_kept_and_change_no_bit(monkeypatch, kernel):
    monkeypatch.setattr(_plan, "PASS_SIZE", 2000)
    monkeypatch.setattr(_task, "PASS_SIZE", 2000)
    monkeypatch.setattr(_plan, "_SMALL", 0)  # else lanes of lda are filled in any case
    X, y, runs, regions = make_case()
    whole = score_regions(X, regions, make_plan(y, runs, 50, kernel=kernel))
    plan = make_plan(y, runs, 50, kernel=kernel)
    kept = estimate_memory(X, regions, plan)
    widths = [batch.n_labelings for batch in plan.batches()]
    assert sum(widths) == 51
    assert max(widths) == plan.batch_width < 51
    assert max(widths) - min(widths) <= 1
    assert plan.batches() is plan.batches()
    monkeypatch.setattr(_plan, "_KEPT_INDICATORS", 1)
    plan = make_plan(y, runs, 50, kernel=kernel)
    assert estimate_memory(X, regions, plan) < kept
    assert plan.batches() is not plan.batches()
    scores = score_regions(X, regions, plan)
    for name in ("wins", "score", "n_reached", "maxima", "largest"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(whole, name))


def test_a_checkpoint_of_other_tasks_is_refused(tmp_path, monkeypatch):
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 5)
    score_regions(X, regions, plan, checkpoint=tmp_path / "c")
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 7)
    with pytest.raises(ValueError, match="made by a run with another task size"):
        score_regions(X, regions, plan, checkpoint=tmp_path / "c")


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 5)
    score_regions(X, regions, plan, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="made by a run with another data"):
        score_regions(X + 1, regions, plan, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="made by a run with another labels"):
        score_regions(X, regions, make_plan(y, runs, 6), checkpoint=tmp_path / "c")


def test_any_scikit_learn_classifier_means_the_same():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, runs, regions = make_case(n_regions=3)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    plan = make_plan(y, runs, 2, kernel=resolve_classifier(model))
    scores = score_regions(X, regions, plan)
    for region in range(3):
        x = X[:, regions[[region]].indices]
        decisions = np.concatenate(
            [
                model.fit(x[train], y[train]).decision_function(x[test])
                for train, test in plan.design.folds
            ]
        )
        expected = stats.win_distribution(decisions, y[plan.design.test])
        np.testing.assert_allclose(scores.wins[region], expected)


def test_two_class_scores_become_two_margins():
    from sklearn.svm import LinearSVC

    X, y, runs, regions = make_case(n_classes=2, n_regions=2)
    plan = make_plan(y, runs, kernel=resolve_classifier(LinearSVC()))
    scores = score_regions(X, regions, plan)
    assert scores.wins.shape == (2, 2)
    np.testing.assert_allclose(scores.wins.sum(axis=1), 1)


def test_classifiers_without_scores_are_refused():
    from sklearn.cluster import KMeans
    from sklearn.svm import SVC

    with pytest.raises(ValueError, match="neither decision_function nor"):
        resolve_classifier(KMeans())
    with pytest.raises(ValueError, match="estimator='svm' is not known"):
        resolve_classifier("svm")
    X, y, runs, regions = make_case(n_regions=1)
    pairs = SVC(kernel="linear", decision_function_shape="ovo")
    plan = make_plan(y, runs, kernel=resolve_classifier(pairs))
    with pytest.raises(ValueError, match="6 scores for 4 classes"):
        score_regions(X, regions, plan)


def test_statistics_of_every_name():
    wins = np.random.default_rng(0).dirichlet(np.ones(6), size=5)
    sizes = np.arange(2, 7)
    by_name = {
        name: resolve_statistic(name, 6, sizes)(wins)
        for name in ("accuracy", "pairwise_accuracy", 4, "implied_information")
    }
    curves = stats.average_accuracy(wins, sizes)
    np.testing.assert_allclose(by_name["accuracy"], curves[:, -1], atol=1e-11)
    np.testing.assert_allclose(by_name["pairwise_accuracy"], curves[:, 0], atol=1e-11)
    np.testing.assert_allclose(by_name[4], curves[:, 2], atol=1e-11)
    np.testing.assert_allclose(
        by_name["implied_information"],
        stats.implied_information(curves, sizes),
        atol=1e-9,
    )
    for wrong in ("precision", 7, 1):
        with pytest.raises(ValueError, match="is not known"):
            resolve_statistic(wrong, 6, sizes)


def test_margins_of_one_region_on_demand():
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 10)
    margins = observed_margins(X, regions, plan, 4)
    x = X[:, regions[[4]].indices].astype(float)
    expected = np.concatenate(
        [naive_margins(x, y, *fold, 4) for fold in plan.design.folds]
    )
    of_truth = np.take_along_axis(margins, y[plan.design.test][:, None], 1)
    by_hand = np.take_along_axis(expected, y[plan.design.test][:, None], 1)
    np.testing.assert_allclose(margins - of_truth, expected - by_hand, atol=1e-4)


def test_cost_is_more_than_nothing_and_memory_more_than_the_data():
    X, y, runs, regions = make_case()
    plan = make_plan(y, runs, 10)
    assert estimate_seconds(X, regions, plan) > 0
    assert estimate_memory(X, regions, plan) > X.nbytes
    with pytest.raises(ValueError, match="must be a size such as"):
        parse_memory("lots")
