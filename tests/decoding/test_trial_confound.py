"""A confound of trials, three ways: against loops, and what is refused."""

import itertools
from html import unescape

import nibabel
import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestCentroid

from neuroextrap import stats
from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight, trial_confound
from neuroextrap.maps import read_maps

N_PERMUTATIONS, N_RUNS, N_TRIALS = 19, 6, 12
REGIONS = np.kron(np.eye(3), np.ones(5))


def simulate(seed=0):
    """The first region follows reaction time, slower in class 1; the second the class.

    The third is noise.
    """
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation([0, 1] * (N_TRIALS // 2)) for _ in range(6)])
    runs = np.repeat(np.arange(N_RUNS), N_TRIALS)
    time = y + rng.normal(size=len(y))
    X = rng.normal(size=(len(y), 15))
    X[:, :5] += 1.5 * time[:, None]
    X[:, 5:10] += 2 * rng.normal(size=(2, 5))[y]
    return X, y, runs, time


def light(**options):
    given = {"regions": REGIONS, "n_permutations": N_PERMUTATIONS, "bounds": None}
    return IdentificationSearchLight(**given | options)


def pairs_of(time, runs):
    """Number pairs of neighbors in rank within runs, one by one."""
    stratum = np.empty(len(time), dtype=int)
    for run in np.unique(runs):
        rows = sorted(np.flatnonzero(runs == run), key=lambda row: time[row])
        for rank, row in enumerate(rows):
            stratum[row] = 100 * run + rank // 2
    return stratum


def accuracies(X, y, runs):
    """Leave one run out, refitting; shape (n_regions,)."""
    found = []
    for members in REGIONS.astype(bool):
        said = np.empty_like(y)
        for run in np.unique(runs):
            train, test = runs != run, runs == run
            fitted = NearestCentroid().fit(X[train][:, members], y[train])
            said[test] = fitted.predict(X[test][:, members])
        found.append(np.mean([np.mean(said[y == c] == c) for c in np.unique(y)]))
    return np.array(found)


def test_p_values_equal_those_of_refits_with_labels_exchanged_within_pairs():
    X, y, runs, time = simulate()
    maps = trial_confound(light(random_state=3), X, y, runs, time)
    same_pair = pairs_of(time, runs)[:, None] == pairs_of(time, runs)
    np.testing.assert_array_equal(maps.strata_[:, None] == maps.strata_, same_pair)
    permuted = stats.permute_labels(
        y, groups=maps.strata_, n_permutations=N_PERMUTATIONS, random_state=3
    )
    assert any((row != y).any() for row in permuted)
    every = np.round([accuracies(X, labels, runs) for labels in [y, *permuted]], 10)
    np.testing.assert_allclose(maps["accuracy"], every[0], atol=1e-9)
    p = (every >= every[0]).mean(axis=0)
    np.testing.assert_allclose(maps["p_value"], p)
    z = ((every - every.mean(axis=0)) / every.std(axis=0)).round(6)
    p_fwe = (z.max(axis=1)[:, None] >= z[0]).mean(axis=0)
    np.testing.assert_allclose(maps["p_value_fwe"], p_fwe)
    assert maps["p_value_fwe"][1] <= 0.05 < maps["p_value_fwe"][0]
    assert maps["unrestricted_p_value_fwe"][0] <= 0.05


@pytest.mark.filterwarnings("ignore:no runs were given:UserWarning")
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("lengths", [[3, 5, 7, 4, 6, 9], [31]])
def test_neighbors_in_rank_fill_strata_of_every_run(size, lengths):
    """As many as hold `size` samples, at least one, none larger by more than one."""
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(len(lengths)), lengths)
    y, time = np.arange(len(runs)) % 2, rng.normal(size=len(runs))
    known = {"groups": runs} if len(lengths) > 1 else {}
    searchlight = light(n_permutations=19, cv=None if known else KFold(3))
    X = rng.normal(size=(len(runs), 15))
    groups = known.get("groups")
    maps = trial_confound(searchlight, X, y, groups, time, stratum_size=size)
    for run, length in enumerate(lengths):
        here = runs == run
        in_order = maps.strata_[here][np.argsort(time[here])]
        starts = np.flatnonzero(np.diff(in_order, prepend=np.nan))
        assert len(starts) == len(np.unique(in_order)) == max(1, length // size)
        assert np.ptp(np.diff([*starts, length])) <= 1
    assert len(np.unique(maps.strata_)) == sum(max(1, n // size) for n in lengths)


def test_a_confound_that_tells_the_class_otherwise_in_every_run_is_refused():
    X, _, runs, _ = simulate()
    time = np.tile(np.arange(N_TRIALS), N_RUNS)
    y = (time // 2 + runs) % 2
    with pytest.raises(ValueError, match="cannot be told apart"):
        trial_confound(light(), X, y, runs, time + 0.1 * runs)


def test_the_same_analysis_is_that_of_searchlights():
    X, y, runs, time = simulate()
    maps = trial_confound(light(), X, y, runs, time)
    of_class = light().fit(X, y, groups=runs).region_scores_
    thirds = np.concatenate(
        [np.argsort(np.argsort(time[runs == r])) * 3 // N_TRIALS for r in range(N_RUNS)]
    )
    of_levels = light().fit(X, thirds, groups=runs).region_scores_
    # names sort as high, low, middle, which draws other permutations
    assert maps.levels_.tolist() == ["high", "low", "middle"]
    np.testing.assert_allclose(maps["confound_accuracy"], of_levels["accuracy"])
    for name in ("p_value", "p_value_fwe"):
        np.testing.assert_array_equal(maps[f"unrestricted_{name}"], of_class[name])
    twice = np.stack([time, time], axis=1)
    alone = light(regions=None).fit(twice, y, groups=runs).region_scores_
    assert maps.class_from_confound_ == {
        "accuracy": alone["accuracy"][0],
        "p_value": alone["p_value"][0],
    }


def naive_bound(X, y, runs, level, n_bounds):
    """Bits beyond a confound of two levels, by forward tests one by one."""
    bits = []
    for members in REGIONS.astype(bool):
        orders, weights = [], []
        for start in range(N_RUNS):
            order = (start + np.arange(N_RUNS)) % N_RUNS
            correct, heaviest = [], []
            for step in range(N_RUNS // 3, N_RUNS):
                train, test = np.isin(runs, order[:step]), runs == order[step]
                fitted = NearestCentroid().fit(X[train][:, members], y[train])
                right = fitted.predict(X[test][:, members]) == y[test]
                cells = [
                    right[(y[test] == c) & (level[test] == s)]
                    for c, s in itertools.product((0, 1), np.unique(level))
                ]
                heaviest.append(1 / (len(cells) * min(map(len, cells))))
                correct.append(np.mean([cell.mean() for cell in cells]) / heaviest[-1])
            orders.append(correct)
            weights.append(heaviest)
        accuracy = stats.forward_bayes_accuracy_lower_bound(
            orders,
            N_TRIALS,
            first_steps=[0, 1],
            unit_weights=weights,
            n_regions=n_bounds,
        )
        bits.append(stats.fano_information(accuracy, 2))
    return np.array(bits)


def leveled(seed=0):
    """A confound of two levels that go along with the class, in every run."""
    rng = np.random.default_rng(seed)
    X, y, runs, _ = simulate(seed)
    level = np.empty(len(y), dtype=object)
    for run, c in itertools.product(range(N_RUNS), (0, 1)):
        rows = np.flatnonzero((runs == run) & (y == c))
        level[rows] = rng.permutation(["hard"] * (2 + 2 * c) + ["easy"] * (4 - 2 * c))
    X[:, :5] = rng.normal(size=(len(y), 5)) + (level == "hard")[:, None]
    return X, y, runs, level


def test_the_bound_weighs_pairs_of_class_and_level_equally():
    X, y, runs, level = leveled()
    maps = trial_confound(light(bounds="auto"), X, y, runs, level)
    np.testing.assert_allclose(
        maps["information_bound_beyond"], naive_bound(X, y, runs, level, 1), atol=1e-6
    )
    np.testing.assert_allclose(
        maps["information_bound_beyond_fwe"],
        naive_bound(X, y, runs, level, 3),
        atol=1e-6,
    )
    assert maps["information_bound_beyond"][1] > 0
    ignored = light(bounds="auto").fit(X, y, groups=runs).region_scores_
    assert not maps["information_bound_beyond"][0]
    assert ignored["bayes_accuracy_bound"].shape == (3,)


def test_levels_are_exchanged_within_and_numbers_that_repeat_are_levels():
    X, y, runs, level = leveled()
    named = trial_confound(light(), X, y, runs, level)
    numbered = trial_confound(light(), X, y, runs, (level == "hard") * 2.0)
    for name in ("accuracy", "p_value", "p_value_fwe", "confound_accuracy"):
        np.testing.assert_array_equal(named[name], numbered[name])
    assert named.n_strata_ == 2 * N_RUNS
    assert not named.of_numbers_
    assert not numbered.of_numbers_


def test_words_say_what_was_found():
    X, y, runs, time = simulate()
    maps = trial_confound(light(), X, y, runs, time)
    assert "beyond the confound in 1 of 3 regions" in maps.summary_
    assert "with the confound ignored it would be 2" in maps.summary_
    one = trial_confound(light(regions=None), X[:, :5], y, runs, time)
    assert "not shown that anything beyond the confound" in one.summary_
    assert list(maps.table_["accuracy"]) == list(maps["accuracy"])


@pytest.mark.filterwarnings("ignore:only")
def test_numbers_that_tell_the_class_nearly_always_are_doubted():
    X, y, runs, time = simulate()
    with pytest.warns(UserWarning, match="even neighbors in the confound differ"):
        maps = trial_confound(light(), X, y, runs, time + 2 * y)
    assert maps.class_from_confound_["accuracy"] >= 0.9
    assert "confound" in [finding.name for finding in maps.findings_]


def test_a_confound_of_whole_runs_is_not_decoded_and_changes_nothing():
    X, y, runs, _ = simulate()
    maps = trial_confound(light(bounds="auto"), X, y, runs, runs % 2)
    assert "confound_accuracy" not in maps
    assert "information_bound_beyond" in maps or any(
        "not bounded" in note for note in maps.notes_
    )
    assert any("not decoded" in note for note in maps.notes_)
    assert maps.n_strata_ == N_RUNS
    assert maps.exchangeable_ == 1


def test_order_of_rows_does_not_matter():
    X, y, runs, level = leveled()
    rows = np.random.default_rng(0).permutation(len(y))
    order = np.tile(np.arange(N_TRIALS), N_RUNS)
    maps = trial_confound(light(bounds="auto"), X, y, runs, level)
    other = trial_confound(
        light(bounds="auto"),
        X[rows],
        y[rows],
        runs[rows],
        level[rows],
        order=order[rows],
    )
    for name in ("accuracy", "confound_accuracy"):
        np.testing.assert_allclose(maps[name], other[name])
    assert maps.class_from_confound_["accuracy"] == pytest.approx(
        other.class_from_confound_["accuracy"]
    )


def with_blocks(X, y, runs):
    """Every trial twice, as a block, and a searchlight that knows the blocks."""
    noise = 0.1 * np.random.default_rng(0).normal(size=(2 * len(y), 15))
    doubled = [np.repeat(each, 2, axis=0) for each in (X, y, runs)]
    doubled[0] = doubled[0] + noise
    return light(blocks=np.repeat(np.arange(len(y)), 2)), doubled


@pytest.mark.parametrize(
    ("confound", "message"),
    [
        (lambda y, time: np.ones(len(y)), "confound is 1.0 in all samples"),
        (lambda y, time: np.array(["a", "b"])[y], "cannot be told apart"),
        (lambda y, time: time.astype(str), "as text are names of levels"),
        (lambda y, time: y * 100 + np.arange(len(y)) % 3, "cannot be told apart"),
        (lambda y, time: np.where(np.arange(len(y)) == 3, np.nan, time), "confound"),
        (lambda y, time: np.where(np.arange(len(y)) == 3, np.inf, time), "infinite"),
        (lambda y, time: time[:-1], "confound has shape"),
    ],
)
def test_refusals(confound, message):
    X, y, runs, time = simulate()
    with pytest.raises(ValueError, match=message):
        trial_confound(light(), X, y, runs, confound(y, time))


def test_more_refusals():
    X, y, runs, time = simulate()
    with pytest.raises(ValueError, match="n_permutations=0"):
        trial_confound(light(n_permutations=0), X, y, runs, time)
    with pytest.raises(TypeError, match="IdentificationSearchLight"):
        trial_confound("lda", X, y, runs, time)
    with pytest.raises(ValueError, match="shard"):
        trial_confound(light(shard=(1, 2)), X, y, runs, time)
    with pytest.raises(ValueError, match="stratum_size"):
        trial_confound(light(), X, y, runs, time, stratum_size=1)
    blocked, data = with_blocks(X, y, runs)
    with pytest.raises(ValueError, match="differs between samples of one block"):
        trial_confound(blocked, *data, np.arange(144.0))
    one_each = trial_confound(blocked, *data, np.repeat(time, 2))
    assert one_each.strata_.max() == one_each.n_strata_ - 1
    moved = one_each.strata_[::2]
    np.testing.assert_array_equal(moved, one_each.strata_[1::2])


def test_classes_that_are_left_out_leave_their_confound_out():
    X, y, runs, time = simulate()
    more = np.where(np.arange(len(y)) % 12 == 0, 2, y)
    chosen = light(classes=[0, 1])
    maps = trial_confound(chosen, X, more, runs, np.where(more == 2, 1e9, time))
    rows = more < 2
    same = trial_confound(light(), X[rows], y[rows], runs[rows], time[rows])
    for name in ("accuracy", "p_value", "confound_accuracy"):
        np.testing.assert_array_equal(maps[name], same[name])
    assert maps.class_from_confound_ == same.class_from_confound_


def test_images_make_maps_files_and_a_page(tmp_path):
    X, y, runs, level = leveled()
    volumes = np.zeros((5, 3, 2, len(y)), dtype=np.float32)
    volumes[:] = np.random.default_rng(1).normal(size=volumes.shape)
    volumes[:, :, 0] += X.T.reshape(3, 5, -1).transpose(1, 0, 2)
    imgs = nibabel.Nifti1Image(volumes, np.diag([3.0, 3, 3, 1]))
    mask = nibabel.Nifti1Image(np.ones((5, 3, 2), np.int8), imgs.affine)
    search = IdentificationSearchLight(mask, radius=3.0, n_permutations=19)
    maps = trial_confound(search, imgs, y, runs, level)
    maps.to_directory(tmp_path / "out")
    read = read_maps(tmp_path / "out")
    assert {"p_value_fwe", "information_bound_beyond_fwe"} <= set(read)
    np.testing.assert_allclose(
        read["confound_p_value"].get_fdata(), maps["confound_p_value"].get_fdata()
    )
    page = maps.generate_report().get_standalone()
    assert "From the confound alone" in page
    assert "What this does not show" in page
    # regions survive on the map of the confound by its own p-values
    for confound, words in ((1.0, "Nothing survives"), (0.01, "In full color")):
        maps.region_scores_["confound_p_value_fwe"][:] = confound
        page = unescape(maps.generate_report().get_standalone())
        for name, said in (("Confound accuracy", words), ("Accuracy", "In full color")):
            caption = page[page.index(f"{name}: ") :]
            assert said in caption[: caption.index("</figcaption>")]


@pytest.mark.parametrize("estimator", ["lda", "ridge"])
@pytest.mark.parametrize(("n_levels", "shrinkage"), [(2, "auto"), (2, 0.0), (3, 0.0)])
def test_levels_are_no_collinear_features(estimator, n_levels, shrinkage):
    _, y, runs, _ = leveled()
    level = np.where(np.random.default_rng(0).random(len(y)) < 0.8, y, 1 - y)
    level = np.array(["left", "right", "up"])[level]
    if n_levels == 3:
        level[::7] = "up"
    X = np.random.default_rng(1).normal(size=(len(y), 15))
    options = {"estimator": estimator, "shrinkage": shrinkage}
    alone = trial_confound(light(**options), X, y, runs, level).class_from_confound_
    columns = (level[:, None] == np.unique(level)[1:]).astype(float)
    search = IdentificationSearchLight(
        regions=Regions(regions=np.ones((1, n_levels - 1)), min_voxels=1),
        n_permutations=N_PERMUTATIONS,
        bounds=None,
        **options,
    ).fit(columns, y, groups=runs)
    assert alone["accuracy"] == search.region_scores_["accuracy"][0] > 0.6
    assert alone["p_value"] <= 0.05


def test_only_what_touches_its_maps_is_noted():
    X, y, runs, level = leveled()
    y = y + 2 * (np.arange(len(y)) % 2)  # four classes
    for statistic, said in (("accuracy", False), ("pairwise_accuracy", True)):
        options = {"estimator": "lda", "statistic": statistic}
        maps = trial_confound(light(**options), X, y, runs, level)
        assert ("not_marginal" in {f.name for f in maps.findings_}) is said
