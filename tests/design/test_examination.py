"""Every finding of the examination: seen where it should be, and told everywhere."""

import ast
import json
import re
from itertools import product
from pathlib import Path

import nibabel
import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import neuroextrap
from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.design import examine
from neuroextrap.images import resolve_masker, to_img
from tests.design.seam import (
    _course_of_runs,
    beyond,
    command_words,
    first_sentence,
    matched_runs,
    near_copies,
)

RUNS = np.repeat(np.arange(6), 8)
SORTED = np.tile(np.repeat([0, 1, 2, 3], 2), 6)


def random_order(seed=0):
    """Two trials of each of four classes in each of six runs, in random order."""
    return np.random.default_rng(seed).permuted(SORTED.reshape(6, 8), axis=1).ravel()


def noise(seed=1, n_features=60):
    return np.random.default_rng(seed).normal(size=(48, n_features))


def same_order():
    return {"y": SORTED, "groups": RUNS}, noise()


def classes_follow_time():
    """Slow responses, most of which are late in a run."""
    slow = np.tile(np.linspace(-1, 1, 8), 6) + noise(8)[:, 0] / 2
    return {"y": (slow > 0).astype(int), "groups": RUNS}, noise()


def label_made_folds():
    y = random_order()
    folds = list(StratifiedKFold(2, shuffle=True, random_state=1).split(y, y))
    return {"y": y, "groups": RUNS, "cv": folds}, noise()


def equal_samples():
    X, y = noise(), random_order()
    first, second = np.flatnonzero((RUNS == 2) & (y == 1))
    X[second] = X[first]
    return {"y": y, "groups": RUNS}, X


def nearly_equal_samples():
    design, X = equal_samples()
    return design, X + 0.05 * noise(2)


def versions_of_a_run(correlation=0.7):
    X, y = noise(n_features=100), random_order()
    y[RUNS == 5] = y[RUNS == 4]
    rest = np.sqrt(1 - correlation**2)
    X[RUNS == 5] = correlation * X[RUNS == 4] + rest * X[RUNS == 5]
    return {"y": y, "groups": RUNS}, X


def equal_in_training_and_test():
    X, y = noise(), random_order()
    X[40] = X[0]
    return {"y": y, "groups": RUNS}, X


def correlated_neighbors():
    y = np.random.default_rng(3).permuted(np.tile(np.arange(4), (6, 1)), axis=1)
    block = np.repeat(np.arange(24), 2)
    return {"y": y.ravel()[block], "groups": RUNS}, noise() + 3 * noise(2)[block]


def few_exchanges():
    return {"y": np.array([0, 1, 1, 0, 0, 1]), "groups": RUNS[:24:4]}, noise()[:6]


def few_permutations():
    return few_exchanges()  # seven other labelings


def no_groups():
    return {"y": random_order(), "cv": StratifiedKFold(4)}, noise()


def sorted_folds():
    return {"y": np.sort(random_order()), "cv": KFold(8)}, noise()


def classes_in_turn():
    return {"y": np.sort(random_order()), "cv": StratifiedKFold(4)}, noise()


def unequal_classes():
    y = np.where(random_order() == 3, 0, random_order())
    return {"y": y, "groups": RUNS}, noise()


def overdispersed_runs():
    y = np.tile(np.repeat([0, 1], 20), 8)
    y = np.random.default_rng(4).permuted(y.reshape(8, 40), axis=1).ravel()
    runs = np.repeat(np.arange(8), 40)
    attentive = np.array([0, 1, 1, 0, 0, 1, 1, 0])[runs]
    X = np.random.default_rng(5).normal(size=(320, 60))
    return {"y": y, "groups": runs}, X + (attentive * (2 * y - 1))[:, None] * 0.5


def not_marginal():
    return {"y": random_order(), "groups": RUNS, "estimator": "lda"}, noise()


def ratings():
    y = np.clip(np.round(np.random.default_rng(6).normal(3, 1, size=48)), 1, 5)
    return {"y": y.astype(int), "groups": RUNS}, noise()


def measurements():
    return {"y": np.random.default_rng(7).normal(size=48), "groups": RUNS}, noise()


def runs_out_of_time():
    design, X = {"y": random_order(), "groups": (RUNS + 3) % 6}, noise()
    return design | {"bounds": Bounds(e_value_order="chronological")}, X


