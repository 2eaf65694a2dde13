import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from neuroextrap.images import resolve_masker
from tests.images.seam import atlas_labels


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
        (np.ones((2, 2, 2, 3)), "must be one image, got 3 samples"),
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


FOUR = ["V1", "V2", "V3", "V4"]


def _numbered(volume, n_labels):
    data = np.arange(1, 9, dtype="int16").reshape(2, 2, 2)
    return volume(np.where(data <= n_labels, data, 0), np.eye(4))


def _right(n_labels):
    return {i + 1: FOUR[i] for i in range(n_labels)}


@pytest.mark.parametrize("n_labels", [4, 3, 2])
@pytest.mark.parametrize("first", ["Background", "background", b"Unknown", "", "0"])
def test_a_list_with_background_never_shifts(volume, masker, n_labels, first):
    """Also where the atlas was cropped and lost its last labels."""
    atlas = _numbered(volume, n_labels)
    table = atlas_labels(atlas, masker, [first, *FOUR])[1]
    assert table == _right(n_labels)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        pd.Series,
        lambda names: Bunch(maps=None, labels=names),
        lambda names: ["Area X", *names],  # something stands for 0, or one is lost
    ],
)
def test_names_of_lost_labels_are_not_given_to_others(volume, masker, n_labels, make):
    atlas = _numbered(volume, n_labels)
    with pytest.raises(ValueError, match=r"names has . entries for .*'Background', or"):
        atlas_labels(atlas, masker, make(FOUR))


def test_a_list_for_every_label_without_background(volume, masker):
    atlas = _numbered(volume, 4)
    for names in (FOUR, np.array(FOUR), pd.Series(FOUR)):
        assert atlas_labels(atlas, masker, names)[1] == _right(4)
    with pytest.raises(ValueError, match="names has 4 entries for 4 labels"):
        atlas_labels(atlas, masker, ["Background", *FOUR[:3]])


def test_a_series_says_its_labels(volume, masker):
    atlas = _numbered(volume, 3)
    names = pd.Series({4: "V4", 3: "V3", 2: "V2", 1: "V1"})
    assert atlas_labels(atlas, masker, names)[1] == _right(3)


@pytest.mark.parametrize("kind", ["frame", "text", "dict"])
@pytest.mark.parametrize(
    ("index", "names", "message"),
    [
        ([1, 1, 2], ["a", "b", "c"], "names have label 1 twice, as 'a' and 'b'"),
        (
            [1.6, 2, 3],
            ["a", "b", "c"],
            "names have the label '?1.6'?, labels",
        ),
        (["x", 2, 3], ["a", "b", "c"], "names have the label 'x', labels are whole"),
        ([np.nan, 2], ["a", "b"], "names have the label '?nan'?, labels are whole"),
        ([1, 2], ["a", np.nan], r"names lack label\(s\) \[2\]"),
        ([1, 2], ["a", None], r"names lack label\(s\) \[2\]"),
        ([1, 2], ["a", pd.NA], r"names lack label\(s\) \[2\]"),
    ],
)
def test_tables_that_do_not_say_one_name(volume, masker, kind, index, names, message):
    atlas = _numbered(volume, 2)
    if kind == "dict":
        if len(set(index)) < len(index):
            index = [str(index[0]), *index[1:]]  # "1" beside 1
        table = dict(zip(index, names, strict=True))
    else:
        table = pd.DataFrame({"index": index, "name": names})
        if kind == "text":
            table["index"] = table["index"].astype(str)
    with pytest.raises(ValueError, match=message):
        atlas_labels(atlas, masker, table)


def test_lists_with_a_missing_name(volume, masker):
    atlas = _numbered(volume, 2)
    for names in (["a", None], ["a", np.nan], ["Background", "a", None]):
        with pytest.raises(ValueError, match=r"names lack label\(s\) \[2\]"):
            atlas_labels(atlas, masker, names)


def test_missing_names_of_labels_elsewhere_do_not_matter(volume, masker):
    table = pd.DataFrame({"index": [0, 1.0, 2, 9], "name": [None, "V1", b"V2", None]})
    assert atlas_labels(_numbered(volume, 2), masker, table)[1] == _right(2)


def test_a_fetched_atlas_that_lost_a_label(volume, masker):
    names = ["Background", *FOUR]
    table = pd.DataFrame({"index": range(5), "name": names, "color": "#000000"})
    for lut in (table, table[::-1], None):
        fetched = Bunch(maps=_numbered(volume, 3), labels=names, lut=lut)
        assert atlas_labels(fetched, masker)[1] == _right(3)
