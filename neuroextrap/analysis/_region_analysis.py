"""What an analysis of regions publishes, and what can be asked of it afterwards."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from neuroextrap import stats
from neuroextrap.analysis._analysis_files import read_analysis, write_analysis
from neuroextrap.analysis._fitted import FittedAttributes, check_has_results
from neuroextrap.analysis._presentation import region_images, region_table
from neuroextrap.images import feature_coordinates
from neuroextrap.reporting import identification_report
from neuroextrap.stats._null_counts import spread_known


class RegionAnalysis(FittedAttributes, BaseEstimator, ABC):
    """Results, curves, extrapolations, files and reports of an analysis of regions.

    The base of :class:`~neuroextrap.decoding.IdentificationSearchLight` and
    :class:`~neuroextrap.encoding.EncodingIdentification`. An analysis of one's own is a
    subclass that names its :attr:`kind`, has the parameters that describe regions and
    runs, and calls ``self._complete(run)`` with a planned run. These attributes, and
    ``null_maxima_, n_permutations_, tail_fit_accepted_, classes_, set_sizes_, masker_,
    n_elements_, notes_``, are set then, and when results are read from a folder.

    Attributes
    ----------
    maps_ : dict of images (dict of ndarray for array input)
        One map of every statistic; NaN outside the analyzed voxels.
    region_scores_ : dict of ndarray of shape (n_regions,)
        The same numbers, one for every region.
    table_ : pandas.DataFrame or None
        The same as a tidy table, where there are few regions.
    wins_ : ndarray of shape (n_regions, K)
        Win distributions: how often the true class beats 0, 1, ..., K - 1 of the other
        classes.
    test_codes_ : ndarray of int of shape (n_test,), or None
        Index into ``classes_`` of every row of :meth:`region_margins`; None for results
        read from a folder, which holds no data.

    See Also
    --------
    neuroextrap.decoding.IdentificationSearchLight : Identify classes from responses.
    neuroextrap.encoding.EncodingIdentification : Identify stimuli through a model.

    Examples
    --------
    >>> from neuroextrap.analysis import RegionAnalysis
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.encoding import EncodingIdentification
    >>> for analysis in (IdentificationSearchLight(), EncodingIdentification()):
    ...     print(isinstance(analysis, RegionAnalysis), analysis.kind)
    True searchlight
    True encoding
    """

    @property
    @abstractmethod
    def kind(self):
        """Name that the folders of this analysis carry, such as "searchlight".

        Returns
        -------
        kind : str
            Written to, and checked when reading, ``analysis.json``.
        """

    def _complete(self, run):
        """Score all regions of a planned run (RegionRun), and publish the results."""
        results = run.results()
        self._run = run
        self.masker_, self.n_elements_ = run.masker, run.rows.shape[1]
        self.classes_, self.test_codes_ = run.classes, run.test_codes
        self._publish(results)
        return self

    def _publish(self, results):
        """Turn results (RegionResults) into the public attributes."""
        self._results = results
        self.region_scores_ = results.statistics()
        self.wins_ = results.scores.wins
        self.set_sizes_ = results.set_sizes
        self.null_maxima_ = results.scores.maxima
        self.n_permutations_ = len(self.null_maxima_)
        self.tail_fit_accepted_ = results.tail_fit_accepted()
        self.notes_ = results.notes
        self.maps_ = region_images(self.region_scores_, results.choice, self.masker_)
        self.table_ = None
        placed = self.masker_ is not None and results.choice.has_place
        if results.choice.names is not None or not placed:
            errors = [self.standard_error(i) for i in range(len(self.wins_))]
            self.table_ = region_table(results, self.region_scores_, np.stack(errors))

    @property
    def results_(self):
        """Results of the run, with the design that gives them meaning.

        Returns
        -------
        results : RegionResults
            Scores, regions, test points, set sizes, confidence level and notes.
        """
        check_has_results(self)
        return self._results

    @property
    def run_(self):
        """The run that was scored: data, regions and plan.

        Returns
        -------
        run : RegionRun
            Its ``rows`` are the data, ``usable`` the features of every region.

        Raises
        ------
        ValueError
            When the results were read from a folder, which holds no data.
        """
        check_has_results(self)
        if self._run is None:
            raise ValueError(
                "the samples are not stored with results; fit again to get margins, "
                "confusions and predictions"
            )
        return self._run

    def region_margins(self, region):
        """Return the observed margins of one region.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.

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

    def standard_error(self, region):
        """Return standard errors of a region's accuracy curve, by leaving classes out.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        standard_error : ndarray of shape (n_set_sizes,)
            Standard errors at ``set_sizes_``, as proportions. NaN where they cannot be
            computed: for a region that was not analyzed, fewer than three classes,
            classes without test points (no class could be left out), and results read
            from a folder (which holds no margins).
        """
        region = self.find_region(region)
        codes, n_classes = self.test_codes_, self.wins_.shape[1]
        unknown = codes is None or len(np.unique(codes)) < max(n_classes, 3)
        if unknown or np.isnan(self.wins_[region, 0]):
            return np.full(len(self.set_sizes_), np.nan)
        margins = self.region_margins(region)
        return stats.average_accuracy_jackknife(margins, codes, self.set_sizes_)[1]

    def find_region(self, region):
        """Return the index of a region given by its index or by coordinates.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        index : int
            Row of ``wins_``.

        Raises
        ------
        ValueError
            When coordinates are given but regions have no centers in an image.
        """
        check_has_results(self)
        if np.ndim(region) == 0:
            return int(region)
        centers = self._results.choice.centers
        if self.masker_ is None or centers is None:
            raise ValueError(
                f"region={region!r}: coordinates need spheres in an image; give the "
                "region's index"
            )
        away = feature_coordinates(self.masker_)[centers] - np.asarray(region)
        return int(np.argmin((away**2).sum(axis=1)))

    def accuracy_curve(self, region, set_sizes=None):
        """Return a region's identification accuracy curve.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.
        set_sizes : sequence of int or None, default=None
            Numbers of classes to choose from, 2 to K. If None, ``set_sizes_``.

        Returns
        -------
        set_sizes : ndarray of int of shape (n_set_sizes,)
            Set sizes.
        accuracy : ndarray of shape (n_set_sizes,)
            Accuracy at each set size, as a proportion.
        """
        return self._results.curve(self.find_region(region), set_sizes)

    def bound_curve(self, region):
        """Return a region's lower bounds on average Bayes accuracy.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.

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
        return self._results.bound_curve(self.find_region(region))

    def extrapolate(self, set_sizes, *, method="gaussian_mixture"):
        """Predict every region's accuracy among more classes than were measured.

        Parameters
        ----------
        set_sizes : sequence of int
            Numbers of classes to choose from.
        method : {"gaussian_mixture", "gaussian"}, default="gaussian_mixture"
            How the curves are continued.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            One map of accuracy (proportions) for every set size.
        """
        check_has_results(self)
        sizes = np.atleast_1d(set_sizes)
        known = ~np.isnan(self.wins_[:, 0])
        accuracy = stats.extrapolate_wins(
            self.wins_[known], self._results.n_test, sizes, method=method
        )
        by_size = dict(zip(sizes.tolist(), accuracy.T, strict=True))
        return region_images(
            spread_known(known, by_size), self._results.choice, self.masker_
        )

    def extrapolator(self, region, method="auto"):
        """Return a fitted extrapolator of one region's accuracy curve.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.
        method : str, default="auto"
            One of ``neuroextrap.stats.EXTRAPOLATION_METHODS``.

        Returns
        -------
        extrapolator : AccuracyExtrapolator
            Its ``set_size_at(accuracy=0.10)`` is the number of classes at which
            accuracy falls to 0.10.
        """
        model = stats.AccuracyExtrapolator(method)
        return model.fit(self.region_margins(region), self.test_codes_)

    def to_directory(self, path, *, overwrite=False, bids=None):
        """Write maps with sidecars, table and results; no pickle.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.
        bids : dict of str to str or None, default=None
            BIDS entities such as ``{"sub": "01", "task": "objects"}``: files are then
            named and placed as BIDS derivatives. If None, names are plain.
        """
        check_has_results(self)
        inputs = {} if self._run is None else self._run.inputs()
        write_analysis(self, path, inputs=inputs, overwrite=overwrite, bids=bids)

    @classmethod
    def from_directory(cls, path):
        """Read what :meth:`to_directory` wrote.

        Parameters
        ----------
        path : path-like
            Folder of results, or one above it that holds no others.

        Returns
        -------
        fitted : estimator of this class
            Everything but the data, without which there are no margins.

        Raises
        ------
        ValueError
            When the folder holds no analysis, several, or one of another kind.
        """
        saved = read_analysis(path, cls.kind)
        fitted = cls()
        known = fitted.get_params(deep=False).keys() & saved.parameters.keys()
        fitted.set_params(**{name: saved.parameters[name] for name in known})
        fitted._run = fitted.test_codes_ = None
        fitted.masker_, fitted.n_elements_ = saved.masker, saved.n_elements
        fitted.classes_ = saved.classes
        fitted._publish(saved.results)
        fitted.table_ = saved.table  # with the standard errors, which need the data
        return fitted

    def merge(self, *others):
        """Join the parts (shards) of one run.

        Parameters
        ----------
        *others : estimator of this class
            The other parts, fitted or read from folders.

        Returns
        -------
        self : estimator of this class
            With the results of all parts.

        Raises
        ------
        TypeError
            When a part is of another class.
        ValueError
            When parts hold the same region, or belong to different runs.
        """
        results = self.results_
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"parts to be merged must all be {type(self).__name__}, got "
                    f"{type(other).__name__}"
                )
            results = results.merge(other.results_)
        self._publish(results)
        return self

    def generate_report(self, title=None, *, bg_img=None):
        """Make a self-contained HTML page of the results.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page. If None, "Identification report".
        bg_img : path, Niimg, SurfaceImage, None or False, default=None
            Background of the maps. None takes what nilearn ships where it fits: the
            MNI152 template under masks that lie in it, sulcal depth on fsaverage5.
            False draws no background.

        Returns
        -------
        report : nilearn.reporting.HTMLReport
            The page; ``report.save_as_html(path)`` writes it.
        """
        check_has_results(self)
        return identification_report(self, title, bg_img=bg_img)