AFTER_THE_WORK = {
    runs_out_of_time: ("runs_out_of_time", "doubtful"),
    overdispersed_runs: ("overdispersed_runs", "doubtful"),
    not_marginal: ("not_marginal", "note"),
    few_permutations: ("few_permutations", "note"),
}
ELSEWHERE = {
    "untestable": "only an examination finds what cannot be fitted",
    "confound": "an analysis does not know of other conditions",
    "left_out_level": "nor of these",
    "mixed_subjects": "tests/cohorts/test_alike.py",
    "small_variance_groups": "tests/group/test_second_level.py",
    "not_computed": "tests/decoding/test_trial_confound.py",
    "repeated_trials": "tests/scores/test_findings.py",
    "few_targets": "tests/scores/test_findings.py",
    **dict.fromkeys(
        (
            "reversed_scores",
            "shifted_targets",
            "normalized_columns",
            "symmetric_scores",
            "tied_scores",
            "hubs",
            "near_duplicates",
            "trained_on_trials",
        ),
        "tests/scores/test_findings.py",
    ),
    "different_pools": "tests/scores/test_comparison.py",
    "trained_on_tests": "tests/decoding/test_comparison.py",
    "other_methods": "tests/encoding/test_comparison.py",
    "few_names": "tests/decoding/test_cross_identification.py",
}
CASES = {
    unequal_classes: ("unequal_classes", "note"),
    same_order: ("same_order", "doubtful"),
    classes_follow_time: ("classes_follow_time", "doubtful"),
    label_made_folds: ("label_made_folds", "note"),
    equal_samples: ("equal_samples", "doubtful"),
    nearly_equal_samples: ("equal_samples", "doubtful"),
    versions_of_a_run: ("equal_samples", "doubtful"),
    equal_in_training_and_test: ("equal_samples", "refused"),
    correlated_neighbors: ("correlated_neighbors", "doubtful"),
    few_exchanges: ("few_exchanges", "doubtful"),
    no_groups: ("no_groups", "doubtful"),
    sorted_folds: ("sorted_folds", "doubtful"),
    classes_in_turn: ("classes_in_turn", "note"),
    ratings: ("continuous_target", "note"),
    measurements: ("continuous_target", "refused"),
}


_OPTIONS = "cv", "estimator", "bounds"


