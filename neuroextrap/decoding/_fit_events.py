"""From BOLD series and events to results, in one call."""

from copy import copy

from neuroextrap.analysis._origin import recorded_options, source_files
from neuroextrap.decoding._run import plan_decoding
from neuroextrap.images import to_img
from neuroextrap.images._event_samples import event_samples


class EventAnalysis:
    """What an analysis of labeled samples can do with series and their events."""

    def fit_events(  # noqa: PLR0913 - the options of one documented call
        self,
        imgs,
        events,
        *,
        samples="blocks",
        t_r=None,
        check_t_r=True,
        exclude=(),
        confounds=None,
        sample_mask=None,
        smoothing_fwhm=None,
        high_pass=None,
        detrend=False,
        standardize=False,
        delay=0.0,
    ):
        """Make samples of BOLD series and their events, and analyze every region.

        What ``neuroextrap searchlight`` does, in one call: one series and one table of
        events per run; the samples of a run are left out together.

        Parameters
        ----------
        imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
            BOLD series, one per run, or all runs in one.
        events : path-like, DataFrame, or list of these
            One table per series: BIDS events (``onset``, ``duration`` in seconds,
            ``trial_type``). Or one row per volume (``trial_type`` and ``run``), in one
            table or one per series.
        samples : {"blocks", "volumes", "lsa", "lss"}, default="blocks"
            What a sample is: the mean of a condition's volumes in a run, one volume, or
            a trial's beta by least squares all or separate. Single volumes follow one
            another too closely to be permuted one by one.
        t_r : float or None, default=None
            Time between volumes in seconds. If None, it is taken from the header of
            every image, or from ``RepetitionTime`` in the JSON file beside it.
        check_t_r : bool, default=True
            Whether ``t_r`` must agree with what header and JSON file say.
        exclude : str or sequence of str, default=()
            Conditions that give no sample, such as "rest".
        confounds : ndarray, DataFrame, path, list of these, or None, default=None
            Confounds regressed out, one entry per series; for betas they are regressors
            of the designs. Files may come in any order if their names tell the run, as
            those of events.
        sample_mask : array-like, list of these, or None, default=None
            Volumes that are kept, one entry per series, as nilearn's ``load_confounds``
            returns them. If None, all are.
        smoothing_fwhm : float or None, default=None
            Full width at half maximum in mm of a Gaussian that smooths the volumes. If
            None, they are not smoothed further than the masker does.
        high_pass : float or None, default=None
            Frequency in Hz below which drifts are removed by cosines. If None, 0.01 Hz
            for betas, and none for blocks and volumes; 0 removes none.
        detrend : bool, default=False
            Whether to remove a straight line from every voxel of every run (blocks and
            volumes).
        standardize : bool, default=False
            Whether to give every voxel mean 0 and standard deviation 1 within every run
            (blocks and volumes).
        delay : float, default=0.0
            Seconds by which responses lag behind BIDS events (blocks and volumes).

        Returns
        -------
        self : IdentificationSearchLight
            Fitted; the folder of its results says which files and options were used.

        Raises
        ------
        ValueError
            When images, tables, confounds and options do not fit one another.

        Examples
        --------
        >>> import numpy as np, nibabel, pandas
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> rng = np.random.default_rng(0)
        >>> patterns = rng.normal(size=(2, 3, 3, 3)).repeat(4, axis=0)
        >>> series = [patterns + rng.normal(size=patterns.shape) for _ in range(3)]
        >>> imgs = [
        ...     nibabel.Nifti1Image(np.moveaxis(s, 0, 3), np.eye(4)) for s in series
        ... ]
        >>> events = pandas.DataFrame(
        ...     {"onset": [0, 8], "duration": 8, "trial_type": ["face", "cat"]}
        ... )
        >>> mask = nibabel.Nifti1Image(np.ones((3, 3, 3)), np.eye(4))
        >>> light = IdentificationSearchLight(mask, radius=2.0, bounds=None)
        >>> light.fit_events(imgs, [events] * 3, t_r=2.0).classes_
        array(['cat', 'face'], dtype='<U4')
        """
        options = {
            "samples": samples,
            "t_r": t_r,
            "check_t_r": check_t_r,
            "exclude": exclude,
            "confounds": confounds,
            "sample_mask": sample_mask,
            "smoothing_fwhm": smoothing_fwhm,
            "high_pass": high_pass,
            "detrend": detrend,
            "standardize": standardize,
            "delay": delay,
        }
        sources = {"imgs": source_files(imgs), "events": source_files(events)}
        read = event_samples(
            imgs,
            events,
            self.mask,
            memory=self.memory,
            **options,
        )
        light = copy(self).set_params(mask=read.masker.mask_img_)
        data = to_img(read.data, read.masker)
        run = plan_decoding(light, data, read.y, read.runs, read.order)
        self._complete(run, made_by=recorded_options(options), **sources)
        self.bg_img_ = read.bg_img  # of the series, before any cleaning
        return self
