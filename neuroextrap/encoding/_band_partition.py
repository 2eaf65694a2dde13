"""What every band of features explains in held-out runs: by itself, and with others."""

import numpy as np

from neuroextrap.design._series import exchanged
from neuroextrap.encoding._continuous_training import TrainedRuns
from neuroextrap.encoding._response_predictions import (
    p_values_of_correlation,
    prediction_scores,
    standardized,
)
from neuroextrap.maps._named_records import band_names


def partition_scores(model, trained, runs, tested):
    """Return parts of r2 by band and their p-values, a dict of (n_usable,) by name.

    `trained` (TrainedRuns) was fitted with all bands, `runs` are the test runs and
    `tested` (HeldOut) what is known of them.
    """
    known = runs.usable[trained.runs.usable]
    y, f = tested.responses, tested.predictions

    def r2(predictions):
        return prediction_scores(y, predictions)["r2"]

    def part(fitted, of, band=None):
        return fitted.predict(of, band)[tested.rows][:, known]

    bands = np.unique(trained.runs.bands)
    scores, pairs = {"r2": r2(f)}, []
    centered = y - y.mean(axis=0)
    rest = 2 * centered - (f - f.mean(axis=0))
    for band in bands:
        own = part(trained, runs, band)
        own = own - own.mean(axis=0)
        others = TrainedRuns.of(model, _without(trained.runs, band))
        without = part(others, _without(runs, band))
        product, unique, *_ = band_names(band)
        scores[product] = (own * rest).sum(axis=0) / np.square(centered).sum(axis=0)
        scores[unique] = scores["r2"] - r2(without)
        pairs.append((_beyond(centered, without), _beyond(own, without)))
    total = sum(scores[band_names(band)[1]] for band in bands)
    scores["r2_shared"] = scores["r2"] - total
    unique = np.hstack([scores[band_names(band)[1]] for band in bands])
    return scores | _p_values(model, bands, pairs, unique, tested.run)


def _p_values(model, bands, pairs, unique, run):
    """Test what bands add by shifts of whole runs, corrected over voxels and bands.

    `pairs` are responses and the part of every band, both beyond the prediction without
    it: their correlation is partial. Where nothing is `unique`, p is 1.
    """
    if not model.n_permutations:
        return {}
    y, f = (standardized(np.hstack(each)) for each in zip(*pairs, strict=True))
    observed = np.where(unique > 0, np.einsum("tv,tv->v", y, f), -np.inf)
    orders = exchanged(
        np.arange(len(y)),
        exchange="shifts",
        groups=run,
        n_permutations=model.n_permutations,
        random_state=model.random_state,
    )
    tested = p_values_of_correlation(y, f, observed, orders)
    return {
        band_names(band)[place]: values
        for place, name in ((2, "p_value"), (3, "p_value_fwe"))
        for band, values in zip(bands, np.split(tested[name], len(bands)), strict=True)
    }


def _without(runs, band):
    """Return Runs without the features of a band."""
    kept = runs.bands != band
    return runs._replace(features=runs.features[:, kept], bands=runs.bands[kept])


def _beyond(values, predictions):
    """Subtract from columns what a regression on the same column explains of them."""
    f = predictions - predictions.mean(axis=0)
    squares = np.square(f).sum(axis=0)
    slope = (values * f).sum(axis=0) / np.where(squares > 0, squares, 1)
    return values - slope * f
