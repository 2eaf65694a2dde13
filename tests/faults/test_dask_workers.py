"""Dask workers that die: no task is lost, no bit is different."""

import os
import random
import signal
import threading

import joblib
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.margins import _engine, use_executor

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers that are started again when they die."""
    quiet = {"silence_logs": 50, "dashboard_address": "127.0.0.1:0"}
    one_each = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(local_directory=tmp_path, **one_each, **quiet) as local,
        distributed.Client(local) as client,
    ):
        yield client


def samples(seed=0):
    """Samples of 24 columns and regions of overlapping columns."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(5), 6), np.repeat(np.arange(6), 5)
    X = rng.normal(size=(5, 24))[y] + 2 * rng.normal(size=(30, 24))
    regions = np.zeros((60, 24), dtype=bool)
    for row, columns in enumerate(rng.permuted(np.tile(np.arange(24), (60, 1)), axis=1)):
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
    monkeypatch.setattr(_engine, "_MIN_TASK_REGIONS", 1)
    monkeypatch.setattr(_engine, "_PERMUTED_TASK_REGIONS", 3)


def assert_same(one, two):
    """Check that every number of two analyses is the same to the last bit."""
    np.testing.assert_array_equal(one.wins_, two.wins_)
    np.testing.assert_array_equal(one.null_maxima_, two.null_maxima_)
    for name, values in one.region_scores_.items():
        np.testing.assert_array_equal(values, two.region_scores_[name])


def kill_workers(client, stop, seed, pause):
    """Kill a worker now and then until told to stop; return the number of kills."""
    draw, n_killed = random.Random(seed), 0
    while not stop.wait(draw.uniform(*pause)):
        pids = list(client.run(os.getpid, on_error="ignore").values())
        if pids and isinstance(pids[0], int):
            os.kill(draw.choice(pids), signal.SIGKILL)
            n_killed += 1
    return n_killed


def test_a_worker_killed_half_way_changes_no_bit(cluster, small_tasks):
    expected = analyze()
    killed = []

    def kill_one(done, total):
        if not killed:
            killed.append(next(iter(cluster.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with use_executor(cluster), pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "neuroextrap.analysis._region_run.Progress", lambda verbose: kill_one
        )
        got = analyze()
    assert len(killed) == 1
    assert_same(expected, got)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_workers_killed_at_random_moments_change_no_bit(cluster, small_tasks, seed):
    expected = analyze(5000)
    stop, n_killed = threading.Event(), []

    def kill():
        n_killed.append(kill_workers(cluster, stop, seed, pause=(2.0, 6.0)))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with use_executor(cluster):
            got = analyze(5000)
    finally:
        stop.set()
        killer.join()
    assert n_killed[0] >= 1
    assert_same(expected, got)


@pytest.mark.slow
def test_joblibs_own_dask_backend_survives_a_kill_too(cluster, small_tasks):
    expected, stop, n_killed = analyze(5000), threading.Event(), []
    killer = threading.Thread(
        target=lambda: n_killed.append(kill_workers(cluster, stop, 0, (2.0, 6.0)))
    )
    killer.start()
    try:
        with joblib.parallel_config(backend="dask"):
            got = analyze(5000, n_jobs=-1)
    finally:
        stop.set()
        killer.join()
    assert n_killed[0] >= 1
    assert_same(expected, got)
