"""From BOLD series and events to results, in one call."""

from copy import copy

from neuroextrap.analysis._origin import recorded_options, source_files
from neuroextrap.decoding._run import plan_decoding
from neuroextrap.images import to_img
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._sample_options import options_of, takes_sample_options

_WORDS = (
    "samples t_r check_t_r exclude confounds sample_mask smoothing_fwhm high_pass "
    "detrend standardize delay"
)


class EventAnalysis:
    """What an analysis of labeled samples can do with series and their events."""

    @takes_sample_options(_WORDS)
    def fit_events(self, imgs, events, **options):
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
        **options

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
        options = options_of(EventAnalysis.fit_events, options)
        given = {name: getattr(options, name) for name in _WORDS.split()}
        sources = {"imgs": source_files(imgs), "events": source_files(events)}
        read = event_samples(imgs, events, self.mask, options, memory=self.memory)
        light = copy(self).set_params(mask=read.masker.mask_img_)
        data = to_img(read.data, read.masker)
        run = plan_decoding(light, data, read.y, read.runs, read.order)
        self._complete(run, made_by=recorded_options(given), **sources)
        self.bg_img_ = read.bg_img  # of the series, before any cleaning
        return self