def fit(design, X, **options):
    """Fit a volume whose voxels are the features, all of them in one region."""
    shape = X.shape[1] // 4, 2, 2
    mask = nibabel.Nifti1Image(np.ones(shape), np.eye(4))
    labels = nibabel.Nifti1Image(np.ones(shape, dtype=np.int32), np.eye(4))
    options |= {name: design[name] for name in _OPTIONS if name in design}
    light = IdentificationSearchLight(
        mask, labels_img=labels, n_permutations=99, **options
    )
    img = to_img(X, resolve_masker(mask))
    return light.fit(img, design["y"], groups=design.get("groups"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_finding_is_seen(case):
    design, X = case()
    name, grade = CASES[case]
    found = [finding for finding in examine(X=X, **design) if finding.name == name]
    assert [finding.grade for finding in found] == [grade]
    assert np.isfinite(found[0].seen)
    if case not in (
        same_order,
        classes_follow_time,
        no_groups,
        sorted_folds,
        classes_in_turn,
    ):  # images have runs and times
        assert not re.search(r"\w=|\.decoding|fit\(", command_words(found[0].note))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES | AFTER_THE_WORK, ids=lambda case: case.__name__)
def test_every_finding_is_told_in_all_places(case, tmp_path, recwarn):
    design, X = case()
    name, grade = (CASES | AFTER_THE_WORK)[case]
    if grade == "refused":
        (found,) = (f for f in examine(X=X, **design) if f.grade == "refused")
        with pytest.raises(ValueError, match=re.escape(found.because)):
            fit(design, X)
        return
    fitted = fit(design, X)
    (found,) = (f for f in fitted.findings_ if f.name == name)
    assert found.grade == grade
    warned = [str(warning.message) for warning in recwarn]
    assert (found.note in warned) == (grade == "doubtful")
    assert found.note in fitted.notes_
    fitted.to_directory(tmp_path)
    for file in tmp_path.glob("*.json"):
        findings = json.loads(file.read_text()).get("findings")
        if findings is not None and file.stem in fitted.maps_:
            told = name in {finding["name"] for finding in findings}
            assert told == found.touches(file.stem), file.stem
    again = type(fitted).from_directory(tmp_path)
    assert again.findings_ == fitted.findings_
    sentence = first_sentence(again)
    assert (found.because in sentence) == (grade == "doubtful")
    assert (found.effect in sentence) == (grade == "doubtful")


def test_every_kind_of_finding_is_looked_for():
    kinds = set(ELSEWHERE)
    kinds |= {name for name, _ in (CASES | AFTER_THE_WORK).values()}
    made = set()
    for path in Path(neuroextrap.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Finding(" not in text:
            continue
        nodes = list(ast.walk(ast.parse(text)))
        tuples = [n for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign)]
        tuples = [n for n in tuples if isinstance(n.value, ast.Tuple)]
        for call in nodes:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Finding":
                first = next(iter(call.args), None)
                firsts = [first]
                if isinstance(first, ast.Starred):  # of tuples that are called so
                    called = ast.unparse(first.value)
                    targets = [ast.unparse(n).split(" =")[0] for n in tuples]
                    pairs = zip(tuples, targets, strict=True)
                    firsts = [n.value.elts[0] for n, name in pairs if name == called]
                made |= {n.value for n in firsts if isinstance(n, ast.Constant)}
    assert len(made) > 20
    assert made <= kinds


@pytest.mark.parametrize(
    ("y", "order", "grades"),
    [
        (np.sort(SORTED), None, ["note"]),
        (np.sort(SORTED), np.arange(48), ["doubtful"]),
        (np.sort(SORTED), random_order() + np.arange(48) / 99, []),
        (random_order(), None, []),
        (np.roll(np.sort(SORTED), 1), None, []),
        (np.sort(SORTED)[:24], None, ["note"]),
        (np.sort(SORTED)[8:16], None, []),  # four of each may come so by chance
    ],
)
def test_classes_in_turn_are_doubtful_where_times_are_known(y, order, grades):
    found = examine(y, cv=4, n_permutations=0, order=order)
    assert [each.grade for each in found] == grades
    assert {each.name for each in found} <= {"classes_in_turn"}


@pytest.mark.parametrize("seed", range(20))
def test_a_randomized_design_has_no_findings(seed):
    assert examine(random_order(seed), RUNS, X=noise(seed + 100)) == []


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("cv", [KFold(4, shuffle=True, random_state=0), None, 3])
def test_shuffled_folds_and_runs_are_not_sorted(cv):
    found = examine(np.sort(random_order()), RUNS, cv=cv, n_permutations=0)
    assert "sorted_folds" not in {finding.name for finding in found}


def test_classes_that_depend_on_a_condition_are_confounded():
    y = random_order()
    hard = np.where(y < 2, "hard", "easy")
    (found,) = examine(y, RUNS, conditions=hard)
    assert (found.name, found.seen) == ("confound", 1.0)
    hard = np.random.default_rng(0).permutation(hard)
    assert examine(y, RUNS, conditions=hard) == []


def test_folds_that_leave_out_a_condition_are_noted():
    task = np.where(RUNS < 3, "look", "imagine")
    folds = [(np.flatnonzero(RUNS < 3), np.flatnonzero(RUNS > 2))]
    found = examine(random_order(), RUNS, cv=folds, conditions=task, n_permutations=0)
    assert [(finding.name, finding.seen) for finding in found] == [
        ("left_out_level", 1.0)
    ]
    assert examine(random_order(), RUNS, conditions=task) == []


def test_what_cannot_be_tested_is_refused():
    (found,) = examine(np.repeat([0, 1], 24), RUNS)
    assert (found.name, found.grade) == ("untestable", "refused")
    assert "every group holds a single one" in found.note


def test_lengths_are_checked():
    with pytest.raises(ValueError, match=r"X has shape \(3, 4\)"):
        examine(random_order(), RUNS, X=np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"conditions has shape \(3,\)"):
        examine(random_order(), RUNS, conditions=[1, 2, 3])


def test_features_with_nan_are_left_out_as_in_an_analysis():
    design, X = equal_samples()
    found = examine(X=X, **design)
    X[3, :7] = np.nan
    assert [f.name for f in examine(X=X, **design)] == [f.name for f in found]
    with pytest.raises(ValueError, match="no feature without NaN"):
        examine(X=np.full_like(X, np.nan), **design)


def smooth(X):
    return (X + np.roll(X, 1, axis=1) + np.roll(X, -1, axis=1)) / 3


def one_component(rng):
    """Noise below a pattern that all samples share, more or less of it in each."""
    return rng.normal(size=(48, 60)) + 30 * rng.normal(size=(48, 1)) * rng.normal(
        size=60
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=(48, 60)),
        lambda rng: np.cumsum(rng.normal(size=(48, 200)), axis=1),
        one_component,
        lambda rng: smooth(smooth(rng.normal(size=(48, 60)))),
        lambda rng: np.cumsum(rng.normal(size=(48, 60)), axis=0),
        lambda rng: rng.standard_cauchy(size=(48, 60)),
        lambda rng: rng.poisson(0.3, size=(48, 60)),
        lambda rng: rng.normal(size=(48, 60)) + 20 * rng.normal(size=(4, 60))[SORTED],
    ],
)
def test_near_samples_by_chance_are_no_copies(make):
    for seed in range(25):
        X = make(np.random.default_rng(seed))
        assert near_copies(*beyond(X, random_order(seed), RUNS)) is None


