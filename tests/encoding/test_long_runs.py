"""Identification in parts, in other processes, from folders, and short of memory.

Whatever happens on the way, the result is the same to the last bit.
"""

import tracemalloc

import nibabel
import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification, compare_encoding_models
from tests.encoding.seam import _checkpoint, _plan, estimate_memory, score_regions


@pytest.fixture(scope="module")
def brain():
    """Responses of 4 x 4 x 3 voxels to 90 stimuli, a corner of them real."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(90, 4)), rng.normal(size=(4, 8))
    data = rng.normal(size=(4, 4, 3, 90))
    data[:2, :2, :2] += (X @ W).T.reshape(2, 2, 2, 90)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    mask = nibabel.Nifti1Image(np.ones((4, 4, 3), dtype=np.int8), affine)
    return X, nibabel.Nifti1Image(data.astype(np.float32), affine), mask


def run(brain, **options):
    """Train on 70 stimuli and identify 20."""
    X, image, mask = brain
    options = {"radius": 4.0, "n_permutations": 30, **options}
    model = EncodingIdentification(mask, Ridge(), **options)
    model.fit(X[:70], image.slicer[..., :70])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_plan, "_PERMUTED_TASK_REGIONS", 16)  # three tasks
        return model.identify(X[70:], image.slicer[..., 70:], groups=np.zeros(20))


@pytest.fixture(scope="module")
def whole(brain):
    return run(brain)


def same(one, other):
    """Compare two identifications bit by bit."""
    assert set(one.region_scores_) == set(other.region_scores_)
    for name, value in one.region_scores_.items():
        np.testing.assert_array_equal(value, other.region_scores_[name], err_msg=name)
    np.testing.assert_array_equal(one.wins_, other.wins_)
    np.testing.assert_array_equal(one.null_maxima_, other.null_maxima_)
    assert one.notes_ == other.notes_
    for name, image in one.maps_.items():
        np.testing.assert_array_equal(
            image.get_fdata(), other.maps_[name].get_fdata(), err_msg=name
        )


@pytest.mark.parametrize("through_folders", [False, True])
def test_shards_with_checkpoints_merge_to_the_whole(
    brain, whole, tmp_path, through_folders
):
    parts = []
    for shard in ("3/3", "1/3", (2, 3)):
        part = run(brain, shard=shard, checkpoint=tmp_path / "shared")
        assert np.isnan(part.region_scores_["accuracy"]).any()
        if through_folders:
            folder = tmp_path / str(len(parts))
            part.to_directory(folder)
            part = EncodingIdentification.from_directory(folder)
        parts.append(part)
    same(parts[0].merge(*parts[1:]), whole)


def test_an_interrupted_run_resumes(brain, whole, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    save, saved = _checkpoint.Checkpoint.save, []

    def save_two(self, task, result):
        if len(saved) == 2:
            raise KilledError
        saved.append(task)
        save(self, task, result)

    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save_two)
    with pytest.raises(KilledError):
        run(brain, checkpoint=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("task_*.npz")}
    assert len(kept) == 2
    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save)
    same(run(brain, checkpoint=tmp_path), whole)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    with pytest.raises(ValueError, match="was made by a run with another regions"):
        run(brain, checkpoint=tmp_path, radius=7.0)


def test_folders_read_back_bit_by_bit(whole, tmp_path):
    whole.to_directory(tmp_path / "plain")
    whole.to_directory(tmp_path / "bids", bids={"sub": "01"})
    for folder in ("plain", "bids"):
        again = EncodingIdentification.from_directory(tmp_path / folder)
        same(again, whole)
        assert again.radius == 4.0
        assert again.encoder is None
        assert again.n_elements_ == 48
        np.testing.assert_array_equal(again.classes_, whole.classes_)
        curves = [model.accuracy_curve((0.0, 0.0, 0.0)) for model in (again, whole)]
        np.testing.assert_array_equal(*curves)
        for ask in (
            lambda model: model.region_margins(0),
            lambda model: model.posterior(0),
            lambda model: model.prediction_maps()["r2"].get_fdata(),
        ):
            np.testing.assert_array_equal(ask(again), ask(whole))
        found = compare_encoding_models(whole, again)
        assert np.nanmax(np.abs(found["accuracy_difference"].get_fdata())) == 0
        X = np.zeros((2, len(whole._training.scaling.kept)))
        np.testing.assert_allclose(again.predict(X), whole.predict(X), rtol=1e-5)
    with pytest.raises(ValueError, match="no 'searchlight' analysis, but one of kind"):
        IdentificationSearchLight.from_directory(tmp_path / "plain")
    with pytest.raises(TypeError, match="must all be EncodingIdentification, got Idle"):
        again.merge(type("Idle", (), {})())


def test_workers_and_memory_do_not_change_a_bit(brain, whole):
    same(run(brain, n_jobs=2, max_memory="1G"), whole)
    with pytest.raises(ValueError, match="max_memory='10K' is too little: about"):
        run(brain, max_memory="10K")


@pytest.mark.filterwarnings("ignore:.*residuals; rule=:UserWarning")
@pytest.mark.parametrize("n_regions", [5, 100])
def test_memory_estimate_is_near_the_peak(n_regions):
    rng = np.random.default_rng(2)
    X, n_voxels = rng.normal(size=(600, 3)), 3000
    Y = rng.normal(size=(600, n_voxels)).astype(np.float32)
    owner = np.arange(n_voxels) * n_regions // n_voxels
    members = np.ones(n_voxels, dtype=bool), (owner, np.arange(n_voxels))
    model = EncodingIdentification(
        encoder=Ridge(), regions=scipy.sparse.csr_array(members)
    ).fit(X[:500], Y[:500])
    model.identify(X[500:], Y[500:])  # imports, plan
    run = model.run_
    data = run.rows, run.usable.regions, run.plan
    tracemalloc.start()
    score_regions(*data)
    peak = data[0].nbytes + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimate_memory(*data) <= 4 * peak
