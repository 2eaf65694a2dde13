"""Measurements in a process of its own: how far memory rises, and CPU time (Linux)."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def cpu_seconds(function, *args, **options):
    """Run once; return the CPU time."""
    start = time.process_time()
    function(*args, **options)
    return time.process_time() - start


def resident(field):
    """Resident memory of this process in bytes: now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if field in line)


def memory_rise(function, *args):
    """Run once; return CPU seconds, and how far memory rose at most, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from now
    before = resident("VmRSS")
    spent = cpu_seconds(function, *args)
    return spent, resident("VmHWM") - before


def in_a_process(function, *args):
    """Return what a function of a module returns in a fresh process."""
    # a server that has imported the script, and nothing else in its memory, forks
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()
