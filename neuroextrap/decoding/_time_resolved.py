"""Identification at every moment of trials of all channels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import of_no_places, with_parameters
from neuroextrap.decoding._comparable import taken_options
from neuroextrap.decoding._ensemble import rows_of_sets
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.stats._validation import check_integer, check_numbers


def read_trials(trials, times):
    """Read trials (n_trials, n_channels, n_times) and times, or those of epochs."""
    if hasattr(trials, "get_data") and hasattr(trials, "times"):
        times, trials = trials.times if times is None else times, trials.get_data()
    data = check_numbers(trials, "trials")
    if data.ndim != 3 or 0 in data.shape:
        raise ValueError(
            f"trials has shape {data.shape}; give an array of trials x channels x "
            "times, or MNE's epochs"
        )
    times = np.arange(data.shape[2]) if times is None else check_numbers(times, "times")
    if times.shape != data.shape[2:]:
        raise ValueError(
            f"times has shape {times.shape}, trials has {data.shape[2]} times; give "
            "one time for every moment"
        )
    if not (np.diff(times) > 0).all():
        raise ValueError("times must increase; sort times and trials")
    return data, times


def read_moments(searchlight, trials, times, window=1, unused=()):
    """Return samples, times, and a searchlight whose regions are moments.

    Samples have all times of a channel side by side, a row for every trial.
    """
    unused = *of_no_places(IdentificationSearchLight()), "shard", *unused
    taken = taken_options(searchlight, "an analysis over time", unused, "searchlight")
    data, times = read_trials(trials, times)
    n_trials, n_channels, n_times = data.shape
    window = check_integer(window, "window", minimum=1)
    if window > n_times:
        raise ValueError(
            f"window={window} is longer than the trials of {n_times} times; give a "
            "smaller window"
        )
    noise = taken["noise_covariance"]
    if isinstance(noise, np.ndarray) and noise.ndim == 3:
        taken["noise_covariance"] = noise.reshape(len(noise), -1)
    features = np.arange(n_channels * n_times).reshape(n_channels, n_times)
    moments = np.lib.stride_tricks.sliding_window_view(features, window, axis=1)
    sets = np.moveaxis(moments, 1, 0).reshape(-1, n_channels * window)
    taken["regions"] = rows_of_sets(sets, features.size)
    taken["min_voxels"] = min(taken["min_voxels"], n_channels * window)
    light = with_parameters(searchlight, **taken)
    return data.reshape(n_trials, -1), times, light


class TimeResolvedIdentification(NamedTuple):
    """Identification at every moment, by :func:`time_resolved_identification`."""

    times: np.ndarray
    table: object
    searchlight: IdentificationSearchLight


def time_resolved_identification(
    searchlight: Any,
    trials: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    window: int = 1,
) -> TimeResolvedIdentification:
    """Identify the class of trials at every moment, from all channels together.

    For recordings over time (EEG, MEG, neurons). Every moment is a region of the
    searchlight, and so has an accuracy, implied information, lower bounds, and p-values
    that are corrected for looking at all moments.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        A searchlight that is not fitted, and never changed. It has no mask and no
        regions; all other options are used.
    trials : array-like of shape (n_trials, n_channels, n_times), or MNE's epochs
        Recordings. All channels of epochs are used, so pick some beforehand (such as
        ``epochs.copy().pick("eeg")``), and their times unless `times` are given.
    y : array-like of shape (n_trials,)
        Class of every trial; for epochs often ``epochs.events[:, 2]``.
    groups : array-like of shape (n_trials,) or None, default=None
        Run of every trial. The trials of a run are left out together, and labels are
        permuted within runs.
    times : array-like of shape (n_times,) or None, default=None
        Time of every moment, increasing, in any unit. None takes those of the epochs,
        or counts moments from 0.
    window : int, default=1
        Number of consecutive moments that form one region. A longer window holds more
        signal and blurs time.

    Returns
    -------
    TimeResolvedIdentification
        Named tuple of ``times``, those of moments or the centers of windows; ``table``,
        a pandas.DataFrame with a row for every moment: time, n_features (channels times
        the length of the window), accuracy and pairwise_accuracy (proportions),
        implied_information (bits), lower bounds (those ending in ``_fwe`` hold for all
        moments at once), and after permutations p_value, p_value_fwe (corrected for all
        moments) and others; and the fitted ``searchlight``, whose regions are the
        moments: ``accuracy_curve(moment)`` and all its other methods.

    Raises
    ------
    ValueError
        When trials, times, labels and groups do not match, or the searchlight has a
        mask, regions or a shard.

    See Also
    --------
    temporal_generalization : Train at one moment, test at others.
    neuroextrap.plotting.plot_time_course : The curve, with significant moments.

    Notes
    -----
    Labels are permuted once for all moments, so that the maximum statistic controls the
    probability of any false positive among them. The first significant moment is not
    when a difference began: it depends on the strength of the signal, the filters and
    the window.

    References
    ----------
    Grootswagers, Wardle & Carlson 2017, "Decoding dynamic brain patterns from evoked
    responses", Journal of Cognitive Neuroscience 29.

    Examples
    --------
    Four classes that three channels tell apart at the second of three moments:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.decoding import time_resolved_identification
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile(np.arange(4), 10), np.repeat(np.arange(10), 4)
    >>> trials = rng.normal(size=(40, 3, 3))
    >>> trials[:, :, 1] += 4 * rng.normal(size=(4, 3))[y]
    >>> found = time_resolved_identification(
    ...     IdentificationSearchLight(n_permutations=99),
    ...     trials,
    ...     y,
    ...     runs,
    ...     times=[0, 0.1, 0.2],
    ... )
    >>> found.table["time"][found.table["p_value_fwe"] <= 0.05].tolist()
    [0.1]
    """
    import pandas as pd

    samples, times, light = read_moments(searchlight, trials, times, window)
    fitted = light.fit(samples, y, groups)
    moments = np.lib.stride_tricks.sliding_window_view(times, window)
    centers = times if window == 1 else moments.mean(axis=1)
    scores = dict(fitted.region_scores_)
    columns = {"time": centers, "n_features": scores.pop("n_voxels", np.nan)}
    table = pd.DataFrame(columns | scores)
    return TimeResolvedIdentification(centers, table, fitted)
