"""The options by which samples are made of images and events, declared once."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_flags,
    check_number,
)

BETAS = ("lsa", "lss")
"""Samples that are estimates of a general linear model, one for each trial."""
SAMPLES = ("blocks", "volumes", *BETAS)
LONGEST = 1e4
"""Seconds between volumes that no scanner needs: what is larger is no time."""
_WIDEST = 100.0
"""Full width in mm from which on a kernel is as wide as a brain."""


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Options by which samples are made of series and their events; checked when made.

    Parameters
    ----------
    samples : {"blocks", "volumes", "lsa", "lss"}, default="blocks"
        What a sample is: the mean of a condition's volumes in a run, one volume, or
        a trial's beta by least squares all or separate. Single volumes follow one
        another too closely to be permuted one by one.
    t_r : float or None, default=None
        Time between volumes in seconds, for BIDS events. If None, it is taken from the
        header of every image, or from ``RepetitionTime`` in the JSON file beside it.
    check_t_r : bool, default=True
        Whether ``t_r`` must agree with what header and JSON file say.
    exclude : str or sequence of str, default=()
        Conditions that give no sample, such as "rest". They still count for detrending
        and standardizing, and models of betas have a regressor for each.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds regressed out, one entry per series: in one regression with the trend
        and the slow drifts, or as regressors of the designs of betas. Files whose names
        tell their run (or session, ...), as BIDS names do, may come in any order, as
        those of events.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept (indices, counting from 0, or booleans), one entry per
        series, as ``load_confounds`` of nilearn returns them. The others enter no
        regression and make no sample; trials with more than half of their expected
        response (its sum of squares) in them give no beta. If None, all are kept.
    smoothing_fwhm : float or None, default=None
        Full width at half maximum in mm of a Gaussian that smooths the volumes. If
        None, they are not smoothed further than the masker does.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed by cosines. If None, 0.01 Hz for
        betas, and none for blocks and volumes; 0 removes none.
    detrend : bool, default=False
        Whether to remove a straight line from every voxel of every run (blocks and
        volumes).
    standardize : bool, default=False
        Whether to give every voxel mean 0 and standard deviation 1 within every run
        (blocks and volumes), before blocks are averaged.
    delay : float, default=0.0
        Seconds by which responses lag behind BIDS events (blocks and volumes).
    label_column : str, default="trial_type"
        Column of the events that gives ``y`` of betas, such as the name of the
        stimulus. Designs are made of ``trial_type`` all the same; trials without an
        entry in the column are modeled and give no sample.
    """

    samples: str = "blocks"
    t_r: float | None = None
    check_t_r: bool = True
    exclude: Any = ()
    confounds: Any = None
    sample_mask: Any = None
    smoothing_fwhm: float | None = None
    high_pass: float | None = None
    detrend: bool = False
    standardize: bool = False
    delay: float = 0.0
    label_column: str = "trial_type"

    def __post_init__(self):
        """Raise before any work if an option is out of range or two exclude another."""
        check_choice(self.samples, "samples", SAMPLES)
        check_number(self.delay, "delay")
        self._check_names()
        self._check_cleaning()
        self._check_t_r()
        check_fwhm(self.smoothing_fwhm, "smoothing_fwhm")
        if self.of_trials and (self.detrend or self.standardize):
            raise ValueError(
                "detrend and standardize are for blocks and volumes; the model of "
                f"samples={self.samples!r} models drifts itself, leave them out"
            )
        if self.of_trials and self.delay:
            raise ValueError(
                f"delay={self.delay!r} is for blocks and volumes; the model of "
                f"samples={self.samples!r} knows the response's lag, leave it out"
            )

    def _check_names(self):
        """Raise unless conditions to exclude, and a column, are names."""
        try:
            named = all(isinstance(name, str) for name in self.exclude)
        except TypeError:
            named = False
        if not named:
            raise TypeError(
                f"exclude={brief(self.exclude)} must be names of conditions"
            )
        if not isinstance(self.label_column, str):
            raise TypeError(
                f"label_column={brief(self.label_column)} must be the name of a column"
            )
        if not self.of_trials and self.label_column != "trial_type":
            raise ValueError(
                f"label_column={self.label_column!r} is for betas; blocks and volumes "
                "are labeled by trial_type, rename the column"
            )

    def _check_t_r(self):
        """Raise unless the time between volumes is None or a time."""
        check_flags(check_t_r=self.check_t_r)
        if self.t_r is None:
            return
        if (
            isinstance(self.t_r, bool)
            or not 0 < check_number(self.t_r, "t_r") <= LONGEST
        ):
            raise ValueError(
                f"t_r={brief(self.t_r)} must be a positive number of seconds, at most "
                f"{LONGEST:g}; for example 2.0"
            )

    def _check_cleaning(self):
        """Raise for a cutoff that is none, and for nilearn's words for scalings."""
        cutoff = self.high_pass
        if cutoff is not None and not 0 <= check_number(cutoff, "high_pass") < 1:
            raise ValueError(
                f"high_pass={cutoff!r} must be a frequency in Hz between 0 (no drifts "
                "removed) and 1; for example 0.01"
            )
        check_flags(detrend=self.detrend)
        if isinstance(self.standardize, str):
            raise ValueError(
                f"standardize={self.standardize!r} must be True (z-scores in every "
                "run, nilearn's 'zscore_sample') or False; percent signal change "
                "('psc') and other scalings are not done, scale the images beforehand"
            )
        check_flags(standardize=self.standardize)

    @property
    def of_trials(self):
        """Whether samples are betas of single trials."""
        return self.samples in BETAS

    @property
    def excluded(self):
        """The conditions to exclude as a tuple; one name may come without a list."""
        one = isinstance(self.exclude, str)
        return (self.exclude,) if one else tuple(self.exclude)

    def given(self, *, without=""):
        """Return the options by name, as they were given, but for those named."""
        names = [f.name for f in fields(self) if f.name not in without.split()]
        return {name: getattr(self, name) for name in names}


def check_fwhm(fwhm, name):
    """Raise unless a width is None or a number of mm that leaves something local."""
    if fwhm is None:
        return
    real = isinstance(fwhm, (int, float, np.integer, np.floating))
    if not real or isinstance(fwhm, bool):
        raise TypeError(
            f"{name}={brief(fwhm)} must be None or a number of mm, got "
            f"{type(fwhm).__name__}; give one width for all directions"
        )
    if not 0 < fwhm <= _WIDEST:
        raise ValueError(
            f"{name}={fwhm!r} must be positive (mm) and at most {_WIDEST:g}, which "
            "is as wide as a brain, or None; 4 to 8 mm are usual"
        )
