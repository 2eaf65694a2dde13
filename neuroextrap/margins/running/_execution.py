"""Where tasks run: joblib workers of this machine, or an executor such as Dask's.

A task is pure, so one whose worker died is simply repeated: neither the place, nor the
order, nor a repetition changes a result.
"""

import functools
import logging
import sys
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import threadpoolctl
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from neuroextrap.margins.running._checkpoint import VERSIONS
from neuroextrap.margins.running._pools import LostTask, Pool, is_dask_client, pool_of

logger = logging.getLogger(__name__)


class Progress:
    """Show how many regions (or other units) are done and how long the rest will take.

    With ``verbose`` as a progress bar in a terminal or a notebook, elsewhere as lines
    logged at level INFO, at least ``interval`` seconds apart; else at level DEBUG.
    """

    def __init__(
        self, verbose: int = 0, interval: float = 15.0, unit: str = "regions"
    ) -> None:
        self.level = logging.INFO if verbose else logging.DEBUG
        self.interval = interval
        self.unit = unit
        in_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shows_bar = bool(verbose) and (in_terminal or _in_notebook())
        self._bar: Any = None
        self._start = self._last = time.monotonic()
        self._first: tuple[float, int] | None = None  # time, and units done

    def __call__(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` units are finished."""
        if self._shows_bar:
            self._draw(done, total)
        else:
            self._log(done, total)

    def _draw(self, done: int, total: int) -> None:
        """Move the bar; it stays, complete, when everything is done."""
        if self._bar is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a notebook without ipywidgets
                from tqdm.auto import tqdm

                given = {"file": sys.stderr, "dynamic_ncols": True}
                self._bar = tqdm(total=total, unit=f" {self.unit}", **given)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()
            self._bar = None

    def _log(self, done: int, total: int) -> None:
        """Log a line now and then, and when everything is done."""
        now = time.monotonic()
        self._first = self._first or (now, done)
        if done < total and now - self._last < self.interval:
            return
        self._last, (begin, first), rest = now, self._first, ""
        if done > first:
            left = (now - begin) / (done - first) * (total - done)
            rest = f", {clock(left)} left"
        text = "%d of %d %s (%d%%), %s elapsed%s"
        values = done, total, self.unit, 100 * done // total, clock(now - self._start)
        logger.log(self.level, text, *values, rest)


def clock(seconds: float) -> str:
    """Show seconds as h:mm:ss.

    >>> clock(3905.2)
    '1:05:05'
    """
    seconds = round(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _in_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


# times that a task may be repeated, and that joblib may lose a worker
MAX_LOSSES = 4

# tells a task whether it runs in the process that made it
_PROCESS = uuid.uuid4().hex

_executor: ContextVar[Any] = ContextVar("executor", default=None)


@dataclass(frozen=True)
class Work:
    """Tasks ``function(shared, data_of(number))`` for every one of the ``names``."""

    function: Callable[[Any, Any], Any]
    shared: Any
    data_of: Callable[[int], Any]
    names: dict[int, str]


@contextmanager
def use_executor(executor: Any) -> Iterator[None]:
    """Give the tasks of analyses to a Dask cluster or another executor.

    Inside of the ``with`` block, analyses of regions run there instead of on ``n_jobs``
    joblib workers, with the same results to the last bit. A task whose worker dies is
    repeated, up to four times. Inside of ``joblib.parallel_config("dask")`` its
    client is used in the same way.

    Parameters
    ----------
    executor : dask.distributed.Client or concurrent.futures.Executor
        Where tasks run; it stays open. Its workers need the same versions of
        neuroextrap and numpy as this process, which every task checks.

    Yields
    ------
    None
        Nothing; the executor is in use while the block runs.

    Raises
    ------
    TypeError
        When the executor is neither of the two.
    ConnectionError
        From an analysis in the block, when a task lost its worker five times, or when
        the executor accepts no more tasks. ``checkpoint`` keeps finished tasks.

    See Also
    --------
    neuroextrap.decoding.IdentificationSearchLight : Its ``checkpoint`` and ``n_jobs``.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.margins import use_executor
    >>> y, runs = np.tile([0, 1, 2], 4), np.repeat(range(4), 3)
    >>> X = np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(12, 3))
    >>> with ThreadPoolExecutor(2) as executor, use_executor(executor):
    ...     fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> round(float(fitted.region_scores_["accuracy"][0]), 2)
    1.0
    """
    pool_of(executor)
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def run_tasks(work: Work, *, n_jobs: int, prefer: str) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) of tasks as they finish, on the executor in use."""
    executor = _executor.get()
    if executor is None:
        client = getattr(get_active_backend()[0], "client", None)
        executor = client if is_dask_client(client) else None
    with one_blas_thread():
        if executor is None:
            yield from _on_joblib(work, n_jobs, prefer)
        else:
            yield from _on_pool(work, pool_of(executor, work.shared))


def one_blas_thread() -> Any:
    """Give BLAS one thread, from now on or for a ``with`` block."""
    # libraries are looked for again, which takes long, when modules were imported
    return _libraries(len(sys.modules)).limit(limits=1, user_api="blas")


@functools.lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()


def _on_joblib(work: Work, n_jobs: int, prefer: str) -> Iterator[tuple[int, Any]]:
    """Run tasks on joblib workers; when one dies, go on with half as many."""
    missing, n_deaths = dict.fromkeys(work.names), 0
    while missing:
        parallel = Parallel(
            n_jobs=n_jobs,
            prefer=prefer,
            return_as="generator_unordered",
            batch_size=1,
        )
        calls = (
            delayed(_run)(work.function, _origin(), work.shared, k, work.data_of(k))
            for k in list(missing)
        )
        try:
            for number, result in parallel(calls):
                del missing[number]
                yield number, result
        except BrokenExecutor as error:
            n_deaths += 1
            if n_deaths > MAX_LOSSES:
                raise ConnectionError(_lost(work, next(iter(missing)), "")) from error
            n_jobs = max(2, effective_n_jobs(n_jobs) // 2)
            logger.warning(
                "a worker died, perhaps because memory was short; %d tasks are left, "
                "which go on with n_jobs=%d",
                len(missing),
                n_jobs,
            )


def _on_pool(work: Work, pool: Pool) -> Iterator[tuple[int, Any]]:
    """Run tasks on an executor, a limited number of them at a time."""
    waiting, losses = deque(work.names), Counter[int]()
    pending: dict[Any, int] = {}
    try:
        while waiting or pending:
            while waiting and len(pending) < pool.n_pending:
                number = waiting.popleft()
                data = work.data_of(number)
                future = pool.submit(_run, work.function, _origin(), number, data)
                pending[future] = number
            for future in pool.finished(pending):
                number = pending.pop(future)
                try:
                    result = pool.result(future)
                except LostTask as lost:
                    losses[number] += 1
                    if losses[number] > MAX_LOSSES:
                        raise ConnectionError(_lost(work, number, str(lost))) from lost
                    logger.warning(
                        "%s lost its worker and is repeated", work.names[number]
                    )
                    waiting.append(number)
                else:
                    yield result
    finally:
        pool.cancel(pending)


def _origin() -> tuple[str, dict[str, str]]:
    """Return the process that gives a task out, and its versions."""
    return _PROCESS, VERSIONS


def _run(
    function: Callable, origin: Any, shared: Any, number: int, data: Any
) -> tuple[int, Any]:
    """Run one task; in another process, with one BLAS thread and the same versions."""
    process, versions = origin
    if process != _PROCESS:
        if versions != VERSIONS:
            its, own = (
                ", ".join(map(" ".join, each.items())) for each in (VERSIONS, versions)
            )
            raise ValueError(
                f"a worker has {its}, this process has {own}; install the same "
                "versions on all machines"
            )
        one_blas_thread()
    return number, function(shared, data)


def _lost(work: Work, number: int, why: str) -> str:
    """Say that a task was lost too often."""
    detail = f" ({why})" if why else ""
    return (
        f"{work.names[number]} lost its worker {MAX_LOSSES + 1} times{detail}; give "
        "workers more memory or use fewer of them, and set checkpoint=... to keep "
        "finished tasks"
    )
