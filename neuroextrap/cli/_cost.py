"""What a run would take, for ``--dry-run``: a small part is timed and extrapolated."""

import time

_GIB = 2.0**30


def cost_line(what, seconds, n_bytes):
    """Describe size, time and memory (bytes at the peak) of a run in one line.

    >>> cost_line("168 regions", 3905, 2**29)
    'dry run: 168 regions; about 1:05:05 (h:mm:ss), 512 MiB of data; nothing written'
    """
    whole = round(seconds)
    size = size_words(n_bytes)
    return (
        f"dry run: {what}; about {whole // 3600}:{whole // 60 % 60:02d}:"
        f"{whole % 60:02d} (h:mm:ss), {size} of data; nothing written"
    )


def size_words(n_bytes):
    """Write a number of bytes.

    >>> size_words(2**29), size_words(3 * 2**30)
    ('512 MiB', '3.0 GiB')
    """
    if n_bytes < _GIB:
        return f"{n_bytes / 2**20:.0f} MiB"
    return f"{n_bytes / _GIB:.1f} GiB"


def part_of_run(shard):
    """Return into how many parts "i/N" divides a run, and words for the part."""
    from neuroextrap.margins._resources import parse_shard

    part = parse_shard(shard)
    return (1, "") if part is None else (part[1], f", of which part {shard}")


def seconds_of(run, n, *, few=(2, 12)):
    """Time ``run(few[0])`` and ``run(few[1])``; return seconds of ``run(n)``.

    The time is taken to grow linearly; the numbers that are timed do not exceed `n`.
    """
    from neuroextrap.margins._resources import continue_line

    run(few[0])  # imports and compilation
    fewer, more = ((size, _timed(run, min(n, size))) for size in few)
    return continue_line(fewer, more, n)


def _timed(run, n):
    """Seconds of one call."""
    start = time.perf_counter()
    run(n)
    return time.perf_counter() - start