@pytest.mark.parametrize("correlation", [0.4, 0.5, 0.9])
def test_versions_of_a_run_are_found_in_any_order_of_rows(correlation):
    design, X = versions_of_a_run(correlation)
    time, rows = np.tile(np.arange(8), 6), np.random.default_rng(0).permutation(48)
    y, runs = design["y"][rows], np.array(list("abcdef"))[RUNS[rows]]
    (found,) = examine(y, runs, X=X[rows], order=time[rows])
    assert "the samples of runs e and f correlate one by one" in found.because
    assert found.seen == pytest.approx(correlation, abs=0.15)


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_versions_of_a_run_in_another_order_are_found(correlation):
    """Also where nothing says which sample is which."""
    design, X = versions_of_a_run(correlation)
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(48)
        y, runs = design["y"][rows], np.array(list("abcdef"))[RUNS[rows]]
        (found,) = examine(y, runs, X=X[rows])
        assert "the samples of runs e and f correlate by" in found.because
        assert "in another order" in found.because
        assert found.seen == pytest.approx(correlation, abs=0.2)


def exemplars(seed, *, n_runs=6):
    """The same four pictures of each of three classes, in other orders in all runs."""
    rng = np.random.default_rng(seed)
    shown = np.concatenate([rng.permutation(12) for _ in range(n_runs)])
    X = 2 * rng.normal(size=(12, 60))[shown] + rng.normal(size=(len(shown), 60))
    return X, shown // 4, np.repeat(np.arange(n_runs), 12)


