"""Maps of several subjects are compared in one space, or not at all."""

import nibabel
import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.group import prevalence_test, second_level_test, sign_flip_test

SHAPE = (3, 4, 2)


@pytest.fixture
def save(tmp_path):
    """Return a function that writes one map and returns its path."""

    def write(name, *, code=2, shift=0.0, shape=SHAPE):
        affine = np.diag([3.0, 3, 3, 1])
        affine[0, 3] = shift
        rng = np.random.default_rng(len(list(tmp_path.iterdir())))
        img = nibabel.Nifti1Image(rng.normal(size=shape) + 1, affine)
        img.set_sform(affine, code)
        img.set_qform(affine, code)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        img.to_filename(path)
        return str(path)

    return write


def subjects(save, name, n=4, **each):
    return [
        save(
            name.format(i),
            **{k: v[i] if isinstance(v, list) else v for k, v in each.items()},
        )
        for i in range(n)
    ]


def flipped(imgs, **options):
    """Test the mean, with as few flips as there are."""
    with pytest.warns(UserWarning, match="distinct sign flips"):
        return sign_flip_test(imgs, **options)


@pytest.mark.parametrize("options", [{}, {"min_subjects": 3}])
def test_another_grid_is_refused_in_whatever_subjects_a_voxel_is_tested(save, options):
    shapes = [SHAPE, SHAPE, (3, 4, 3), SHAPE]
    imgs = subjects(save, "sub-{}_space-MNI_stat.nii.gz", shape=shapes)
    text = r"imgs\[2\] .* has shape \(3, 4, 3\) but the mask has \(3, 4, 2\)"
    with pytest.raises(ValueError, match=text):
        second_level_test(imgs, n_permutations=10, **options)


@pytest.mark.parametrize(
    "label", ["T1w", "t1w", "T2w", "orig", "individual", "native", "func", "boldref"]
)
def test_names_of_native_spaces_are_refused(save, label):
    imgs = subjects(save, f"sub-{{}}_space-{label}_desc-accuracy_stat.nii.gz", code=4)
    with pytest.raises(ValueError, match=rf"own space \(space-{label}\)"):
        sign_flip_test(imgs)
    assert "t" in flipped(imgs, allow_native_space=True)
    null = np.random.default_rng(0).normal(size=(4, 99, 24))
    with pytest.raises(ValueError, match=rf"own space \(space-{label}\)"):
        prevalence_test(imgs, list(null), n_permutations=100)
    with pytest.warns(UserWarning, match="leave p_value_prevalence"):
        prevalence_test(imgs, list(null), n_permutations=100, allow_native_space=True)


def test_one_native_map_among_others_is_refused(save):
    imgs = subjects(save, "sub-{}_space-MNI152NLin6Asym_stat.nii.gz", n=3)
    with pytest.raises(ValueError, match="space-T1w"):
        sign_flip_test([*imgs, save("sub-9_space-T1w_stat.nii.gz")])


def test_different_templates_are_refused(save):
    imgs = subjects(save, "sub-{}_space-MNI152NLin6Asym_stat.nii.gz", n=3)
    other = save("sub-9_space-MNI152NLin2009cAsym_stat.nii.gz")
    with pytest.raises(ValueError, match="MNI152NLin2009cAsym, MNI152NLin6Asym"):
        sign_flip_test([*imgs, other])


@pytest.mark.parametrize("code", [1, 2, 3])
def test_different_grids_of_unknown_space_are_refused(save, code):
    imgs = subjects(save, "sub-{}/accuracy.nii.gz", code=code, shift=[0, 2, 5, 1])
    with pytest.raises(ValueError, match="different grids, and neither a name"):
        sign_flip_test(imgs)
    mask = nibabel.Nifti1Image(np.ones(SHAPE, "int8"), np.diag([3.0, 3, 3, 1]))
    from nilearn.maskers import NiftiMasker

    resampling = NiftiMasker(mask, target_affine=np.diag([3.0, 3, 3]), standardize=None)
    with pytest.raises(ValueError, match="different grids, and neither a name"):
        sign_flip_test(imgs, mask=resampling)
    shapes = subjects(
        save, "s{}/accuracy.nii.gz", code=code, shape=[SHAPE, (4, 4, 2), SHAPE, SHAPE]
    )
    with pytest.raises(ValueError, match="different grids, and neither a name"):
        sign_flip_test(shapes)


def test_different_grids_in_mni_space_need_resampling_only(save):
    imgs = subjects(save, "sub-{}/accuracy.nii.gz", code=4, shift=[0, 2, 5, 1])
    with pytest.raises(ValueError, match="resample one"):
        sign_flip_test(imgs)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("sub-{}_space-MNI152NLin2009cAsym_desc-accuracy_stat.nii.gz", 1),
        ("sub-{}_space-mystudy_desc-accuracy_stat.nii.gz", 2),
        ("sub-{}/accuracy.nii.gz", 2),
        ("sub-{}/accuracy.nii.gz", 4),
    ],
)
def test_one_space_is_fine(save, name, code):
    assert "t" in flipped(subjects(save, name, code=code))


def test_arrays_and_images_in_memory_are_fine(save):
    assert "t" in flipped(np.random.default_rng(0).normal(size=(4, 3)))
    imgs = [nibabel.load(path) for path in subjects(save, "{}.nii.gz")]
    assert "t" in flipped(imgs)
    named = [nibabel.load(p) for p in subjects(save, "sub-{}_space-T1w_stat.nii.gz")]
    with pytest.raises(ValueError, match="space-T1w"):
        sign_flip_test(named)


def test_the_command_says_how_to_go_on(save, tmp_path, capsys):
    imgs = subjects(save, "sub-{}_space-T1w_desc-accuracy_stat.nii.gz")
    words = ["group", "--no-bids", "--n-permutations", "9", "--imgs", *imgs]
    assert main([*words, str(tmp_path / "out")]) == 2
    errors = [x for x in capsys.readouterr().err.splitlines() if x.startswith("error")]
    assert len(errors) == 1
    assert "--allow-native-space" in errors[0]
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
    assert main([*words, "--allow-native-space", str(tmp_path / "out")]) == 0
