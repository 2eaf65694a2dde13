"""Maps of subjects and their permuted maps: whose are they, and none comes twice."""

import json
import re
import shutil
import warnings

import nibabel
import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import (
    group_information,
    group_permutation_test,
    prevalence_test,
    second_level_test,
    sign_flip_test,
)

AFFINE, SHAPE = np.diag([3.0, 3, 3, 1]), (3, 3, 2)
FEW = {"n_permutations": 100, "gamma": 0.1}


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory):
    """Folders of three subjects: results, and permuted maps of the accuracy."""
    root = tmp_path_factory.mktemp("analyzed")
    mask = nibabel.Nifti1Image(np.ones(SHAPE, dtype=np.int8), AFFINE)
    y, runs = np.tile(np.arange(3), 5), np.repeat(np.arange(5), 3)
    for name in "abc":
        rng = np.random.default_rng(ord(name))
        data = nibabel.Nifti1Image(rng.normal(size=(*SHAPE, 15)), AFFINE)
        light = IdentificationSearchLight(
            mask, radius=3, n_permutations=20, save_null=root / f"{name}.npy"
        )
        light.fit(data, y, groups=runs).to_directory(root / name)
    return root


@pytest.fixture
def root(analyzed, tmp_path):
    """The same, to be changed."""
    return shutil.copytree(analyzed, tmp_path / "study")


def maps(root, name="accuracy"):
    return [str(root / letter / f"{name}.nii.gz") for letter in "abc"]


def nulls(root, letters="abc"):
    return [str(root / f"{letter}.npy") for letter in letters]


def test_permuted_maps_of_the_same_runs_are_taken(root):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = prevalence_test(maps(root), nulls(root), **FEW)
    arrays = [nibabel.load(path).get_fdata().ravel() for path in maps(root)]
    expected = prevalence_test(
        np.stack(arrays).astype(np.float32), [np.load(p) for p in nulls(root)], **FEW
    )
    np.testing.assert_array_equal(
        found["p_value"].get_fdata().ravel(), expected["p_value"]
    )


@pytest.mark.parametrize("test", [prevalence_test, group_permutation_test])
def test_permuted_maps_of_other_runs_are_refused(root, test):
    message = r"null_scores\[1\].* and scores\[1\] .* are of different runs; give"
    with pytest.raises(ValueError, match=message):
        test(maps(root), nulls(root, "acb"))
    opened = [nibabel.load(path) for path in maps(root)]
    with pytest.raises(ValueError, match=message):
        test(opened, nulls(root, "acb"))
    with pytest.raises(ValueError, match=r"are both .*a\.npy; give every subject once"):
        test(maps(root), nulls(root, "aba"))


def test_permuted_maps_of_another_statistic_are_refused(root):
    with pytest.raises(
        ValueError, match=r"are permuted maps of accuracy, which scores\[0\]"
    ):
        prevalence_test(maps(root, "implied_information"), nulls(root))


def test_permuted_maps_that_were_exchanged_are_refused(root):
    (root / "b.npy").replace(root / "kept.npy")
    (root / "c.npy").replace(root / "b.npy")
    (root / "kept.npy").replace(root / "c.npy")
    with pytest.raises(ValueError, match=r"b\.npy\.json does not describe"):
        prevalence_test(maps(root), nulls(root))


