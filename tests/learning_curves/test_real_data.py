"""Learning curves of real scans: runs, hemispheres and subjects as units."""

import csv

import nibabel
import numpy as np
import pytest
from nilearn.maskers import NiftiMasker
from scipy.io import loadmat
from scipy.signal import detrend

from neuroextrap.images import to_img
from neuroextrap.learning_curves import (
    CanonicalVariates,
    compare_learning_curves,
    information_learning_curve,
    pattern_reproducibility,
    sensitivity_map,
)
from tests.learning_curves.seam import center_groups

pytestmark = pytest.mark.real_data
SPLITS = 8


def _block_images(bold, labels, runs):
    """Mean image of every category in every run, drifts removed; labels and runs."""
    data = np.asarray(bold.dataobj).astype(np.float64)
    for run in np.unique(runs):
        data[..., runs == run] = detrend(data[..., runs == run])
    keys = [(run, label) for run in np.unique(runs) for label in np.unique(labels)]
    keys = [key for key in keys if key[1] != "rest"]
    means = [data[..., (runs == r) & (labels == g)].mean(axis=-1) for r, g in keys]
    image = nibabel.Nifti1Image(np.stack(means, axis=-1), bold.affine)
    return image, np.array([g for _, g in keys]), np.array([r for r, _ in keys])


def _haxby_slice(folder):
    labels, runs = np.genfromtxt(folder / "attributes_literal.txt", dtype=str).T
    bold = nibabel.load(folder / "bold.nii.gz")
    return _block_images(bold, labels, runs.astype(int)), folder / "mask.nii.gz"


def _haxby_whole_brain(folder):
    """Volumes of a block: five seconds after its onset, as long as it lasts."""
    bold_folder = folder / "haxby2001" / "sub001" / "BOLD"
    volumes, labels, runs = [], [], []
    for run, path in enumerate(sorted(bold_folder.glob("task001_run*"))):
        image = nibabel.load(path / "bold_25mm.nii.gz")
        names = np.full(image.shape[3], "rest", dtype="U20")
        times = 2.5 * np.arange(image.shape[3])
        with open(path / "bold_events.tsv", newline="") as stream:
            for event in csv.DictReader(stream, delimiter="\t"):
                since = times - float(event["onset"])
                inside = (since >= 5) & (since < 5 + float(event["duration"]))
                names[inside] = event["trial_type"]
        volumes.append(np.asanyarray(image.dataobj, dtype=np.float64))
        labels.append(names)
        runs += [run] * image.shape[3]
    bold = nibabel.Nifti1Image(np.concatenate(volumes, axis=-1), image.affine)
    mask = folder / "haxby2001" / "sub001" / "masks" / "25mm" / "brain.nii.gz"
    return _block_images(bold, np.concatenate(labels), np.array(runs)), mask


def test_haxby_slice_eight_categories(real_data):
    (image, y, runs), mask = _haxby_slice(real_data("haxby2001_subject1"))
    options = {
        "mask": mask,
        "classifier": CanonicalVariates(n_components=12),
        "prior_weight": "cross-validated",
        "n_splits": SPLITS,
        "pattern": None,
    }
    curve = information_learning_curve(
        image, y, runs, train_sizes=[4, 8, 11], **options
    )
    information = curve.information.mean(axis=1)
    assert curve.label_entropy == pytest.approx(3)
    assert information[0] < information[1]
    assert 0.4 < information[1] < 3
    assert np.all(curve.error_rate.mean(axis=1) < 0.8)
    shuffled = np.random.default_rng(0).permuted(y.reshape(12, 8), axis=1).ravel()
    null = information_learning_curve(image, shuffled, runs, train_sizes=[8], **options)
    assert null.information.mean() < 0.1


def test_haxby_whole_brain_faces_and_houses(real_data):
    """129 voxels of 25 mm, standardized by the masker: a little, and growing."""
    (image, y, runs), mask = _haxby_whole_brain(real_data("haxby2001_subject1"))
    pair = np.isin(y, ["face", "house"])
    image = nibabel.Nifti1Image(image.get_fdata()[..., pair], image.affine)
    curve = information_learning_curve(
        image,
        y[pair],
        runs[pair],
        mask=NiftiMasker(mask_img=mask, standardize="zscore_sample"),
        classifier=CanonicalVariates(n_components=2),
        prior_weight="cross-validated",
        train_sizes=[4, 8],
        n_splits=SPLITS,
    )
    information = curve.information.mean(axis=1)
    assert 0 < information[0] < information[1] < 1
    assert curve.error_rate[1].mean() < 0.3


