"""Runs that are killed, split, spread over processes and machines, or short of memory.

Whatever happens on the way, the result is the same to the last bit.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import joblib
import nibabel
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import searchlight_of

_PATIENCE = 120.0  # seconds, for machines that are busy


def simulate(shape=(12, 12, 8), n_classes=6, n_runs=6, seed=0):
    """Volumes with class patterns in one corner."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes)
    data = rng.normal(size=(*shape, len(y))).astype(np.float32)
    data[:3, :3, :3] += rng.normal(size=(3, 3, 3, n_classes)).astype(np.float32)[..., y]
    affine = np.diag([3.0, 3, 3, 1])
    mask = nibabel.Nifti1Image(np.ones(shape, dtype=np.int8), affine)
    return nibabel.Nifti1Image(data, affine), mask, y, runs


def assert_same(one, other):
    """Compare two fitted searchlights bit by bit."""
    assert set(one.region_scores_) == set(other.region_scores_)
    for name, value in one.region_scores_.items():
        np.testing.assert_array_equal(value, other.region_scores_[name], err_msg=name)
    np.testing.assert_array_equal(one.wins_, other.wins_)
    np.testing.assert_array_equal(one.null_maxima_, other.null_maxima_)


def wait_for(condition, process=None):
    """Poll until a condition holds; False when the process ends before."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        if process is not None and process.poll() is not None:
            return condition()
        time.sleep(0.01)
    raise TimeoutError("the condition did not come true in time")


_FIT = """
import sys
import numpy as np
from neuroextrap.decoding import IdentificationSearchLight
folder, classifier, n_permutations = sys.argv[1:]
with np.load(folder + "/data.npz") as data:
    X, y, runs, members = (data[name] for name in ("X", "y", "runs", "members"))
