"""Labeled samples from BOLD series: volumes and block averages."""

from dataclasses import dataclass, replace

import numpy as np

from neuroextrap.images._cleaning import clean_runs
from neuroextrap.images._labeled_volumes import labeled_volumes
from neuroextrap.images._loading import cleans_over_time, load_samples
from neuroextrap.images._mean_image import mean_gray_levels
from neuroextrap.images._opening import list_images


@dataclass(frozen=True)
class LabeledSamples:
    """Samples x features with the condition and the run of every sample.

    `data` has shape (n_samples, n_features), NaN where the images were not finite; `y`
    (n_samples,) holds conditions and `runs` (n_samples,) the table's ``run`` or the
    number of the image from 0. `masker` made the features. `order` (n_samples,) says
    when a sample was acquired, as the mean number of its volumes, where samples are not
    listed in that order; else None. `bg_img` is the mean of the
    first series as gray levels, to be drawn under maps that do not lie in MNI space;
    None in MNI space, on surfaces, and where values are signed.
    """

    data: np.ndarray
    y: np.ndarray
    runs: np.ndarray
    masker: object
    bg_img: object = None
    order: object = None


def volume_samples(  # noqa: PLR0913 - the options of one documented call
    imgs,
    events,
    *,
    masker,
    t_r=None,
    check_t_r=True,
    exclude=(),
    detrend=False,
    standardize=False,
    delay=0.0,
    confounds=None,
    sample_mask=None,
    high_pass=None,
):
    """Make a sample of every labeled volume.

    Volumes of one block are not independent: permute them by blocks, or average them
    with ``block_averages``.

    Parameters
    ----------
    imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
        One series per run, or all runs in one.
    events : path-like, DataFrame, or list of these
        One table per series, or one table for all volumes: BIDS events (``onset``,
        ``duration``, ``trial_type``) or one row per volume (``trial_type``, ``run``).
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.
    t_r : float or None, default=None
        Time between volumes in seconds, for BIDS events. If None, it is taken from the
        header of every image, or from ``RepetitionTime`` in the JSON file beside it.
    check_t_r : bool, default=True
        Whether ``t_r`` must agree with what header and sidecar say.
    exclude : str or sequence of str, default=()
        Conditions left out, such as "rest"; they still count for detrending and
        standardizing.
    detrend : bool, default=False
        Whether to remove a straight line from every voxel of every run.
    standardize : bool, default=False
        Whether to give every voxel mean 0 and standard deviation 1 within every run.
    delay : float, default=0.0
        Seconds by which responses lag behind BIDS events.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds regressed out of every series, one entry per image, in one regression
        with the trend and the slow drifts. Files whose names tell their run (or
        session, ...), as BIDS names do, may come in any order, as those of events.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept (indices, counting from 0, or booleans), one entry per
        image, as ``load_confounds`` of nilearn returns them. The others enter no
        regression and make no sample. If None, all are kept.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed by cosines. If None, none are.

    Returns
    -------
    LabeledSamples
        ``data`` (n_samples, n_features), ``y``, ``runs`` and ``masker``, in the order
        of the volumes.

    Raises
    ------
    TypeError
        If an image or a table is neither that nor a path.
    ValueError
        If tables and images do not match in number, length, or in the BIDS entities of
        their names (subject, session, task, run), a column is missing or there twice,
        the repetition time is unknown or stated differently, an event covers no volume
        or overlaps another, or nothing is left after ``exclude``.

    Examples
    --------
    >>> import numpy as np, nibabel, pandas
    >>> from neuroextrap.images import resolve_masker, volume_samples
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 2)), np.eye(4)))
    >>> bold = nibabel.Nifti1Image(np.arange(6.0).reshape(1, 1, 2, 3), np.eye(4))
    >>> labels = pandas.DataFrame({"trial_type": ["rest", "face", "cat"], "run": 1})
    >>> samples = volume_samples(bold, labels, masker=masker, exclude="rest")
    >>> samples.y, samples.runs
    (array(['face', 'cat'], dtype='<U4'), array([1, 1]))
    """
    volumes = labeled_volumes(
        imgs,
        events,
        t_r=t_r,
        check_t_r=check_t_r,
        exclude=exclude,
        delay=delay,
        confounds=confounds,
        sample_mask=sample_mask,
        high_pass=high_pass,
        over_time=cleans_over_time(masker),
    )
    labels, runs, kept = volumes.labels, volumes.runs, volumes.kept
    cleaning = replace(volumes.cleaning, detrend=detrend, standardize=standardize)
    over_time = cleans_over_time(masker)  # then confounds go with what it removes
    data = load_samples(imgs, masker, confounds=confounds if over_time else None)
    data = clean_runs(data, runs, cleaning)
    bg_img = mean_gray_levels(list_images(imgs), masker.mask_img_)
    return LabeledSamples(data[kept], labels[kept], runs[kept], masker, bg_img)


