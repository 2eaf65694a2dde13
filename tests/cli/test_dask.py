"""``--dask``: a cluster that is there, and ones that are not."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.cli.seam import _console

distributed = pytest.importorskip("distributed")


@pytest.fixture
def words(tmp_path):
    """Return the words of a small searchlight without its OUT."""
    rng = np.random.default_rng(0)
    img = nibabel.Nifti1Image(rng.normal(size=(4, 4, 4, 12)), np.diag([3.0, 3, 3, 1]))
    nibabel.save(img, tmp_path / "imgs.nii.gz")
    mask = nibabel.Nifti1Image(np.ones((4, 4, 4), "uint8"), img.affine)
    nibabel.save(mask, tmp_path / "mask.nii.gz")
    table = pd.DataFrame({"trial_type": ["a", "b", "c"] * 4, "run": np.arange(12) // 3})
    table.to_csv(tmp_path / "scans.tsv", sep="\t", index=False)
    files = {"--imgs": "imgs.nii.gz", "--events": "scans.tsv", "--mask": "mask.nii.gz"}
    given = [word for k, v in files.items() for word in (k, str(tmp_path / v))]
    return ["searchlight", *given, "--samples", "volumes", "--quiet"]


def test_maps_from_a_cluster_are_those_of_this_machine(words, tmp_path):
    assert main([*words, str(tmp_path / "here")]) == 0
    quiet = {
        "silence_logs": 50,
        "dashboard_address": "127.0.0.1:0",
        "processes": False,
        "protocol": "tcp://",
    }
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **quiet) as local:
        file = tmp_path / "scheduler.json"
        file.write_text(json.dumps({"address": local.scheduler_address}))
        for name, scheduler in (("a", local.scheduler_address), ("f", str(file))):
            out = tmp_path / name
            assert main([*words, "--dask", scheduler, str(out)]) == 0
            for path in sorted((tmp_path / "here").glob("*.nii.gz")):
                assert (out / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("tcp://127.0.0.1:1", "--dask tcp://127.0.0.1:1: no scheduler answers"),
        ("words.json", "the file is no scheduler file; give the one that"),
        ("no_such_file.json", "no scheduler answers"),
        ("127.0.0.1", "no scheduler answers (that is no host:port and no file)"),
        ("ftp://127.0.0.1:1", "that is no host:port and no file"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(
    named, says, words, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(_console, "_SECONDS_TO_CONNECT", 0.2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.json").write_text('["no", "address"]')
    assert main([*words, "--dask", named, "out"]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_dry_run_needs_no_cluster(words):
    assert main([*words, "--dry-run", "--dask", "tcp://127.0.0.1:1", "out"]) == 0
