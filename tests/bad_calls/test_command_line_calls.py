"""Bad words on the command line: exit code 2, one line, and nothing written."""

import json
import shutil

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.bad_calls.calls import assert_good_message

pytestmark = pytest.mark.usefixtures("one_parser")

AFFINE = np.diag([3.0, 3.0, 3.0, 1.0])
SHAPE = (3, 3, 3)
N = 12


def save(folder, name, data, affine=AFFINE):
    """Write an image."""
    nibabel.save(nibabel.Nifti1Image(data, affine), folder / name)


def spoil_header(folder, name, source, offset, value, dtype):
    """Write a copy of an image with one field of its header changed."""
    content = bytearray((folder / source).read_bytes())
    bits = np.array(value, dtype).tobytes()
    content[offset : offset + len(bits)] = bits
    (folder / name).write_bytes(bytes(content))


def table(folder, name, **columns):
    """Write a tab-separated table."""
    pd.DataFrame(columns).to_csv(folder / name, sep="\t", index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files of every kind, and bad ones."""
    here = tmp_path_factory.mktemp("bad words")
    rng = np.random.default_rng(0)
    save(here, "imgs.nii", rng.normal(size=(*SHAPE, N)).astype("f4"))
    save(here, "mask.nii", np.ones(SHAPE, "u1"))
    save(here, "empty.nii", np.zeros(SHAPE, "u1"))
    save(here, "graded.nii", np.arange(27.0).reshape(SHAPE))
    save(here, "larger.nii", np.ones((5, 5, 5), "u1"))
    save(here, "moved.nii", np.ones(SHAPE, "u1"), np.diag([2.0, 2, 2, 1]))
    save(here, "five.nii", np.ones((*SHAPE, 2, 6), "f4"))
    save(here, "nan.nii", np.full((*SHAPE, N), np.nan, "f4"))
    save(here, "complex.nii", 1j * rng.normal(size=(*SHAPE, N)))
    for k in range(4):
        save(here, f"map-{k}.nii", rng.normal(size=SHAPE).astype("f4"))
        np.save(here / f"null-{k}.npy", rng.normal(size=(9, 27)))
    # fields of the NIfTI-1 header: dim at 40, datatype at 70, srow at 280
    spoil_header(here, "nan_affine.nii", "mask.nii", 280, np.nan, "<f4")
    spoil_header(here, "singular.nii", "mask.nii", 280, [0.0] * 12, "<f4")
    for kind in ("mask", "imgs"):
        spoil_header(here, f"code_{kind}.nii", f"{kind}.nii", 70, 9999, "<i2")
        spoil_header(here, f"negative_{kind}.nii", f"{kind}.nii", 42, -3, "<i2")
        spoil_header(here, f"huge_{kind}.nii", f"{kind}.nii", 42, [30000] * 3, "<i2")
    (here / "short.nii").write_bytes((here / "imgs.nii").read_bytes()[:900])
    (here / "text.nii").write_text("no image\n")
    (here / "nothing.nii").write_bytes(b"")
    y, runs = ["a", "b", "c"] * 4, np.arange(N) // 3
    table(here, "scans.tsv", trial_type=y, run=runs)
    table(here, "no_runs.tsv", trial_type=y)
    table(here, "one_run.tsv", trial_type=y, run=0)
    table(here, "no_types.tsv", label=y, run=runs)
    table(here, "short.tsv", trial_type=y[:5], run=runs[:5])
    table(here, "one_type.tsv", trial_type="a", run=runs)
    onsets = {"onset": np.arange(6.0) * 4, "duration": 4.0, "trial_type": y[:6]}
    table(here, "events.tsv", **onsets)
    table(here, "late.tsv", **(onsets | {"onset": np.arange(6) + 1e4}))
    table(here, "words.tsv", **(onsets | {"onset": ["soon"] * 6}))
    table(here, "backwards.tsv", **(onsets | {"duration": -1.0}))
    (here / "empty.tsv").write_bytes(b"")
    (here / "latin.tsv").write_bytes("trial_type\trun\nh\xf6ren\t1\n".encode("latin-1"))
    (here / "zeros.tsv").write_bytes(b"\0" * 64)
    sets = {"set": ["train"] * 8 + ["test"] * 4}
    feature = {"f1": rng.normal(size=N), "f2": rng.normal(size=N)}
    table(here, "stimuli.tsv", **sets, **feature)
    table(here, "no_set.tsv", **feature)
    table(here, "all_train.tsv", set="train", **feature)
    table(here, "text_features.tsv", **sets, f1=y)
    table(here, "no_features.tsv", **sets)
    np.save(here / "features.npy", rng.normal(size=(N, 2)))
    np.save(here / "vector.npy", rng.normal(size=N))
    np.save(here / "few.npy", rng.normal(size=(5, 2)))
    np.save(here / "text.npy", np.array([["a", "b"]] * N))
    np.save(here / "objects.npy", np.array([{}, 1], object), allow_pickle=True)
    np.savez(here / "archive.npz", a=np.ones(3))
    (here / "archive.npy").write_bytes((here / "archive.npz").read_bytes())
    (here / "nothing.npy").write_bytes(b"")
    (here / "words.npy").write_text("no array")
    (here / "cut.npy").write_bytes((here / "features.npy").read_bytes()[:150])
    subjects = {"subject": runs, "trial_type": ["a", "b", "a"] * 4}
    table(here, "subjects.tsv", **subjects)
    (here / "file").write_text("not a folder")
    (here / "full").mkdir()
    (here / "full" / "thesis.txt").write_text("mine")
    for name, text in (("list", "[]"), ("other", '{"a": 1}'), ("cut", '{"kind": "se')):
        (here / f"part_{name}").mkdir()
        (here / f"part_{name}" / "analysis.json").write_text(text)
        (here / f"part_{name}" / "results.npz").write_bytes(b"PK\3\4")
    (here / "part_zip").mkdir()
    index = {"kind": "searchlight", "parameters": {}, "classes": ["a"]}
    index |= {"n_elements": 2, "has_images": False}
    (here / "part_zip" / "analysis.json").write_text(json.dumps(index))
    (here / "part_zip" / "results.npz").write_bytes(b"PK\3\4 and no more")
    return here


GOOD = {
    "searchlight": "--imgs imgs.nii --events scans.tsv --mask mask.nii "
    "--samples volumes --max-memory 1G",
    "encoding": "--imgs imgs.nii --stimuli stimuli.tsv --mask mask.nii --encoder ridge",
    "group": "--imgs map-0.nii map-1.nii map-2.nii map-3.nii --mask mask.nii",
    "learning-curve": "--imgs imgs.nii --scans subjects.tsv --mask mask.nii "
    "--n-splits 2",
    "merge": "",
}


# what replaces good words, and what the line must say besides
SEARCHLIGHT = [
    ("--imgs none.nii", "imgs", "none.nii"),
    ("--imgs text.nii", "text.nii"),
    ("--imgs nothing.nii", "nothing.nii"),
    ("--imgs short.nii", "short.nii"),
    ("--imgs five.nii", "five.nii"),
    ("--imgs nan.nii", "NaN"),
    ("--imgs complex.nii", "complex.nii", "complex128"),
    ("--imgs code_imgs.nii", "code_imgs.nii"),
    ("--imgs negative_imgs.nii", "negative_imgs.nii"),
    ("--imgs huge_imgs.nii", "huge_imgs.nii"),
    ("--imgs file", "file"),
    ("--imgs scans.tsv", "scans.tsv"),
    ("--imgs full", "full"),
    ("--mask none.nii", "none.nii"),
    ("--mask text.nii", "text.nii"),
    ("--mask empty.nii", "empty.nii"),
    ("--mask graded.nii", "graded.nii"),
    ("--mask larger.nii", "larger.nii", "(5, 5, 5)"),
    ("--mask moved.nii", "moved.nii"),
    ("--mask nan_affine.nii", "nan_affine.nii"),
    ("--mask singular.nii", "singular.nii"),
    ("--mask code_mask.nii", "code_mask.nii"),
    ("--mask negative_mask.nii", "negative_mask.nii"),
    ("--mask huge_mask.nii", "huge_mask.nii"),
    ("--mask scans.tsv", "scans.tsv"),
    ("--labels-img none.nii", "none.nii"),
    ("--labels-img empty.nii", "labels_img"),
    ("--labels-img code_mask.nii", "code_mask.nii"),
    ("--process-mask none.nii", "none.nii"),
    ("--process-mask empty.nii", "process_mask_img"),
    ("--process-mask singular.nii", "singular.nii"),
    ("--events none.tsv", "none.tsv"),
    ("--events no_types.tsv", "no_types.tsv", "trial_type"),
    ("--events no_runs.tsv", "no_runs.tsv", "run"),
    ("--events one_run.tsv", "run"),
    ("--events short.tsv", "short.tsv", "12"),
    ("--events one_type.tsv", "1 class"),
    ("--events empty.tsv", "empty.tsv"),
    ("--events latin.tsv", "latin.tsv"),
    ("--events zeros.tsv", "zeros.tsv"),
    ("--events imgs.nii", "imgs.nii"),
    ("--events full", "full"),
    ("--events events.tsv", "--t-r", "None"),
    ("--events events.tsv --t-r 0", "t_r", "0"),
    ("--events events.tsv --t-r nan", "t_r", "nan"),
    ("--events late.tsv --t-r 2", "late.tsv"),
    ("--events words.tsv --t-r 2", "words.tsv", "onset"),
    ("--events backwards.tsv --t-r 2", "backwards.tsv"),
    ("--samples lss --events events.tsv", "--t-r"),
    ("--samples trials", "--samples", "trials"),
    ("--exclude a b c", "exclude"),
    ("--classes a z", "classes", "'z'"),
    ("--classes a", "classes", "'a'"),
    ("--test-runs 9", "--test-runs", "9"),
    ("--test-runs 0 1 2 3", "--test-runs"),
    ("--radius 0", "radius", "0"),
    ("--radius -1", "radius", "-1"),
    ("--radius nan", "radius", "nan"),
    ("--radius big", "--radius", "big"),
    ("--n-nearest 0", "n_nearest", "0"),
    ("--n-nearest 99", "n_nearest", "99"),
    ("--n-nearest 2.5", "--n-nearest", "2.5"),
    ("--stride 0", "stride", "0"),
    ("--min-voxels 0", "min_voxels", "0"),
    ("--estimator magic", "estimator", "magic"),
    ("--estimator lda --shrinkage -1", "shrinkage", "-1"),
    ("--shrinkage some", "--shrinkage", "some"),
    ("--statistic f1", "statistic", "f1"),
    ("--statistic 9", "statistic", "9"),
    ("--n-permutations -1", "n_permutations", "-1"),
    ("--n-permutations many", "--n-permutations", "many"),
    ("--n-permutations 999999999999", "n_permutations", "999999999999"),
    ("--confidence-level 95", "confidence_level", "95"),
    ("--random-state -1", "random_state", "-1"),
    ("--n-jobs 0", "n_jobs", "0"),
    ("--n-jobs two", "--n-jobs", "two"),
    ("--max-memory 1.1.1G", "max_memory", "1.1.1G"),
    ("--max-memory 1K", "max_memory", "1K"),
    ("--max-memory lots", "max_memory", "lots"),
    ("--shard 3/2", "shard", "3/2"),
    ("--shard half", "shard", "half"),
    ("--save-null null.npy", "save_null", "n_permutations"),
    ("--checkpoint file", "checkpoint", "file"),
    ("--magic 3", "--magic"),
    ("--imgs", "--imgs"),
    ("OUT=file", "file"),
    ("OUT=full", "full", "--overwrite"),
    ("OUT=file/below", "file"),
    ("OUT=/proc/nothing/here", "/proc"),
    ("--dask file", "--dask", "file"),
]
ENCODING = [
    ("--stimuli none.tsv", "none.tsv"),
    ("--stimuli no_set.tsv", "no_set.tsv", "set"),
    ("--stimuli all_train.tsv", "all_train.tsv", "test"),
    ("--stimuli text_features.tsv", "f1"),
    ("--stimuli no_features.tsv", "feature"),
    ("--stimuli empty.tsv", "empty.tsv"),
    ("--stimuli latin.tsv", "latin.tsv"),
    ("--stimuli full", "full"),
    ("--features none.npy", "none.npy"),
    ("--features nothing.npy", "nothing.npy"),
    ("--features archive.npy", "archive.npy"),
    ("--features words.npy", "words.npy"),
    ("--features objects.npy", "objects.npy"),
    ("--features cut.npy", "cut.npy"),
    ("--features vector.npy", "vector.npy", "(12,)"),
    ("--features few.npy", "few.npy", "(5, 2)"),
    ("--features text.npy", "features"),
    ("--features latin.tsv", "latin.tsv"),
    ("--features features.npy --stimulus-images few.npy", "--features"),
    ("--stimulus-images few.npy", "few.npy"),
    ("--stimulus-images nothing.npy", "nothing.npy"),
    ("--imgs nothing.npy", "nothing.npy"),
    ("--imgs few.npy", "--imgs has 5 volumes", "12 rows"),
    ("--imgs archive.npy", "archive.npy"),
    ("--imgs none.nii", "none.nii"),
    ("--imgs code_imgs.nii", "code_imgs.nii"),
    ("--rule magic", "rule", "magic"),
    ("--statistic magic", "statistic", "magic"),
    ("--groups magic", "--groups", "'magic'"),
    ("--bands kinds", "--bands kinds", "--model"),
    ("--encoder magic", "--encoder", "magic"),
    ("--repeats magic", "--repeats", "magic"),
    ("--n-jobs 0", "n_jobs", "0"),
    ("--random-state -1", "random_state", "-1"),
    ("--max-memory 1.1.1G", "max_memory", "1.1.1G"),
    ("--n-permutations -1", "n_permutations", "-1"),
    ("OUT=file", "file"),
    ("OUT=full", "full", "--overwrite"),
]
GROUP = [
    ("--imgs map-0.nii", "imgs", "1"),
    ("--imgs map-0.nii none.nii", "none.nii"),
    ("--imgs map-0.nii larger.nii", "larger.nii"),
    ("--imgs map-0.nii text.nii", "text.nii"),
    ("--imgs map-0.nii code_mask.nii", "code_mask.nii"),
    ("--mask empty.nii", "empty.nii"),
    ("--mask nan_affine.nii", "nan_affine.nii"),
    ("--baseline nan", "baseline", "nan"),
    ("--baseline high", "--baseline", "high"),
    ("--gamma 0.5", "--gamma", "--null"),
    ("--n-permutations 0", "n_permutations", "0"),
    ("--random-state -1", "random_state", "-1"),
    ("--null null-0.npy", "null_scores", "1"),
    ("--null null-0.npy null-1.npy null-2.npy none.npy", "none.npy"),
    ("--null null-0.npy null-1.npy null-2.npy nothing.npy", "nothing.npy"),
    ("--null null-0.npy null-1.npy null-2.npy archive.npy", "archive.npy"),
    ("--null null-0.npy null-1.npy null-2.npy few.npy", "null_scores[3]", "2"),
    ("--null null-0.npy null-1.npy null-2.npy objects.npy", "objects.npy"),
    ("OUT=full", "full", "--overwrite"),
]
CURVE = [
    ("--scans none.tsv", "none.tsv"),
    ("--scans latin.tsv", "latin.tsv"),
    ("--scans empty.tsv", "empty.tsv"),
    ("--scans short.tsv", "subject"),
    ("--scans full", "full"),
    ("--labels magic", "magic"),
    ("--groups magic", "magic"),
    ("--exclude a b", "exclude"),
    ("--train-sizes 99", "train_sizes", "99"),
    ("--train-sizes few", "--train-sizes", "few"),
    ("--n-splits 0", "n_splits", "0"),
    ("--n-jobs 0", "n_jobs", "0"),
    ("--random-state -1", "random_state", "-1"),
    ("--n-components 0", "n_components", "0"),
    ("--significance-level 2", "significance_level", "2"),
    ("--prior-weight much", "prior_weight", "much"),
    ("--pattern magic", "--pattern", "magic"),
    ("--imgs code_imgs.nii", "code_imgs.nii"),
    ("--mask singular.nii", "singular.nii"),
    ("ARRAY=vector.npy", "vector.npy", "(12,)"),
    ("ARRAY=nothing.npy", "nothing.npy"),
    ("ARRAY=archive.npy", "archive.npy"),
    ("ARRAY=text.npy", "X"),
    ("ARRAY=objects.npy", "objects.npy"),
    ("ARRAY=none.npy", "none.npy"),
    ("ARRAY=few.npy", "subjects.tsv", "5"),
    ("OUT=file", "file"),
]
MERGE = [
    ("none", "none"),
    ("file", "file"),
    ("full", "full"),
    ("part_list", "part_list"),
    ("part_other", "part_other"),
    ("part_cut", "part_cut"),
    ("part_zip", "part_zip"),
    ("part_zip none", "none"),
]
OTHER = [
    ("", "command"),
    ("magic", "magic"),
    ("demo --quick OUT=full", "full", "--overwrite"),
    ("demo --n-jobs 0 --quick", "n_jobs", "0"),
]

TABLE = [
    (command, words, says)
    for command, rows in (
        ("searchlight", SEARCHLIGHT),
        ("encoding", ENCODING),
        ("group", GROUP),
        ("learning-curve", CURVE),
        ("merge", MERGE),
        ("", OTHER),
    )
    for words, *says in rows
]


def replaced(good, words):
    """Return the words of a command: good ones where not replaced, and OUT last."""
    given = [word for word in words.split() if not word.startswith(("OUT=", "ARRAY="))]
    named = dict(word.split("=") for word in words.split() if "=" in word)
    drop = {word for word in given if word.startswith("--")}
    if "ARRAY" in named:
        given += ["--array", named["ARRAY"]]
        drop |= {"--imgs", "--mask"}
    kept, skipping = [], False
    for word in good.split():
        if word.startswith("--"):
            skipping = word in drop
        if not skipping:
            kept.append(word)
    return ["--quiet", *given, *kept, named.get("OUT", "out")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("command", "words", "says"), TABLE)
def test_bad_words_are_one_line(command, words, says, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    argv = replaced(GOOD.get(command, ""), words) if words else []
    argv = [command, *argv] if command else argv
    shutil.rmtree(folder / "out", ignore_errors=True)
    before = sorted(path.as_posix() for path in folder.rglob("*"))
    try:
        code = main(argv)
    except SystemExit as leaving:
        code = leaving.code
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("warning")]
    assert code == 2, f"{argv} -> {code}: {out}{err}"
    assert len(lines) == 1, err
    # options are called as they are written
    words = [w if w in lines[0] else f"--{w.replace('_', '-')}" for w in says]
    assert_good_message(lines[0], words)
    assert sorted(path.as_posix() for path in folder.rglob("*")) == before
