"""Targets that are numbers or vectors: refits of ridge regression, tests, misuse."""

from contextlib import nullcontext

import nibabel
import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneGroupOut, RepeatedKFold

from neuroextrap import stats
from neuroextrap.analysis import Bounds, Keep
from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight
from neuroextrap.design import examine
from tests.decoding.seam import TargetMargins

RUNS = np.repeat(np.arange(6), 10)


def simulate(n_columns=3, n_features=20, noise=2.0, seed=0):
    """Samples (60, n_features) that depend on targets (60, n_columns), in six runs."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(60, n_columns)) * 10.0 ** np.arange(n_columns) + 7
    weights = rng.normal(size=(n_columns, n_features))
    X = targets / 10.0 ** np.arange(n_columns) @ weights
    return X + noise * rng.normal(size=X.shape), targets


def penalty(X, shrinkage):
    """The penalty that ``shrinkage`` stands for, in the words of scikit-learn."""
    return shrinkage * np.square(X - X.mean(axis=0)).sum() / X.shape[1]


def refits(X, targets, folds, alpha):
    """Yield (test, decoded, training mean) of scikit-learn's Ridge in every fold."""
    for train, test in folds:
        model = Ridge(alpha).fit(X[train], targets[train])
        decoded = model.predict(X[test]).reshape(len(test), -1)
        yield test, decoded, targets[train].mean(axis=0)


def similarity(score, decoded, candidates):
    """Scores (n_test, K) of decoded vectors with candidates."""
    if score == "euclidean":
        return -cdist(decoded, candidates, "sqeuclidean")
    return 1 - cdist(decoded, candidates, score)


def twin(X, targets, folds, alpha, score):
    """Correlation and pairwise accuracy of refits, straight from the definitions."""
    candidates, codes = np.unique(targets, axis=0, return_inverse=True)
    codes = codes.ravel()  # NumPy 2.0 returns a column
    spread, decoded, true, margins, tested = targets.std(axis=0), [], [], [], []
    for test, predicted, mean in refits(X, targets, folds, alpha):
        decoded.append(predicted - mean)
        true.append(targets[test] - mean)
        margins.append(
            similarity(score, (predicted - mean) / spread, (candidates - mean) / spread)
        )
        tested.append(codes[test])
    decoded, true = np.concatenate(decoded), np.concatenate(true)
    margins, tested = np.concatenate(margins), np.concatenate(tested)
    columns = range(targets.shape[1])
    r = [np.corrcoef(decoded[:, c], true[:, c])[0, 1] for c in columns]
    wins = stats.win_distribution(margins, tested)
    return np.mean(r), stats.average_accuracy(wins, [2, len(candidates)]), margins


ROWS = np.arange(60)
FOLDS = {
    "runs": list(LeaveOneGroupOut().split(ROWS, groups=RUNS)),
    "unequal": list(KFold(7, shuffle=True, random_state=0).split(ROWS)),
    "repeated": list(
        RepeatedKFold(n_splits=4, n_repeats=2, random_state=0).split(ROWS)
    ),
    "split": [(ROWS[:40], ROWS[40:])],
}


SCORES = ["cosine", "correlation", "euclidean"]
LATIN = [  # every score with all folds and all numbers of features
    (folds, n_features, SCORES[(row + column) % 3])
    for row, folds in enumerate(FOLDS)
    for column, n_features in enumerate([3, 20, 90])
]