def test_the_command_line_refuses_them_on_one_line(root, capsys):
    words = ["group", "--imgs", *maps(root), "--n-permutations", "100"]
    assert main([*words, "--null", *nulls(root, "bac"), str(root / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "are of different runs" in line
    assert not (root / "out").exists()


def test_without_a_description_names_tell_and_else_a_warning(root):
    for letter in "abc":
        (root / f"{letter}.npy.json").unlink()
    with pytest.warns(UserWarning, match="3 of 3 are matched by their order"):
        prevalence_test(maps(root), nulls(root), **FEW)
    named = []
    for number, letter in enumerate("abc"):
        folder = root / f"sub-{number}"
        folder.mkdir()
        shutil.copy(root / f"{letter}.npy", folder / "null.npy")
        shutil.copy(root / letter / "accuracy.nii.gz", folder)
        named.append(folder)
    imgs = [str(folder / "accuracy.nii.gz") for folder in named]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prevalence_test(imgs, [folder / "null.npy" for folder in named], **FEW)
    message = r"null_scores\[0\] .* is of sub-2, scores\[0\] .* of sub-0; give both"
    with pytest.raises(ValueError, match=message):
        prevalence_test(imgs, [folder / "null.npy" for folder in named[::-1]])


def test_a_damaged_sidecar_is_named(root):
    (root / "a" / "accuracy.json").write_text("{")
    with pytest.raises(ValueError, match=r"a/accuracy\.json is damaged"):
        prevalence_test(maps(root), nulls(root))


@pytest.mark.filterwarnings("ignore:only .* distinct sign flips")
def test_no_map_comes_twice(root):
    imgs = [*maps(root), str(root / "b" / ".." / "a" / "accuracy.nii.gz")]
    for test in (sign_flip_test, second_level_test):
        with pytest.raises(
            ValueError, match=r"imgs\[0\] and imgs\[3\] are both /.*a/acc"
        ):
            test(imgs)
    (root / "link.nii.gz").symlink_to(imgs[0])
    with pytest.raises(ValueError, match="give every subject once"):
        sign_flip_test([*maps(root), root / "link.nii.gz"])


def test_two_maps_of_a_subject_are_named_unless_blocks_tell(root):
    imgs = []
    for number, path in enumerate(maps(root)):
        folder = root / f"sub-{number // 2}" / f"ses-{number}"
        folder.mkdir(parents=True)
        imgs.append(shutil.copy(path, folder))
    message = r"imgs\[0\] and imgs\[1\] are both of sub-0 .* count as two subjects"
    for test in (sign_flip_test, second_level_test):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            test(imgs, n_permutations=20)
        assert len([w for w in told if re.match(message, str(w.message))]) == 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        second_level_test(imgs, blocks=[0, 0, 1], n_permutations=20)
    assert "count as two" not in " ".join(str(warning.message) for warning in told)


@pytest.mark.filterwarnings("ignore:only .* distinct sign flips")
def test_pairs_in_another_order_are_named_and_matched_subjects_are_not(root):
    def copies(letters, kind):
        for letter, path in zip("abc", maps(root), strict=True):
            (root / kind / f"sub-{letter}").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / kind / f"sub-{letter}")
        return [str(root / kind / f"sub-{k}" / "accuracy.nii.gz") for k in letters]

    faces, words = copies("abc", "faces"), copies("acb", "words")
    with pytest.warns(
        UserWarning, match=r"imgs\[1\] .* of sub-b, paired_imgs\[1\] .*-c"
    ):
        second_level_test(faces, paired_imgs=words)
    controls = [path.replace("sub-", "sub-x") for path in words]
    shutil.copytree(root / "words", root / "words2")
    for path in controls:
        (root / path).parent.mkdir()
        shutil.copy(path.replace("sub-x", "sub-"), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="only .* distinct sign flips")
        second_level_test(faces, paired_imgs=controls)


def test_no_analysis_comes_twice(root):
    folders = [root / letter for letter in "abc"]
    with pytest.raises(ValueError, match=r"subjects\[1\] and subjects\[3\] are both"):
        group_information([*folders, root / "a" / ".." / "b"])
    shutil.copytree(root / "b", root / "d")
    with pytest.raises(
        ValueError, match=r"/b and .*/d are analyses of the same data; give every"
    ):
        group_information([*folders, root / "d"])
    fitted = IdentificationSearchLight.from_directory(root / "b")
    with pytest.raises(ValueError, match=r"of the same data"):
        group_information([*folders, fitted])
    words = ["group", "--subjects", *map(str, folders), str(root / "d")]
    assert main([*words, str(root / "out")]) == 2


def test_two_analyses_of_a_subject_are_named(root):
    folders = []
    for letter in "abc":
        folder = root / "sub-1" / f"ses-{letter}"
        folders.append(shutil.copytree(root / letter, folder))
    with pytest.warns(UserWarning, match="both of sub-1 .* count as two subjects"):
        group_information(folders)


def test_what_stands_beside_permuted_maps(root):
    about = json.loads((root / "a.npy.json").read_text())
    assert about["run"] == json.loads((root / "a" / "accuracy.json").read_text())["run"]
    assert list(about["maps"]) == ["accuracy"]
    assert str(root) not in (root / "a.npy.json").read_text()
