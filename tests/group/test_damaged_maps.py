"""Maps and permuted maps given by their paths are those that were written."""

import shutil

import nibabel
import numpy as np
import pytest

from neuroextrap.analysis import Keep
from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import prevalence_test, second_level_test, sign_flip_test
from neuroextrap.images import resolve_masker, to_img

N_SUBJECTS, RUNS = 6, np.repeat(np.arange(4), 4)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Results of six subjects with permuted maps, in folders and as BIDS data sets."""
    root = tmp_path_factory.mktemp("results")
    mask = nibabel.Nifti1Image(np.ones((4, 3, 3)), np.eye(4))
    masker = resolve_masker(mask)
    for subject in range(N_SUBJECTS):
        rng = np.random.default_rng(subject)
        y = rng.permuted(np.tile(np.arange(4), (4, 1)), axis=1).ravel()
        folder = root / f"sub-{subject:02}"
        light = IdentificationSearchLight(mask, radius=1.5, bounds=None)
        light.set_params(n_permutations=9, keep=Keep(save_null=root / "null.npy"))
        light.fit(to_img(rng.normal(size=(16, 36)), masker), y, groups=RUNS)
        light.to_directory(folder)
        for name in ("null.npy", "null.npy.json"):
            shutil.move(root / name, folder / name)
    return root


@pytest.fixture
def root(written, tmp_path):
    return shutil.copytree(written, tmp_path / "copy")


def maps_in(root):
    return sorted(map(str, root.glob("sub-*/accuracy.nii.gz")))


def invert(path):
    img = nibabel.load(path)
    changed = nibabel.Nifti1Image(1 - img.get_fdata(), img.affine, img.header)
    changed.to_filename(path)


CALLS = {
    "second_level_test": lambda paths, _: second_level_test(paths, n_permutations=10),
    "paired": lambda paths, _: second_level_test(
        [path.replace("accuracy.", "implied_information.") for path in paths],
        paired_imgs=paths,
        n_permutations=10,
    ),
    "opened images": lambda paths, _: sign_flip_test(
        [nibabel.load(path) for path in paths], n_permutations=10
    ),
    "prevalence_test": prevalence_test,
}


@pytest.mark.filterwarnings("ignore:only", "ignore:.*second-level", "ignore:nothing")
@pytest.mark.filterwarnings("ignore:with 6 subjects")
@pytest.mark.parametrize("call", CALLS)
def test_an_edited_map_is_refused(root, call):
    paths = maps_in(root)
    nulls = [path.replace("accuracy.nii.gz", "null.npy") for path in paths]
    CALLS[call](paths, nulls)
    invert(paths[2])
    with pytest.raises(ValueError, match=r"accuracy.nii.gz is not the file that was"):
        CALLS[call](paths, nulls)


@pytest.mark.filterwarnings("ignore:only")
def test_links_are_followed_and_copies_elsewhere_are_the_users(root, tmp_path):
    paths, links, copies = maps_in(root), [], []
    invert(paths[2])
    for number, path in enumerate(paths):
        for files, place in ((links, "link"), (copies, "copy")):
            file = tmp_path / place / f"sub-{number:02}_accuracy.nii.gz"
            file.parent.mkdir(exist_ok=True)
            (
                file.symlink_to
                if place == "link"
                else lambda p, f=file: shutil.copy(p, f)
            )(path)
            files.append(str(file))
    with pytest.raises(ValueError, match="is not the file that was written"):
        second_level_test(links, n_permutations=10)
    second_level_test(copies, n_permutations=10)


@pytest.mark.parametrize("options", [{}, {"min_subjects": 3}])
@pytest.mark.parametrize("number", [0, 2])
def test_a_truncated_map_is_named_whichever_it_is(tmp_path, number, options):
    paths = [tmp_path / f"sub-{subject}.nii" for subject in range(4)]
    for subject, path in enumerate(paths):
        values = np.random.default_rng(subject).normal(size=(6, 6, 6))
        nibabel.Nifti1Image(values, np.eye(4)).to_filename(path)
    paths[number].write_bytes(paths[number].read_bytes()[:600])
    text = rf"^imgs\[{number}\] \(.*\) cannot be read, it is truncated or corrupt"
    with pytest.raises(ValueError, match=text):
        second_level_test(list(map(str, paths)), n_permutations=10, **options)


def test_the_command_line_refuses_it_on_one_line(root, tmp_path, capsys):
    paths = maps_in(root)
    invert(paths[0])
    assert main(["group", "--imgs", *paths, "--quiet", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is not the file that was written with these results" in line
    assert not (tmp_path / "out").exists()