@pytest.mark.parametrize(("folds", "n_features", "score"), LATIN)
def test_decoded_targets_are_those_of_refits(folds, n_features, score):
    X, targets = simulate(n_features=n_features)
    splits = FOLDS[folds]
    cv = None if folds == "runs" else splits
    light = TargetSearchLight(metric=score, shrinkage=0.3, cv=cv)
    fitted = light.fit(X, targets, groups=RUNS)
    r, accuracy, margins = twin(X, targets, splits, penalty(X, 0.3), score)
    found = fitted.region_scores_
    np.testing.assert_allclose(found["correlation"], r, rtol=1e-5)
    parts = refits(X, targets, splits, penalty(X, 0.3))
    decoded = np.concatenate([predicted for _, predicted, _ in parts])
    mine = fitted.decoded_targets(0)
    np.testing.assert_allclose(mine, decoded, atol=1e-4 * targets.std())
    np.testing.assert_allclose(found["pairwise_accuracy"], accuracy[0], atol=1e-3)
    np.testing.assert_allclose(found["accuracy"], accuracy[1], atol=0.02)
    mine = fitted.region_margins(0)
    if score != "euclidean":  # the length of the decoded vector orders no candidates
        mine = mine / np.abs(mine).max(axis=1, keepdims=True)
        margins = margins / np.abs(margins).max(axis=1, keepdims=True)
    else:  # nor does its own square
        mine = mine - mine.mean(axis=1, keepdims=True)
        margins = margins - margins.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(mine, margins, rtol=1e-3, atol=1e-3 * margins.std())


def test_one_number_is_decoded_as_a_column():
    X, targets = simulate(n_columns=1)
    one = TargetSearchLight(n_permutations=30).fit(X, targets.ravel(), groups=RUNS)
    two = TargetSearchLight(n_permutations=30).fit(X, targets, groups=RUNS)
    assert one.region_scores_ == two.region_scores_
    np.testing.assert_array_equal(one.classes_, np.sort(targets.ravel()))
    auto = TargetSearchLight(metric="euclidean").fit(X, targets, groups=RUNS)
    assert auto.region_scores_["accuracy"] == one.region_scores_["accuracy"]


@pytest.mark.parametrize("groups", [RUNS, None])
@pytest.mark.parametrize("statistic", ["correlation", "pairwise_accuracy", "accuracy"])
@pytest.mark.filterwarnings("ignore:no runs were given")
def test_permuted_statistics_are_those_of_permuted_targets(groups, statistic, tmp_path):
    X, targets = simulate(noise=12.0)
    options = {"statistic": statistic, "shrinkage": 0.3, "cv": FOLDS["unequal"]}
    keep = Keep(save_null=tmp_path / "null.npy")
    light = TargetSearchLight(n_permutations=5, keep=keep, **options)
    fitted = light.fit(X, targets, groups=groups)
    null = np.load(tmp_path / "null.npy")
    codes = np.unique(targets, axis=0, return_inverse=True)[1].ravel()
    orders = stats.permute_labels(
        codes, groups=groups, n_permutations=5, random_state=0
    )
    for permuted, value in zip(orders, null[:, 0], strict=True):
        again = TargetSearchLight(**options)
        again.fit(X, fitted.candidates_[permuted], groups=groups)
        expected = again.region_scores_[statistic][0]
        assert value == pytest.approx(expected, abs=1e-5)
    reached = np.sum(null[:, 0] >= fitted.region_scores_[statistic][0])
    assert fitted.region_scores_["p_value"][0] == (1 + reached) / 6


def test_wide_targets_are_compared_in_fewer_coordinates():
    rng = np.random.default_rng(0)
    X, targets = simulate()
    wide = np.concatenate([targets, rng.normal(size=(60, 150))], axis=1)
    for score in ("cosine", "correlation"):
        light = TargetSearchLight(metric=score, shrinkage=0.3)
        fitted = light.fit(X, wide, groups=RUNS)
        splits = LeaveOneGroupOut().split(X, groups=RUNS)
        r, accuracy, _ = twin(X, wide, splits, penalty(X, 0.3), score)
        assert fitted.region_scores_["correlation"][0] == pytest.approx(r, rel=1e-4)
        assert fitted.region_scores_["pairwise_accuracy"][0] == pytest.approx(
            accuracy[0], abs=1e-3
        )


def test_the_scale_of_a_column_matters_only_on_request():
    X, targets = simulate()
    scaled = targets * [1, 100, 1e-4]
    for standardize in (True, False):
        light = TargetSearchLight(standardize_targets=standardize)
        one, two = (
            light.fit(X, t, groups=RUNS).region_scores_ for t in (targets, scaled)
        )
        assert one["correlation"] == pytest.approx(two["correlation"])
        same = one["accuracy"] == pytest.approx(two["accuracy"])
        assert same == standardize


