from functools import partial

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import detrend

from neuroextrap.images import labeled_samples, resolve_masker

volume_samples = partial(labeled_samples, samples="volumes")

LABELS = ["rest", "face", "face", "cat", "cat", "rest"]


def data_of(n_volumes, seed=0):
    return np.random.default_rng(seed).normal(size=(2, 3, 2, n_volumes)) + 50


def as_rows(data):
    return data.reshape(12, -1).T


@pytest.fixture
def masker(volume):
    return resolve_masker(volume(np.ones((2, 3, 2), "uint8")))


@pytest.fixture
def table():
    return pd.DataFrame({"trial_type": LABELS * 2, "run": [3] * 6 + [7] * 6})


def test_labeled_volumes_are_samples_in_order(volume, masker, table):
    data = data_of(12)
    found = volume_samples(volume(data), table, masker=masker, exclude=["rest"])
    kept = np.array(LABELS * 2) != "rest"
    np.testing.assert_array_equal(found.data, as_rows(data)[kept])
    assert found.y.tolist() == ["face", "face", "cat", "cat"] * 2
    assert found.runs.tolist() == [3] * 4 + [7] * 4
    assert found.masker is masker
    everything = volume_samples(volume(data), table, masker=masker)
    assert len(everything.y) == 12


def test_blocks_are_means_of_a_runs_conditions(volume, masker, table):
    data = data_of(12)
    found = labeled_samples(volume(data), table, masker=masker, exclude="rest")
    assert found.y.tolist() == ["cat", "face", "cat", "face"]
    assert found.runs.tolist() == [3, 3, 7, 7]
    rows = as_rows(data)
    twin = [rows[a:b].mean(axis=0) for a, b in [(3, 5), (1, 3), (9, 11), (7, 9)]]
    np.testing.assert_allclose(found.data, twin)


def test_a_condition_that_a_run_lacks_makes_no_sample(volume, masker, table):
    table.loc[6:, "trial_type"] = "cat"
    found = labeled_samples(volume(data_of(12)), table, masker=masker, exclude="rest")
    assert list(zip(found.y, found.runs, strict=True)) == [
        ("cat", 3),
        ("face", 3),
        ("cat", 7),
    ]


def test_one_table_for_all_volumes_of_several_images(volume, masker, table):
    data = data_of(12)
    together = volume_samples(volume(data), table, masker=masker)
    parts = [volume(data[..., :5]), volume(data[..., 5:])]
    apart = volume_samples(parts, table, masker=masker)
    single = volume_samples(
        [volume(data[..., i]) for i in range(12)], table, masker=masker
    )
    for other in (apart, single):
        np.testing.assert_array_equal(other.data, together.data)
        assert other.runs.tolist() == together.runs.tolist()


def test_bids_events_and_one_labels_by_row_agree(volume, masker, table, tmp_path):
    data = data_of(12)
    events = pd.DataFrame(
        {"onset": [2.5, 7.5], "duration": [5.0, 5.0], "trial_type": ["face", "cat"]}
    )
    events.to_csv(tmp_path / "events.tsv", sep="\t", index=False)
    runs = [volume(data[..., :6]), volume(data[..., 6:])]
    for given in ([events, events], [tmp_path / "events.tsv"] * 2):
        found = labeled_samples(runs, given, masker=masker, t_r=2.5)
        wanted = labeled_samples(volume(data), table, masker=masker, exclude="rest")
        np.testing.assert_array_equal(found.data, wanted.data)
        assert found.y.tolist() == wanted.y.tolist()
        assert found.runs.tolist() == [0, 0, 1, 1]
    tables = [table[:6], table[6:]]
    listed = labeled_samples(runs, tables, masker=masker, exclude="rest")
    np.testing.assert_array_equal(listed.data, wanted.data)
    assert listed.runs.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("z_score", [False, True])
