"""Trials of channels over time, and moments as regions."""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.analysis._parameters import of_no_places
from neuroextrap.maps._parameters import flat_parameters
from neuroextrap.stats._validation import check_integer, check_numbers


class Trials(NamedTuple):
    """Recordings of trials, and the times of their moments."""

    data: np.ndarray  # (n_trials, n_channels, n_times)
    times: np.ndarray  # (n_times,), increasing

    @property
    def samples(self):
        """One row for every trial, all times of a channel side by side."""
        return self.data.reshape(len(self.data), -1)


def read_trials(trials, times):
    """Read an array of trials x channels x times, or MNE's epochs.

    Epochs are any object with ``get_data`` and ``times``, so that MNE is not needed.
    ValueError when there are not three axes, or not one increasing time per moment.
    """
    if hasattr(trials, "get_data") and hasattr(trials, "times"):
        times = trials.times if times is None else times
        trials = trials.get_data()
    data = check_numbers(trials, "trials")
    if data.ndim != 3 or 0 in data.shape:
        raise ValueError(
            f"trials has shape {data.shape}; give an array of trials x channels x "
            "times, or MNE's epochs"
        )
    if times is None:
        return Trials(data, np.arange(data.shape[2]))
    times = check_numbers(times, "times")
    if times.shape != data.shape[2:]:
        raise ValueError(
            f"times has shape {times.shape}, trials has {data.shape[2]} times; give "
            "one time for every moment"
        )
    if not (np.diff(times) > 0).all():
        raise ValueError("times must increase; sort times and trials")
    return Trials(data, times)


def moment_regions(n_channels, n_times, window):
    """Return all channels at `window` consecutive moments, (n_regions, n_features).

    Features are those of `Trials.samples`, whose times run fastest.

    >>> moment_regions(1, 4, 3).toarray().astype(int)
    array([[1, 1, 1, 0],
           [0, 1, 1, 1]])
    """
    first = np.arange(n_times - window + 1)
    moments = first[:, None] + np.arange(window)
    features = np.arange(n_channels)[:, None] * n_times + moments[:, None, :]
    indices = features.reshape(-1).astype(np.int32)
    indptr = np.arange(len(first) + 1) * n_channels * window
    shape = len(first), n_channels * n_times
    return scipy.sparse.csr_array((np.ones(len(indices), bool), indices, indptr), shape)


def check_window(window, n_times):
    """Return `window` as an int from 1 to the number of times."""
    window = check_integer(window, "window", minimum=1)
    if window > n_times:
        raise ValueError(
            f"window={window} is longer than the trials of {n_times} times; give a "
            "smaller window"
        )
    return window


def options_of(searchlight, others=None):
    """Return the parameters of a searchlight that names no places.

    `others` are further parameters with the values that they must have.
    """
    if not hasattr(searchlight, "get_params") or not hasattr(searchlight, "radius"):
        raise TypeError(
            "searchlight must be an IdentificationSearchLight, got "
            f"{type(searchlight).__name__}; give one with its options"
        )
    parameters = flat_parameters(searchlight)
    # regions are moments: the searchlight's options for other regions mean nothing here
    plain_values = {**of_no_places(searchlight), "shard": None, **(others or {})}
    for name, plain in plain_values.items():
        given = parameters[name]
        if given is not plain and not (np.isscalar(given) and given == plain):
            raise ValueError(
                f"searchlight has {name}={given!r}, which an analysis over time does "
                f"not use; leave {name}={plain!r}"
            )
    return parameters