@pytest.mark.parametrize(
    "options",
    [
        {"n_permutations": 50, "statistic": "pairwise_accuracy"},
        {"n_permutations": 150, "shrinkage": "inner_folds"},
    ],
)
def test_regions_workers_and_batches_do_not_change_results(options):
    rng = np.random.default_rng(1)
    X, targets = simulate(n_features=40)
    members = scipy.sparse.csr_array(rng.random((5, 40)) < 0.4)
    light = TargetSearchLight(regions=members, **options)
    fitted = light.fit(X, targets, groups=RUNS)
    alone = [
        TargetSearchLight(**options).fit(X[:, members[[i]].indices], targets, RUNS)
        for i in range(5)
    ]
    for name in ("correlation", "accuracy", "p_value"):
        each = [float(one.region_scores_[name][0]) for one in alone]
        np.testing.assert_allclose(fitted.region_scores_[name], each, atol=1e-6)
    maxima = np.max([one.null_maxima_ for one in alone], axis=0)
    np.testing.assert_allclose(fitted.null_maxima_, maxima, atol=1e-6)
    two = TargetSearchLight(regions=members, n_jobs=2, **options)
    two.fit(X, targets, groups=RUNS)
    np.testing.assert_array_equal(two.null_maxima_, fitted.null_maxima_)
    parts = [
        TargetSearchLight(regions=members, shard=(i, 2), **options).fit(
            X, targets, groups=RUNS
        )
        for i in (1, 2)
    ]
    joined = parts[1].merge(parts[0])
    for name, values in fitted.region_scores_.items():
        np.testing.assert_array_equal(joined.region_scores_[name], values)


def test_repeated_targets_have_bounds():
    rng = np.random.default_rng(2)
    candidates = rng.normal(size=(5, 3))
    codes = rng.permuted(np.tile(np.arange(5), (6, 2)), axis=1).ravel()
    targets = candidates[codes]
    X = targets @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    fitted = TargetSearchLight(shrinkage=0.1).fit(X, targets, groups=RUNS)
    scores = fitted.region_scores_
    assert 0.2 < scores["bayes_accuracy_bound"][0] <= scores["accuracy"][0]
    none = TargetSearchLight(bounds=None).fit(X, targets, groups=RUNS)
    assert "bayes_accuracy_bound" not in none.region_scores_
    folds = TargetSearchLight(bounds=Bounds("folds")).fit(X, targets, groups=RUNS)
    assert folds.region_scores_["bayes_accuracy_bound"][0] > 0.2


def test_targets_that_differ_from_run_to_run_have_no_bounds():
    X, targets = simulate()
    fitted = TargetSearchLight().fit(X, targets, groups=RUNS)
    assert not [name for name in fitted.region_scores_ if "bound" in name]
    assert [note for note in fitted.notes_ if note.startswith("no lower bounds")]


def images(X):
    """A volume of one layer of voxels a feature, and its mask."""
    data = X.T.reshape(-1, 2, 2, len(X)).astype(np.float32)
    mask = nibabel.Nifti1Image(np.ones(data.shape[:3], dtype=np.int8), np.eye(4))
    return nibabel.Nifti1Image(data, np.eye(4)), mask


def test_images_are_written_and_read_back(tmp_path):
    X, targets = simulate()
    img, mask = images(X)
    light = TargetSearchLight(mask, radius=1.5, n_permutations=20)
    fitted = light.fit(img, targets, groups=RUNS)
    assert fitted.maps_["correlation"].shape == mask.shape
    fitted.to_directory(tmp_path)
    again = TargetSearchLight.from_directory(tmp_path)
    assert again.candidates_ is None
    for name, values in fitted.region_scores_.items():
        np.testing.assert_array_equal(again.region_scores_[name], values)
    page = str(again.generate_report())
    assert "targets were decoded by ridge regression" in page
    assert "One-sided p-values of correlation (r) come from 20 permutations" in page
    assert "encoding model" not in page
    atlas = nibabel.Nifti1Image(
        np.arange(20, dtype=np.int32).reshape(mask.shape) // 7, np.eye(4)
    )
    table = TargetSearchLight(mask, labels_img=atlas).fit(img, targets, RUNS).table_
    assert {"correlation", "accuracy"} <= {*table}


