"""What a run would take, for ``--dry-run``."""

import time

_GIB = 2.0**30


def cost_line(what, seconds, n_bytes):
    """Say what a run would take.

    Parameters
    ----------
    what : str
        How much there is to do.
    seconds : float
        Estimated time.
    n_bytes : float
        Estimated memory at the peak.

    Returns
    -------
    str

    Examples
    --------
    >>> cost_line("168 regions", 3905, 2**29)
    'dry run: 168 regions; about 1:05:05 (h:mm:ss), 512 MiB of data; nothing written'
    """
    whole = round(seconds)
    size = f"{n_bytes / _GIB:.1f} GiB"
    if n_bytes < _GIB:
        size = f"{n_bytes / 2**20:.0f} MiB"
    return (
        f"dry run: {what}; about {whole // 3600}:{whole // 60 % 60:02d}:"
        f"{whole % 60:02d} (h:mm:ss), {size} of data; nothing written"
    )


def part_of_run(shard):
    """Say how many parts a run has, and which of them is done.

    Parameters
    ----------
    shard : str or None
        "i/N".

    Returns
    -------
    n_parts : int
    text : str
        To follow how much there is to do; empty without a shard.
    """
    from neuroextrap.margins._resources import parse_shard

    part = parse_shard(shard)
    return (1, "") if part is None else (part[1], f", of which part {shard}")


def seconds_of(run, n, *, few=(2, 12)):
    """Time a function of a number at two small numbers, and extrapolate.

    Parameters
    ----------
    run : callable
        ``run(n)`` takes a time that grows linearly with n.
    n : int
        The number wanted.
    few : tuple of (int, int), default=(2, 12)
        The numbers that are timed, if n is larger.

    Returns
    -------
    seconds : float
    """
    run(few[0])  # imports and compilation
    low, high = (_timed(run, min(n, size)) for size in few)
    if n <= few[1]:
        return high
    return high + max(0.0, high - low) / (few[1] - few[0]) * (n - few[1])


def _timed(run, n):
    """Seconds of one call."""
    start = time.perf_counter()
    run(n)
    return time.perf_counter() - start
