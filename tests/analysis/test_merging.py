"""Parts of a run: joined to the whole in any order, and nothing else with them."""

import itertools
import json

import nibabel
import numpy as np
import pytest
from sklearn.linear_model import Ridge

import neuroextrap
from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import encoding_of, searchlight_of
from tests.analysis.seam import missing_parts

SHAPE = (8, 8, 5)
AFFINE = np.diag([3.0, 3, 3, 1])
OPTIONS = {"radius": 4.0, "n_permutations": 4}


def data(seed=0):
    """Volumes of 4 classes in 4 runs, mask, labels and runs; 3 tasks of regions."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(4), 4), np.repeat(np.arange(4), 4)
    values = rng.normal(size=(*SHAPE, len(y))).astype(np.float32)
    values[:3, :3, :3] += rng.normal(size=(3, 3, 3, 4)).astype(np.float32)[..., y]
    mask = nibabel.Nifti1Image(np.ones(SHAPE, dtype=np.int8), AFFINE)
    return nibabel.Nifti1Image(values, AFFINE), mask, y, runs


def fit(img=None, mask=None, y=None, runs=None, **options):
    given = [img, mask, y, runs]
    img, mask, y, runs = (
        a if b is None else b for a, b in zip(data(), given, strict=True)
    )
    light = searchlight_of(mask, **{**OPTIONS, **options})
    return light.fit(img, y, groups=runs)


@pytest.fixture(scope="module")
def whole():
    return fit()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of the parts 1/3, 2/3 and 3/3."""
    root = tmp_path_factory.mktemp("parts")
    for i in (1, 2, 3):
        fit(shard=f"{i}/3").to_directory(root / str(i))
    return [root / str(i) for i in (1, 2, 3)]


def read(folder):
    return IdentificationSearchLight.from_directory(folder)


