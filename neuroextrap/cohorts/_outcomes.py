"""How everyone's analysis ended, as a table."""

import logging
import time
from collections import Counter

logger = logging.getLogger(__name__)

_COLUMNS = ("participant_id", "status", "n_runs", "seconds", "reason")


def one_line(error):
    """Return an exception's message on one line, or its type's name."""
    return " ".join(str(error).split()) or type(error).__name__


def entry_of(label, status, participant, start, reason=""):
    """Return what the table of outcomes says of a participant.

    The reason is that of a failure, or why runs are left out.
    """
    if not reason and participant is not None:
        reason = "; ".join(participant.left_out)
    n_runs = 0 if participant is None else len(participant.runs)
    seconds = round(time.monotonic() - start, 1)
    return dict(
        zip(_COLUMNS, (f"sub-{label}", status, n_runs, seconds, reason), strict=True)
    )


def tell_missing_runs(outcomes):
    """Log who has fewer runs than most."""
    counts = Counter(entry["n_runs"] for entry in outcomes if entry["n_runs"])
    if not counts:
        return
    usual = max(counts, key=lambda n: (counts[n], n))
    for entry in outcomes:
        if 0 < entry["n_runs"] < usual:
            logger.warning(
                "%s has %d runs, most have %d",
                entry["participant_id"],
                entry["n_runs"],
                usual,
            )


def outcome_table(outcomes, more=()):
    """Return outcomes as a data frame."""
    import pandas as pd

    return pd.DataFrame(outcomes, columns=[*_COLUMNS, *more])
