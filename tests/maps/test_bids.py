"""File names as the Brain Imaging Data Structure wants them."""

import json

import pytest

from tests.maps.seam import describe_dataset, file_entities, shared_entities


@pytest.mark.parametrize(
    ("name", "entities"),
    [
        ("sub-01_bold.nii.gz", {"sub": "01"}),
        ("/a/sub-9/x/sub-9_ses-2_T1w.nii", {"sub": "9", "ses": "2"}),
        ("sub-a_space-T1w_desc-preproc_bold.nii.gz", None),
        ("sub-a_space-MNI152NLin2009cAsym+1_bold.gii", None),
        ("sub-1_task-x_bold.npy", {"sub": "1", "task": "x"}),
    ],
)
def test_bids_names_are_read(name, entities):
    read = file_entities(name)
    assert read is not None
    assert entities is None or read == entities


@pytest.mark.parametrize(
    "name",
    [
        "bold.nii.gz",
        "run-1_bold.nii.gz",  # no subject
        "task-x_sub-01_bold.nii.gz",  # the subject is not first
        "sub-01.nii.gz",  # no suffix
        "sub-01_task-x",  # no extension
        "sub-01_task-x_run-1.nii.gz",  # a pair where the suffix should be
        "sub-01_task-a-b_bold.nii.gz",  # hyphen in a label
        "sub-01_task_bold.nii.gz",  # no label
        "sub-01_task-_bold.nii.gz",
        "sub-01_Task-x_bold.nii.gz",
        "sub-01_task-x_task-y_bold.nii.gz",  # twice
        "sub-01_task-ä_bold.nii.gz",
        "sub-01__bold.nii.gz",
        "",
    ],
)
def test_other_names_are_not_taken_for_bids(name):
    assert file_entities(name) is None
    assert shared_entities(["sub-01_bold.nii.gz", name]) is None


def test_shared_entities_are_those_of_all_inputs_in_bids_order():
    start = "sub-01_ses-{}_task-x_run-{}"
    runs = [start.format(1, run) + "_space-T1w_bold.nii.gz" for run in "12"]
    shared = shared_entities(runs)
    assert list(shared.items()) == [
        ("sub", "01"),
        ("ses", "1"),
        ("task", "x"),
        ("space", "T1w"),
    ]
    other = start.format(2, 1) + "_bold.nii.gz"
    assert shared_entities([*runs, other]) == {"sub": "01", "task": "x"}
    assert shared_entities(runs[:1])["run"] == "1"
    messy = ["sub-1_desc-a_space-b_acq-c_zebra-d_task-e_bold.nii"]
    assert list(shared_entities(messy)) == [
        "sub",
        "task",
        "acq",
        "space",
        "zebra",
        "desc",
    ]
    assert shared_entities([]) is None


def test_the_description_of_the_data_set(tmp_path):
    source = tmp_path / "raw" / "sub-01" / "func"
    source.mkdir(parents=True)
    doi = {"DatasetDOI": "doi:10.18112/openneuro.ds000105.v3.0.0", "Name": "Haxby"}
    (tmp_path / "raw" / "dataset_description.json").write_text(json.dumps(doi))
    imgs = [source / "sub-01_bold.nii.gz", tmp_path / "elsewhere.nii.gz"]
    about = json.loads(describe_dataset(tmp_path / "new" / "out", imgs).read_text())
    assert {"Name", "BIDSVersion", "DatasetType", "GeneratedBy"} < about.keys()
    assert about["DatasetType"] == "derivative"
    assert about["GeneratedBy"][0].keys() == {"Name", "Version"}
    assert about["SourceDatasets"] == [{"DOI": doi["DatasetDOI"]}]
    assert sorted(p.name for p in (tmp_path / "new" / "out").iterdir()) == [
        ".bidsignore",
        "README",
        "dataset_description.json",
    ]
    again = tmp_path / "new" / "out" / "dataset_description.json"
    again.write_text("mine")
    assert describe_dataset(tmp_path / "new" / "out").read_text() == "mine"
    unknown = json.loads(describe_dataset(tmp_path / "other", imgs[1:]).read_text())
    assert "SourceDatasets" not in unknown


def test_a_validator_is_told_what_has_no_name_in_the_standard(tmp_path):
    describe_dataset(tmp_path)
    ignored = (tmp_path / ".bidsignore").read_text().splitlines()
    assert {"*_stat.*", "group"} <= set(ignored)  # validators find no "group/"
    assert "neuroextrap" in (tmp_path / "README").read_text()
    (tmp_path / "dataset_description.json").unlink()
    (tmp_path / "README").write_text("mine")
    describe_dataset(tmp_path)
    assert (tmp_path / "README").read_text() == "mine"
