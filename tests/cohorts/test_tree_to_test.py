"""Two commands lead from a tree as people have it to a covariate test and a page."""

import json
import re
import tomllib

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.maps import read_maps
from tests.cohorts.conftest import CONDITIONS, SHAPE, make_run

SPACE = "MNI152NLin2009cAsym"


@pytest.mark.filterwarnings("ignore:only .* distinct", "ignore:only .* other ways")
def test_two_commands(tree, tmp_path, capsys):
    out = tmp_path / "out"
    words = [str(tree), str(out)]
    first = ["--space", SPACE, "--filter", "echo=", "--samples", "blocks"]
    first += [
        "--confounds",
        "none",
        "--delay",
        "4",
        "--radius",
        "4",
        "--bounds",
        "none",
        "--no-report",
    ]
    assert main(["bids", *words, "participant", *first]) == 1
    told = capsys.readouterr()
    assert told.out.count(": done, 4 runs") == 7
    assert "sub-18: failed" in told.out
    second = ["--contrast", "patient - control", "--covariates", "age", "motion"]
    second += ["--two-sided", "--n-permutations", "50", "--no-report"]
    assert main(["bids", *words, "group", *second]) == 0
    told = capsys.readouterr()
    assert "design: 7 participants: group (control 3, patient 4); age, " in told.err
    assert "motion (mean framewise displacement in mm), centered at" in told.err
    assert "sub-18 is left out of the group" in told.err
    index = (
        out
        / "group"
        / (
            f"task-objects_space-{SPACE}_contrast-PatientMinusControl_"
            "desc-accuracyMaps_stat.json"
        )
    )
    maps = read_maps(index)
    table = pd.read_csv(tree.parents[1] / "participants.tsv", sep="\t").iloc[:7]
    values = np.stack(
        [
            nibabel.load(path).get_fdata()
            for path in sorted(out.glob("sub-*/func/*_desc-accuracy_stat.nii.gz"))
        ]
    )
    page = json.loads(next(out.glob("group/*Effect_stat.json")).read_text())
    columns = page["design"]["columns"]
    design = pd.DataFrame(columns)
    np.testing.assert_allclose(design["age"], table["age"] - table["age"].mean())
    weights = np.linalg.pinv(design.to_numpy())
    columns = dict(zip(design, weights, strict=True))
    weights = columns["patient"] - columns["control"]
    effect = np.einsum("s,sxyz->xyz", weights, values)
    np.testing.assert_allclose(maps["effect"].get_fdata(), effect, atol=1e-5)
    text = (out / "index.html").read_text(encoding="utf-8")
    assert text.count("data:image/png") == 7
    assert "contrast-PatientMinusControl_desc-accuracyEffect_stat.nii.gz" in text
    assert re.search("<li>sub-18: .*truncated or corrupt", text)
    [peaks] = out.glob("sub-11/func/*peaks_stat.tsv")
    accuracy = pd.read_csv(peaks, sep="\t")["accuracy"][0]
    row = text.partition(">sub-11<")[2].partition("</tr>")[0]
    cells = dict(re.findall('data-label="([^"]+)">(?!<)([^<]+)<', row))
    assert float(cells["Accuracy there"]) == pytest.approx(accuracy, abs=5e-4)
    assert (cells["Runs"], cells["Status"]) == ("4", "done")
    record = tomllib.loads((out / "code" / "sub-11.toml").read_text())
    motion = record["outcome"]["motion"]
    assert float(cells["Motion (mm)"]) == pytest.approx(motion, rel=0.01)


@pytest.mark.filterwarnings("ignore:only .* distinct", "ignore:only .* other ways")
def test_sessions_of_everyone_are_compared(tree, tmp_path):
    """Each session has its record; the paired test is that of the differences."""
    out, found = tmp_path / "out", {}
    labels = ["11", "12", "13"]
    for session in ("1", "2"):
        light = IdentificationSearchLight(radius=4.0, bounds=None)
        outcomes = analyze_participants(
            tree,
            out,
            analysis=light,
            samples="blocks",
            delay=4.0,
            space=SPACE,
            filters=["echo="],
            sessions=[session],
            participants=labels,
            report=False,
        )
        assert outcomes["status"].tolist() == ["done"] * 3
        paths = sorted(
            out.glob(f"sub-*/ses-{session}/func/*_desc-accuracy_stat.nii.gz")
        )
        found[session] = np.stack([nibabel.load(p).get_fdata() for p in paths])
    records = sorted(path.name for path in (out / "code").glob("*.toml"))
    assert records == [f"sub-{n}_ses-{s}.toml" for n in labels for s in "12"]
    with pytest.raises(ValueError, match="has 2 analyses"):
        analyze_group(out)
    how = {"report": False, "two_sided": True}
    maps = analyze_group(out, within=["ses-2", "ses-1"], **how)
    difference = (found["2"] - found["1"]).mean(axis=0)
    np.testing.assert_allclose(maps["effect"].get_fdata(), difference, atol=1e-6)
    [img] = out.glob("group/*contrast-Ses2MinusSes1_desc-accuracyEffect_stat.nii.gz")
    assert "ses-" not in img.name
    one = analyze_group(out, within="ses-1", report=False)
    np.testing.assert_allclose(
        one["accuracy"].get_fdata(), found["1"].mean(axis=0), atol=1e-6
    )
    table = pd.DataFrame(
        {"participant_id": ["12", "11", "13"], "group": ["b", "a", "a"]}
    )
    given = {"participants_table": table, "contrast": "b - a"}
    maps = analyze_group(out, within=["ses-2", "ses-1"], **given, **how)
    own = found["2"] - found["1"]
    interaction = own[1] - (own[0] + own[2]) / 2
    effect = maps["effect"].get_fdata()
    known = np.isfinite(effect)  # not where the two of one group are equal
    assert known.sum() > 35
    np.testing.assert_allclose(effect[known], interaction[known], atol=1e-6)