def test_series_are_exchanged_by_shifts_or_marked():
    rng = np.random.default_rng(0)

    def smooth(n_columns):
        series = rng.normal(size=(6, 60, n_columns))
        for t in range(1, 60):
            series[:, t] += 0.95 * series[:, t - 1]
        return series.reshape(360, n_columns)

    X, targets, runs = smooth(20), smooth(1), np.repeat(np.arange(6), 60)
    with pytest.warns(UserWarning, match="give exchange='shifts'"):
        marked = TargetSearchLight(n_permutations=39).fit(X, targets, groups=runs)
    assert [(f.name, f.grade) for f in marked.findings_] == [
        ("correlated_neighbors", "doubtful")
    ]
    light = TargetSearchLight(n_permutations=39, exchange="shifts")
    with pytest.warns(UserWarning, match="short for how long neighbors depend"):
        light.fit(X, targets, groups=runs)
    shuffled = rng.permuted(targets.reshape(6, 60), axis=1).ravel()
    accepted = TargetSearchLight(n_permutations=39).fit(X, shuffled, groups=runs)
    assert accepted.findings_ == []


def test_samples_in_another_order_are_put_in_that_of_acquisition():
    rng = np.random.default_rng(3)
    X, targets = rng.normal(size=(2, 360, 20)).cumsum(axis=1)
    runs, time = np.repeat(np.arange(6), 60), np.tile(np.arange(60), 6)
    rows = rng.permutation(360)
    light = TargetSearchLight(n_permutations=39, bounds=None)
    given = X[rows], targets[rows, :1], runs[rows]
    with pytest.warns(UserWarning, match="follow each other"):
        light.fit(*given, order=time[rows])
    assert light.fit(*given).findings_ == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": np.zeros(60)}, "constant in column 0"),
        ({"targets": np.full(60, np.nan)}, "NaN or infinity in row 0"),
        (
            {"targets": np.arange(59.0)},
            r"groups has shape \(60,\), targets has \(59,\)",
        ),
        ({"targets": np.zeros((60, 2, 2))}, r"shape \(60, 2, 2\)"),
        ({"targets": list("ab") * 30}, "targets"),
        ({"metric": "spearman"}, "metric='spearman' must be one of"),
        ({"metric": "cosine", "targets": np.arange(60.0)}, "at least 2 columns"),
        ({"statistic": "r2"}, "statistic='r2' is not known; use 'correlation'"),
        ({"statistic": 61}, "statistic=61 is not known"),
        ({"exchange": "blocks"}, "exchange='blocks' must be one of"),
        ({"exchange": "shifts", "blocks": RUNS}, "leave blocks out"),
        ({"standardize_targets": "yes"}, "standardize_targets"),
        ({"cv": None, "groups": None}, "groups is None"),
    ],
)
def test_what_cannot_be_decoded_is_refused(change, message):
    X, targets = simulate()
    given = {"targets": targets, "groups": RUNS} | change
    data = given.pop("targets"), given.pop("groups")
    light = TargetSearchLight(n_permutations=5, **given)
    with pytest.raises((TypeError, ValueError), match=message):
        light.fit(X, *data)


def correlation(X, targets, groups=None, **options):
    fitted = TargetSearchLight(**{"cv": 5, "bounds": None} | options).fit(
        X, targets, groups=groups
    )
    return fitted.region_scores_["correlation"][0], fitted


def names(fitted):
    return {finding.name for finding in fitted.findings_}


def test_integers_of_folds_are_drawn_by_the_seed():
    X, targets = simulate(n_columns=1)
    drawn = [correlation(X, targets, random_state=seed)[1] for seed in (0, 0, 1)]
    first, again, other = (each.run_.plan.design.test for each in drawn)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(np.sort(first), np.arange(60))
    assert [len(test) for _, test in drawn[0].run_.plan.design.folds] == [12] * 5


