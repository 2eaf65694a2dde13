"""Predicted accuracy among more candidates, with intervals, as a table."""

import numpy as np


def check_extrapolation(args):
    """Turn the set sizes of --extrapolate into numbers; ValueError if they are none."""
    if args.extrapolate is None:
        return
    for size in args.extrapolate:
        if not (size.isascii() and size.isdecimal() and int(size) >= 2):
            raise ValueError(
                f"--extrapolate {size} must be a whole number of at least 2 candidates"
            )
    args.extrapolate = [int(size) for size in args.extrapolate]
    if not 0 < args.interval_level < 1:
        raise ValueError(
            f"--interval-level {args.interval_level} must lie between 0 and 1"
        )


def extrapolation_table(fitted, set_sizes, confidence_level):
    """Return predicted accuracies and the ends of their intervals as a DataFrame.

    One row for every set size of the strongest regions, or of all where a fitted
    analysis has a table. Of classifiers that see all classes in training the ends are
    unknown (NaN). None where no set sizes are asked for.
    """
    if set_sizes is None:
        return None
    import pandas as pd

    from neuroextrap.reporting import peak_table

    n_rows = 10 if fitted.table_ is None else len(fitted.wins_)
    peaks = peak_table(fitted, n_peaks=n_rows)
    placed = [name for name in ("region", "name", "x", "y", "z") if name in peaks]
    rows = []
    for peak in peaks[placed].to_dict("records"):
        model = fitted.extrapolator(int(peak["region"]))
        sizes = np.asarray(sorted(set(set_sizes)))
        ends = np.full((2, len(sizes)), np.nan)
        if fitted.results_.marginal:
            ends = model.predict_interval(sizes, confidence_level)
        predicted = zip(sizes, model.predict(sizes), *ends, strict=True)
        for size, accuracy, lower, upper in predicted:
            row = {"set_size": size, "accuracy": accuracy}
            rows.append({**peak, **row, "lower": lower, "upper": upper})
    return pd.DataFrame(rows)
