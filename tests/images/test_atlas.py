import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from neuroextrap.images import atlas_labels, resolve_masker


@pytest.fixture
def masker(volume):
    return resolve_masker(volume(np.ones((2, 2, 2), "uint8"), np.eye(4)))


@pytest.fixture
def atlas(volume):
    data = np.array([[[0, 3], [3, 7]], [[9, 9], [7, 0]]], "int16")
    return volume(data, np.eye(4))


LABELS = [0, 3, 3, 7, 9, 9, 7, 0]
TABLE = {3: "V1", 7: "FFA", 9: "PPA"}
INDEXED = ["Background", "-", "-", "V1", "-", "-", "-", "FFA", "-", "PPA"]


@pytest.mark.parametrize(
    "names",
    [
        ["V1", "FFA", "PPA"],
        ["Background", "V1", "FFA", "PPA"],
        [b"V1", b"FFA", b"PPA"],
        np.array(["V1", "FFA", "PPA"]),
        INDEXED,
        TABLE,
        pd.DataFrame({"index": [0, 3, 7, 9], "name": ["b", "V1", "FFA", "PPA"]}),
        Bunch(maps=None, labels=["V1", "FFA", "PPA"]),
        Bunch(
            maps=None,
            labels=["wrong"],
            lut=pd.DataFrame({"index": [3, 7, 9], "name": ["V1", "FFA", "PPA"]}),
        ),
    ],
)
def test_every_form_of_names(masker, atlas, names):
    labels, table = atlas_labels(atlas, masker, names)
    assert labels.tolist() == LABELS
    assert table == TABLE


def test_no_names_are_numbers_and_fetched_atlases_bring_theirs(masker, atlas):
    assert atlas_labels(atlas, masker)[1] == {3: "3", 7: "7", 9: "9"}
    fetched = Bunch(maps=atlas, labels=["Background", "V1", "FFA", "PPA"])
    assert atlas_labels(fetched, masker)[1] == TABLE
    assert atlas_labels(fetched, masker, ["a", "b", "c"])[1] == {3: "a", 7: "b", 9: "c"}


def test_only_labels_inside_the_mask_are_tabled(volume, atlas):
    half = np.zeros((2, 2, 2), "uint8")
    half[0] = 1
    masker = resolve_masker(volume(half, np.eye(4)))
    labels, table = atlas_labels(atlas, masker, ["V1", "FFA", "PPA"])
    assert labels.tolist() == [0, 3, 3, 7]
    assert table == {3: "V1", 7: "FFA"}


def test_another_grid_is_resampled_nearest_and_said(volume, masker):
    fine = np.kron(np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), np.ones((3, 3, 3)))
    affine = np.diag([1 / 3, 1 / 3, 1 / 3, 1])
    affine[:3, 3] = -1 / 3
    with pytest.warns(UserWarning, match="resampled to it, nearest"):
        labels, table = atlas_labels(volume(fine.astype("int16"), affine), masker)
    assert labels.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert set(table) == set(range(1, 9))


def test_resampling_never_mixes_labels(volume, masker):
    data = np.tile(np.array([1, 9, 9], "int16"), (2, 2, 1))
    shifted = np.eye(4)
    shifted[2, 3] = -0.3
    with pytest.warns(UserWarning, match="resampled"):
        labels, _ = atlas_labels(volume(data, shifted), masker)
    assert labels.tolist() == [1, 9] * 4


def test_surface_atlases(surface, surface_mask):
    masker = resolve_masker(surface_mask)
    left, right = np.arange(30) % 3, np.arange(24) % 2
    labels, table = atlas_labels(surface(left, right), masker, ["a", "b"])
    kept = [surface_mask.data.parts[side] for side in ("left", "right")]
    assert labels.tolist() == [*left[kept[0]], *right[kept[1]]]
    assert table == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.full((2, 2, 2), 0.5), "must hold whole numbers"),
        (np.full((2, 2, 2), np.nan), "must hold whole numbers"),
        (np.full((2, 2, 2), -1.0), "must hold labels >= 0"),
        (np.zeros((2, 2, 2)), "no label inside the mask"),
        (np.ones((2, 2, 2, 3)), "has 3 maps, a labels image has one"),
    ],
)
def test_bad_atlases_are_refused(volume, masker, data, message):
    with pytest.raises(ValueError, match=message):
        atlas_labels(volume(data, np.eye(4)), masker)


def test_an_atlas_of_the_other_kind_is_refused(surface_mask, masker):
    with pytest.raises(TypeError, match="not both volumes or both surfaces"):
        atlas_labels(surface_mask, masker)


def test_bad_names_are_refused(masker, atlas):
    with pytest.raises(ValueError, match="names has 2 entries for 3 labels"):
        atlas_labels(atlas, masker, ["V1", "FFA"])
    with pytest.raises(ValueError, match=r"names lack label\(s\) \[7\]"):
        atlas_labels(atlas, masker, {3: "V1", 9: "PPA"})
    with pytest.raises(ValueError, match=r"names lack column\(s\) \['name'\]"):
        atlas_labels(atlas, masker, pd.DataFrame({"index": [3]}))
    with pytest.raises(TypeError, match="names must be a list, dict"):
        atlas_labels(atlas, masker, "V1")