def test_shifted_series_have_consecutive_folds():
    X, targets = simulate(n_columns=1)
    one, _ = correlation(X, targets, exchange="shifts")
    two, _ = correlation(X, targets, cv=KFold(5))
    assert one == two


def test_drawn_folds_keep_blocks_whole():
    X, targets = simulate(n_columns=1)
    blocks = np.tile(np.arange(20), 3)
    _, fitted = correlation(X, targets, blocks=blocks)
    for train, test in fitted.run_.plan.design.folds:
        assert not np.intersect1d(blocks[train], blocks[test]).size


def test_a_table_sorted_by_its_targets_has_no_other_results():
    """Consecutive folds would test other targets than they trained on."""
    rng = np.random.default_rng(0)
    drawn, consecutive = [], []
    for _ in range(20):
        X, targets = rng.normal(size=(60, 20)), np.sort(rng.normal(size=60))
        scores = {}
        for cv in (5, KFold(5)):
            seen = pytest.warns(UserWarning, match="folds explain")
            with nullcontext() if cv == 5 else seen:
                _, fitted = correlation(X, targets, cv=cv)
            scores[cv == 5] = fitted.region_scores_["pairwise_accuracy"][0]
            assert ("sorted_folds" in names(fitted)) == (cv != 5)
        drawn.append(scores[True])
        consecutive.append(scores[False])
    assert abs(np.mean(drawn) - 0.5) < 0.03
    assert np.mean(consecutive) < 0.47


def test_series_without_runs_are_said_to_train_on_neighbors():
    """Unrelated slow series correlate, as neighbors train."""
    rng = np.random.default_rng(0)
    X, targets = (np.cumsum(rng.normal(size=(120, n)), axis=0) for n in (20, 1))
    with pytest.warns(UserWarning, match="train on neighbors"):
        r, fitted = correlation(X, targets)
    assert r > 0.5
    assert "neighbors_train" in names(fitted)
    assert all(finding.touches("correlation") for finding in fitted.findings_)
    mixed = rng.permutation(120)
    assert "neighbors_train" not in names(correlation(X[mixed], targets[mixed])[1])
    runs = np.repeat(np.arange(4), 30)
    assert "neighbors_train" not in names(correlation(X, targets, runs, cv=None)[1])


def test_tuned_responses_in_a_sorted_table_need_their_order():
    """Curved tuning looks like a series where rows are sorted by the target."""
    rng = np.random.default_rng(0)
    targets = np.sort(rng.uniform(-1, 1, size=120))
    X = np.exp(-8 * (targets[:, np.newaxis] - np.linspace(-1, 1, 20)) ** 2)
    X += 0.3 * rng.normal(size=X.shape)
    light = TargetSearchLight(cv=5, bounds=None)
    with pytest.warns(UserWarning, match="or the order of acquisition"):
        listed = light.fit(X, targets)
    acquired = light.fit(X, targets, order=rng.permutation(120))
    assert "neighbors_train" not in names(acquired)
    assert listed.region_scores_ == acquired.region_scores_


def test_a_continuous_y_is_sent_here():
    X, targets = simulate(n_columns=1)
    with pytest.raises(ValueError, match="TargetSearchLight"):
        IdentificationSearchLight().fit(X, targets.ravel(), groups=RUNS)
    rounded = np.round(targets.ravel(), 1)
    (found,) = examine(rounded, RUNS)
    assert (found.name, found.grade) == ("continuous_target", "refused")
    names = np.array([f"s{i}" for i in range(60)])
    assert "continuous_target" not in {f.name for f in examine(names, RUNS)}


def rated(points, seed=0):
    """300 ratings in six runs, middle points more often, and the runs."""
    points = np.asarray(points, dtype=float)
    share = np.exp(-(np.linspace(-1.5, 1.5, len(points)) ** 2))
    rng = np.random.default_rng(seed)
    return rng.choice(points, size=300, p=share / share.sum()), np.repeat(range(6), 50)


