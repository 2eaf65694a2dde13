"""``neuroextrap encoding`` from images, arrays and tables."""

import shutil

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from tests.cli.seam import photo_patches


@pytest.fixture
def experiment(tmp_path):
    """Eighty training and twenty test volumes of 4 x 4 x 3 voxels, and their table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    Y = X @ rng.normal(size=(4, 48)) + rng.normal(size=(100, 48))
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    volumes = Y.T.reshape(4, 4, 3, 100).astype(np.float32)
    nibabel.Nifti1Image(volumes, affine).to_filename(tmp_path / "imgs.nii.gz")
    ones = np.ones((4, 4, 3), dtype=np.uint8)
    nibabel.Nifti1Image(ones, affine).to_filename(tmp_path / "mask.nii.gz")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    table = pd.DataFrame(
        {
            "set": ["train"] * 80 + ["test"] * 20,
            "run": np.repeat([1, 2, 3, 4, 5], 20),
            "stimulus": [f"image{i}" for i in range(100)],
        }
    )
    table.to_csv(tmp_path / "volumes.tsv", sep="\t", index=False)
    full = pd.concat([table, pd.DataFrame(X, columns=list("abcd"))], axis=1)
    full.to_csv(tmp_path / "full.tsv", sep="\t", index=False)
    return X, Y, tmp_path


def _words(folder, imgs, table="volumes.tsv", *extra):
    words = ["encoding", "--imgs", str(folder / imgs), "--stimuli"]
    return [*words, str(folder / table), "--encoder", "ridge", "--quiet", *extra]


def test_images_give_maps_and_a_report(experiment, capsys):
    X, Y, folder = experiment
    words = _words(folder, "imgs.nii.gz", "volumes.tsv", "--features")
    words += [str(folder / "X.npy"), "--mask", str(folder / "mask.nii.gz")]
    words += ["--radius", "4", "--n-permutations", "19", "--report"]
    assert main([*words, str(folder / "out")]) == 0
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for shown in ("20 classes", "p_value_fwe", "exact if the model"):
        assert shown in page
    accuracy = nibabel.load(folder / "out" / "accuracy.nii.gz").get_fdata()
    p = nibabel.load(folder / "out" / "p_value_fwe.nii.gz").get_fdata()
    assert accuracy.max() > 0.4
    assert p.min() == pytest.approx(0.05)
    assert "20 classes" in capsys.readouterr().out
    labels = np.arange(48).reshape(4, 4, 3)
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[:80], Y[:80])
    near = [0, labels[1, 0, 0], labels[0, 1, 0], labels[0, 0, 1]]
    part = np.zeros((1, 48), dtype=bool)
    part[0, near] = True
    import scipy.sparse

    model.set_params(regions=scipy.sparse.csr_array(part))
    model.identify(X[80:], Y[80:])
    assert accuracy[0, 0, 0] == pytest.approx(model.region_scores_["accuracy"][0])


def test_shards_merge_into_the_whole(experiment):
    _, _, folder = experiment
    words = _words(folder, "imgs.nii.gz", "full.tsv", "--radius", "4")
    words += ["--mask", str(folder / "mask.nii.gz"), "--n-permutations", "9"]
    assert main([*words, "--max-memory", "1G", str(folder / "whole")]) == 0
    parts = [str(folder / name) for name in ("one", "two")]
    for i, part in enumerate(parts, start=1):
        assert main([*words, "--shard", f"{i}/2", part]) == 0
    assert main(["merge", *parts, str(folder / "merged"), "--quiet"]) == 0
    for name in ("accuracy", "p_value_fwe"):
        whole, merged = (
            nibabel.load(folder / where / f"{name}.nii.gz").get_fdata()
            for where in ("whole", "merged")
        )
        np.testing.assert_array_equal(whole, merged)


def test_too_little_memory_is_told(experiment, capsys):
    _, _, folder = experiment
    words = _words(folder, "Y.npy", "full.tsv", "--max-memory", "1K")
    assert main([*words, str(folder / "out")]) == 2
    assert "--max-memory 1K is too little" in capsys.readouterr().err


def test_arrays_and_features_in_the_table(experiment):
    X, Y, folder = experiment
    assert main([*_words(folder, "Y.npy", "full.tsv"), str(folder / "out")]) == 0
    table = pd.read_csv(folder / "out" / "table.tsv", sep="\t")
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[:80], Y[:80])
    model.identify(X[80:], Y[80:])
    np.testing.assert_allclose(table["accuracy"], model.table_["accuracy"])


def test_stimulus_images_and_repeats(experiment):
    _, _, folder = experiment
    patches = photo_patches(60, 8)
    rng = np.random.default_rng(1)
    rows = np.r_[0:40, 40:60, 40:60, 40:60]
    Y = patches.reshape(60, -1) @ rng.normal(size=(64, 30))
    np.save(folder / "patches.npy", patches[rows])
    np.save(folder / "seen.npy", Y[rows] + rng.normal(size=(100, 30)))
    table = pd.DataFrame({"set": ["train"] * 40 + ["test"] * 60, "stimulus": rows})
    table.to_csv(folder / "repeats.tsv", sep="\t", index=False)
    for model in ("gabor", "retinotopic"):
        words = _words(folder, "seen.npy", "repeats.tsv", "--model", model)
        words += ["--stimulus-images", str(folder / "patches.npy")]
        assert main([*words, str(folder / model)]) == 0
        written = pd.read_csv(folder / model / "table.tsv", sep="\t")
        assert written["set_size"].max() == 20
        assert written["accuracy"].iloc[-1] > 0.3


def _photographs(folder, n_images=30, size=8):
    """Image files named like stimuli, their table, and responses to them."""
    from PIL import Image

    patches = photo_patches(n_images, size)
    levels = np.clip(patches * 255 / patches.max(), 0, 255).astype(np.uint8)
    pictures = folder / "pictures"
    pictures.mkdir()
    for i, pixels in enumerate(levels):
        Image.fromarray(pixels).save(pictures / f"photo{i}.png")
    rng = np.random.default_rng(1)
    Y = levels.reshape(n_images, -1).astype(float) @ rng.normal(size=(size**2, 20))
    np.save(folder / "seen.npy", Y + 0.1 * Y.std() * rng.normal(size=Y.shape))
    table = pd.DataFrame(
        {
            "set": np.repeat(["train", "test"], [n_images - 10, 10]),
            "stimulus": [f"photo{i}" for i in range(n_images)],
        }
    )
    table.to_csv(folder / "shown.tsv", sep="\t", index=False)
    return levels, table, pictures


def test_a_folder_of_images_is_an_array_of_them(tmp_path):
    levels, table, pictures = _photographs(tmp_path)
    np.save(tmp_path / "levels.npy", levels.astype(np.float32))
    named = table.assign(stim_file=[f"pictures/photo{i}.png" for i in range(30)])
    named.to_csv(tmp_path / "named.tsv", sep="\t", index=False)
    ways = {
        "array": ("shown.tsv", ["--stimulus-images", str(tmp_path / "levels.npy")]),
        "folder": ("shown.tsv", ["--stimulus-images", str(pictures)]),
        "files": ("named.tsv", []),
        "zip": ("shown.tsv", ["--stimulus-images", str(tmp_path / "packed.zip")]),
        "files of a zip": (
            "flat.tsv",
            ["--stimulus-images", str(tmp_path / "packed.zip")],
        ),
    }
    shutil.make_archive(tmp_path / "packed", "zip", tmp_path, "pictures")
    flat = table.assign(stim_file=[f"photo{i}.png" for i in range(30)])
    flat.to_csv(tmp_path / "flat.tsv", sep="\t", index=False)
    margins = {}
    for name, (file, options) in ways.items():
        words = _words(tmp_path, "seen.npy", file, *options)
        assert main([*words, str(tmp_path / name)]) == 0
        fitted = EncodingIdentification.from_directory(tmp_path / name)
        assert fitted.classes_[0] == "photo20"
        margins[name] = fitted.region_margins(0)
    for name in ways:
        np.testing.assert_array_equal(margins[name], margins["array"])


def test_image_files_that_cannot_be_read(tmp_path, capsys):
    _, table, pictures = _photographs(tmp_path)
    words = _words(tmp_path, "seen.npy", "shown.tsv", "--stimulus-images")
    out = str(tmp_path / "out")
    assert main([*words, str(tmp_path / "shown.tsv"), out]) == 2
    assert "neither a folder (or .zip) of images nor a" in capsys.readouterr().err
    (tmp_path / "broken.zip").write_text("no archive")
    assert main([*words, str(tmp_path / "broken.zip"), out]) == 2
    assert "broken.zip is no .zip archive" in capsys.readouterr().err
    (pictures / "photo3.png").write_text("no image")
    assert main([*words, str(pictures), out]) == 2
    assert "photo3.png is no image that can be read" in capsys.readouterr().err
    (pictures / "photo3.png").unlink()
    assert main([*words, str(pictures), out]) == 2
    assert "holds no image of stimulus 'photo3'" in capsys.readouterr().err
    table.drop(columns="stimulus").to_csv(tmp_path / "un.tsv", sep="\t", index=False)
    words = _words(tmp_path, "seen.npy", "un.tsv", "--stimulus-images")
    assert main([*words, str(pictures), out]) == 2
    assert "no column 'stimulus' or 'stim_file'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["tsv", "npz"])
def test_a_table_of_embeddings_is_matched_by_name(experiment, kind, capsys):
    X, Y, folder = experiment
    order = np.random.default_rng(2).permutation(100)
    names = np.array([f"image{i}" for i in order])
    path = folder / f"layer.{kind}"
    if kind == "npz":
        np.savez(path, features=X[order], stimulus=names)
    else:
        table = pd.DataFrame(X[order]).assign(stimulus=names)
        table.to_csv(path, sep="\t", index=False)
    words = _words(folder, "Y.npy", "volumes.tsv", "--features", str(path))
    assert main([*words, str(folder / "out")]) == 0
    fitted = EncodingIdentification.from_directory(folder / "out")
    assert fitted.classes_.tolist() == [f"image{i}" for i in range(80, 100)]
    model = EncodingIdentification(encoder=RidgeEncoder()).fit(X[:80], Y[:80])
    model.identify(X[80:], Y[80:])
    np.testing.assert_allclose(
        fitted.region_margins(0), model.region_margins(0), rtol=1e-3
    )
    np.savez(folder / "few.npz", features=X[:9], stimulus=names[:9])
    words = _words(folder, "Y.npy", "volumes.tsv", "--features")
    assert main([*words, str(folder / "few.npz"), str(folder / "no")]) == 2
    assert "has no features of stimulus" in capsys.readouterr().err


def test_folds_and_extrapolation(experiment, capsys):
    X, Y, folder = experiment
    words = _words(folder, "Y.npy", "full.tsv", "--folds", "4")
    words += ["--extrapolate", "100", "200"]
    assert main([*words[:-3], "--dry-run", *words[-3:], str(folder / "out")]) == 0
    assert not (folder / "out").exists()
    assert main([*words, str(folder / "out")]) == 0
    assert "extrapolation" in capsys.readouterr().out
    fitted = EncodingIdentification.from_directory(folder / "out")
    model = EncodingIdentification(encoder=RidgeEncoder())
    names = [f"image{i}" for i in range(100)]
    table_of_names = pd.DataFrame(X, index=names)
    model.identify_folds(table_of_names, Y, stimuli=names, n_folds=4)
    np.testing.assert_allclose(fitted.wins_, model.wins_)
    assert fitted.test_stimuli_.tolist() == model.test_stimuli_.tolist()
    table = pd.read_csv(folder / "out" / "extrapolation.tsv", sep="\t")
    assert table["set_size"].tolist() == [100, 200]
    assert (table["lower"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["upper"]).all()
    expected = model.extrapolator(0).predict([100, 200])
    np.testing.assert_allclose(table["accuracy"], expected, rtol=1e-4)
    out = str(folder / "no")
    words += ["--n-permutations", "9"]
    assert main([*words, out]) == 0
    tested = pd.read_csv(folder / "no" / "table.tsv", sep="\t")
    model.set_params(n_permutations=9)
    runs = pd.read_csv(folder / "full.tsv", sep="\t")["run"].to_numpy()
    model.identify_folds(table_of_names, Y, stimuli=names, groups=runs, n_folds=4)
    np.testing.assert_allclose(tested["p_value"], model.table_["p_value"])
    words = words[:-2]
    words[-1] = "1"
    assert main([*words, out]) == 2
    assert "--extrapolate 1 must be an integer of at least 2" in capsys.readouterr().err


def test_saved_results_are_compared(experiment, capsys):
    X, _, folder = experiment
    folders = {}
    # one feature of other stimuli: far behind, whatever folds are drawn
    tables = {"full": X, "half": X[:, :2], "one": X[::-1, :1]}
    for name, columns in tables.items():
        np.save(folder / f"{name}.npy", columns)
        words = _words(folder, "Y.npy", "volumes.tsv", "--features")
        folders[name] = str(folder / f"of_{name}")
        assert main([*words, str(folder / f"{name}.npy"), folders[name]]) == 0
    capsys.readouterr()
    models = list(folders.values())
    words = ["compare", *models, "--quiet", "--n-permutations", "99"]
    words += ["--report", "--names", *folders, str(folder / "compared")]
    assert main(words) == 0
    assert "every pair" in capsys.readouterr().out
    page = (folder / "compared" / "report_full_one.html").read_text(encoding="utf-8")
    assert "Full identifies better than one" in page
    assert "multiplied by 3, the number of compared pairs" in page
    assert len(list((folder / "compared").glob("report*.html"))) == 3
    table = pd.read_csv(folder / "compared" / "comparison.tsv", sep="\t")
    pairs = table[["first", "second"]].to_numpy().tolist()
    assert pairs == [["full", "half"], ["full", "one"], ["half", "one"]]
    assert table["p_value_fwe"].iloc[1] == pytest.approx(0.03)
    assert main(["compare", models[0], str(folder / "no"), "--quiet"]) == 2
    assert "name at least two folders" in capsys.readouterr().err
    assert main(["compare", models[0], models[0], str(folder / "no"), "--quiet"]) == 2
    assert "give different --names" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="set"), "has no column 'set'"),
        (lambda t: t.assign(set="train"), "must hold train and test, got train"),
        (lambda t: t.iloc[:-1], "--stimuli has 99 rows"),
        (lambda t: t.assign(stimulus=t["set"]), "1 stimuli to be tested"),
        (lambda t: t.replace("image81", "image82"), "different features in its"),
        (lambda t: t.replace("image81", "image3"), "(first: 'image3')"),
        (
            lambda t: t.assign(run=np.arange(100)),
            "no two stimuli to be tested were shown in the same runs",
        ),
    ],
)
def test_bad_tables(experiment, capsys, change, message):
    _, _, folder = experiment
    table = change(pd.read_csv(folder / "volumes.tsv", sep="\t"))
    table.to_csv(folder / "bad.tsv", sep="\t", index=False)
    words = _words(folder, "Y.npy", "bad.tsv", "--features", str(folder / "X.npy"))
    words += ["--n-permutations", "9"]
    assert main([*words, str(folder / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not (folder / "out").exists()


def test_folds_of_too_few_stimuli_are_refused_by_the_table(experiment, capsys):
    _, _, folder = experiment
    table = pd.read_csv(folder / "volumes.tsv", sep="\t").assign(run=1)
    table["stimulus"] = np.arange(100) % 7
    table.to_csv(folder / "few.tsv", sep="\t", index=False)
    words = _words(folder, "Y.npy", "few.tsv", "--features", "none.npy", "--folds", "5")
    assert main([*words, str(folder / "out")]) == 2  # before features are opened
    assert "leaves 1 in each of 5 folds" in capsys.readouterr().err


@pytest.mark.parametrize("in_folds", [False, True])
def test_test_stimuli_shown_again_in_every_run(experiment, in_folds):
    """Stimuli change places in all runs in which both were shown."""
    X, Y, folder = experiment
    rng = np.random.default_rng(1)
    table = pd.read_csv(folder / "volumes.tsv", sep="\t")
    again = np.r_[np.arange(80), np.tile(np.arange(80, 100), 3)]
    shown = table.iloc[again].assign(run=np.r_[np.zeros(80), np.repeat([1, 2, 3], 20)])
    if in_folds:
        shown, again = shown.iloc[80:], again[80:]
    shown.to_csv(folder / "kay.tsv", sep="\t", index=False)
    np.save(folder / "again.npy", Y[again] + rng.normal(size=(len(again), 48)))
    words = _words(folder, "again.npy", "kay.tsv", "--n-permutations", "19")
    words += ["--features", str(folder / "named.tsv")]
    named = pd.DataFrame(X, columns=list("abcd"))
    named.insert(0, "stimulus", table["stimulus"])
    named.to_csv(folder / "named.tsv", sep="\t", index=False)
    words += ["--folds", "2"] if in_folds else []
    assert main([*words, str(folder / "out")]) == 0
    found = pd.read_csv(folder / "out" / "table.tsv", sep="\t")
    assert found["p_value"].iloc[0] == pytest.approx(0.05)


def test_statistic_groups_and_bands_are_those_of_python(experiment):
    X, Y, folder = experiment
    bands = np.array(["first", "first", "second", "second"])
    (folder / "bands.txt").write_text("\n".join(bands))
    sessions = np.arange(100) // 10
    table = pd.read_csv(folder / "full.tsv", sep="\t")
    table.insert(0, "session", sessions)
    table.to_csv(folder / "sessions.tsv", sep="\t", index=False)
    words = _words(folder, "Y.npy", "sessions.tsv", "--groups", "session")
    words += ["--bands", str(folder / "bands.txt"), "--n-permutations", "19"]
    assert main([*words, "--statistic", "3", str(folder / "out")]) == 0
    found = EncodingIdentification.from_directory(folder / "out")
    encoder = RidgeEncoder(bands=bands)
    model = EncodingIdentification(encoder=encoder, statistic=3, n_permutations=19)
    model.fit(X[:80], Y[:80], sessions[:80])
    model.identify(X[80:], Y[80:], np.full(20, 5))
    np.testing.assert_allclose(found.wins_, model.wins_)
    np.testing.assert_array_equal(found.null_maxima_, model.null_maxima_)
    assert "weight_of_first" in model.penalties_
    columns = pd.read_csv(folder / "sessions.tsv", sep="\t").columns[-4:]
    lines = [f"{name}\t{band}" for name, band in zip(columns, bands, strict=True)]
    (folder / "bands.txt").write_text("\n".join(["feature\tband", *lines[::-1]]))
    assert main([*words, "--statistic", "3", str(folder / "named")]) == 0
    named = EncodingIdentification.from_directory(folder / "named")
    np.testing.assert_array_equal(named.wins_, found.wins_)
    (folder / "bands.txt").write_text("\n".join(lines[:3]))
    assert main([*words, str(folder / "no")]) == 2
    other = EncodingIdentification(encoder=encoder).fit(X[:80], Y[:80])
    assert (other.penalties_["alpha"] != model.penalties_["alpha"]).any()


def test_bands_are_kinds_of_image_features(tmp_path, capsys):
    _, _, pictures = _photographs(tmp_path)
    words = _words(tmp_path, "seen.npy", "shown.tsv", "--bands", "kinds")
    words += ["--stimulus-images", str(pictures)]
    assert main([*words, str(tmp_path / "out")]) == 0
    found = EncodingIdentification.from_directory(tmp_path / "out")
    assert {"weight_of_gabor", "weight_of_luminance"} <= set(found.penalties_)
    words[words.index("ridge")] = "elastic-net"
    assert main([*words, str(tmp_path / "no")]) == 2
    assert "--bands needs --encoder ridge" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "day"], "no column 'day', which --groups names"),
        (
            ["--groups", "run", "--folds", "2"],
            "--groups excludes --folds: it is of training",
        ),
        (["--bands", "kinds"], "give a file with the band of each feature"),
        (["--bands", "volumes.tsv"], "lines, there are 4 features"),
    ],
)
def test_options_that_cannot_be_are_refused(experiment, capsys, options, message):
    _, _, folder = experiment
    options = [str(folder / o) if o == "volumes.tsv" else o for o in options]
    words = _words(folder, "Y.npy", "volumes.tsv", "--features", str(folder / "X.npy"))
    assert main([*words, *options, str(folder / "out")]) == 2
    assert message in capsys.readouterr().err


def test_bad_features(experiment, capsys):
    _, _, folder = experiment
    out = str(folder / "out")
    assert main([*_words(folder, "Y.npy"), out]) == 2
    assert "no feature column" in capsys.readouterr().err
    both = ["--features", str(folder / "X.npy"), "--stimulus-images", "x.npy"]
    assert main([*_words(folder, "Y.npy", "volumes.tsv", *both), out]) == 2
    assert "were both given" in capsys.readouterr().err
    text = ["--features", str(folder / "volumes.tsv")]
    assert main([*_words(folder, "Y.npy", "volumes.tsv", *text), out]) == 2
    assert (
        "column set has 'train' in row 1, which is no finite number"
        in capsys.readouterr().err
    )
