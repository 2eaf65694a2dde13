"""What makes p-values and bounds doubtful: dependent scans, one order, copies."""

import json
import re
from html import unescape

import nibabel
import numpy as np
import pandas
import pytest
from markupsafe import escape

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import labeled_samples, resolve_masker, to_img
from neuroextrap.stats import (
    bayes_accuracy_lower_bound,
    forward_bayes_accuracy_lower_bound,
)
from tests.decoding.seam import (
    beyond,
    copies,
    identification_sections,
    neighbor_correlation,
    order_agreement,
)


def block_design(n_runs=4, n_classes=2, n_scans=5, noise=1.0, seed=0):
    """One block of each class in each run, with noise common to its scans."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(n_classes), n_scans), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes * n_scans)
    blocks = np.arange(len(y)) // n_scans
    X = noise * rng.normal(size=(blocks[-1] + 1, 6))[blocks]
    return X + rng.normal(size=(len(y), 6)), y, runs, blocks


def test_bounds_count_blocks_not_scans():
    X, y, runs, blocks = block_design()
    light = IdentificationSearchLight(blocks=blocks, bounds="folds")
    light.fit(X, y, groups=runs)
    assert (light.results_.n_repeats == 1).all()
    accuracy = light.region_scores_["accuracy"]
    expected = bayes_accuracy_lower_bound(
        accuracy, n_classes=2, n_repeats=np.ones((4, 2))
    )
    np.testing.assert_allclose(
        light.region_scores_["bayes_accuracy_bound"], expected, rtol=1e-12
    )


def test_forward_bounds_count_blocks_not_scans():
    """Four runs of each order are tested, two blocks in each, all of them right."""
    X, y, runs, blocks = block_design(n_runs=6)
    light = IdentificationSearchLight(blocks=blocks)
    light.fit(X + 20 * y[:, None], y, groups=runs)
    expected = forward_bayes_accuracy_lower_bound(
        np.full((6, 4), 2), 2, first_steps=(0, 1)
    )
    found = light.region_scores_["bayes_accuracy_bound"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(light.results_.n_repeats, 4)


def test_blocks_of_unequal_length_weigh_the_same():
    X, y, runs, blocks = block_design(n_classes=3, seed=1)
    keep = np.ones(len(y), dtype=bool)
    keep[[0, 1, 7, 31]] = False
    light = IdentificationSearchLight(blocks=blocks[keep], bounds="folds")
    light.fit(X[keep], y[keep], groups=runs[keep])
    margins = light.region_margins(0)
    codes, tested = light.test_codes_, blocks[keep]  # folds are runs in order
    best = margins == margins.max(axis=1, keepdims=True)
    correct = best[np.arange(len(codes)), codes] / best.sum(axis=1)
    shares = [correct[tested == block].mean() for block in np.unique(tested)]
    bound_accuracy = light.results_.bound_wins[0, -1]
    np.testing.assert_allclose(bound_accuracy, np.mean(shares), rtol=1e-12)


def test_blocks_in_training_and_test_bound_nothing():
    X, y, runs, blocks = block_design()
    order = np.random.default_rng(0).permutation(len(y))
    folds = [(order[:20], order[20:]), (order[20:], order[:20])]
    light = IdentificationSearchLight(blocks=blocks, cv=folds).fit(X, y, groups=runs)
    assert not any("bound" in name for name in light.region_scores_)
    assert any("in the training and the test set" in note for note in light.notes_)


def test_scans_without_blocks_are_warned_about():
    X, y, runs, _ = block_design(noise=2.0)
    with pytest.warns(UserWarning, match="neighboring samples of one class depend"):
        IdentificationSearchLight().fit(X, y, groups=runs)


def test_independent_trials_in_the_order_of_their_classes_are_not():
    for seed in range(50):
        X, y, runs, _ = block_design(noise=0.0, seed=seed)
        signal = np.random.default_rng(seed).normal(size=(2, 6))
        offsets = 5 * np.random.default_rng(seed + 1).normal(size=(4, 6))
        X = X + 3 * signal[y] + offsets[runs]
        assert neighbor_correlation(*beyond(X, y, runs)) is None


def test_few_neighbors_say_nothing():
    X = np.random.default_rng(0).normal(size=(6, 3))
    assert neighbor_correlation(*beyond(X, [0, 0, 1, 1, 0, 0], None)) is None


@pytest.mark.real_data
def test_volumes_of_real_blocks_are_found_and_their_averages_are_not(real_data):
    import nibabel
    import pandas as pd

    folder = real_data("haxby2001_subject1")
    table = pd.read_csv(
        folder / "attributes_literal.txt", sep=r"\s+", names=["label", "run"]
    )
    mask = nibabel.load(folder / "mask.nii.gz").get_fdata() > 0
    X = nibabel.load(folder / "bold.nii.gz").get_fdata()[mask].T
    keep = (table["label"] != "rest").to_numpy()
    codes = np.unique(table["label"][keep], return_inverse=True)[1]
    runs = table["run"][keep].to_numpy()
    assert neighbor_correlation(*beyond(X[keep], codes, runs)) > 0.3
    cells = pd.DataFrame(X[keep]).groupby([runs, codes]).mean()
    run, code = (cells.index.get_level_values(i).to_numpy() for i in (0, 1))
    assert neighbor_correlation(*beyond(cells.to_numpy(), code, run)) is None


ORDERED = np.tile([0, 1, 2, 3], 6), np.repeat(np.arange(6), 4)


def drifting(y, runs, seed=0, n_features=4):
    """Noise with a straight drift in every run, and no difference between classes."""
    rng = np.random.default_rng(seed)
    position = np.concatenate([np.arange(n) for n in np.bincount(runs)])
    return rng.normal(size=(len(y), n_features)) + position[:, None] * rng.normal(
        size=n_features
    )


def verdict(fitted):
    """The first sentence of the report."""
    answer = unescape(dict(identification_sections(fitted))["What was found"])
    return re.search(r'<p class="verdict">(.*?)</p>', answer).group(1)


def all_places(fitted, tmp_path):
    """Warning apart, what readers of an analysis see: notes, folder, page, sentence."""
    fitted.to_directory(tmp_path / "out")
    again = type(fitted).from_directory(tmp_path / "out")
    sentence = verdict(again)
    assert sentence == verdict(fitted)
    page = again.generate_report().get_standalone()
    assert escape(sentence) in page
    assert again.notes_ == fitted.notes_
    return again.notes_, sentence, page


@pytest.mark.filterwarnings("default:the classes come in:UserWarning")
def test_one_order_in_all_runs_is_told_everywhere(tmp_path):
    y, runs = ORDERED
    light = IdentificationSearchLight(n_permutations=99, bounds=None)
    with pytest.warns(UserWarning, match="classes come in the same order in all runs"):
        light.fit(drifting(y, runs), y, groups=runs)
    assert light.region_scores_["p_value"][0] <= 0.05  # of drift alone
    notes, sentence, page = all_places(light, tmp_path)
    assert any("classes come in the same order" in note for note in notes)
    assert (
        "but p-values are too small if responses change in the course of runs, because "
        "the classes come in the same order in all runs" in sentence
    )
    assert "classes come in the same order in all runs" in page


def test_sidecars_name_the_doubt(tmp_path):
    y, runs = ORDERED
    mask = nibabel.Nifti1Image(np.ones((1, 2, 2)), np.eye(4))
    masker = resolve_masker(mask)
    light = IdentificationSearchLight(mask, radius=2.0, bounds=None)
    light.fit(to_img(drifting(y, runs), masker), y, groups=runs)
    light.to_directory(tmp_path)
    sidecar = json.loads((tmp_path / "accuracy.json").read_text())
    assert "classes come in the same order" in json.dumps(sidecar)


def agreement_of(y, runs, times=None):
    """Agreement of runs whose samples are in the order of time, or have times."""
    rows = np.lexsort((np.zeros(len(y)) if times is None else times, runs))
    return order_agreement(y[rows], runs[rows])


@pytest.mark.parametrize(
    ("y", "agreement"),
    [
        (np.tile([0, 1, 2, 3], 6), 1),
        (np.tile([0, 0, 1, 1, 1, 1, 0, 0], 3), 1),  # no drift, but a curved one
        (np.tile([0, 1], 12), 1),
        # runs of one order, and of the reverse: half of all pairs agree
        (np.tile([0, 1, 2, 3, 3, 2, 1, 0], 3), None),
        ((np.arange(24) + np.arange(24) // 4) % 4, None),  # Latin square
    ],
)
def test_orders_that_are_alike(y, agreement):
    runs = np.repeat(np.arange(6), 4)
    if y[0] == y[1]:
        runs = np.repeat(np.arange(3), 8)
    assert agreement_of(y, runs) == agreement


def test_random_orders_are_not_told(recwarn):
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(40):
        y = rng.permuted(np.tile(np.repeat(np.arange(4), 2), (6, 1)), axis=1).ravel()
        told += agreement_of(y, np.repeat(np.arange(6), 8)) is not None
    assert told == 0


def test_runs_of_unequal_length_and_one_slip_are_nearly_the_same():
    y = np.tile(np.arange(6), 6)
    y[[0, 1]] = y[[1, 0]]
    runs = np.repeat(np.arange(6), 6)
    kept = np.arange(36) != 35
    assert 0.5 < agreement_of(y[kept], runs[kept]) < 1


@pytest.mark.filterwarnings("default:the classes come in:UserWarning")
def test_the_order_of_acquisition_can_be_given(recwarn):
    y, runs = ORDERED
    times = np.random.default_rng(1).random(24)
    light = IdentificationSearchLight(bounds=None)
    light.fit(drifting(y, runs), y, groups=runs, order=times)
    assert not light.findings_
    assert not list(recwarn)
    shuffled = np.argsort(np.lexsort((times, runs)))  # rows in their order, shuffled
    rows = np.random.default_rng(2).permutation(24)
    assert agreement_of(y[rows], runs[rows], np.tile(np.arange(4), 6)[rows]) == 1
    assert agreement_of(y[rows], runs[rows], shuffled[rows]) is None


def test_an_order_of_another_length_is_refused():
    y, runs = ORDERED
    with pytest.raises(ValueError, match="order has shape"):
        IdentificationSearchLight().fit(drifting(y, runs), y, runs, order=[1, 2])


def test_block_averages_know_when_conditions_came():
    mask = nibabel.Nifti1Image(np.ones((1, 1, 3)), np.eye(4))
    rng = np.random.default_rng(0)
    imgs = [nibabel.Nifti1Image(rng.normal(size=(1, 1, 3, 8)), np.eye(4))] * 2
    labels = [["b", "a", "c", "d"], ["d", "c", "a", "b"]]
    events = [pandas.DataFrame({"trial_type": np.repeat(names, 2)}) for names in labels]
    read = labeled_samples(imgs, events, masker=resolve_masker(mask))
    assert read.y.tolist() == ["a", "b", "c", "d"] * 2
    ranks = [read.order[read.runs == run].argsort().argsort() for run in (0, 1)]
    assert np.array(ranks).tolist() == [[1, 0, 2, 3], [2, 3, 1, 0]]


def test_copies_in_training_and_test_are_refused():
    y, runs = ORDERED
    X = np.random.default_rng(0).normal(size=(24, 6))
    X[4:8] = X[:4]  # the first run twice
    with pytest.raises(ValueError, match="samples 0 and 4 are equal to the last bit"):
        IdentificationSearchLight().fit(X, y, groups=runs)


def test_an_image_listed_twice_is_refused():
    mask = nibabel.Nifti1Image(np.ones((2, 3, 3)), np.eye(4))
    rng = np.random.default_rng(0)
    volumes = rng.integers(900, 1100, size=(2, 3, 3, 4)).astype(np.int16)
    img = nibabel.Nifti1Image(volumes, np.eye(4))
    y, runs = np.tile([0, 1, 2, 3], 2), np.repeat([0, 1], 4)
    with pytest.raises(ValueError, match="no image twice"):
        IdentificationSearchLight(mask).fit([img, img], y, groups=runs)


def test_copies_within_a_run_are_told_unless_they_are_blocks():
    y, runs = np.tile([0, 0, 1, 1], 6), np.repeat(np.arange(6), 4)
    X = np.random.default_rng(0).normal(size=(24, 6))
    X[1::4] = X[::4]
    with pytest.warns(UserWarning, match="6 of 24 samples are equal"):
        light = IdentificationSearchLight(bounds=None).fit(X, y, groups=runs)
    assert light.findings_[-1].seen == 6
    blocks = np.arange(24)
    blocks[1::4] = blocks[::4]
    light = IdentificationSearchLight(bounds=None, blocks=blocks)
    light.fit(X, y, groups=runs)
    assert not any(found.name == "equal_samples" for found in light.findings_)


@pytest.mark.parametrize(
    "kind", ["ratings", "counts", "silent neurons", "one column", "whole numbers"]
)
def test_values_that_meet_by_chance_are_no_copies(kind):
    rng = np.random.default_rng(0)
    X = {
        "ratings": rng.integers(1, 8, size=(60, 3)),
        "counts": rng.poisson(0.8, size=(60, 5)),
        "silent neurons": rng.poisson(0.05, size=(60, 40)),
        "whole numbers": np.rint(
            10 * rng.normal(size=(6, 5))[np.arange(60) % 6]
            + 0.3 * rng.normal(size=(60, 5))
        ),
        "one column": rng.normal(size=(60, 1))[rng.integers(60, size=60)],
    }[kind].astype(np.float32)
    assert len(np.unique(X, axis=0)) < 60
    assert copies(X) is None


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
def test_copies_of_volumes_are_found(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(500, 600, size=(300, 400)).astype(dtype)
    assert copies(X) is None
    X[250] = X[7]
    (found,) = np.flatnonzero(copies(X) != np.arange(300))
    assert (found, copies(X)[found]) == (250, 7)


@pytest.mark.parametrize(
    ("options", "doubt"),
    [
        (
            {"n_permutations": 99},
            "p-values are too small, and e-values and lower bounds too large",
        ),
        ({"n_permutations": 99, "bounds": None}, "p-values are too small"),
        ({}, "e-values and lower bounds are too large"),
    ],
)
def test_the_first_sentence_doubts_what_it_rests_on(options, doubt):
    y, runs = ORDERED
    light = IdentificationSearchLight(**options)
    light.fit(drifting(y, runs), y, groups=runs)
    assert f", but {doubt} if" in verdict(light)


@pytest.mark.filterwarnings("ignore:no runs were given:UserWarning")
def test_missing_runs_are_no_doubt_of_bounds():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], 20))
    light = IdentificationSearchLight(cv=3, n_permutations=99)
    light.fit(rng.normal(size=(60, 4)) + 3 * np.eye(3, 4)[y], y)
    assert "if samples were acquired in runs, because no runs" in verdict(light)
    light.set_params(n_permutations=0).fit(rng.normal(size=(60, 4)), y)
    assert "but" not in verdict(light)


@pytest.mark.parametrize(("n_pairs", "seen"), [(7, False), (8, True)])
def test_eight_pairs_of_neighbors_are_enough_to_tell(n_pairs, seen):
    codes = np.repeat(np.tile([0, 1], n_pairs)[:n_pairs], 2)
    x = np.random.default_rng(0).normal(size=(n_pairs, 50))
    noise = 0.1 * np.random.default_rng(1).normal(size=(2 * n_pairs, 50))
    found = neighbor_correlation(*beyond(np.repeat(x, 2, axis=0) + noise, codes, None))
    assert (found is not None) == seen
