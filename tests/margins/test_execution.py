"""Where tasks run: every place gives the same results, and lost tasks are repeated."""

import re
import signal
from collections import Counter
from concurrent import futures

import joblib
import numpy as np
import pytest
import threadpoolctl

from tests.margins.seam import (
    MAX_LOSSES,
    DaskPool,
    Work,
    _execution,
    run_tasks,
    use_executor,
)
from tests.margins.tasks import blas_threads, die, die_once, double, refuse


def work(function=double, shared=10, n=6):
    """Tasks with the numbers 0 to n - 1, whose data are the numbers."""
    names = {number: f"task {number}" for number in range(n)}
    return Work(function, shared, lambda number: number, names)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_task_has_one_blas_thread_and_gives_the_others_back(n_jobs):
    """Also where the libraries are those of an earlier run."""
    for _ in range(2):
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            found = dict(run_tasks(work(blas_threads), n_jobs=n_jobs, prefer="threads"))
            assert blas_threads(None, None) == {2}
        assert list(found.values()) == [{1}] * 6


class Forgetful(futures.ThreadPoolExecutor):
    """An executor that loses chosen tasks so many times."""

    def __init__(self, n_losses):
        super().__init__(2)
        self.left = Counter(n_losses)
        self.n_given = Counter()

    def submit(self, run, function, origin, shared, number, data):
        self.n_given[number] += 1
        if self.left[number]:
            self.left[number] -= 1
            lost = futures.Future()
            lost.set_exception(futures.BrokenExecutor("its worker died"))
            return lost
        return super().submit(run, function, origin, shared, number, data)


def results(**options):
    """Run the tasks in order of number."""
    return dict(sorted(run_tasks(work(**options), n_jobs=1, prefer="threads")))


def test_every_place_gives_the_same_results():
    expected = {number: 10 * number for number in range(6)}
    assert results() == expected
    for kind in (futures.ThreadPoolExecutor, futures.ProcessPoolExecutor):
        with kind(2) as executor, use_executor(executor):
            assert results() == expected


def test_an_executor_is_used_inside_of_its_block_only():
    executor = Forgetful({})
    with executor:
        with use_executor(executor):
            assert results() == {number: 10 * number for number in range(6)}
        results()
    assert executor.n_given == dict.fromkeys(range(6), 1)


def test_lost_tasks_are_given_out_again():
    executor = Forgetful({1: 1, 4: MAX_LOSSES})
    with executor, use_executor(executor):
        assert results() == {number: 10 * number for number in range(6)}
    assert executor.n_given == {0: 1, 1: 2, 2: 1, 3: 1, 4: 1 + MAX_LOSSES, 5: 1}


def test_a_task_that_is_lost_too_often_is_named():
    executor = Forgetful({4: MAX_LOSSES + 1})
    with (
        executor,
        use_executor(executor),
        pytest.raises(ConnectionError, match=r"task 4 lost its worker 5 times"),
    ):
        results()
    assert executor.n_given[4] == MAX_LOSSES + 1


def test_a_task_of_its_own_fault_is_not_repeated():
    executor = Forgetful({})
    with (
        executor,
        use_executor(executor),
        pytest.raises(ZeroDivisionError, match="task of 0"),
    ):
        results(function=refuse, n=1)
    assert executor.n_given == {0: 1}


def test_no_more_tasks_wait_than_may_be_pending(monkeypatch):
    monkeypatch.setattr("neuroextrap.margins.running._pools._MIN_PENDING", 2)
    monkeypatch.setattr("neuroextrap.margins.running._pools.Pool.n_pending", 2)
    made, seen = [], []

    def data_of(number):
        made.append(number)
        return number

    tasks = Work(double, 1, data_of, {k: str(k) for k in range(9)})
    with futures.ThreadPoolExecutor(1) as executor, use_executor(executor):
        for n_done, _ in enumerate(run_tasks(tasks, n_jobs=1, prefer="threads")):
            seen.append(len(made) - n_done)
    assert max(seen) <= 2 + 1
    assert len(seen) == 9


@pytest.mark.parametrize("executor", [None, 4, "tcp://host:8786", object()])
def test_what_is_no_executor_is_refused(executor):
    with (
        pytest.raises(TypeError, match=r"executor=.* must be a dask"),
        use_executor(executor),
    ):
        pass


def test_a_closed_executor_is_refused_with_a_remedy():
    executor = futures.ThreadPoolExecutor(1)
    executor.shutdown()
    with (
        use_executor(executor),
        pytest.raises(ConnectionError, match=r"ThreadPoolExecutor .* give a new"),
    ):
        results()


def test_workers_of_another_version_are_refused(monkeypatch):
    other = {"neuroextrap": "0.0", "numpy": np.__version__}
    monkeypatch.setattr(_execution, "_origin", lambda: ("elsewhere", other))
    with (
        futures.ThreadPoolExecutor(1) as executor,
        use_executor(executor),
        pytest.raises(ValueError, match=r"neuroextrap 0\.0.* install the same"),
    ):
        results()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_joblib_goes_on_when_a_worker_dies(tmp_path, caplog):
    tasks = work(die_once, str(tmp_path))
    got = dict(run_tasks(tasks, n_jobs=2, prefer="processes"))
    assert got == {number: number for number in range(6)}
    assert re.search("a worker died.*n_jobs=2", caplog.text)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_joblib_gives_up_when_workers_keep_dying(monkeypatch):
    monkeypatch.setattr(_execution, "MAX_LOSSES", 0)
    with pytest.raises(ConnectionError, match="task 0 lost its worker 1 times"):
        list(run_tasks(work(die, None, 2), n_jobs=2, prefer="processes"))


def test_joblibs_dask_client_is_found_only_where_there_is_one():
    with joblib.parallel_config(backend="threading"):
        assert results() == {number: 10 * number for number in range(6)}


class _ClosingClient:
    """A client of Dask whose scheduler goes away while it is asked."""

    status = "running"
    asked = 0

    def nthreads(self):
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("ConnectionPool closing.")
        return {"worker": 1}

    def cancel(self, pending):
        raise OSError("comm closed")


def test_a_client_that_closes_while_asked_is_told_in_our_words():
    client = _ClosingClient()
    DaskPool(client).cancel([])  # an error here would hide why the work ended
    with pytest.raises(ConnectionError, match="scheduler is gone"):
        DaskPool(client)
