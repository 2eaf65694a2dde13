"""SIGTERM ends a command as Ctrl-C does: what it began is removed."""

import contextlib
import signal
import threading


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end, such as the scheduler of a cluster."""


@contextlib.contextmanager
def ending_on_sigterm():
    """Raise `Terminated` on SIGTERM while a command runs.

    Without it the process would end at once and leave unfinished files behind. A
    handler that somebody has set stays, and only a main thread can have one. A second
    SIGTERM ends the process.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number, frame):  # noqa: ARG001 - what the system calls it with
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
