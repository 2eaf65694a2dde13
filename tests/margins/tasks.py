"""Functions that run in worker processes, which import nothing else of the tests."""

import os
import signal

import threadpoolctl


def double(shared, data):
    """Return something of both."""
    return shared * data


def refuse(shared, data):
    """Fail as a task of its own fault does."""
    raise ZeroDivisionError(f"task of {data}")


def die_once(shared, data):
    """End the worker's process, but only the first time."""
    marker = os.path.join(shared, str(data))
    if data == 3 and not os.path.exists(marker):
        with open(marker, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return data


def die(shared, data):
    """End the worker's process always."""
    os.kill(os.getpid(), signal.SIGKILL)


def blas_threads(_, __):
    """Number of threads of every library of linear algebra in use."""
    found = threadpoolctl.threadpool_info()
    return {each["num_threads"] for each in found if each["user_api"] == "blas"}
