"""Subjects who were analyzed differently are not put together unless one says so."""

import json
import shutil

import nibabel
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from neuroextrap.group import (
    group_information,
    group_permutation_test,
    prevalence_test,
    second_level_test,
    sign_flip_test,
)
from tests.analyses import searchlight_of
from tests.group.seam import (
    AS_MADE,
    IDENTITY,
    PARAMETERS,
    RESULT,
    Parameter,
    _parameter_table,
    check_alike,
)

AFFINE, SHAPE = np.diag([3.0, 3, 3, 1]), (3, 3, 2)
Y, RUNS = np.tile(np.arange(3), 6), np.repeat(np.arange(6), 3)
CHANGES = {
    "estimator": "lda",
    "radius": 9.0,
    "set_sizes": [2],
    "blocks": [0, 1],
    "statistic": "pairwise_accuracy",
}


def analyze(folder, seed, **options):
    rng = np.random.default_rng(seed)
    mask = nibabel.Nifti1Image(np.ones(SHAPE, dtype=np.int8), AFFINE)
    data = nibabel.Nifti1Image(rng.normal(size=(*SHAPE, len(Y))), AFFINE)
    given = {"radius": 4, "n_permutations": 20, "bounds": None}
    given |= {"save_null": folder.with_suffix(".npy")}
    light = searchlight_of(mask, **{**given, **options})
    light.fit(data, Y, groups=RUNS).to_directory(folder)
    return light


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory):
    root = tmp_path_factory.mktemp("alike")
    for seed in range(4):
        analyze(root / f"sub-{seed}", seed)
    return root


@pytest.fixture
def root(analyzed, tmp_path):
    return shutil.copytree(analyzed, tmp_path / "study")


def calls_with(root):
    """Every test that takes maps, as a function of options."""
    imgs = sorted(map(str, root.glob("*/accuracy.nii.gz")))
    nulls = sorted(map(str, root.glob("*.npy")))
    return {
        "sign flips": lambda **more: sign_flip_test(imgs, **more),
        "second level": lambda **more: second_level_test(
            imgs, np.c_[np.arange(4.0), np.ones(4)], contrast=[1, 0], **more
        ),
        "pairs": lambda **more: second_level_test(
            [nibabel.load(img) for img in imgs[:2]], paired_imgs=imgs[2:], **more
        ),
        "permutations": lambda **more: group_permutation_test(imgs, nulls, **more),
        "prevalence": lambda **more: prevalence_test(imgs, nulls, gamma=0.1, **more),
    }


NAMES = ("sign flips", "second level", "pairs", "permutations", "prevalence")


@pytest.mark.filterwarnings("ignore:only .* exist", "ignore:.*second-level perm")
@pytest.mark.parametrize("name", NAMES)
def test_maps_of_different_analyses_are_refused(root, name):
    test = calls_with(root)[name]
    same = test(n_permutations=50)
    path = root / "sub-3" / "accuracy.json"
    about = json.loads(path.read_text())
    for parameter, value in CHANGES.items():
        changed = {**about["parameters"], parameter: value}
        path.write_text(json.dumps({**about, "parameters": changed}))
        message = f"sub-3 differ in {parameter}; analyze all subjects"
        with pytest.raises(ValueError, match=message):
            test(n_permutations=50)
    mixed = test(n_permutations=50, allow_mixed=True)
    for key, img in same.items():
        np.testing.assert_array_equal(img.get_fdata(), mixed[key].get_fdata())
    del about["parameters"]  # of other software: not judged
    path.write_text(json.dumps(about))
    assert test(n_permutations=50).keys() == same.keys()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("estimator", "gaussian_nb"),
        ("statistic", "implied_information"),
        ("blocks", np.arange(18)),
        ("per_fold", True),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_analyses_saved_or_fitted_are_judged_alike(root, parameter, value):
    other = analyze(root / "sub-9", 9, **{parameter: value})
    same = [root / "sub-0", root / "sub-1"]
    assert group_information(same)
    for given in (other, root / "sub-9"):
        with pytest.raises(ValueError, match=f"differ in {parameter}; analyze all"):
            group_information([*same, given])
        assert group_information([*same, given], allow_mixed=True, n_bootstrap=20)


def test_classifiers_that_are_objects_are_told_apart(tmp_path):
    plain = {"n_permutations": 0, "save_null": None}
    for seed, smoothing in enumerate((1e-9, 1e-9, 1e-2)):
        model = GaussianNB(var_smoothing=smoothing)
        analyze(tmp_path / f"sub-{seed}", seed, estimator=model, **plain)
    folders = [tmp_path / f"sub-{seed}" for seed in range(3)]
    assert group_information(folders[:2])
    with pytest.raises(ValueError, match="sub-2 differ in estimator"):
        group_information(folders)


def test_a_whole_number_is_the_number():
    """A radius of 4 in Python is 4.0 at the command line."""
    check_alike([("a", {"radius": 4}), ("b", {"radius": 4.0}), ("c", None)], "subjects")


def test_own_blocks_are_no_difference():
    told = [("a", {"blocks": [0, 1]}), ("b", {"blocks": [1, 0]})]
    check_alike(told, "subjects")
    with pytest.raises(ValueError, match="a and c differ in blocks"):
        check_alike([*told, ("c", {"blocks": None})], "subjects")


KINDS_OF_SUBJECTS = sorted({kind for row in PARAMETERS for kind in row.of} - {"group"})


def told_of(row, *values):
    """What is told of subjects who have these values of a parameter."""
    alone = [{row.name: value} for value in values]
    if row.of[0] in ("samples", *AS_MADE):
        alone = [{"made_by": {"samples": "blocks", **made}} for made in alone]
    return list(zip("abc", alone, strict=False))


@pytest.mark.parametrize(
    "row",
    [row for row in PARAMETERS if row.of != ("group",)],
    ids=lambda row: "-".join((row.name, *row.of)),
)
def test_every_parameter_of_results_is_judged_and_no_other(row):
    told = told_of(row, None, [1, 2])
    if row.role != RESULT:
        assert check_alike(told, "subjects") == {}
        return
    with pytest.raises(ValueError, match=f"a and b differ in {row.name}; analyze all"):
        check_alike(told, "subjects")
    assert [*check_alike(told, "subjects", allow_mixed=row.name)] == [row.name]
    own = told_of(row, [1, 2], [1, 3])
    if row.own:
        assert check_alike(own, "subjects") == {}
    else:
        with pytest.raises(ValueError, match=f"differ in {row.name};"):
            check_alike(own, "subjects")


@pytest.mark.parametrize("kind", KINDS_OF_SUBJECTS)
@pytest.mark.parametrize("role", [RESULT, IDENTITY])
def test_a_parameter_that_joins_the_table_is_judged_by_its_role(
    monkeypatch, kind, role
):
    row = Parameter("volume", role, (kind,))
    monkeypatch.setattr(_parameter_table, "PARAMETERS", (*PARAMETERS, row))
    told = told_of(row, 1, 2)
    if role == IDENTITY:
        assert check_alike(told, "subjects") == {}
        return
    with pytest.raises(ValueError, match="differ in volume"):
        check_alike(told, "subjects")
    assert [*check_alike(told, "subjects", allow_mixed=["volume"])] == ["volume"]


def test_confounds_of_nobody_are_no_confounds():
    row = next(row for row in PARAMETERS if row.name == "confounds")
    assert check_alike(told_of(row, None, []), "subjects") == {}
