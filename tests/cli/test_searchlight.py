"""neuroextrap searchlight, on a small simulated experiment in files."""

import gzip
import json

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.image import index_img
from nilearn.maskers import NiftiMasker

from neuroextrap.analysis import Curves
from neuroextrap.cli import main
from neuroextrap.decoding import (
    DissimilaritySearchLight,
    IdentificationSearchLight,
    TargetSearchLight,
)
from neuroextrap.images import labeled_samples, to_img
from tests.cli.seam import CLASSIFIERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images and events of 6 runs: 3 conditions and rest, 2 volumes each."""
    path = tmp_path_factory.mktemp("experiment")
    rng = np.random.default_rng(0)
    shape, affine = (5, 4, 3), np.diag([3.0, 3.0, 3.0, 1.0])
    patterns = 0.8 * rng.normal(size=(4, *shape))
    names = np.array(["rest", "face", "house", "cat"])
    volumes, labels, runs = [], [], []
    for run in range(6):
        order = rng.permutation(4).repeat(2)
        volumes += [patterns[c] + rng.normal(size=shape) for c in order]
        labels += list(names[order])
        runs += [run] * len(order)
    data = np.stack(volumes, axis=-1).astype(np.float32)
    table = pd.DataFrame({"trial_type": labels, "run": runs})
    nibabel.save(nibabel.Nifti1Image(data, affine), path / "bold.nii.gz")
    table.to_csv(path / "volumes.tsv", sep="\t", index=False)
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), affine)
    nibabel.save(mask, path / "mask.nii.gz")
    for run in range(6):
        here = np.flatnonzero(table["run"] == run)
        img = nibabel.Nifti1Image(data[..., here], affine)
        nibabel.save(img, path / f"run-{run}.nii.gz")
        events = {
            "onset": 2.0 * np.arange(len(here)),
            "duration": 2.0,
            "trial_type": table["trial_type"][here].to_numpy(),
        }
        pd.DataFrame(events).to_csv(path / f"run-{run}.tsv", sep="\t", index=False)
    return path


def _words(folder, *more, out):
    return [
        *("searchlight", "--imgs", str(folder / "bold.nii.gz")),
        *("--events", str(folder / "volumes.tsv")),
        *("--mask", str(folder / "mask.nii.gz"), "--exclude", "rest"),
        *("--radius", "6", *more, str(out)),
    ]


def test_maps_table_report_and_summary_are_written(folder, tmp_path, capsys):
    out = tmp_path / "out"
    words = _words(folder, "--n-permutations", "19", "--report", out=out)
    assert main(words) == 0
    said = capsys.readouterr()
    assert "60 regions, 3 classes, chance 0.333" in said.out
    assert "60 of 60 regions (100%)" in said.err
    accuracy = nibabel.load(out / "accuracy.nii.gz").get_fdata()
    assert np.nanmax(accuracy) > 0.9
    sidecar = json.loads((out / "accuracy.json").read_text())
    assert sidecar["unit"] == "proportion"
    peaks = pd.read_csv(out / "peaks.tsv", sep="\t")
    assert peaks["accuracy"].max() == np.nanmax(accuracy)
    assert "Permutation test" in (out / "report.html").read_text()
    again = IdentificationSearchLight.from_directory(out)
    assert again.n_permutations_ == 19


def test_command_equals_the_estimator_on_block_averages(folder, tmp_path):
    assert main(_words(folder, "--quiet", out=tmp_path / "out")) == 0
    table = pd.read_csv(folder / "volumes.tsv", sep="\t")
    data = nibabel.load(folder / "bold.nii.gz").get_fdata()
    x, y, runs = [], [], []
    for (run, name), rows in table.groupby(["run", "trial_type"]).groups.items():
        if name != "rest":
            x.append(data[..., rows].mean(axis=-1))
            y.append(name)
            runs.append(run)
    img = nibabel.Nifti1Image(np.stack(x, axis=-1), np.diag([3.0, 3, 3, 1]))
    light = IdentificationSearchLight(str(folder / "mask.nii.gz"), radius=6.0)
    light.fit(img, np.array(y), groups=np.array(runs))
    written = nibabel.load(tmp_path / "out" / "implied_information.nii.gz").get_fdata()
    expected = light.maps_["implied_information"].get_fdata()
    np.testing.assert_allclose(written, expected, rtol=1e-5)


def test_one_pair_a_run_gives_the_same_maps(folder, tmp_path):
    main(_words(folder, "--quiet", out=tmp_path / "one"))
    imgs = [str(folder / f"run-{run}.nii.gz") for run in range(6)]
    events = [str(folder / f"run-{run}.tsv") for run in range(6)]
    words = ["searchlight", "--imgs", *imgs, "--events", *events, str(tmp_path / "six")]
    options = ["--mask", str(folder / "mask.nii.gz"), "--t-r", "2", "--radius", "6"]
    code = main([words[0], *options, "--exclude", "rest", "--quiet", *words[1:]])
    assert code == 0
    one, six = (
        nibabel.load(tmp_path / name / "accuracy.nii.gz").get_fdata()
        for name in ("one", "six")
    )
    np.testing.assert_allclose(one, six, rtol=1e-6)


def test_shards_merge_into_the_whole(folder, tmp_path):
    options = ("--n-permutations", "19", "--quiet")
    main(_words(folder, *options, out=tmp_path / "whole"))
    for part in (1, 2):
        words = (*options, "--shard", f"{part}/2")
        assert main(_words(folder, *words, out=tmp_path / f"part{part}")) == 0
    parts = [str(tmp_path / "part1"), str(tmp_path / "part2")]
    assert main(["merge", *parts, str(tmp_path / "merged"), "--quiet"]) == 0
    for name in ("accuracy", "p_value_fwe"):
        whole, merged = (
            nibabel.load(tmp_path / where / f"{name}.nii.gz").get_fdata()
            for where in ("whole", "merged")
        )
        np.testing.assert_array_equal(whole, merged)


def test_dry_run_says_the_cost_and_writes_nothing(folder, tmp_path, capsys):
    assert main(_words(folder, "--dry-run", out=tmp_path / "out")) == 0
    said = capsys.readouterr().out
    assert said.startswith("dry run: 60 regions, 60 voxels, 0 permutations; tests by")
    assert not (tmp_path / "out").exists()


def test_test_runs_make_a_single_split(folder, tmp_path):
    words = _words(folder, "--quiet", "--test-runs", "4", "5", out=tmp_path / "out")
    # the output folder is the last word, after an option of several values
    assert main(words) == 0
    fitted = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert fitted.results_.n_test == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--test-runs", "9", "--quiet"), "--test-runs 9: no such run"),
        (("--test-runs", *"012345", "--quiet"), "names every run"),
        (("--samples", "lsa"), "single-trial betas need BIDS events"),
        (("--samples", "lss", "--t-r", "2", "--detrend"), "models drifts itself"),
        (("--radius", "-1"), "--radius -1.0 must be"),
        (("--estimator", "oracle"), "oracle"),
        (("--classes", "face", "dog", "--quiet"), "dog"),
        (("--shrinkage", "-2", "--estimator", "lda"), "--shrinkage -2.0 must be"),
        (("--max-memory", "1"), "--max-memory"),
        (("--statistic", "speed"), "--statistic speed is not known"),
    ],
)
def test_bad_options_are_one_line_and_nothing_is_written(
    folder, tmp_path, capsys, words, message
):
    assert main(_words(folder, *words, out=tmp_path / "out")) == 2
    errors = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("error: ")
    ]
    assert len(errors) == 1
    assert message in errors[0]
    assert not (tmp_path / "out").exists()


def _assert_fails_with(message, words, tmp_path, capsys):
    assert main(words) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("error: ")]) == 1
    assert message in lines[-1]
    assert not (tmp_path / "out").exists()


def test_missing_column_is_named(folder, tmp_path, capsys):
    bad = tmp_path / "bad.tsv"
    bad.write_text("condition\trun\nface\t1\n")
    words = _words(folder, out=tmp_path / "out")
    words[words.index("--events") + 1] = str(bad)
    _assert_fails_with("trial_type", words, tmp_path, capsys)


def test_truncated_image_is_named(folder, tmp_path, capsys):
    whole = (folder / "bold.nii.gz").read_bytes()
    assert gzip.decompress(whole)
    bad = tmp_path / "cut.nii.gz"
    bad.write_bytes(whole[: len(whole) // 2])
    words = _words(folder, out=tmp_path / "out")
    words[words.index("--imgs") + 1] = str(bad)
    _assert_fails_with("cut.nii.gz", words, tmp_path, capsys)


def test_missing_image_is_named(folder, tmp_path, capsys):
    words = _words(folder, out=tmp_path / "out")
    words[words.index("--imgs") + 1] = str(tmp_path / "none.nii.gz")
    _assert_fails_with("none.nii.gz", words, tmp_path, capsys)


def test_output_that_is_not_empty_asks_for_overwrite(folder, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    assert main(_words(folder, out=out)) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["precious.txt"]
    assert main(_words(folder, "--overwrite", "--quiet", out=out)) == 0
    assert (out / "precious.txt").read_text() == "mine"


def test_report_of_an_earlier_run_does_not_stay(folder, tmp_path):
    out = tmp_path / "out"
    main(_words(folder, "--quiet", "--report", out=out))
    assert (out / "report.html").exists()
    main(_words(folder, "--quiet", "--overwrite", out=out))
    assert not (out / "report.html").exists()


def test_no_output_folder_is_said(folder, capsys):
    words = _words(folder, out="x")[:-1]
    assert main([*words[:1], *words[3:], *words[1:3]]) == 2
    assert "OUT is missing" in capsys.readouterr().err


def test_single_volumes_with_permutations_are_warned_about(folder, tmp_path, capsys):
    words = ("--samples", "volumes", "--n-permutations", "9")
    assert main(_words(folder, *words, out=tmp_path / "out")) == 0
    assert "volumes are permuted one by one" in capsys.readouterr().err


def test_help_names_every_classifier(capsys):
    with pytest.raises(SystemExit):
        main(["searchlight", "--help"])
    text = capsys.readouterr().out
    assert [name for name in CLASSIFIERS if name not in text] == []


def test_curves_are_measured_on_request(folder, tmp_path, capsys):
    words = ["--estimator", "lda", "--curves", "measured", "--curve-partitions", "3"]
    assert main(_words(folder, *words, "--dry-run", out=tmp_path / "out")) == 0
    # of three conditions three pairs are drawn
    assert "curves by 3 subsets of the classes" in capsys.readouterr().out
    assert main(_words(folder, *words, out=tmp_path / "out")) == 0
    light = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert vars(light.set_sizes) == vars(Curves(None, "measured", 3))
    assert light.results_.measured_sizes.tolist() == [2]


@pytest.fixture
def targets(tmp_path):
    """A table of two numbers for each condition, and the words that name it."""
    table = pd.DataFrame(
        {"trial_type": ["cat", "face", "house"], "size": [1, 2, 9], "alive": [1, 1, 0]}
    )
    table.to_csv(tmp_path / "targets.tsv", sep="\t", index=False)
    return ["--targets", str(tmp_path / "targets.tsv")], table


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_targets_are_decoded_instead_of_conditions(folder, targets, tmp_path):
    words, table = targets
    options = ["--n-permutations", "20", "--radius", "8", "--samples", "volumes"]
    out = tmp_path / "out"
    assert main(_words(folder, *options, "--report", *words, out=out)) == 0
    fitted = TargetSearchLight.from_directory(out)
    volumes = pd.read_csv(folder / "volumes.tsv", sep="\t")
    shown = volumes["trial_type"] != "rest"
    img = index_img(folder / "bold.nii.gz", shown)
    light = TargetSearchLight(folder / "mask.nii.gz", radius=6, n_permutations=20)
    rows = table.set_index("trial_type").loc[volumes["trial_type"][shown]]
    again = light.set_params(radius=8).fit(img, rows, volumes["run"][shown])
    for name, values in again.region_scores_.items():
        np.testing.assert_array_equal(fitted.region_scores_[name], values)
    for part in "12":
        of_part = [*options, "--shard", f"{part}/2", *words]
        assert main(_words(folder, *of_part, out=tmp_path / part)) == 0
    parts = [str(tmp_path / part) for part in "12"]
    assert main(["merge", *parts, str(tmp_path / "whole")]) == 0
    assert main(_words(folder, "--dry-run", *words, out=tmp_path / "dry")) == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("statistic", ["accuracy", "2"])
def test_the_identification_of_targets_is_tested(statistic, folder, targets, tmp_path):
    options = [f"--statistic={statistic}", "--metric", "euclidean", "--samples"]
    options += ["volumes", "--n-permutations", "20", *targets[0]]
    assert main(_words(folder, *options, out=tmp_path / "out")) == 0
    fitted = TargetSearchLight.from_directory(tmp_path / "out")
    size = {"accuracy": "accuracy", "2": "pairwise_accuracy"}[statistic]
    reached = fitted.null_maxima_.max() >= np.nanmax(fitted.region_scores_[size])
    assert (np.nanmin(fitted.region_scores_["p_value_fwe"]) > 1 / 21) == reached
    assert fitted.get_params()["metric"] == "euclidean"
    assert not [note for note in fitted.notes_ if "p-values test the corr" in note]


def test_options_of_targets_need_targets(folder, tmp_path, capsys):
    assert main(_words(folder, "--metric", "cosine", out=tmp_path / "out")) == 2
    assert "--metric needs --targets" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (lambda t: t[:2], (), "lacks house"),
        (lambda t: t[["trial_type"]], (), "one or more columns of numbers"),
        (lambda t: pd.concat([t, t]), (), "a condition in several rows"),
        (
            lambda t: t.assign(alive=["a", "b", "c"]),
            (),
            "column alive has 'a' in row 1",
        ),
        (lambda t: t, ("--estimator", "lda"), "excludes --estimator"),
    ],
)
def test_tables_of_targets_are_checked(
    change, more, message, folder, targets, tmp_path, capsys
):
    words, table = targets
    change(table).to_csv(words[1], sep="\t", index=False)
    assert main(_words(folder, *more, *words, out=tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def model(tmp_path):
    """A model of the distances between conditions, and the words that name it."""
    names = ["house", "cat", "face"]
    table = pd.DataFrame([[0, 2, 3], [2, 0, 1], [3, 1, 0]], names, names)
    table.rename_axis("trial_type").reset_index().to_csv(
        tmp_path / "kinds.tsv", sep="\t", index=False
    )
    return ["--dissimilarities", str(tmp_path / "kinds.tsv")], table


@pytest.mark.filterwarnings("ignore:only 5 other orders")
def test_distances_are_compared_with_models(folder, model, tmp_path, capsys):
    words, table = model
    out = tmp_path / "out"
    options = ["--n-permutations", "20", "--agreement", "kendall", "--report", *words]
    assert main(_words(folder, *options, out=out)) == 0
    said = capsys.readouterr().out
    assert "highest kinds correlation of 60 regions" in said
    files = [str(folder / name) for name in ("bold.nii.gz", "volumes.tsv")]
    masker = NiftiMasker(folder / "mask.nii.gz", standardize=None).fit()
    samples = labeled_samples(*files, masker=masker, exclude=["rest"])
    light = DissimilaritySearchLight(
        folder / "mask.nii.gz",
        radius=6,
        models={"kinds": table},
        method="kendall",
        n_permutations=20,
    )
    img = to_img(samples.data, samples.masker)
    again = light.fit(img, samples.y, samples.runs, order=samples.order)
    regions = pd.read_csv(out / "regions.tsv", sep="\t")
    for name, values in again.region_scores_.items():
        np.testing.assert_allclose(regions[name], values, rtol=1e-6, atol=1e-9)
    distances = pd.read_csv(out / "dissimilarities.tsv", sep="\t")
    np.testing.assert_allclose(
        distances["cat - house"], again.dissimilarities_[:, 1], rtol=1e-6
    )
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "follow the model kinds" in page
    assert "distances.svg" in page
    assert main(_words(folder, "--dry-run", *words, out=tmp_path / "dry")) == 0
    bare = ["--dissimilarities", "--report"]
    assert main(_words(folder, *bare, out=tmp_path / "bare")) == 0
    page = (tmp_path / "bare" / "report.html").read_text(encoding="utf-8")
    assert "compared with no model" in page


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (lambda t: t.rename(columns={"trial_type": "x"}), (), "a column trial_type"),
        (lambda t: t[:2], (), "models['kinds'] has rows"),
        (lambda t: t.assign(cat=[0, 0, 1]), (), "must be symmetric"),
        (lambda t: t, ("--estimator", "lda"), "excludes --estimator"),
        (lambda t: t, ("--shard", "1/2"), "excludes --shard"),
        (lambda t: t, ("--max-memory", "1G"), "excludes --max-memory"),
        (lambda t: t, ("--test-runs", "1"), "excludes --test-runs"),
        (lambda t: t, ("--targets", "x.tsv"), "excludes --targets"),
    ],
)
def test_models_of_distances_are_checked(
    change, more, message, folder, model, tmp_path, capsys
):
    words, _ = model
    table = pd.read_csv(words[1], sep="\t")
    change(table).to_csv(words[1], sep="\t", index=False)
    assert main(_words(folder, *more, *words, out=tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def _new(folder, run=5):
    """Words that name the images and events of one run as new samples."""
    return [
        *("--new-imgs", str(folder / f"run-{run}.nii.gz")),
        *("--new-events", str(folder / f"run-{run}.tsv"), "--t-r", "2"),
    ]


@pytest.mark.parametrize("region", ["30", "9,6,3"])
def test_the_decoder_of_a_region_is_written(region, folder, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--estimator", "ridge", "--decoder", region, *_new(folder)]
    assert main(_words(folder, *options, out=out)) == 0
    said = capsys.readouterr().out
    assert "predictions:" in said
    given = nibabel.load(folder / "bold.nii.gz"), folder / "volumes.tsv"
    mask = NiftiMasker(folder / "mask.nii.gz", standardize=None).fit()
    samples = labeled_samples(*given, masker=mask, exclude="rest")
    light = IdentificationSearchLight(mask.mask_img_, radius=6, estimator="ridge")
    light.fit(to_img(samples.data, mask), samples.y, groups=samples.runs)
    index = light.find_region(30 if region == "30" else (9, 6, 3))
    outputs = pd.read_csv(out / "decoder.tsv", sep="\t")["output"].tolist()
    assert outputs == ["cat", "face", "house"]
    for of in ("activation", "weights"):
        found = nibabel.load(out / f"decoder_{of}.nii.gz").get_fdata()
        for volume, image in enumerate(light.patterns(index, of=of).values()):
            expected = image.get_fdata()
            np.testing.assert_allclose(found[..., volume], expected, rtol=1e-4)
    table = pd.read_csv(out / "predictions.tsv", sep="\t")
    last = samples.runs == 5
    assert table["trial_type"].tolist() == samples.y[last].tolist()
    new = to_img(samples.data[last], mask)
    assert table["predicted"].tolist() == light.predict(index, new).tolist()


def test_targets_of_new_samples_are_decoded(folder, targets, tmp_path):
    words, _ = targets
    out = tmp_path / "out"
    options = ["--shrinkage", "inner_folds", "--decoder", "30", *_new(folder), *words]
    assert main(_words(folder, *options, out=out)) == 0
    table = pd.read_csv(out / "predictions.tsv", sep="\t")
    assert [*table] == ["run", "trial_type", "decoded_0", "decoded_1"]
    sizes = table.set_index("trial_type")["decoded_0"]
    assert sizes["cat"] < sizes["house"] > sizes["face"]
    assert nibabel.load(out / "decoder_weights.nii.gz").shape == (5, 4, 3, 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--decoder", "60"), "region=60"),
        (("--decoder", "V1"), "is a name, but these 60 regions have none"),
        (("--decoder", "0,0,900"), "no region"),
        (("--decoder", "1,2"), "is a name"),
        (("--decoder", "0", "--shard", "1/2"), "excludes"),
        (("--dissimilarities", "--decoder", "0"), "excludes"),
        (("--decoder", "0", "--new-imgs", "x.nii"), "needs --new-events"),
        (("--new-imgs", "x.nii", "--new-events", "x.tsv"), "needs --decoder"),
        (("--decoder", "0", "--new-imgs", "x.nii", "--new-events", "x.tsv"), "x.nii"),
        (("--decoder", "0", "--estimator", "qda"), "no weights"),
    ],
)
def test_decoders_that_cannot_be_are_refused_before_the_work(
    more, message, folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(IdentificationSearchLight, "fit", None)
    assert main(_words(folder, *more, out=tmp_path / "out")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
