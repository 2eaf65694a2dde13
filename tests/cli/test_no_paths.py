"""No command tells where on this machine its inputs were."""

import gzip
import os

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.faults.runs import make_inputs, words_of

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A folder whose name no result may tell, with inputs of every command."""
    root = tmp_path_factory.mktemp("Somebodys Secret Study")
    make_inputs(root)
    labels = {"subject": np.repeat(range(6), 4), "trial_type": ["a", "b", "c", "d"] * 6}
    pd.DataFrame(labels).to_csv(root / "subjects.tsv", sep="\t", index=False)
    for number in range(3):
        run = [*words_of("searchlight", root, root / f"s{number}", number)]
        run[1:1] = ["--save-null", str(root / f"s{number}.npy")]
        run[run.index("--radius") + 1] = str(4 + number)  # else subjects are equal
        assert main(run) == 0
    return root


def words_by_kind(root, out):
    """Return words of every command that writes to a folder, by name."""
    maps = [str(root / f"s{number}" / "accuracy.nii.gz") for number in range(3)]
    other = [path.replace("accuracy", "p_value") for path in maps]  # seeds differ
    nulls = [str(root / f"s{number}.npy") for number in range(3)]
    quiet = ["--overwrite", "--quiet"]
    atlas = nibabel.load(root / "mask.nii.gz")
    labels = np.arange(atlas.get_fdata().size).reshape(atlas.shape) % 3
    nibabel.Nifti1Image(labels.astype("int16"), atlas.affine).to_filename(
        root / "atlas.nii.gz"
    )
    searchlight = words_of("searchlight", root, out)
    mask = ["--mask", str(root / "mask.nii.gz")]
    learning = ["learning-curve", "--imgs", str(root / "b.nii.gz"), "--n-splits", "2"]
    learning += ["--scans", str(root / "subjects.tsv")]
    return {
        "searchlight": [
            *("searchlight", "--checkpoint", str(root / "check"), "--report"),
            *("--process-mask", str(root / "mask.nii.gz")),
            *searchlight[1:],
        ],
        "atlas": [
            *("searchlight", "--labels-img", str(root / "atlas.nii.gz")),
            *searchlight[1:],
        ],
        "encoding": words_of("encoding", root, out),
        "merge": words_of("merge", root, out),
        "signs": [
            *("group", "--imgs", *other, *mask, "--allow-mixed", "radius"),
            *(*quiet, str(out)),
        ],
        "prevalence": [
            *("group", "--imgs", *maps, "--null", *nulls, "--allow-mixed", "radius"),
            *(*quiet, str(out)),
        ],
        "learning": [*learning, *mask, *quiet, str(out)],
    }


KINDS = (
    "searchlight", "atlas", "encoding", "merge", "signs", "prevalence", "learning"
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_output_tells_a_folder_of_this_machine(kind, secret, tmp_path):
    out = tmp_path / "out"
    assert main(words_by_kind(secret, out)[kind]) == 0
    private = [secret.name, str(tmp_path), os.path.expanduser("~") + os.sep]
    read = 0
    for path in out.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            told = [word for word in private if word.encode() in content]
            assert not told, (path, told)
            read += 1
    assert read >= 3