def without_record(folder):
    """Return the bytes of all files but the record of provenance."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name != "provenance.json"
    }


def test_any_order_and_any_nesting_give_the_folder_of_the_whole(
    whole, folders, tmp_path
):
    whole.to_directory(tmp_path / "whole")
    expected = without_record(tmp_path / "whole")
    for number, order in enumerate(itertools.permutations(folders)):
        first, second, third = map(read, order)
        if number % 2:
            first.merge(second.merge(third, allow_missing=True))
        else:
            first.merge(second, third)
        out = tmp_path / str(number)
        first.to_directory(out)
        assert without_record(out) == expected


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        ([(1, 1)], []),
        ([(2, 4)], ["1/4", "3/4", "4/4"]),
        ([(1, 2), (2, 4)], ["4/4"]),
        ([(1, 2), (2, 4), (4, 4)], []),
        ([(1, 2), (3, 3)], ["2/6", "4/6"]),
    ],
)
def test_missing_parts_are_told_even_of_other_numbers_of_parts(parts, missing):
    tasks = set(range(600))
    done = {t for i, n in parts for t in range(i - 1, 600, n)}
    assert missing_parts(parts) == missing
    told = {t for part in missing for t in range(int(part[0]) - 1, 600, int(part[-1]))}
    assert told == tasks - done


def test_other_numbers_of_parts_make_the_whole_too(whole):
    parts = [fit(shard=shard) for shard in ("4/4", "1/2", "2/4")]
    joined = parts[0].merge(*parts[1:])
    np.testing.assert_array_equal(joined.wins_, whole.wins_)
    assert joined.results_.parts == ((1, 1),)
    with pytest.raises(ValueError, match=r"in more than one part"):
        fit(shard="2/4").merge(fit(shard="2/2"))


def test_parts_of_other_runs_are_refused_by_name(folders):
    img, mask, y, runs = data()
    swapped = np.where((runs == 0) & (y < 2), 1 - y, y)
    moved = nibabel.Nifti1Image(np.asarray(img.dataobj), AFFINE + np.eye(4, k=3))
    grid = nibabel.Nifti1Image(np.asarray(mask.dataobj), moved.affine)
    for named, changed in {
        "data": {"img": data(seed=1)[0]},
        "labels": {"y": swapped},
        "classes": {"y": np.array(list("abcd"))[y]},
        "regions": {"radius": 7.0},
        "classifier": {"estimator": "gaussian_nb"},
        "statistic": {"statistic": 2},
        "voxels": {"img": moved, "mask": grid},
    }.items():
        other = fit(shard="2/3", **changed)
        with pytest.raises(ValueError, match=f"of different runs: .*{named}"):
            read(folders[0]).merge(other)
    for changed in ({"random_state": 1}, {"n_permutations": 10}):
        with pytest.raises(ValueError, match="different runs: other labels;"):
            read(folders[0]).merge(fit(shard="2/3", **changed))


def test_parts_of_another_version_are_refused(folders, monkeypatch):
    path = "neuroextrap.margins.running._checkpoint.VERSIONS"
    monkeypatch.setattr(path, {"neuroextrap": neuroextrap.__version__, "numpy": "9"})
    with pytest.raises(ValueError, match="different runs: other versions; merge"):
        read(folders[0]).merge(fit(shard="2/3"))


def test_what_no_stored_number_depends_on_may_differ(whole, folders):
    others = [fit(shard=s, confidence_level=0.9, set_sizes=[2]) for s in ("2/3", "3/3")]
    joined = read(folders[0]).merge(*others)
    for name, value in whole.region_scores_.items():
        np.testing.assert_array_equal(joined.region_scores_[name], value)


def test_missing_parts_are_refused_or_marked(folders, whole, tmp_path):
    first, third = read(folders[0]), read(folders[2])
    before = first.wins_.copy()
    with pytest.raises(ValueError, match=r"parts 2/3 are missing; .*--allow-missing"):
        first.merge(third)
    np.testing.assert_array_equal(first.wins_, before)
    joined = first.merge(third, allow_missing=True)
    assert "the run lacks part 2/3; family-wise" in joined.notes_[-1]
    joined.to_directory(tmp_path / "out")
    sidecar = json.loads((tmp_path / "out" / "p_value_fwe.json").read_text())
    assert sidecar["partial"] == {"missing_parts": ["2/3"]}
    assert sidecar["description"].endswith("over the regions that are in it only")
    plain = json.loads((tmp_path / "out" / "accuracy.json").read_text())
    assert "partial" in plain
    assert "over the regions" not in plain["description"]
    again = read(tmp_path / "out")
    assert again.notes_ == joined.notes_
    complete = again.merge(read(folders[1]))
    assert complete.notes_ == whole.notes_
    np.testing.assert_array_equal(complete.null_maxima_, whole.null_maxima_)


def test_tables_of_atlas_regions_join_with_their_standard_errors(tmp_path):
    labels = np.arange(np.prod(SHAPE)).reshape(SHAPE) // 2  # 159 regions, 2 tasks
    atlas = nibabel.Nifti1Image(labels.astype(np.int16), AFFINE)
    complete = fit(labels_img=atlas)
    for i in (1, 2):
        part = fit(labels_img=atlas, shard=(i, 2))
        assert part.table_["partial"].all()
        part.to_directory(tmp_path / str(i))
    joined = read(tmp_path / "2").merge(read(tmp_path / "1"))
    assert complete.table_["standard_error"].notna().all()
    assert complete.table_.columns.equals(joined.table_.columns)
    errors = (table["standard_error"] for table in (joined.table_, complete.table_))
    np.testing.assert_allclose(*errors, rtol=1e-12)  # sums over other numbers of rows
    for name, column in complete.table_.drop(columns="standard_error").items():
        np.testing.assert_array_equal(joined.table_[name], column, err_msg=name)


def test_folds_kept_in_memory_join(whole):
    kept = fit(per_fold=True)
    parts = [fit(per_fold=True, shard=(i, 2)) for i in (1, 2)]
    joined = parts[0].merge(parts[1])
    np.testing.assert_array_equal(joined.fold_wins_, kept.fold_wins_)
    with pytest.raises(ValueError, match="different runs: other folds"):
        fit(shard="1/3").merge(fit(per_fold=True, shard="2/3"))


def test_parts_of_encoding_carry_their_run_too():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 150))
    members = np.eye(150, dtype=bool) | np.eye(150, k=1, dtype=bool)

    def identify(Y=Y, **options):
        model = encoding_of(encoder=Ridge(), regions=members, **options)
        return model.fit(X[:30], Y[:30]).identify(X[30:], Y[30:], np.zeros(10))

    whole = identify(n_permutations=3)
    parts = [identify(n_permutations=3, shard=(i, 2)) for i in (1, 2)]
    joined = parts[1].merge(parts[0])
    np.testing.assert_array_equal(joined.wins_, whole.wins_)
    other = identify(Y + np.arange(40)[:, None] ** 2, n_permutations=3, shard="2/2")
    with pytest.raises(ValueError, match="different runs: other data"):
        identify(n_permutations=3, shard="1/2").merge(other)


def test_the_command_refuses_and_marks(folders, tmp_path, capsys):
    first, second, third = map(str, folders)
    out = str(tmp_path / "out")
    assert main(["merge", first, second, out]) == 2
    message = capsys.readouterr().err
    assert "parts 3/3 are missing" in message
    assert not (tmp_path / "out").exists()
    assert main(["merge", first, second, out, "--allow-missing"]) == 0
    assert "note: partial result" in capsys.readouterr().out
    fit(shard="3/3", random_state=1).to_directory(tmp_path / "foreign")
    foreign = str(tmp_path / "foreign")
    assert main(["merge", first, second, foreign, out, "--overwrite"]) == 2
    assert "different runs: other labels" in capsys.readouterr().err
    assert main(["merge", out, third, str(tmp_path / "all")]) == 0
    assert "partial" not in capsys.readouterr().out