def slow_changes(seed):
    """Classes in blocks, in noise that changes from run to run and slowly."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.tile([0, 1], (12, 1)), axis=1).repeat(9)
    return np.cumsum(rng.normal(size=(216, 60)), axis=0), y, np.repeat(range(12), 18)


def few_features(seed):
    return np.random.default_rng(seed).normal(size=(48, 4)), random_order(seed), RUNS


def sessions(seed, *, order=random_order, n_sessions=2):
    """Classes whose patterns are others in the runs of another session."""
    rng, y = np.random.default_rng(seed), order(seed)
    patterns = 2 * rng.normal(size=(n_sessions, y.max() + 1, 60))
    return patterns[RUNS % n_sessions, y] + rng.normal(size=(48, 60)), y, RUNS


def sessions_of_two_runs(seed):
    return sessions(seed, n_sessions=3)


def sessions_in_one_order(seed):
    return sessions(seed, order=lambda seed: np.tile(random_order(seed)[:8], 6))


def sessions_of_single_samples(seed):
    return sessions(seed, order=lambda seed: np.tile(np.arange(8), 6))


@pytest.mark.parametrize(
    "make",
    [
        exemplars,
        slow_changes,
        few_features,
        sessions,
        sessions_of_two_runs,
        sessions_in_one_order,
        sessions_of_single_samples,
    ],
)
def test_samples_that_come_again_in_all_runs_are_no_versions(make):
    for seed in range(8):
        X, y, runs = make(seed)
        assert matched_runs(*beyond(X, y, runs)) is None


@pytest.mark.real_data
@pytest.mark.parametrize("classes", [range(8), (0, 1), (2, 5), (3, 4, 7)])
def test_real_runs_are_no_versions_of_each_other(real_data, classes):
    """Volumes of blocks, which depend on one another."""
    folder = real_data("haxby2001_subject1")
    names, runs = np.loadtxt(folder / "attributes_literal.txt", dtype=str).T
    mask = nibabel.load(folder / "mask.nii.gz").get_fdata() > 0
    X = nibabel.load(folder / "bold.nii.gz").get_fdata()[mask].T
    kept = np.isin(names, np.setdiff1d(names, "rest")[list(classes)])
    for columns in (slice(None), slice(0, None, 27)):
        given = X[kept, columns], names[kept], runs[kept]
        assert matched_runs(*beyond(*given)) is None


def test_versions_of_runs_with_one_sample_of_each_class_are_found():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.tile(np.arange(4), (6, 1))
        y = rng.permuted(np.concatenate([y, y[:1]]), axis=1)
        y[6], runs = y[0], np.repeat(np.arange(7), 4)
        X = rng.normal(size=(28, 300))
        X[24:] += X[:4]
        assert matched_runs(*beyond(X, y.ravel(), runs)) is not None


def test_all_runs_given_twice_are_found():
    X, y = noise(n_features=100), random_order()
    echo = X + np.random.default_rng(3).normal(size=X.shape)
    runs = np.concatenate([RUNS, RUNS + 6])
    found = examine(np.tile(y, 2), runs, X=np.concatenate([X, echo]))
    assert [each.name for each in found] == ["equal_samples"]


def same_pictures(rng):
    pictures = rng.normal(size=(8, 60))
    return pictures[np.tile(np.arange(8), 6)] + rng.normal(size=(48, 60))


def trend_of_all_runs(rng):
    position = np.tile(np.linspace(-2, 2, 8), 6)[:, None]
    return position * rng.normal(size=60) + rng.normal(size=(48, 60))


@pytest.mark.parametrize(
    ("make", "n_runs"),
    [
        *product(
            [
                lambda rng: rng.normal(size=(48, 60)),
                one_component,
                lambda rng: np.cumsum(rng.normal(size=(48, 60)), axis=0),
                lambda rng: rng.standard_cauchy(size=(48, 60)),
                trend_of_all_runs,
            ],
            [2, 6],
        ),
        (same_pictures, 6),
    ],
)
def test_runs_of_one_order_are_no_versions_of_each_other(make, n_runs):
    for seed in range(8):
        X, n = make(np.random.default_rng(seed)), 8 * n_runs
        for y in (SORTED, np.tile(random_order(seed)[:8], 6)):
            assert matched_runs(*beyond(X[:n], y[:n], RUNS[:n])) is None


def test_samples_alone_in_their_run_are_no_copies():
    shown = [[0, 1, 2, 3], [0, 1], [2, 3], [0, 1, 2, 3], [0, 2, 3], [1]] * 2
    runs, y = np.repeat(np.arange(12), [len(run) for run in shown]), np.hstack(shown)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert near_copies(*beyond(rng.normal(size=(len(y), 100)), y, runs)) is None


@pytest.mark.parametrize(
    "change", [np.float16, lambda X: 1.5 * X + 7, lambda X: 0.7 * X + 0.3 * smooth(X)]
)
def test_a_run_that_was_stored_otherwise_is_nearly_the_same(change):
    X = smooth(noise(n_features=400))
    X[RUNS == 5] = change(X[RUNS == 4])
    y = random_order()
    y[RUNS == 5] = y[RUNS == 4]
    number = near_copies(*beyond(X, y, RUNS))
    assert (number[RUNS == 5] == number[RUNS == 4]).all()
    assert len(np.unique(number)) == 40


def test_ready_folds_of_whole_runs_are_not_made_from_labels():
    folds = [
        (np.flatnonzero(run != RUNS), np.flatnonzero(run == RUNS)) for run in range(6)
    ]
    assert examine(random_order(), RUNS, cv=folds) == []


def test_features_with_missing_values_hide_no_copy():
    design, X = equal_samples()
    X[:, 5], X[:, 6] = np.nan, np.inf
    assert [found.name for found in examine(X=X, **design)] == ["equal_samples"]
    for unusable in (X[:, 5:7], X[:, :0]):
        with pytest.raises(ValueError, match="no feature without NaN"):
            examine(X=unusable, **design)


def test_missing_conditions_are_refused():
    with pytest.raises(ValueError, match="conditions has None in row 0"):
        examine(random_order(), RUNS, conditions=[None, *["easy"] * 47])
    with pytest.raises(ValueError, match="conditions has NaN in row 0"):
        examine(random_order(), RUNS, conditions=[np.nan, *[1.0] * 47])


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([1, 2, 10], False),
        ([2, 1, 10], True),
        ([1.0, 2.0, 10.0], False),
        (["run-1", "run-2", "run-10"], False),
        (["run-1", "run-10", "run-2"], True),
        (["ses-2_run-1", "ses-1_run-2"], False),
        (["later", "run 1"], False),
        (["b", "a"], False),
    ],
)
def test_numbers_of_runs_tell_their_time(names, found):
    assert bool(_course_of_runs.runs_out_of_time(np.repeat(names, 3))) == found


def test_runs_of_one_class_say_nothing_about_versions():
    y = np.array([0] * 6 + [1] * 2)
    runs = np.array([0] * 3 + [1] * 3 + [2, 3])
    X = noise()[:8]
    X[3:6] = X[:3] + noise(2)[:3]
    assert matched_runs(*beyond(X, y, runs)) is None
    assert matched_runs(*beyond(X, y, None)) is None
    many = np.repeat(np.arange(101), 3)
    X = np.random.default_rng(0).normal(size=(303, 20))
    assert matched_runs(*beyond(X, many % 2, many)) is None
