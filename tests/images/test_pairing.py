"""Images and events belong together by their names, or are refused."""

from functools import partial

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import NamedImage, pair_by_name, read_tables

trial_betas = partial(labeled_samples, samples="lsa")


class Named:
    """An image of which nothing matters but its file."""

    def __init__(self, file):
        self.file = file

    def get_filename(self):
        return self.file


def images(*files):
    return [NamedImage(f"imgs[{i}]", Named(file)) for i, file in enumerate(files)]


def bolds(*runs):
    return images(*(f"sub-01_task-x_run-{run}_bold.nii.gz" for run in runs))


def events(*runs, sub="01", task="x"):
    return [f"sub-{sub}_task-{task}_run-{run}_events.tsv" for run in runs]


def test_named_tables_may_come_in_any_order(caplog):
    with caplog.at_level("INFO", logger="neuroextrap"):
        assert pair_by_name(bolds(1, 2, 3), events(3, 1, 2), "events") == events(
            1, 2, 3
        )
    assert "put into the order of the images" in caplog.text
    caplog.clear()
    assert pair_by_name(bolds(1, 2), events(1, 2), "events") == events(1, 2)
    assert not caplog.records


def test_indices_of_runs_are_numbers():
    for written in (("01", "02"), ("001", "2"), ("1", "02")):
        assert pair_by_name(bolds(1, 2), events(*written), "events") == events(*written)
    assert pair_by_name(bolds("01", "10"), events("10", "1"), "events") == events(
        "1", "10"
    )


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        (events(1, 2, sub="02"), "sub"),
        (events(2, 1, sub="02"), "sub"),
        (events(1, 2, sub="1"), "sub"),  # another label, another participant
        (events(1, 2, task="rest"), "task"),
        (events(1, 3), "run"),
        (events(1, 1), "run"),
        (["sub-02/func/run-1.tsv", "sub-02/func/run-2.tsv"], "sub"),
        (["SUB-02_run-1_events.tsv", "SUB-02_run-2_events.tsv"], "sub"),
        (["Run-2.tsv", "RUN-2.tsv"], "run"),
    ],
)
def test_tables_of_something_else_are_refused(tables, key):
    with pytest.raises(
        ValueError, match=f"disagree in {key}: .* and .*; give"
    ) as error:
        pair_by_name(bolds(1, 2), tables, "events")
    assert "_bold.nii.gz" in str(error.value)
    assert ".tsv" in str(error.value)


def test_names_without_entities_keep_their_order():
    plain = ["b.tsv", "a.tsv"]
    assert pair_by_name(bolds(1, 2), plain, "events") == plain
    assert pair_by_name(images("x.nii", None), events(2, 1), "events") == events(2, 1)
    frames = [pd.DataFrame(), pd.DataFrame()]
    paired = pair_by_name(bolds(1, 2), frames, "events")
    assert all(a is b for a, b in zip(paired, frames, strict=True))


def test_entities_that_only_one_has_do_not_matter():
    inherited = ["task-x_events.tsv"] * 2
    assert pair_by_name(bolds(1, 2), inherited, "events") == inherited
    named = images("sub-01_ses-a_task-x_run-1_space-T1w_desc-preproc_bold.nii.gz")
    assert pair_by_name(named, events(1), "events") == events(1)


def test_several_sessions_and_tasks_are_told_apart():
    bold = "sub-1_ses-{}_task-{}_bold.nii.gz"
    event = "sub-1_ses-{}_task-{}_events.tsv"
    cells = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    named = images(*(bold.format(*cell) for cell in cells))
    tables = [event.format(*cell) for cell in cells]
    assert pair_by_name(named, tables[::-1], "events") == tables
    with pytest.raises(ValueError, match="disagree in ses"):
        pair_by_name(named, [tables[2], *tables[1:]], "events")


def test_one_table_for_all_belongs_to_all():
    table = ["sub-01_task-x_volumes.tsv"]
    assert pair_by_name(bolds(1, 2), table, "events") == table
    with pytest.raises(ValueError, match="disagree in sub: 01 and 02"):
        pair_by_name(bolds(1, 2), ["sub-02_task-x_volumes.tsv"], "events")


def test_a_run_is_not_given_twice(tmp_path):
    path = tmp_path / "bold.nii.gz"
    nibabel.Nifti1Image(np.ones((2, 2, 2, 3)), np.eye(4)).to_filename(path)
    linked = tmp_path / "other.nii.gz"
    linked.symlink_to(path)
    for twice in ([path, path], [path, linked], [nibabel.load(path), str(path)]):
        with pytest.raises(ValueError, match=r"is the same file as imgs\[0\]"):
            read_tables(twice, ["a.tsv", "b.tsv"])


@pytest.fixture
def runs(tmp_path):
    """Two runs with events, in which trials of a condition differ from one another."""
    rng = np.random.default_rng(0)
    imgs, tables = [], []
    for run in (1, 2):
        data = 100 + rng.normal(size=(2, 2, 2, 20))
        labels = ["face", "cat"] if run == 1 else ["cat", "face"]
        table = pd.DataFrame(
            {"onset": [2.0, 22.0], "duration": 6.0, "trial_type": labels}
        )
        data[..., 1:4] += 10 * run
        name = tmp_path / f"sub-01_task-x_run-{run}"
        nibabel.Nifti1Image(data, np.eye(4)).to_filename(f"{name}_bold.nii.gz")
        table.to_csv(f"{name}_events.tsv", sep="\t", index=False)
        imgs.append(f"{name}_bold.nii.gz")
        tables.append(f"{name}_events.tsv")
    return imgs, tables


@pytest.mark.parametrize("read", [labeled_samples, trial_betas])
def test_samples_do_not_depend_on_the_order_of_tables(runs, read):
    imgs, tables = runs
    masker = resolve_masker(nibabel.Nifti1Image(np.ones((2, 2, 2), "int8"), np.eye(4)))
    first, second = (
        read(imgs, given, masker=masker, t_r=2.0) for given in (tables, tables[::-1])
    )
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.y, second.y)
    with pytest.raises(ValueError, match="disagree in run: 1 and 2"):
        read(imgs, [tables[1]] * 2, masker=masker, t_r=2.0)


@pytest.mark.parametrize("read", [labeled_samples, trial_betas])
def test_tables_may_be_a_pattern_as_images_may(runs, read):
    imgs, tables = runs
    folder = tables[0].rpartition("/")[0]
    masker = resolve_masker(nibabel.Nifti1Image(np.ones((2, 2, 2), "int8"), np.eye(4)))
    listed = read(imgs, tables, masker=masker, t_r=2.0)
    found = read(
        f"{folder}/*_bold.nii.gz", f"{folder}/*_events.tsv", masker=masker, t_r=2.0
    )
    np.testing.assert_array_equal(found.data, listed.data)
    np.testing.assert_array_equal(found.y, listed.y)
    with pytest.raises(ValueError, match=r"events: no file matches .*; check"):
        read(imgs, f"{folder}/*_beh.tsv", masker=masker, t_r=2.0)