import scipy.sparse
IdentificationSearchLight(
    regions=scipy.sparse.csr_array(members), estimator=classifier,
    n_permutations=int(n_permutations), checkpoint=folder + "/checkpoint",
).fit(X, y, groups=runs)
"""


@pytest.mark.parametrize("classifier", ["nearest_centroid", "ridge"])
def test_a_killed_run_resumes_and_ends_bit_identical(tmp_path, classifier):
    import scipy.sparse

    rng = np.random.default_rng([1, len(classifier)])
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    X = rng.normal(size=(24, 60))
    members = rng.random((2560, 60)) < 0.3  # 20 tasks
    np.savez(tmp_path / "data.npz", X=X, y=y, runs=runs, members=members)
    checkpoint = tmp_path / "checkpoint"

    def finished():
        return sorted(checkpoint.glob("task_*.npz"))

    for _ in range(2):
        n_before = len(finished())
        command = [sys.executable, "-c", _FIT, str(tmp_path), classifier, "200"]
        process = subprocess.Popen(command)
        try:
            wait_for(lambda n=n_before: len(finished()) > n, process)
            time.sleep(rng.uniform(0, 0.1))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(_PATIENCE)
        killed = process.returncode == -signal.SIGKILL
        assert killed, "the kill came too late to test anything"
        if len(finished()) > 10:
            break
    kept = {path.name: path.stat().st_mtime_ns for path in finished()}
    assert 0 < len(kept) < 20
    options = {
        "regions": scipy.sparse.csr_array(members),
        "estimator": classifier,
        "n_permutations": 200,
    }
    resumed = searchlight_of(checkpoint=checkpoint, **options)
    resumed.fit(X, y, groups=runs)
    assert len(finished()) == 20
    for name, when in kept.items():
        assert (checkpoint / name).stat().st_mtime_ns == when
    whole = searchlight_of(**options).fit(X, y, groups=runs)
    assert_same(resumed, whole)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    img, mask, y, runs = simulate((4, 4, 3))
    options = {"radius": 4.0, "n_permutations": 5, "checkpoint": tmp_path / "c"}

    def fit(img=img, y=y, runs=runs, **changed):
        return searchlight_of(mask, **{**options, **changed}).fit(img, y, groups=runs)

    first = fit()
    assert_same(fit(n_jobs=2, max_memory="1G"), first)
    assert fit(confidence_level=0.9).wins_.tolist() == first.wins_.tolist()
    other = nibabel.Nifti1Image(img.get_fdata() + (y == 0), img.affine)
    swapped = np.where(y == 0, 1, np.where(y == 1, 0, y))
    for changed, message in (
        ({"img": other}, "another data"),
        ({"y": np.where(runs == 0, swapped, y)}, "another labels"),
        ({"radius": 7.0}, "another regions"),
        ({"estimator": "ridge"}, "another classifier"),
        ({"statistic": 2}, "another statistic"),
        ({"random_state": 1}, "another labels"),
        ({"n_permutations": 6}, "another labels"),
    ):
        with pytest.raises(ValueError, match=f"was made by a run with {message}"):
            fit(**changed)


def test_shards_with_checkpoints_merge_to_the_whole(tmp_path):
    img, mask, y, runs = simulate()
    options = {"radius": 4.0, "n_permutations": 20}
    whole = searchlight_of(mask, **options).fit(img, y, groups=runs)
    folders = []
    for shard in ("3/3", "1/3", "2/3"):
        part = searchlight_of(
            mask, shard=shard, checkpoint=tmp_path / "shared", **options
        )
        folders.append(tmp_path / shard.replace("/", "of"))
        part.fit(img, y, groups=runs).to_directory(folders[-1])
        assert np.isnan(part.region_scores_["accuracy"]).any()
    parts = [IdentificationSearchLight.from_directory(folder) for folder in folders]
    assert_same(parts[0].merge(*parts[1:]), whole)
    for name, img_of_whole in whole.maps_.items():
        np.testing.assert_array_equal(
            parts[0].maps_[name].get_fdata(), img_of_whole.get_fdata()
        )


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("classifier", ["nearest_centroid", "lda"])
def test_local_backends_do_not_change_a_bit(backend, classifier):
    img, mask, y, runs = simulate((8, 8, 6))
    options = {"radius": 4.0, "estimator": classifier, "n_permutations": 10}
    one = searchlight_of(mask, **options).fit(img, y, groups=runs)
    with joblib.parallel_config(backend=backend):
        two = searchlight_of(mask, n_jobs=2, **options)
        two.fit(img, y, groups=runs)
    assert_same(two, one)


@pytest.fixture
def dask_client(tmp_path):
    """A client of a scheduler and two workers, each a process of its own."""
    distributed = pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    dask = [sys.executable, "-m", "dask"]
    local = ["--host", "127.0.0.1"]
    port = ["--port", address.rsplit(":", 1)[1]]
    processes = []
    try:
        with open(tmp_path / "log.txt", "w") as log:
            quiet |= {"stderr": log, "env": environment}
            scheduler = [*dask, "scheduler", *local, *port, "--no-dashboard"]
            processes.append(subprocess.Popen(scheduler, **quiet))
            for _ in range(2):
                one = ["--nworkers", "1", "--nthreads", "1", "--no-nanny"]
                worker = [*dask, "worker", address, *local, *one, "--no-dashboard"]
                processes.append(subprocess.Popen(worker, **quiet))
        with distributed.Client(address, timeout=_PATIENCE) as client:
            client.wait_for_workers(2, timeout=_PATIENCE)
            yield client
    finally:
        for process in reversed(processes):
            process.terminate()
        end = time.monotonic() + 3.0
        while time.monotonic() < end and any(p.poll() is None for p in processes):
            time.sleep(0.05)
        for process in processes:
            process.kill()  # does nothing to one that has ended
            process.wait(_PATIENCE)


def test_dask_workers_do_not_change_a_bit(dask_client, tmp_path):
    img, mask, y, runs = simulate()
    for classifier in ("nearest_centroid", "ridge"):
        options = {"radius": 4.0, "estimator": classifier, "n_permutations": 15}
        one = searchlight_of(mask, **options).fit(img, y, groups=runs)
        with joblib.parallel_config(backend="dask"):
            two = searchlight_of(
                mask, n_jobs=-1, checkpoint=tmp_path / classifier, **options
            ).fit(img, y, groups=runs)
        assert_same(two, one)
        assert len(list((tmp_path / classifier).glob("task_*.npz"))) == 9
    worked = dask_client.run(lambda: "neuroextrap.margins" in __import__("sys").modules)
    assert list(worked.values()) == [True, True]


_PEAK = """
import json, re, sys
from pathlib import Path
import nibabel, numpy as np
from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight

def peak():  # of this program; ru_maxrss would count the one that started it
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])

classifier, n_permutations, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
n_atlas_regions = int(sys.argv[4])
rng = np.random.default_rng(0)
shape, affine = (30, 30, 30), np.diag([3.0, 3, 3, 1])
y, runs = np.tile(np.arange(8), 12), np.repeat(np.arange(12), 8)
data = rng.standard_normal((*shape, 96), dtype=np.float32)

def fit(size, **options):
    mask = nibabel.Nifti1Image(np.ones((size,) * 3, dtype=np.int8), affine)
    img = nibabel.Nifti1Image(data[:size, :size, :size], affine)
    if n_atlas_regions:
        slabs = np.zeros(mask.shape, dtype=np.int16)
        slabs += 1 + np.arange(size, dtype=np.int16) * n_atlas_regions // size
        options["labels_img"] = nibabel.Nifti1Image(slabs, affine)
    searchlight = IdentificationSearchLight(
        mask, radius=7.0, estimator=classifier, n_permutations=n_permutations,
        regions=Regions(stride=1 if n_permutations == 0 else 3), **options
    )
    return searchlight, searchlight.fit(img, y, groups=runs), img

fit(5)  # imports, compiles: what that took at its peak is forgotten
Path("/proc/self/clear_refs").write_text("5")
before = peak()
searchlight, _, img = fit(30, n_jobs=n_jobs)
after = peak()
cost = searchlight.estimate_cost(img, y, groups=runs)
print(json.dumps({"rise": after - before, "estimate": cost["memory"]}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("classifier", "n_permutations", "n_jobs", "n_atlas_regions"),
    [
        ("nearest_centroid", 0, 1, 0),
        ("gaussian_nb", 0, 1, 0),
        ("ridge", 20, 2, 0),
        ("gaussian_nb", 20, 1, 10),
        ("nearest_centroid", 0, 1, 1),
    ],
)
def test_peak_memory_stays_within_the_estimate(
    classifier, n_permutations, n_jobs, n_atlas_regions
):
    words = [classifier, *map(str, (n_permutations, n_jobs, n_atlas_regions))]
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *words],
        # arrays are given back when freed: none of the fit's hides in what the small
        # fit before it left behind
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        timeout=2 * _PATIENCE,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["rise"] > 2**20
    assert found["rise"] <= found["estimate"] <= 3 * found["rise"]


def test_a_tight_budget_takes_fewer_workers_and_then_refuses():
    img, mask, y, runs = simulate()
    options = {"radius": 4.0, "n_permutations": 10}
    alone = searchlight_of(mask, **options)
    needed = alone.estimate_cost(img, y, groups=runs)["memory"]
    both = searchlight_of(mask, n_jobs=2, **options)
    assert both.estimate_cost(img, y, groups=runs)["memory"] > needed
    tight = searchlight_of(mask, n_jobs=2, max_memory=needed, **options)
    assert tight.estimate_cost(img, y, groups=runs)["memory"] == needed
    assert_same(tight.fit(img, y, groups=runs), alone.fit(img, y, groups=runs))
    refused = searchlight_of(mask, max_memory=needed - 1, **options)
    with pytest.raises(ValueError, match="is too little: about"):
        refused.fit(img, y, groups=runs)