def block_averages(  # noqa: PLR0913 - the options of one documented call
    imgs,
    events,
    *,
    masker,
    t_r=None,
    check_t_r=True,
    exclude=(),
    detrend=False,
    standardize=False,
    delay=0.0,
    confounds=None,
    sample_mask=None,
    high_pass=None,
):
    """Average the volumes of every condition in every run.

    Parameters
    ----------
    imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
        One series per run, or all runs in one.
    events : path-like, DataFrame, or list of these
        One table per series, or one table for all volumes: BIDS events (``onset``,
        ``duration``, ``trial_type``) or one row per volume (``trial_type``, ``run``).
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.
    t_r : float or None, default=None
        Time between volumes in seconds, for BIDS events. If None, it is taken from the
        header of every image, or from ``RepetitionTime`` in the JSON file beside it.
    check_t_r : bool, default=True
        Whether ``t_r`` must agree with what header and sidecar say.
    exclude : str or sequence of str, default=()
        Conditions left out, such as "rest"; they still count for detrending and
        standardizing.
    detrend : bool, default=False
        Whether to remove a straight line from every voxel of every run before
        averaging.
    standardize : bool, default=False
        Whether to give every voxel mean 0 and standard deviation 1 within every run
        before averaging.
    delay : float, default=0.0
        Seconds by which responses lag behind BIDS events.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds regressed out of every series, one entry per image, in one regression
        with the trend and the slow drifts. Files whose names tell their run (or
        session, ...), as BIDS names do, may come in any order, as those of events.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept (indices, counting from 0, or booleans), one entry per
        image, as ``load_confounds`` of nilearn returns them. The others enter no
        regression and make no sample. If None, all are kept.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed by cosines. If None, none are.

    Returns
    -------
    LabeledSamples
        ``data`` (n_samples, n_features), ``y``, ``runs`` and ``masker``; run by run
        (ascending), conditions in alphabetical order. A condition that a run lacks
        gives no sample.

    Raises
    ------
    TypeError
        If an image or a table is neither that nor a path.
    ValueError
        If tables and images do not match in number, length, or in the BIDS entities of
        their names (subject, session, task, run), a column is missing or there twice,
        the repetition time is unknown or stated differently, an event covers no volume
        or overlaps another, or nothing is left after ``exclude``.

    Examples
    --------
    >>> import numpy as np, nibabel, pandas
    >>> from neuroextrap.images import block_averages, resolve_masker
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 2)), np.eye(4)))
    >>> bold = nibabel.Nifti1Image(np.arange(6.0).reshape(1, 1, 2, 3), np.eye(4))
    >>> labels = pandas.DataFrame({"trial_type": ["face", "cat", "face"], "run": 1})
    >>> samples = block_averages(bold, labels, masker=masker)
    >>> samples.y, samples.data
    (array(['cat', 'face'], dtype='<U4'), array([[1., 4.],
           [1., 4.]]))
    """
    volumes = volume_samples(
        imgs,
        events,
        masker=masker,
        t_r=t_r,
        check_t_r=check_t_r,
        exclude=exclude,
        detrend=detrend,
        standardize=standardize,
        delay=delay,
        confounds=confounds,
        sample_mask=sample_mask,
        high_pass=high_pass,
    )
    cells = cells_of(volumes.y, volumes.runs)
    runs = np.array([run for run, _ in cells])
    y = np.array([condition for _, condition in cells])
    members = [
        np.flatnonzero((volumes.runs == run) & (volumes.y == condition))
        for run, condition in cells
    ]
    means = np.array([volumes.data[rows].mean(axis=0) for rows in members])
    order = np.array([rows.mean() for rows in members])
    return LabeledSamples(means, y, runs, masker, volumes.bg_img, order)


def cells_of(y, runs):
    """Return (run, condition) of every block average, in their order."""
    return [
        (run, condition)
        for run in np.unique(runs)
        for condition in np.unique(y[runs == run])
    ]
