"""Bounds and e-values by forward testing, from samples to maps and back from files."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy import optimize
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from neuroextrap import stats
from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import searchlight_of
from tests.decoding.seam import (
    BoundOptions,
    Labels,
    _plan,
    bound_set_sizes,
    forward_tests,
    make_design,
)

N_RUNS, K = 6, 4
BUILT_IN = (
    "nearest_centroid", "nearest_neighbor", "lda", "ridge", "qda", "gaussian_nb"
)  # fmt: skip


def samples(seed=0, *, repeats=1, n_features=30, noise=1.0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(K), repeats), N_RUNS)
    runs = np.repeat(np.arange(N_RUNS), K * repeats)
    x = rng.normal(size=(K, n_features))[y]
    return x + noise * rng.normal(size=(len(y), n_features)), y, runs


def windows(n_features=30, width=5):
    members = np.zeros((n_features - width + 1, n_features), dtype=bool)
    for row in range(len(members)):
        members[row, row : row + width] = True
    return scipy.sparse.csr_array(members)


def naive_counts(x, y, runs):
    """Nearest class means, trained on the runs before, of every cyclic order."""
    counts = np.zeros((N_RUNS, N_RUNS - 2))
    for start in range(N_RUNS):
        cycle = [(start + i) % N_RUNS for i in range(N_RUNS)]
        for step in range(N_RUNS - 2):
            train, test = np.isin(runs, cycle[: step + 2]), runs == cycle[step + 2]
            means = np.array([x[train & (y == k)].mean(axis=0) for k in range(K)])
            far = ((x[test][:, None] - means) ** 2).sum(axis=2)
            counts[start, step] = (far.argmin(axis=1) == y[test]).sum()
    return counts


def naive_e_value(counts, accuracy):
    """Mean over bets, orders and first steps (two), of four points in each step."""
    growth = np.array([1.2, 1.5, 2, 3, 5, 10, 20])
    values = []
    for order in counts:
        for first in (0, 1):
            n_points = K * len(order[first:])
            fair = (1 + (growth - 1) * accuracy) ** n_points
            values.append(growth ** order[first:].sum() / fair)
    return np.mean(values)


def naive_bound(counts, n_regions):
    """Where the e-value falls to n_regions / .05."""

    def excess(accuracy):
        return np.log(naive_e_value(counts, accuracy) * 0.05 / n_regions)

    return optimize.brentq(excess, 0, 1) if excess(0) > 0 else 0


def test_maps_are_the_bounds_of_naive_counts():
    x, y, runs = samples()
    regions = windows()
    fitted = IdentificationSearchLight(regions=regions).fit(x, y, groups=runs)
    x = x.astype(np.float32).astype(float)
    counts = np.stack(
        [naive_counts(x[:, m], y, runs) for m in regions.toarray().astype(bool)]
    )
    found = fitted.region_scores_
    for n_regions, ending in ((1, ""), (len(counts), "_fwe")):
        bound = np.array([naive_bound(own, n_regions) for own in counts])
        bound = np.maximum(bound, 1 / K)
        np.testing.assert_allclose(
            found[f"bayes_accuracy_bound{ending}"], bound, rtol=1e-6
        )
        np.testing.assert_allclose(
            found[f"class_information_bound{ending}"],
            stats.fano_information(bound, K),
            atol=1e-6,
        )
    e_value = np.array([naive_e_value(own, 1 / K) for own in counts])
    np.testing.assert_allclose(found["e_value"], e_value, rtol=1e-6)
    rate = stats.e_value_false_discovery_rate(e_value)
    np.testing.assert_allclose(found["e_value_fdr"], rate, rtol=1e-6)
    # the average: one test of four points in each of four runs of an order
    accuracy = counts.mean(axis=(1, 2)) / K
    average = stats.TestDesign(K, 4).average_bayes_accuracy_bound(accuracy, K)
    np.testing.assert_allclose(
        found["average_bayes_accuracy_bound"], average, rtol=1e-6
    )
    assert found["bayes_accuracy_bound"].max() > 0.4


def test_the_average_bound_counts_the_noise_of_every_tested_run():
    """Two runs of each order are tested once each, so that noise is that of r = 2."""
    n_classes, n_runs = 40, 4
    rng = np.random.default_rng(1)
    y, runs = np.tile(np.arange(n_classes), n_runs), np.repeat(range(n_runs), n_classes)
    x = 2 * rng.normal(size=(n_classes, 30))[y] + rng.normal(size=(len(y), 30))
    fitted = IdentificationSearchLight().fit(x, y, groups=runs)
    right = []
    for start in range(n_runs):
        cycle = np.roll(range(n_runs), -start)
        for step in (2, 3):
            train, test = np.isin(runs, cycle[:step]), runs == cycle[step]
            means = np.stack([x[train & (y == k)].mean(axis=0) for k in range(40)])
            far = ((x[test][:, None] - means) ** 2).sum(axis=2)
            right.append((far.argmin(axis=1) == y[test]).mean())
    margin = np.sqrt((1 + 1 / 2) * np.log(20) / (2 * n_classes))
    found = fitted.region_scores_["average_bayes_accuracy_bound"]
    np.testing.assert_allclose(found, np.mean(right) - margin, rtol=1e-6)
    curve = stats.average_accuracy(fitted.results_.bound_wins, bound_set_sizes(40))
    bits = stats.TestDesign(n_classes, 2).best_information_bound(
        curve, bound_set_sizes(40)
    )
    np.testing.assert_allclose(fitted.region_scores_["information_bound"], bits)
    assert bits > 1


def naive_counts_in_time(x, y, runs):
    """Nearest class means, trained on all runs before each run but the first."""
    counts = []
    for run in range(1, runs.max() + 1):
        train, test = runs < run, runs == run
        means = np.array([x[train & (y == k)].mean(axis=0) for k in range(K)])
        far = ((x[test][:, None] - means) ** 2).sum(axis=2)
        counts.append((far.argmin(axis=1) == y[test]).sum())
    return np.array([counts])


@pytest.mark.parametrize("n_runs", [2, 3, 5, 6])
def test_the_chronological_order_alone_on_request(n_runs):
    """With more runs the same outcomes go on: testing begins after the first run."""
    x, y, runs = (values[: n_runs * K] for values in samples())
    light = IdentificationSearchLight(bounds=Bounds(e_value_order="chronological"))
    fitted = light.fit(x, y, groups=runs)
    counts = naive_counts_in_time(*samples())[:, : n_runs - 1]
    expected = stats.forward_e_value(counts, K, 1 / K)
    np.testing.assert_allclose(fitted.region_scores_["e_value"], expected, rtol=1e-6)
    # time is the order of the rows, whatever the runs are called and cv is
    names = np.array(["f", "run 10", "run 2", "c", "b", "a"])[runs]
    named = light.fit(x, y, groups=names)
    np.testing.assert_array_equal(
        named.region_scores_["e_value"], fitted.region_scores_["e_value"]
    )
    if n_runs == 6:
        folds = GroupKFold(3, shuffle=True, random_state=1)
        named = light.set_params(cv=folds).fit(x, y, groups=names)
        np.testing.assert_allclose(named.region_scores_["e_value"], expected, rtol=1e-6)


def test_chronological_e_values_leave_bounds_and_files_as_they_are(tmp_path):
    x, y, runs = samples()
    cyclic = IdentificationSearchLight(regions=windows()).fit(x, y, groups=runs)
    light = IdentificationSearchLight(
        regions=windows(), bounds=Bounds(e_value_order="chronological")
    ).fit(x, y, groups=runs)
    light.to_directory(tmp_path / "all")
    read = IdentificationSearchLight.from_directory(tmp_path / "all")
    again = read.results_.statistics()
    for name, value in light.region_scores_.items():
        np.testing.assert_array_equal(again.get(name, value), value, err_msg=name)
        if not name.startswith("e_value"):
            np.testing.assert_allclose(value, cyclic.region_scores_[name], rtol=1e-6)
    assert (again["e_value"] != cyclic.region_scores_["e_value"]).any()


def e_values_after(n_runs, n_classes, first, halves):
    """E-values of all right and wrong runs, (2,) * n_runs, by the searchlight's rule.

    A run is one test unit, right or wrong as a whole. With `halves`, runs 1, 2, 4, 5,
    7, 8, ... have one half of the classes each. Also returns how many of the last runs
    are not tested yet.
    """
    classes = np.array_split(np.arange(n_classes), 2)
    shown = [
        classes[run % 3 - 1] if halves and run % 3 else np.arange(n_classes)
        for run in range(n_runs)
    ]
    codes = np.concatenate(shown)
    runs = np.repeat(np.arange(n_runs), [len(run) for run in shown])
    labels = Labels(codes, np.arange(n_classes), runs, None, np.ones(len(runs), bool))
    options = BoundOptions("auto", "runs", "chronological", 0.95, False, None, first)
    design = make_design(codes, n_classes, groups=runs)
    tests = forward_tests(labels, design, options)
    right = np.stack(np.meshgrid(*[[0.0, 1.0]] * n_runs, indexing="ij"), axis=-1)
    right = right.reshape(-1, n_runs)
    tested = [np.unique(runs[test]) for _, test in tests.design.folds]
    outcomes = np.stack([right[:, run].sum(axis=1) for run in tested], axis=1)
    value = tests.outcomes.e_value(outcomes, 1 / n_classes).reshape((2,) * n_runs)
    return value, n_runs - 1 - tested[-1].max()


@pytest.mark.parametrize(
    ("n_classes", "first", "halves"),
    [(2, 2, False), (4, 2, False), (4, 4, False), (4, 2, True), (4, 5, True)],
)
def test_runs_may_be_added_after_looking_at_chronological_e_values(
    n_classes, first, halves
):
    """The best time to stop, of all, gains nothing: enumerated, looks at 6..12 runs."""
    chance = np.array([1 - 1 / n_classes, 1 / n_classes])
    best, _ = e_values_after(12, n_classes, first, halves)
    for n_runs in range(11, 5, -1):
        later = best @ chance
        now, n_waiting = e_values_after(n_runs, n_classes, first, halves)
        if n_waiting:  # the decision knows nothing of a run that is not tested yet
            later = np.repeat((later @ chance)[..., np.newaxis], 2, axis=-1)
        best = np.maximum(now, later)
    for _ in range(6):
        best = best @ chance
    assert 0.999 < best <= 1 + 1e-9


@pytest.mark.filterwarnings("ignore:classes are unequal")
@pytest.mark.filterwarnings("ignore:some classes come earlier in runs")
@pytest.mark.parametrize(
    ("classifier", "first", "n_features", "looks"),
    [
        *((name, 2, 8, (5, 24, 28)) for name in BUILT_IN),
        *((name, 4, 130, (5, 24, 28)) for name in BUILT_IN),
        (GaussianNB(), 4, 8, (5, 10)),  # fitted fold by fold
    ],
)
def test_the_same_e_value_goes_on_when_runs_are_added(
    classifier, first, n_features, looks
):
    """Also beyond 24 runs, and where runs lack a class."""
    rng = np.random.default_rng(3)
    y, runs = np.tile([0, 1, 2] * 2, 28), np.repeat(np.arange(28), 6)
    keep = (rng.random(len(y)) > 0.3) | (runs == 0)
    y, runs = y[keep], runs[keep]
    x = rng.normal(size=(3, n_features))[y] + 3 * rng.normal(size=(len(y), n_features))
    light = IdentificationSearchLight(
        estimator=classifier,
        bounds=Bounds(e_value_order="chronological", first_tested_run=first),
    )
    grown = np.empty(0)
    for n_runs in looks:
        now = runs < n_runs
        fitted = light.fit(x[now], y[now], groups=runs[now])
        tests = fitted.results_.forward
        counts = fitted.results_.scores.n_correct[0, tests.n_units.size :]
        np.testing.assert_array_equal(counts[: len(grown)], grown)
        expected = stats.forward_e_value(
            counts[np.newaxis].astype(float),
            tests.chronological[0],
            1 / 3,
            unit_weights=tests.chronological[1],
        )
        np.testing.assert_allclose(fitted.region_scores_["e_value"], expected)
        grown = counts
    assert len(grown) >= looks[-1] / 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"first": N_RUNS + 1}, "first_tested_run=7 on; there are none"),
        ({"order": "cyclic", "first": 3}, "got 'cyclic'; cyclic orders test every run"),
        ({"first": 1}, "first_tested_run"),
    ],
)
def test_what_would_break_the_chronological_order_is_refused(parameters, message):
    x, y, runs = samples()
    given = {"order": "chronological", "first": 2} | parameters
    bounds = Bounds(
        e_value_order=given.pop("order"), first_tested_run=given.pop("first")
    )
    light = IdentificationSearchLight(bounds=bounds, **given)
    with pytest.raises(ValueError, match=message):
        light.fit(x, y, groups=runs)


@pytest.mark.parametrize(
    ("groups", "message"),
    [(None, "give groups=runs"), (np.zeros(N_RUNS * K), "two sets of consecutive")],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_a_chronological_order_needs_runs(groups, message):
    x, y, _ = samples()
    light = IdentificationSearchLight(
        bounds=Bounds(e_value_order="chronological"), cv=KFold(3)
    )
    with pytest.raises(ValueError, match=f"e_value_order='chronological'.*{message}"):
        light.fit(x, y, groups=groups)


def test_folders_and_levels_need_no_new_fit(tmp_path):
    x, y, runs = samples()
    light = IdentificationSearchLight(regions=windows()).fit(x, y, groups=runs)
    light.to_directory(tmp_path / "all")
    read = IdentificationSearchLight.from_directory(tmp_path / "all")
    for name, value in light.region_scores_.items():
        np.testing.assert_array_equal(read.region_scores_[name], value, err_msg=name)
    stricter = replace(read.results_, confidence_level=0.99).statistics()
    light.set_params(bounds=Bounds(confidence_level=0.99)).fit(x, y, groups=runs)
    for name, value in stricter.items():
        np.testing.assert_array_equal(value, light.region_scores_[name], err_msg=name)
    np.testing.assert_array_equal(read.bound_curve(3)[0], light.bound_curve(3)[0])


@pytest.mark.parametrize(
    ("estimator", "n_permutations"), [("nearest_centroid", 9), ("lda", 0)]
)
def test_shards_and_workers_change_nothing(
    estimator, n_permutations, tmp_path, monkeypatch
):
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 10)  # three tasks
    x, y, runs = samples()
    options = {
        "regions": windows(),
        "estimator": estimator,
        "n_permutations": n_permutations,
    }
    whole = searchlight_of(**options).fit(x, y, groups=runs)
    n_jobs = 2 if estimator == "nearest_centroid" else 1  # threads, not processes
    shards = [
        searchlight_of(
            **options, shard=(i, 2), n_jobs=n_jobs, checkpoint=tmp_path / str(i)
        ).fit(x, y, groups=runs)
        for i in (1, 2)
    ]
    resumed = searchlight_of(**options, shard=(2, 2), checkpoint=tmp_path / "2").fit(
        x, y, groups=runs
    )
    for name, value in shards[1].region_scores_.items():
        np.testing.assert_array_equal(resumed.region_scores_[name], value, err_msg=name)
    shards[0].merge(shards[1])
    for name, value in whole.region_scores_.items():
        np.testing.assert_array_equal(
            shards[0].region_scores_[name], value, err_msg=name
        )


def test_a_checkpoint_of_other_bounds_is_refused(tmp_path):
    x, y, runs = samples()
    light = IdentificationSearchLight(checkpoint=tmp_path, bounds="folds")
    light.fit(x, y, groups=runs)
    with pytest.raises(ValueError, match="another forward tests"):
        light.set_params(bounds="auto").fit(x, y, groups=runs)


def test_regions_that_were_not_analyzed_are_nan():
    x, y, runs = samples()
    x[:, 3] = np.nan
    x[:, 20:25] = 1.0
    fitted = IdentificationSearchLight(regions=windows()).fit(x, y, groups=runs)
    empty = np.isnan(fitted.region_scores_["accuracy"])
    assert 0 < empty.sum() < len(empty)
    for name in ("bayes_accuracy_bound", "bayes_accuracy_bound_fwe", "e_value"):
        np.testing.assert_array_equal(np.isnan(fitted.region_scores_[name]), empty)
    known = IdentificationSearchLight(regions=windows()[np.flatnonzero(~empty)])
    for name, value in known.fit(x, y, groups=runs).region_scores_.items():
        np.testing.assert_array_equal(fitted.region_scores_[name][~empty], value)


@pytest.mark.parametrize(
    ("estimator", "shrinkage", "noted"),
    [("lda", "auto", True), ("lda", 0.1, False), ("nearest_centroid", "auto", False)],
)
def test_bounds_say_where_test_samples_chose_the_penalty(estimator, shrinkage, noted):
    x, y, runs = samples()
    light = IdentificationSearchLight(estimator=estimator, shrinkage=shrinkage)
    notes = light.fit(x, y, groups=runs).notes_
    assert any("penalty chosen without the test" in note for note in notes) == noted


def test_folds_and_no_bounds_on_request():
    x, y, runs = samples()
    folds = IdentificationSearchLight(bounds="folds").fit(x, y, groups=runs)
    expected = stats.bayes_accuracy_lower_bound(
        folds.region_scores_["accuracy"], n_classes=K, n_repeats=np.ones((N_RUNS, K))
    )
    np.testing.assert_allclose(folds.region_scores_["bayes_accuracy_bound"], expected)
    assert "e_value" not in folds.region_scores_
    assert not any("count as one" in note for note in folds.notes_)
    none = IdentificationSearchLight(bounds=None).fit(x, y, groups=runs)
    assert not any("bound" in name for name in none.region_scores_)
    assert "no lower bounds: bounds=None" in none.notes_


@pytest.mark.parametrize(
    "parameters",
    [{"bounds": "hoeffding"}, {"test_units": "trials"}, {"e_value_order": "any"}],
)
def test_unknown_words_are_refused(parameters):
    x, y, runs = samples()
    with pytest.raises(ValueError, match=f"{next(iter(parameters))}=.* must be one of"):
        searchlight_of(**parameters).fit(x, y, groups=runs)


def test_runs_as_units_and_after_centering_within_runs():
    x, y, runs = samples(noise=0.3)
    single = IdentificationSearchLight().fit(x, y, groups=runs)
    whole = IdentificationSearchLight(bounds=Bounds(test_units="runs")).fit(
        x, y, groups=runs
    )
    expected = stats.forward_bayes_accuracy_lower_bound(
        naive_counts(x, y, runs) / K, 1, first_steps=(0, 1)
    )
    np.testing.assert_allclose(
        whole.region_scores_["bayes_accuracy_bound"], max(expected, 1 / K), rtol=1e-6
    )
    assert (
        whole.region_scores_["bayes_accuracy_bound"]
        < single.region_scores_["bayes_accuracy_bound"]
    )
    centered = IdentificationSearchLight(within_runs="center").fit(x, y, groups=runs)
    assert centered.results_.forward.n_units.max() == 1
    assert any("within_runs='center'" in note for note in centered.notes_)
    with pytest.raises(ValueError, match="needs the run of every sample"):
        IdentificationSearchLight(bounds=Bounds(test_units="runs"), cv=3).fit(x, y)


@pytest.mark.parametrize(("n_classes", "n_runs"), [(40, 3), (8, 6), (2, 2)])
@pytest.mark.parametrize("test_units", ["samples", "runs"])
def test_many_classes_in_few_runs(n_classes, n_runs, test_units):
    rng = np.random.default_rng(n_classes)
    y, runs = np.tile(np.arange(n_classes), n_runs), np.repeat(range(n_runs), n_classes)
    x = rng.normal(size=(n_classes, 20))[y] + 0.3 * rng.normal(size=(len(y), 20))
    fitted = IdentificationSearchLight(bounds=Bounds(test_units=test_units)).fit(
        x, y, groups=runs
    )
    bound = fitted.region_scores_["bayes_accuracy_bound"][0]
    if test_units == "samples" and n_classes > 2:
        assert bound > 0.8
    assert 1 / n_classes <= bound < 1


def test_whole_runs_of_a_single_split():
    x, y, runs = samples(noise=0.3)
    split = [(np.flatnonzero(runs < 3), np.flatnonzero(runs >= 3))]
    whole = IdentificationSearchLight(cv=split, bounds=Bounds(test_units="runs"))
    whole.fit(x, y, groups=runs)
    assert whole.results_.forward.n_units.tolist() == [[3]]
    single = IdentificationSearchLight(cv=split).fit(x, y, groups=runs)
    assert single.results_.forward is None
    assert (
        whole.region_scores_["bayes_accuracy_bound"]
        < single.region_scores_["bayes_accuracy_bound"]
    )


def test_folds_without_groups_are_tested_forward_too():
    x, y, _ = samples(repeats=2)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    fitted = IdentificationSearchLight(cv=cv).fit(x, y)
    assert fitted.results_.forward.n_units.shape == (4, 2)
    assert fitted.results_.forward.n_units.sum() == 2 * len(y)


@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
def test_designs_that_cannot_be_tested_forward_say_so(shrinkage):
    x, y, runs = samples()
    cv = [(np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in range(3)]
    cv[0] = (cv[0][0][:-1], cv[0][1])  # a sample that neither trains nor tests
    light = IdentificationSearchLight(cv=cv, estimator="lda", shrinkage=shrinkage)
    light.fit(x, y, groups=runs)
    assert light.results_.forward is None
    assert any("do not leave whole runs out" in note for note in light.notes_)
    with pytest.raises(ValueError, match="bounds='forward' must have runs"):
        light.set_params(bounds="forward").fit(x, y, groups=runs)
    whole = light.set_params(bounds=Bounds(test_units="runs")).fit(x, y, groups=runs)
    assert "bayes_accuracy_bound" not in whole.region_scores_
    assert any("whole runs as test units" in note for note in whole.notes_)


def test_classifiers_that_need_more_samples_keep_the_bounds_of_folds():
    x, y, runs = samples(noise=0.5)
    greedy = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2]}, cv=5)
    light = IdentificationSearchLight(estimator=greedy)
    light.fit(x, y, groups=runs)  # five samples per class, two of them at the start
    assert light.results_.forward is None
    assert any("cannot be trained on the 2 samples" in note for note in light.notes_)
    with pytest.raises(ValueError, match="cannot be trained on the 2 samples"):
        light.set_params(bounds="forward").fit(x, y, groups=runs)


@pytest.mark.parametrize(
    "estimator", ["gaussian_nb", "qda", "nearest_neighbor", "ridge", "svc", "lda"]
)
def test_every_classifier_has_them(estimator):
    x, y, runs = samples(repeats=2, noise=0.7)
    fitted = IdentificationSearchLight(estimator=estimator).fit(x, y, groups=runs)
    assert fitted.results_.forward is not None
    assert 0.4 < fitted.region_scores_["bayes_accuracy_bound"][0] < 1


def test_cost_counts_forward_tests():
    x, y, runs = samples(n_features=140)
    light = IdentificationSearchLight(regions=windows(140))
    memory = {
        bounds: light.set_params(bounds=bounds).estimate_cost(x, y, runs)["memory"]
        for bounds in ("folds", "forward")
    }
    assert memory["forward"] > memory["folds"]