@pytest.mark.filterwarnings("ignore:only .* distinct", "ignore:only .* other ways")
def test_the_interaction_of_two_factors_within_everyone(tmp_path):
    """Two sessions of two tasks: the difference of differences, by its definition."""
    root, out, rng = tmp_path / "raw", tmp_path / "out", np.random.default_rng(0)
    labels = ["03", "01", "02", "04"]
    for label in labels:
        for session in "12":
            for task in ("see", "think"):
                own = f"sub-{label}/ses-{session}/func"
                for run in (1, 2):
                    start = f"sub-{label}_ses-{session}_task-{task}_run-{run}"
                    patterns = rng.normal(size=(4, *SHAPE))
                    folder = root / "derivatives" / own
                    make_run(folder, root / own, start, rng, patterns, CONDITIONS)
    given = {"samples": "blocks", "delay": 4.0, "confounds": (), "report": False}
    light = IdentificationSearchLight(radius=4.0, bounds=None)
    for session in "12":
        for task in ("see", "think"):
            own = given | {"sessions": [session], "task": task, "raw": root}
            analyze_participants(root / "derivatives", out, analysis=light, **own)

    def cell(session, task):
        files = sorted(
            out.glob(f"sub-*/ses-{session}/func/*task-{task}*accuracy_stat*")
        )
        files = [path for path in files if path.name.endswith("-accuracy_stat.nii.gz")]
        assert len(files) == 4
        return np.stack([nibabel.load(path).get_fdata() for path in files])

    within = [
        "ses-2,task-see",
        "ses-1,task-see",
        "ses-2,task-think",
        "ses-1,task-think",
    ]
    maps = analyze_group(out, within=within, two_sided=True, bg_img=False)
    each = (cell(2, "see") - cell(1, "see")) - (cell(2, "think") - cell(1, "think"))
    effect = maps["effect"].get_fdata()
    known = np.isfinite(effect)
    assert known.sum() > 35
    np.testing.assert_allclose(effect[known], each.mean(axis=0)[known], atol=1e-6)
    own = each[:, known]
    t = own.mean(axis=0) / (own.std(axis=0, ddof=1) / 2)
    np.testing.assert_allclose(maps["t"].get_fdata()[known], t, rtol=1e-4)
    label = "Ses2TaskseeMinusSes1TaskseeAgainstSes2TaskthinkMinusSes1Taskthink"
    assert [*out.glob(f"group/*contrast-{label}_desc-accuracyMaps_stat.json")]
    page = next(out.glob("group/*report_stat.html")).read_text(encoding="utf-8")
    assert "(ses-2,task-see - ses-1,task-see) - (ses-2,task-think" in page
    damaged = next(out.glob("sub-02/ses-1/func/*task-think*desc-accuracy_stat.nii.gz"))
    img = nibabel.load(damaged)
    nibabel.save(nibabel.Nifti1Image(1 - img.get_fdata(), img.affine), damaged)
    with pytest.raises(ValueError, match="sub-02"):
        analyze_group(out, within=within, report=False, overwrite=True)
    with pytest.raises(ValueError, match="must be one, two or four"):
        analyze_group(out, within=within[:3], report=False)


@pytest.mark.filterwarnings("ignore:only .* distinct", "ignore:only .* other ways")
def test_atlas_regions_become_one_tidy_table(tree, tmp_path):
    out, labels = tmp_path / "out", np.repeat([1, 2], 24).reshape(4, 4, 3)
    atlas = nibabel.Nifti1Image(labels.astype("int16"), np.diag([3.0, 3, 3, 1]))
    light = IdentificationSearchLight(labels_img=atlas, bounds=None)
    how = {"samples": "blocks", "delay": 4.0, "space": SPACE, "filters": ["echo="]}
    how |= {"confounds": ()}
    people = ["11", "12", "13"]
    given = how | {"participants": people, "report": False}
    analyze_participants(tree, out, analysis=light, **given)
    table = tree.parents[1] / "participants.tsv"
    analyze_group(out, report=False, participants_table=table)
    [path] = out.glob("group/*_desc-regions_stat.tsv")
    found = pd.read_csv(path, sep="\t", dtype={"age": str})
    own = [
        pd.read_csv(next(out.glob(f"sub-{n}/func/*_desc-table_stat.tsv")), sep="\t")
        for n in people
    ]
    assert len(found) == sum(map(len, own))
    for label, rows in zip(people, own, strict=True):
        mine = found[found["participant_id"] == f"sub-{label}"]
        np.testing.assert_array_equal(mine["accuracy"], rows["accuracy"])
        assert mine["name"].nunique() == 2
    assert dict(zip(found["participant_id"], found["group"], strict=True)) == {
        "sub-11": "patient",
        "sub-12": "control",
        "sub-13": "patient",
    }