def test_haxby_maps_are_images_again(real_data):
    (image, y, runs), mask = _haxby_slice(real_data("haxby2001_subject1"))
    pair = np.isin(y, ["face", "house"])
    pair_image = nibabel.Nifti1Image(image.get_fdata()[..., pair], image.affine)
    found = pattern_reproducibility(
        pair_image,
        y[pair],
        runs[pair],
        mask=mask,
        n_splits=SPLITS,
        classifier=CanonicalVariates(n_components=2),
        pattern="canonical",
    )
    assert found.mean[0] > 0.3
    X = center_groups(found.masker.transform(pair_image), runs[pair])
    model = CanonicalVariates(n_components=2).fit(X, y[pair])
    maps = to_img(model.canonical_maps_, found.masker)
    assert maps.shape == (*image.shape[:3], 1)
    assert sensitivity_map(model, X, y[pair]).shape == found.z_map.shape[1:]


def test_finger_movements_of_all_hemispheres(real_data):
    path = real_data("fingerhands_pcm") / "data_recipe_correlation.mat"
    content = loadmat(path)
    tables = (content[name].ravel() for name in ("Data", "condVec", "partVec"))
    gains = []
    for X, condition, run in zip(*tables, strict=True):
        finger = condition.ravel().astype(int)
        options = {
            "classifier": CanonicalVariates(n_components=8),
            "prior_weight": "cross-validated",
            "train_sizes": [3, 7],
            "n_splits": 2,
            "pattern": None,
        }
        curves = {
            name: information_learning_curve(X, labels, run.ravel(), **options)
            for name, labels in (("hand", finger > 5), ("ten", finger))
        }
        hand, ten = (curve.information.mean(axis=1) for curve in curves.values())
        assert hand[-1] > 0.8  # the hands are told apart almost perfectly
        assert np.all(ten < np.log2(10))
        gains.append(ten[-1] - hand[-1])
        assert compare_learning_curves(curves).best[-1] in curves
    assert len(gains) == 12
    assert np.mean(gains) > 0.2  # and the ten labels tell more in the end


def _contrasts(folder):
    faces, words = sorted(folder.glob("faces_*")), sorted(folder.glob("words_*"))
    labels = np.array(["faces"] * len(faces) + ["words"] * len(words))
    return faces, words, labels


def test_contrasts_on_two_grids_are_refused(real_data):
    faces, words, y = _contrasts(real_data("contrasts_words_faces"))
    with pytest.raises(ValueError, match=r"another affine than .*resample"):
        information_learning_curve(faces + words, y, np.arange(len(y)), center=None)


@pytest.mark.filterwarnings("ignore:imgs are being resampled:UserWarning")
def test_contrasts_between_subjects(real_data):
    """One map a subject, both grids resampled to 6 mm by the masker."""
    faces, words, y = _contrasts(real_data("contrasts_words_faces"))
    images = []
    for path in faces + words:
        image = nibabel.load(path)
        values = image.get_fdata()
        inside = np.isfinite(values)  # zero outside, which the mask leaves out
        images.append(nibabel.Nifti1Image(np.where(inside, values, 0), image.affine))
    common = np.all([image.get_fdata() != 0 for image in images[: len(faces)]], axis=0)
    mask = nibabel.Nifti1Image(common.astype("uint8"), images[0].affine)
    curve = information_learning_curve(
        images,
        y,
        np.arange(len(y)),
        center=None,
        mask=NiftiMasker(mask_img=mask, target_affine=np.diag([6.0, 6.0, 6.0])),
        classifier=CanonicalVariates(n_components=4),
        train_sizes=[10, 15, 24],
        n_splits=SPLITS,
    )
    assert curve.error_rate[-1].mean() < curve.baseline_error_rate[-1].mean()
    assert curve.reproducibility[1].mean() > 0
