"""Published attributes of an analysis of regions, and its methods afterwards."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from neuroextrap import stats
from neuroextrap.analysis._analysis_files import origin_of
from neuroextrap.analysis._parameters import RegionOptions
from neuroextrap.analysis._presentation import (
    DiscoveryCounts,
    region_images,
    region_table,
)
from neuroextrap.analysis._region_files import RegionFiles, check_has_results
from neuroextrap.analysis._region_inference import RegionInference
from neuroextrap.analysis._region_maps import extrapolated_maps
from neuroextrap.maps._identification import TrainedOnAll
from neuroextrap.reporting._identification_page import identification_report, summary
from neuroextrap.reporting._page import Report
from neuroextrap.stats._accuracy import warn_if_reversed
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._true_discoveries import fewest_permutations


class RegionAnalysis(
    RegionFiles, RegionInference, DiscoveryCounts, BaseEstimator, RegionOptions
):
    """Results, curves, extrapolations, files and reports of an analysis of regions.

    A subclass names its :attr:`kind`, has the parameters that describe regions and
    runs, and calls ``self._complete(run)`` with a planned run.
    """

    #: Classes of the parameters that may be values, by name.
    VALUES: ClassVar[dict] = {}

    def _complete(self, run, made_by=None, **sources):
        """Score all regions of a planned run (RegionRun), and publish the results.

        The files of `sources`, images by role, are on record, and so are the options
        `made_by` by which samples were made of them.
        """
        origin = origin_of(sources, made_by)  # files in the state that was read
        results = run.results()
        warn_if_reversed(results.scores.wins, results.n_units)
        self._run, self.origin_ = run, origin
        self.masker_, self.n_elements_ = run.masker, run.rows.shape[1]
        self.bg_img_ = run.bg_img
        self.classes_, self.test_codes_ = run.classes, run.test_codes
        self._publish(results)
        return self

    def _repr_mimebundle_(self, **kwargs):
        """Return what notebooks show: the results, or before them the parameters."""
        if not hasattr(self, "results_"):
            return super()._repr_mimebundle_(**kwargs)
        return {"text/plain": repr(self), "text/html": str(summary(self))}

    @property
    def _repr_html_(self):
        """The same, for programs that know HTML only; a property as scikit-learn's."""
        if not hasattr(self, "results_"):
            return super()._repr_html_
        return lambda: str(summary(self))

    def _publish(self, results):
        """Turn results (RegionResults) into the public attributes."""
        self.results_, self.findings_ = results, list(results.findings)
        self.region_scores_ = results.statistics()
        self.wins_ = results.scores.wins
        self.set_sizes_ = results.set_sizes
        self.null_maxima_ = results.scores.maxima
        self.n_permutations_ = len(self.null_maxima_)
        self.tail_fit_accepted_ = results.tail_fit_accepted()
        self.notes_ = results.notes_of(self.region_scores_)
        self.maps_ = region_images(self.region_scores_, results.choice, self.masker_)
        self.__dict__.pop("table_", None)

    @cached_property
    def table_(self) -> Any:
        """Tidy table of regions with names or without a place, made when it is read.

        Its standard errors need the margins of every region again.
        """
        results = self.results_
        placed = self.masker_ is not None and results.choice.has_place
        if results.choice.names is None and placed:
            return None
        errors = [self.standard_error(i) for i in range(len(self.wins_))]
        return region_table(results, self.region_scores_, np.stack(errors))

    @property
    def run_(self) -> Any:
        """The run that was scored (RegionRun); ValueError for results of a folder."""
        if self._run is None:
            raise ValueError(
                "the samples are not stored with results; fit again to get margins, "
                "confusions and predictions"
            )
        return self._run

    def _discoveries(self):
        results = self.results_
        if results.discoveries is not None:
            return results.discoveries, results.choice, self.masker_
        level, n_permutations = results.confidence_level, self.n_permutations_
        needed = fewest_permutations(level)
        if n_permutations < needed:
            raise ValueError(
                f"informative regions are counted with permutations: {needed} are "
                f"needed at confidence_level={level}, the run had {n_permutations}; "
                "set n_permutations=1000 and fit again"
            )
        raise ValueError(
            "these results do not hold the largest values of the permuted maps: they "
            "were written by an earlier version, or no region was analyzed; fit again"
        )

    @described_by(RegionInference.find_region)
    def region_margins(self, region: Any) -> np.ndarray:
        """Return the observed margins of one region.

        Returns
        -------
        margins : ndarray of shape (n_test, K)
            Score of every class for every test point (the larger, the likelier), in
            the order of ``test_codes_``.

        Raises
        ------
        ValueError
            When the region was not analyzed, or the results were read from a folder,
            which holds no data.
        """
        return self.run_.margins(self.find_region(region))

    @described_by(RegionInference.find_region)
    def accuracy_curve(self, region: Any, set_sizes: ArrayLike | None = None) -> tuple:
        """Return a region's identification accuracy curve.

        Parameters
        ----------
        set_sizes : int, sequence of int or None, default=None
            Any numbers of classes to choose from, 2 to K. If None, ``set_sizes_``.

        Returns
        -------
        set_sizes : ndarray of int of shape (n_set_sizes,)
            Set sizes.
        accuracy : ndarray of shape (n_set_sizes,)
            Accuracy at each set size, as a proportion.

        Raises
        ------
        ValueError
            When a set size is not a whole number of 2 to K.
        """
        return self.results_.curve(self.find_region(region), set_sizes)

    @described_by(RegionInference.find_region)
    def bound_curve(self, region: Any) -> tuple:
        """Return a region's lower bounds on average Bayes accuracy.

        Returns
        -------
        set_sizes : ndarray of int of shape (n_set_sizes,)
            2, 5, 10, 20, 50, ..., K.
        average_bayes_accuracy_bound : ndarray of shape (n_set_sizes,)
            Lower confidence bound at each set size, each by itself, as a proportion.

        Raises
        ------
        ValueError
            When no bound holds for the design; ``notes_`` says why.
        """
        return self.results_.bound_curve(self.find_region(region))

    def extrapolate(
        self,
        set_sizes: ArrayLike,
        *,
        method: str = "auto",
        confidence_level: float | None = None,
    ) -> dict:
        """Predict every region's accuracy among more classes than were measured.

        From margins, which are computed again; from ``wins_`` for results of a folder.

        Parameters
        ----------
        set_sizes : int or sequence of int
            Numbers of classes to choose from.
        method : str, default="auto"
            One of ``neuroextrap.stats.EXTRAPOLATION_METHODS``. "gaussian_mixture" and
            "gaussian" need ``wins_`` only and take all regions at once, a brain of
            70,000 spheres in about a minute; others some 0.03 seconds per region.
        confidence_level : float or None, default=None
            Confidence level of intervals, which "auto" has; see
            ``neuroextrap.stats.AccuracyExtrapolator.predict_interval``. If None, none
            are predicted.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            One map of accuracy (proportions) for every set size, which is its key; the
            ends of intervals are maps in its attributes ``lower`` and ``upper``. Its
            attributes ``method``, ``source`` ("margins" or "wins") and ``notes`` say
            what it was made from, as do the sidecars of ``images.to_directory(path)``.

        Raises
        ------
        ValueError
            When set sizes, method or ``max_memory`` will not do, before any work.
        """
        check_has_results(self)
        return extrapolated_maps(
            self, set_sizes, method=method, confidence_level=confidence_level
        )

    @described_by(RegionInference.find_region)
    def extrapolator(
        self, region: Any, method: str = "auto"
    ) -> stats.AccuracyExtrapolator:
        """Return a fitted extrapolator of one region's accuracy curve.

        Parameters
        ----------
        method : str, default="auto"
            One of ``neuroextrap.stats.EXTRAPOLATION_METHODS``.

        Returns
        -------
        extrapolator : AccuracyExtrapolator
            Fitted to the region's margins; to its wins if results come from a
            folder. ``set_size_at(accuracy=0.10)`` is where accuracy falls to 0.10.
            For classifiers that see all classes in training ("ridge", "lda", "qda",
            "svc", "logistic") predictions beyond K are doubtful, which a warning says,
            and ``predict_interval`` refuses; up to K they are what was measured, if
            it was.
        """
        region = self.find_region(region)
        results = self.results_
        kind = stats.AccuracyExtrapolator if results.marginal else TrainedOnAll
        model: Any = kind(method)
        if len(results.measured_sizes):
            model.measured = partial(results.curve, region)
        if self.test_codes_ is None:
            return model.fit_wins(self.wins_[region], results.n_test)
        return model.fit(self.region_margins(region), self.test_codes_)

    def generate_report(
        self, title: str | None = None, *, bg_img: Any = None, atlas: Any = None
    ) -> Report:
        """Make a self-contained HTML page of the results.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page. If None, "Identification report".
        bg_img : path, Niimg, SurfaceImage, "mni152", None or False, default=None
            Background of the maps. "mni152" is the template that nilearn ships. If
            None, it is the template for images whose header (code 4) or BIDS name
            (``space-MNI...``) says MNI space, otherwise the mean image ``bg_img_``; on
            fsaverage5, nilearn's sulcal depth. False draws no background.
        atlas : path, Niimg, SurfaceImage, Bunch or None, default=None
            Labels image in the space of the maps, or an atlas fetched by nilearn, that
            names the places of peaks. Names of a file's labels are read from the table
            beside it (``atlas.tsv``, columns index and name), if there is one.

        Returns
        -------
        report : neuroextrap.reporting.Report
            The page; ``report.save_as_html(path)`` writes it,
            ``report.open_in_browser()`` shows it.
        """
        check_has_results(self)  # before the options
        return identification_report(self, title, bg_img=bg_img, atlas=atlas)