def balanced(points, seed=0):
    """Every point ten times in each of six runs, in random order, and the runs."""
    rng = np.random.default_rng(seed)
    each = np.repeat(np.asarray(points), 10)
    y = np.concatenate([rng.permutation(each) for _ in range(6)])
    return y, np.repeat(range(6), len(each))


def noted(y, runs):
    """Grades of the finding about numbers taken as classes."""
    return [f.grade for f in examine(y, runs) if f.name == "continuous_target"]


@pytest.mark.parametrize(
    ("y", "runs"),
    [
        rated(range(1, 8)),
        rated(range(2, 7)),
        rated(range(11)),
        rated(np.arange(1, 7.5, 0.5)),
        rated(range(0, 101, 10)),
        balanced(range(1, 8)),
        balanced(range(0, 101, 25)),
        balanced(np.arange(1, 4.5, 0.5)),
        balanced([str(point) for point in range(1, 8)]),
    ],
)
def test_ratings_as_classes_are_noted(y, runs):
    assert noted(y, runs) == ["note"]
    (note,) = [f.note for f in examine(y, runs) if f.name == "continuous_target"]
    assert "if they are names of classes, all is well" in note
    assert "neuroextrap.decoding.TargetSearchLight" in note


@pytest.mark.parametrize(
    ("y", "runs"),
    [
        balanced(range(1, 9)),
        balanced(range(8)),
        balanced(range(2, 7)),
        balanced([0, 1]),
        balanced([0, 45, 90, 135]),
        balanced([11, 12, 21, 22, 31, 32]),
        balanced(list("abcdefg")),
        rated(range(101, 108)),
        rated([3, 17, 40, 41, 77, 80]),
    ],
)
def test_codes_of_classes_are_not_taken_for_ratings(y, runs):
    assert noted(y, runs) == []
    assert TargetMargins(np.eye(2)).marginal


def test_many_marks_on_a_line_are_sent_here():
    marks = np.round(np.random.default_rng(0).normal(50, 12, size=300))
    assert 2 * len(set(marks)) < 300
    runs = np.repeat(range(6), 50)
    with pytest.raises(ValueError, match="decode them as numbers"):
        IdentificationSearchLight().fit(np.zeros((300, 3)), marks, groups=runs)
    assert noted(marks.astype(int).astype(str), runs) == []


@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
@pytest.mark.parametrize("statistic", ["accuracy", "pairwise_accuracy", 3])
@pytest.mark.parametrize("cv", ["runs", "unequal"])
def test_permuted_accuracies_of_several_regions(metric, statistic, cv, tmp_path):
    X, targets = simulate(noise=12.0)
    options = {"metric": metric, "statistic": statistic, "cv": FOLDS[cv]}
    options |= {"regions": np.kron(np.eye(2), np.ones((1, 10))), "bounds": None}
    keep = Keep(save_null=tmp_path / "null.npy")
    fitted = TargetSearchLight(n_permutations=40, keep=keep, **options)
    fitted.fit(X, targets, groups=RUNS)
    null = np.load(tmp_path / "null.npy")
    for permutation in (0, 39):
        permuted = fitted.candidates_[fitted.run_.plan.codes[1 + permutation]]
        again = TargetSearchLight(**options).fit(X, permuted, groups=RUNS)
        score = again.results_.scores.score
        np.testing.assert_allclose(null[permutation], score, atol=1e-6)


@pytest.mark.parametrize("n_features", [4, 90])
def test_few_columns_are_decoded_as_many(n_features):
    # a single number takes the short way, permutations of it the operator's
    X, targets = simulate(n_columns=1, n_features=n_features)
    options = {"shrinkage": 0.3, "statistic": "correlation"}
    few = TargetSearchLight(**options).fit(X, targets, groups=RUNS)
    many = TargetSearchLight(n_permutations=99, **options).fit(X, targets, groups=RUNS)
    for name in ("correlation", "accuracy", "pairwise_accuracy"):
        np.testing.assert_allclose(
            few.region_scores_[name], many.region_scores_[name], rtol=1e-5
        )
