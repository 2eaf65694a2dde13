"""Dask workers that die: no task is lost, no bit is different."""

import contextlib
import os
import random
import signal
import threading

import joblib
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.margins import use_executor
from tests.faults.seam import _plan

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers that are started again when they die."""
    quiet = {"silence_logs": 50, "dashboard_address": "127.0.0.1:0"}
    one_each = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(
            local_directory=tmp_path, **one_each, **quiet
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def samples(seed=0):
    """Samples of 24 columns and regions of overlapping columns."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(5), 6), np.repeat(np.arange(6), 5)
    X = rng.normal(size=(5, 24))[y] + 2 * rng.normal(size=(30, 24))
    regions = np.zeros((60, 24), dtype=bool)
    for row, columns in enumerate(
        rng.permuted(np.tile(np.arange(24), (60, 1)), axis=1)
    ):
        regions[row, columns[:6]] = True
    return X, y, runs, regions


def analyze(n_permutations=50, **options):
    """Analyze in tasks of three regions."""
    X, y, runs, regions = samples()
    light = IdentificationSearchLight(
        regions=regions, n_permutations=n_permutations, estimator="ridge", **options
    )
    return light.fit(X, y, groups=runs)


@pytest.fixture
def small_tasks(monkeypatch):
    """Make twenty tasks of three regions each."""
    monkeypatch.setattr(_plan, "_MIN_TASK_REGIONS", 1)
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 3)


def assert_same(one, two):
    """Check that every number of two analyses is the same to the last bit."""
    np.testing.assert_array_equal(one.wins_, two.wins_)
    np.testing.assert_array_equal(one.null_maxima_, two.null_maxima_)
    for name, values in one.region_scores_.items():
        np.testing.assert_array_equal(values, two.region_scores_[name])


@contextlib.contextmanager
def killer_of(client, monkeypatch, *, seed, chance, most):
    """Kill workers at random moments after tasks; yield the list of those killed."""
    draw, killed, timers = random.Random(seed), [], []

    def kill():
        # who starts workers again; killed while starting, a worker stays away for good
        nannies = [
            nanny
            for nanny in client.cluster.workers.values()
            if nanny.process is not None and nanny.process.status.name == "running"
        ]
        pids = [nanny.pid for nanny in nannies if nanny.pid not in (None, *killed)]
        if pids:
            killed.append(draw.choice(pids))
            os.kill(killed[-1], signal.SIGKILL)

    def progress(done, total):
        if draw.random() < chance and len(timers) < most:
            timers.append(threading.Timer(draw.uniform(0.0, 1.0), kill))
            timers[-1].start()

    monkeypatch.setattr(
        "neuroextrap.analysis._region_run.Progress", lambda verbose: progress
    )
    yield killed
    for timer in timers:
        timer.join()


def test_a_killed_worker_changes_no_bit(cluster, small_tasks, monkeypatch, tally):
    expected = analyze()
    with (
        use_executor(cluster),
        killer_of(cluster, monkeypatch, seed=0, chance=1.0, most=1) as killed,
    ):
        got = analyze()
    assert len(killed) == 1
    assert_same(expected, got)
    tally("workers of Dask killed in use_executor", 1, same_maps=1)


@pytest.fixture
def in_process():
    """A scheduler and a worker in this process, and their client."""
    quiet = {"silence_logs": 50, "dashboard_address": "127.0.0.1:0"}
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    soon = {"distributed.comm.timeouts.connect": "1s"}
    with dask.config.set(soon):
        cluster = distributed.LocalCluster(protocol="tcp://", **one, **quiet)
        client = distributed.Client(cluster.scheduler_address, set_as_default=False)
        yield cluster, client
        client.close()
        cluster.close()


def test_a_client_that_is_closed_is_refused(in_process, tally):
    _, client = in_process
    with use_executor(client):
        client.close()
        with pytest.raises(ConnectionError, match=r"client is closed .* give one"):
            analyze()
    with (
        pytest.raises(ConnectionError, match="client is closed"),
        use_executor(client),
    ):
        pass
    tally("clients of Dask that are closed", 2, one_line=2)


def test_a_scheduler_that_goes_away_ends_the_work(
    in_process, small_tasks, monkeypatch, tally
):
    cluster, client = in_process
    done = []

    def progress(n, total):
        if not done:
            cluster.close()
        done.append(n)

    monkeypatch.setattr(
        "neuroextrap.analysis._region_run.Progress", lambda verbose: progress
    )
    with (
        use_executor(client),
        pytest.raises(ConnectionError, match="scheduler is gone"),
    ):
        analyze(2000)
    assert done[-1] < 60
    tally("schedulers of Dask that go away", 1, one_line=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_joblib", [False, True])
def test_workers_killed_at_random_moments_change_no_bit(
    cluster, small_tasks, monkeypatch, tally, seed, by_joblib
):
    expected = analyze(2000)
    place = (
        joblib.parallel_config("dask", client=cluster)
        if by_joblib
        else use_executor(cluster)
    )
    with (
        place,
        killer_of(cluster, monkeypatch, seed=seed, chance=0.4, most=4) as killed,
    ):
        got = analyze(2000)
    assert killed
    assert_same(expected, got)
    where = "through joblib" if by_joblib else "in use_executor"
    tally(f"workers of Dask killed {where}", len(killed), same_maps=1)
