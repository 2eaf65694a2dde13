"""How many voxels of a set have an effect over subjects: every test that has it."""

from html import unescape

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.group import (
    group_permutation_test,
    second_level_test,
    sign_flip_test,
)
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.stats import true_discoveries
from tests.group.seam import flipped, linear_test
from tests.stats.test_discovery_bounds import stepped_down

N_SUBJECTS, SHAPE = 14, (5, 4, 3)
N_EFFECTS = 20


def subjects(effect=2.0, seed=0):
    values = np.random.default_rng(seed).normal(size=(N_SUBJECTS, np.prod(SHAPE)))
    values[:, :N_EFFECTS] += effect
    return values


def t_values(values):
    return values.mean(0) / (values.std(0, ddof=1) / np.sqrt(len(values)))


@pytest.mark.parametrize("two_sided", [False, True])
def test_sign_flips_equal_the_bound_from_scratch(two_sided):
    values = subjects()
    maps = sign_flip_test(
        values, statistic="t", two_sided=two_sided, n_permutations=199
    )
    test = linear_test(np.ones((N_SUBJECTS, 1)), np.ones(1))
    options = {"whole_blocks": False, "n_permutations": 199, "random_state": 0}
    signs = flipped(test, None, two_sided=two_sided, **options).signs
    null = np.array([t_values(row[:, np.newaxis] * values) for row in signs[1:]])
    observed = t_values(values)
    if two_sided:
        null, observed = np.abs(null), np.abs(observed)
    thresholds = stepped_down(observed, null)
    expected = true_discoveries(observed, thresholds)
    assert maps.true_discoveries() == expected > N_EFFECTS // 2


def test_images_are_asked_by_mask_and_a_map_is_written(tmp_path):
    mask = nibabel.Nifti1Image(np.ones(SHAPE, dtype=np.int8), np.eye(4))
    masker = resolve_masker(mask)
    imgs = [to_img(row, masker) for row in subjects()]
    maps = second_level_test(imgs, mask=mask, n_permutations=199)
    inside = np.zeros(60, dtype=np.int8)
    inside[:30] = 1
    region = nibabel.Nifti1Image(inside.reshape(SHAPE), np.eye(4))
    assert maps.true_discoveries(region) == maps.true_discoveries(range(30)) > 10
    assert maps.true_discoveries(range(30, 60)) == 0
    page = unescape(maps.generate_report().html)
    n_true = maps.true_discoveries()
    assert f"At least {n_true} of these 60 voxels have an effect (95%" in page
    assert 'class="nx-true"' in page
    assert "True discoveries, at least" in page
    share = np.asarray(maps["true_discovery_proportion"].dataobj).ravel()
    assert share[:N_EFFECTS].max() > 0.8
    maps.to_directory(tmp_path / "out")
    assert list((tmp_path / "out").glob("*rue*iscovery*roportion*.nii.gz"))


def test_two_samples_and_a_slope_have_bounds_too():
    groups = pd.DataFrame({"a": np.repeat([1.0, 0], 7), "b": np.repeat([0.0, 1], 7)})
    values = subjects(effect=0.0)
    values[:7, :N_EFFECTS] += 5.0
    two = second_level_test(values, groups, contrast="a - b", n_permutations=199)
    assert two.true_discoveries(range(N_EFFECTS)) > N_EFFECTS // 2
    levels, n_voxels, n_true = two.true_discovery_curve()
    assert (np.diff(levels) < 0).all()
    assert (n_true <= n_voxels).all()
    age = np.linspace(-1, 1, N_SUBJECTS)
    slope = pd.DataFrame({"age": age, "intercept": np.ones(N_SUBJECTS)})
    values = subjects(effect=0.0) + 4 * age[:, np.newaxis] * (np.arange(60) < N_EFFECTS)
    one = second_level_test(values, slope, contrast="age", n_permutations=199)
    assert one.true_discoveries(above=0.0) > N_EFFECTS // 2
    assert one.true_discoveries(range(N_EFFECTS, 60)) == 0


def test_permuted_first_level_maps_give_bounds():
    rng = np.random.default_rng(0)
    null = rng.normal(size=(8, 99, 60))
    scores = rng.normal(size=(8, 60)) + 3.0 * (np.arange(60) < N_EFFECTS)
    maps = group_permutation_test(scores, null, n_permutations=500)
    assert maps.true_discoveries(range(N_EFFECTS)) > N_EFFECTS // 2
    assert maps.true_discoveries(range(N_EFFECTS, 60)) == 0


def test_features_that_a_subject_lacks_are_in_no_bound():
    values = subjects()
    values[0, :5] = np.nan
    maps = sign_flip_test(values, n_permutations=199)
    assert maps.true_discoveries(range(5)) == 0
    assert np.isnan(maps["true_discovery_proportion"][:5]).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_subjects_give_no_number():
    maps = sign_flip_test(subjects()[:5], n_permutations=199)  # 31 other signs
    assert "true_discovery_proportion" not in maps
    with pytest.raises(ValueError, match="at least 37 permutations"):
        maps.true_discoveries()