def test_cleaning_is_run_by_run(volume, masker, table, lines, z_score):
    order = np.random.default_rng(4).permutation(12)  # runs need not be contiguous
    data = data_of(12)
    found = volume_samples(
        volume(data),
        table.iloc[order],
        masker=masker,
        detrend=lines,
        standardize=z_score,
    )
    runs = table["run"].to_numpy()[order]
    for run in (3, 7):
        twin = as_rows(data)[runs == run]
        twin = detrend(twin, axis=0) if lines else twin
        twin = stats.zscore(twin, axis=0, ddof=1) if z_score else twin
        np.testing.assert_allclose(found.data[runs == run], twin, atol=1e-10)


def test_holes_spread_over_their_run_only_when_cleaned(volume, masker, table):
    data = data_of(12)
    data[0, 0, 0, 1] = np.nan
    plain = volume_samples(volume(data), table, masker=masker).data
    assert np.argwhere(np.isnan(plain)).tolist() == [[1, 0]]
    cleaned = volume_samples(volume(data), table, masker=masker, detrend=True).data
    assert np.argwhere(np.isnan(cleaned)).tolist() == [[i, 0] for i in range(6)]
    blocks = labeled_samples(volume(data), table, masker=masker, exclude="rest")
    assert np.argwhere(np.isnan(blocks.data)).tolist() == [[1, 0]]


def test_constant_voxels_stay_constant(volume, masker, table):
    data = data_of(12)
    data[1, 1, 1] = 5.0
    found = volume_samples(volume(data), table, masker=masker, standardize=True)
    constant = np.ptp(found.data, axis=0) == 0
    assert constant.sum() == 1


def test_excluding_what_is_not_there_is_said(volume, masker, table, caplog):
    volume_samples(volume(data_of(12)), table, masker=masker, exclude=["Rest"])
    assert "'Rest' is to be excluded but does not occur" in caplog.text


def test_bad_tables_are_refused(volume, masker, table):
    img = volume(data_of(12))
    events = pd.DataFrame({"onset": [0.0], "duration": [9.0], "trial_type": ["cat"]})
    cases = [
        (img, table[:-1], {}, "events has 11 rows for 12 volumes"),
        ([img, img], [table] * 3, {}, "one table for each of the 2 images.*got 3"),
        ([img, img], events, {"t_r": 2.0}, "holds BIDS events for 2 images"),
        (img, events, {}, "t_r is needed with BIDS events"),
        (img, events, {"t_r": 0}, "must be a positive number of seconds"),
        (img, events, {"t_r": 30.0}, None),
        (img, table, {"exclude": ["rest", "face", "cat"]}, "leaves no sample"),
        (
            img,
            table.assign(run=[1] * 11 + [None]),
            {},
            "column run has no entry in row 12",
        ),
    ]
    for given, tables, options, message in cases:
        if message is None:
            assert len(volume_samples(given, tables, masker=masker, **options).y) == 1
            continue
        with pytest.raises(ValueError, match=message):
            volume_samples(given, tables, masker=masker, **options)


@pytest.mark.real_data
def test_events_and_attributes_of_a_real_experiment_agree(real_data):
    folder = real_data("haxby2001_subject1")
    rows = np.loadtxt(folder / "attributes_literal.txt", dtype=str)
    table = pd.DataFrame({"trial_type": rows[:, 0], "run": rows[:, 1].astype(int)})
    masker = resolve_masker(folder / "mask.nii.gz")
    options = {"masker": masker, "exclude": "rest", "detrend": True}
    found = labeled_samples(folder / "bold.nii.gz", table, standardize=True, **options)
    assert found.data.shape == (96, 530)
    assert set(np.unique(found.runs)) == set(range(12))
    assert np.unique(found.y, return_counts=True)[1].tolist() == [12] * 8
    runs = sorted((folder / "haxby2001" / "sub001" / "BOLD").glob("task001_run*"))
    by_events = labeled_samples(
        [run / "bold_1slice.nii.gz" for run in runs],
        [run / "bold_events.tsv" for run in runs],
        t_r=2.5,
        standardize=True,
        **options,
    )
    assert by_events.y.tolist() == found.y.tolist()
    np.testing.assert_array_equal(by_events.data, found.data)
    bold = nibabel.load(folder / "bold.nii.gz").get_fdata()
    assert bold.shape[3] == len(table)
