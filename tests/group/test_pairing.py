"""Maps of subjects and their permuted maps: whose are they, and none comes twice."""

import json
import re
import shutil
import warnings

import nibabel
import numpy as np
import pandas as pd
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
            mask, radius=3, n_permutations=20, keep=root / f"{name}.npy"
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
        warnings.filterwarnings("ignore", "in 3 of 3 subjects the classes come in")
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


N = 8
FLIPS = {"n_permutations": 30}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two maps of each of eight subjects, "01" to "08", and permuted maps of each."""
    folder, rng = tmp_path_factory.mktemp("named"), np.random.default_rng(5)
    own = 3 * rng.normal(size=(N, *SHAPE))
    files = {"a": [], "b": [], "null": []}
    for k in range(N):
        for kind, shift in (("a", 0.0), ("b", 1.0)):
            data = own[k] + shift + 0.3 * rng.normal(size=SHAPE)
            path = folder / f"sub-{k + 1:02d}_desc-{kind}_stat.nii.gz"
            nibabel.save(nibabel.Nifti1Image(data, AFFINE), path)
            files[kind].append(str(path))
        path = folder / f"sub-{k + 1:02d}_null.nii.gz"
        null = rng.normal(size=(*SHAPE, 9))
        nibabel.save(nibabel.Nifti1Image(null, AFFINE), path)
        files["null"].append(str(path))
    return files


@pytest.fixture(scope="module")
def table():
    """A design whose rows are named."""
    age = np.random.default_rng(6).normal(size=N)
    names = [f"sub-{k + 1:02d}" for k in range(N)]
    return pd.DataFrame({"age": age, "one": 1.0}, index=names)


def assert_same(maps, expected):
    """Whether two results are the same to the last bit."""
    assert maps.keys() == expected.keys()
    for name in maps:
        np.testing.assert_array_equal(
            maps[name].get_fdata(), expected[name].get_fdata()
        )


ORDERS = [np.arange(N)[::-1], np.random.default_rng(1).permutation(N)]


@pytest.mark.parametrize("order", ORDERS, ids=["reversed", "shuffled"])
def test_no_order_of_named_inputs_changes_a_bit(study, table, order):
    """Pairs, designs, blocks and variance groups in any order, by any kind of name."""
    second = [study["b"][k] for k in order]
    expected = second_level_test(study["a"], paired_imgs=study["b"], **FLIPS)
    assert_same(second_level_test(study["a"], paired_imgs=second, **FLIPS), expected)
    opened = [nibabel.load(path) for path in second]
    assert_same(second_level_test(study["a"], paired_imgs=opened, **FLIPS), expected)

    options = {"contrast": "age", **FLIPS}
    expected = second_level_test(study["a"], table.to_numpy(), contrast=[1, 0], **FLIPS)
    names = list(table.index)
    for index in (names, [n[4:] for n in names], [int(n[4:]) for n in names]):
        named = table.set_axis(index)
        assert_same(
            second_level_test(study["a"], named.iloc[order], **options), expected
        )
        column = named.rename_axis("participant_id").reset_index().iloc[order]
        for design in (column, column.reset_index(drop=True)):
            assert_same(second_level_test(study["a"], design, **options), expected)
    levels = pd.MultiIndex.from_arrays(
        [names, ["x"] * N], names=["participant_id", "site"]
    )
    design = table.set_axis(levels).iloc[order]
    assert_same(second_level_test(study["a"], design, **options), expected)

    blocks = pd.Series(np.arange(N) // 4, index=names)
    shuffled = {"blocks": blocks.iloc[order]}
    expected = second_level_test(
        study["a"], table.to_numpy(), contrast=[1, 0], blocks=np.arange(N) // 4, **FLIPS
    )
    assert_same(second_level_test(study["a"], table, **shuffled, **options), expected)


@pytest.mark.filterwarnings("ignore:variance_groups")
def test_variance_groups_and_contrasts_go_by_names(study, table):
    groups = pd.Series(np.arange(N) % 2, index=table.index)
    expected = second_level_test(
        study["a"], table, contrast=[1, 0], variance_groups=np.arange(N) % 2, **FLIPS
    )
    for contrast in (pd.Series({"one": 0, "age": 1}), {"age": 1}, "0 * one + `age`"):
        maps = second_level_test(
            study["a"],
            table,
            contrast=contrast,
            variance_groups=groups[::-1],
            **FLIPS,
        )
        assert_same(maps, expected)
        told = maps.options["contrast"]  # what the page says
        assert isinstance(told, str)
        assert "`age`" in told


def test_what_has_no_names_goes_by_its_order(study, table):
    """A table that counts 0, 1, 2 ..., an array, and images without names."""
    arrays = np.stack([nibabel.load(path).get_fdata().ravel() for path in study["a"]])
    order = ORDERS[1]
    options = {"contrast": "age", **FLIPS}
    expected = second_level_test(arrays[order], table, **options)
    plain = second_level_test(arrays[order], table.reset_index(drop=True), **options)
    images = [nibabel.Nifti1Image(row.reshape(SHAPE), AFFINE) for row in arrays[order]]
    loose = second_level_test(images, table, **options)
    for name, values in expected.items():
        np.testing.assert_array_equal(plain[name], values)
        np.testing.assert_allclose(loose[name].get_fdata().ravel(), values, rtol=1e-4)


def test_names_that_disagree_are_refused(study, table):
    other = [*table.index[:-1], "sub-09"]
    options = {"contrast": "age", **FLIPS}
    message = "'8' is paired with '9'; only in imgs: 8; only in design_matrix: 9.; give"
    with pytest.raises(ValueError, match=message):
        second_level_test(study["a"], table.set_axis(other), **options)
    with pytest.raises(ValueError, match="only in imgs: 8; only in blocks: 9"):
        second_level_test(study["a"], blocks=pd.Series(1, index=other), **FLIPS)
    sorted_rows = table.reset_index(drop=True).sort_values("age")
    with pytest.raises(ValueError, match=r"reset_index\(drop=True\)"):
        second_level_test(study["a"], sorted_rows, **options)
    with pytest.raises(ValueError, match="'1' is paired with '7'"):
        second_level_test(study["a"], table.reset_index(drop=True)[::-1], **options)
    twice = table.set_axis([*table.index[:-1], "sub-01"])
    with pytest.raises(ValueError, match="only in imgs: 8; only in design_matrix: no"):
        second_level_test(study["a"], twice, **options)
    with pytest.raises(ValueError, match="there are 8 and 7; only in imgs: 8"):
        second_level_test(study["a"], table.iloc[:-1], **options)
    with pytest.raises(ValueError, match="only in imgs: 1; only in paired_imgs: 8"):
        second_level_test(study["a"][:-1], paired_imgs=study["b"][1:], **FLIPS)


def test_pairs_of_other_subjects_go_by_their_order(study, tmp_path):
    """Patients and the controls that were matched to them."""
    controls = []
    for path in study["b"]:
        name = path.rpartition("/")[2].replace("sub-", "sub-c")
        controls.append(shutil.copy(path, tmp_path / name))
    expected = second_level_test(study["a"], paired_imgs=study["b"], **FLIPS)
    assert_same(second_level_test(study["a"], paired_imgs=controls, **FLIPS), expected)


def test_numbers_that_differ_in_zeros_only_are_told_apart(study, tmp_path):
    """sub-1 is sub-01 unless there are both."""
    imgs, others = [], []
    for path, label in zip(study["a"], ["1", "01", "2"], strict=False):
        imgs.append(shutil.copy(path, tmp_path / f"sub-{label}_a.nii.gz"))
    for path, label in zip(study["b"], ["1", "01", "2"], strict=False):
        others.append(shutil.copy(path, tmp_path / f"sub-{label}_b.nii.gz"))
    with pytest.warns(UserWarning, match="only 8 distinct"):
        expected = second_level_test(imgs, paired_imgs=others, **FLIPS)
    with pytest.warns(UserWarning, match="only 8 distinct"):
        found = second_level_test(
            imgs, paired_imgs=[others[k] for k in (1, 0, 2)], **FLIPS
        )
    assert_same(found, expected)


def test_the_command_line_pairs_by_names_too(study, tmp_path):
    words = ["group", "--n-permutations", "30", "--imgs", *study["a"], "--paired-imgs"]
    maps = []
    for name, second in (("in_order", study["b"]), ("reversed", study["b"][::-1])):
        assert main([*words, *second, str(tmp_path / name)]) == 0
        found = sorted((tmp_path / name).rglob("*.nii.gz"))
        assert len(found) >= 4
        maps.append([nibabel.load(path).get_fdata() for path in found])
    np.testing.assert_array_equal(*maps)


def test_permuted_images_of_another_subject_are_refused(study):
    for test in (prevalence_test, group_permutation_test):
        test(study["a"], study["null"], n_permutations=10)
        with pytest.raises(ValueError, match=r"is of sub-8, scores\[0\] .* of sub-1"):
            test(study["a"], study["null"][::-1], n_permutations=10)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_subject_under_another_name_is_refused(study, tmp_path, kind):
    """A copy of a map, in this or another precision."""
    copy = tmp_path / "sub-09_desc-a_stat.nii.gz"
    data = nibabel.load(study["a"][2]).get_fdata().astype(kind)
    nibabel.save(nibabel.Nifti1Image(data, AFFINE), copy)
    imgs = [*study["a"], str(copy)]
    message = r"imgs\[2\] and imgs\[8\] hold the same numbers; give every subject once"
    for test in (second_level_test, sign_flip_test):
        with pytest.raises(ValueError, match=message):
            test(imgs)
    with pytest.raises(ValueError, match=r"scores\[2\] and scores\[8\] hold the same"):
        prevalence_test(imgs, [*study["null"], study["null"][2]])
    arrays = np.random.default_rng(0).normal(size=(5, 12))
    arrays[4] = arrays[1].astype(np.float32)
    with pytest.raises(ValueError, match=r"imgs\[1\] and imgs\[4\] hold the same"):
        second_level_test(arrays)
    few = np.random.default_rng(0).integers(0, 2, size=(12, 3)) / 2.0
    second_level_test(few, n_permutations=10)  # equal by chance


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
