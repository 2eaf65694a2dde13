"""Executors that tasks can be given to, Dask's with the methods of any other."""

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent import futures
from typing import Any

logger = logging.getLogger(__name__)

# tasks given out at a time, at least: a task's data wait in memory until it is done
_MIN_PENDING = 64
_SECONDS_BETWEEN_WARNINGS = 60.0
_ENDED = ("closing", "closed", "newly-created")
"""What the status of a client of Dask is that takes no tasks."""
_CLOSING = (RuntimeError, OSError)  # "ConnectionPool closing.", a comm that is closed
_GONE = (
    "executor: the Dask client is closed (by close(), or because its scheduler is "
    "gone); give one that is connected, and set checkpoint=... to keep finished tasks"
)


class LostTask(Exception):  # noqa: N818
    """A task has no result because its worker is gone."""


def pool_of(executor: Any, shared: Any = None) -> "Pool":
    """Return the pool around an executor; TypeError if it is none."""
    if is_dask_client(executor):
        return DaskPool(executor, shared)
    if isinstance(executor, futures.Executor):
        return Pool(executor, shared)
    raise TypeError(
        f"executor={executor!r} must be a dask.distributed.Client or a "
        "concurrent.futures.Executor; give an open one"
    )


def is_dask_client(executor: Any) -> bool:
    """Return whether an object is a client of Dask, without importing Dask."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


class Pool:
    """An executor of the standard library's kind, and what all its tasks need."""

    #: number of tasks that may be given out at a time
    n_pending: int = _MIN_PENDING

    def __init__(self, executor: Any, shared: Any = None) -> None:
        self._executor = executor
        self._shared = shared

    def submit(
        self, run: Callable, function: Callable, origin: Any, number: int, data: Any
    ) -> Any:
        """Give out ``run(function, origin, shared, number, data)``; return a future.

        ConnectionError when the executor is broken or closed.
        """
        try:
            return self._executor.submit(
                run, function, origin, self._shared, number, data
            )
        except RuntimeError as error:  # BrokenExecutor, or "after shutdown"
            raise ConnectionError(
                f"executor={type(self._executor).__name__} accepts no more tasks "
                f"({error}); give a new one, and set checkpoint=... to keep finished "
                "tasks"
            ) from error

    def finished(self, pending: Iterable[Any]) -> list[Any]:
        """Wait until some futures have ended, well or badly, and return these."""
        return list(futures.wait(pending, return_when=futures.FIRST_COMPLETED).done)

    def lost(self) -> tuple[type[BaseException], ...]:
        """Return the errors of tasks whose worker is gone."""
        return futures.BrokenExecutor, futures.CancelledError

    def result(self, future: Any) -> Any:
        """Return a future's result, or raise the task's own error, or LostTask."""
        try:
            return future.result()
        except self.lost() as error:
            raise LostTask(str(error)) from error

    def cancel(self, pending: Iterable[Any]) -> None:
        """Drop tasks that are not needed any more."""
        for future in pending:
            future.cancel()


def _itself(shared: Any) -> Any:
    """Return what is shared, as a task: unlike scattered data it can be made again."""
    return shared


class DaskPool(Pool):
    """A client of a Dask cluster; what is shared travels to every worker once."""

    def __init__(self, executor: Any, shared: Any = None) -> None:
        super().__init__(executor, shared)
        self._on_workers: Any = None
        self._check_open()
        self.n_pending = max(_MIN_PENDING, 2 * self._n_threads())

    def submit(
        self, run: Callable, function: Callable, origin: Any, number: int, data: Any
    ) -> Any:
        self._check_open()
        if getattr(self._on_workers, "status", None) in (None, "cancelled", "lost"):
            with warnings.catch_warnings():  # of its size, which cannot be helped
                warnings.simplefilter("ignore", UserWarning)
                self._on_workers = self._executor.submit(
                    _itself, self._shared, pure=False
                )
        return self._executor.submit(
            run, function, origin, self._on_workers, number, data, pure=False
        )

    def finished(self, pending: Iterable[Any]) -> list[Any]:
        """Wait until some futures have ended; warn while there is no worker."""
        from distributed import TimeoutError as TooLong
        from distributed import wait

        pending = list(pending)
        try:
            with self._executor.as_current():  # it need not be Dask's default
                wait(pending, _SECONDS_BETWEEN_WARNINGS, return_when="FIRST_COMPLETED")
        except TooLong:
            if not self._n_threads():
                logger.warning("the Dask cluster has no worker; waiting for one")
        except futures.CancelledError:  # raised where one was lost: seen by its status
            pass
        return [future for future in pending if future.status != "pending"]

    def lost(self) -> tuple[type[BaseException], ...]:
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        return KilledWorker, CommClosedError, futures.CancelledError

    def cancel(self, pending: Iterable[Any]) -> None:
        """Cancel tasks, and free what was shared; a closed client has none."""
        if self._executor.status not in _ENDED:
            with contextlib.suppress(*_CLOSING):
                self._executor.cancel(list(pending))
        self._on_workers = None

    def _n_threads(self) -> int:
        """Count the threads of the workers; ConnectionError if nobody answers."""
        try:
            return int(sum(self._executor.nthreads().values()))
        except _CLOSING as error:
            raise ConnectionError(_GONE) from error

    def _check_open(self) -> None:
        """Raise ConnectionError if the client takes no more tasks."""
        if self._executor.status in _ENDED:
            raise ConnectionError(_GONE)
