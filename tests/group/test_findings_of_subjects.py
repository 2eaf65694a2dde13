"""What is doubtful about the subjects' own maps is doubtful about the group's."""

import json

import nibabel
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import second_level_test
from neuroextrap.images import resolve_masker, to_img

RUNS = np.repeat(np.arange(5), 4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Accuracy maps of eight subjects; six saw the conditions in one order."""
    mask = nibabel.Nifti1Image(np.ones((4, 3, 3)), np.eye(4))
    masker, paths = resolve_masker(mask), []
    for subject in range(8):
        rng = np.random.default_rng(subject)
        order = np.tile(np.arange(4), (5, 1))
        y = (order if subject < 6 else rng.permuted(order, axis=1)).ravel()
        light = IdentificationSearchLight(mask, radius=1.5, bounds=None)
        light.fit(to_img(rng.normal(size=(20, 36)), masker), y, groups=RUNS)
        folder = tmp_path_factory.mktemp(f"sub-{subject:02}")
        light.to_directory(folder)
        paths.append(str(folder / "accuracy.nii.gz"))
    return paths


def test_they_reach_warning_notes_sidecars_and_first_sentence(files, tmp_path):
    said = "in 6 of 8 subjects the classes come in the same order"
    with pytest.warns(UserWarning, match=said):
        group = second_level_test(files, baseline=0.25, n_permutations=99)
    (found,) = (f for f in group.findings_ if f.name == "same_order")
    assert found.seen == 6
    assert any(said in note for note in group.notes_)
    group.to_directory(tmp_path)
    sidecar = json.loads((tmp_path / "p_value_fwe.json").read_text())
    assert said in sidecar["findings"][0]["because"]
    page = group.generate_report().get_standalone()
    assert f"because {said}" in page


def test_subjects_without_findings_have_none(files):
    with pytest.warns(UserWarning, match="only .* distinct sign flips"):
        group = second_level_test(files[6:], baseline=0.25, n_permutations=99)
    assert group.findings_ == []
