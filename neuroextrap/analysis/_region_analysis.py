"""What an analysis of regions publishes, and what can be asked of it afterwards."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from neuroextrap import stats
from neuroextrap.analysis._analysis_files import read_analysis, write_analysis
from neuroextrap.analysis._presentation import region_images, region_table
from neuroextrap.images import feature_coordinates
from neuroextrap.reporting import identification_report


class RegionAnalysis:
    """Public results, curves, extrapolations and reports of an analysis of regions.

    Holds no parameters. The analysis sets ``_results`` (:class:`RegionResults`, which
    :attr:`results_` publishes), ``masker_``, ``classes_``, ``n_elements_``,
    ``test_codes_`` (None where the data are gone) and has ``region_margins(region)``.
    ``_index_file`` names the file that tells its folders from others', ``_inputs()``
    returns the data to be hashed, and ``_forget_data()`` says that there are none.

    Examples
    --------
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.analysis._region_analysis import RegionAnalysis
    >>> issubclass(IdentificationSearchLight, RegionAnalysis)
    True
    """

    def _publish(self):
        """Turn results into the public attributes."""
        results = self._results
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
            self.table_ = region_table(
                results, self.region_scores_, self._standard_errors()
            )

    @property
    def results_(self):
        """What the run found, and its design (:class:`RegionResults`)."""
        check_is_fitted(self, "region_scores_")
        return self._results

    def _standard_errors(self):
        """Compute standard errors of few regions' curves."""
        return np.stack([self.standard_error(i) for i in range(len(self.wins_))])

    def standard_error(self, region):
        """Return standard errors of a region's accuracy curve, by leaving classes out.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        standard_error : ndarray, shape (n_set_sizes,)
            At ``set_sizes_``, proportions. NaN where they cannot be had: a region that
            was not analyzed, fewer than three classes, classes without test points (no
            class that could be left out), results read from a folder (no margins).
        """
        region = self.find_region(region)
        codes, n_classes = self.test_codes_, self.wins_.shape[1]
        unknown = codes is None or len(np.unique(codes)) < max(n_classes, 3)
        if unknown or np.isnan(self.wins_[region, 0]):
            return np.full(len(self.set_sizes_), np.nan)
        margins = self.region_margins(region)
        return stats.average_accuracy_jackknife(margins, codes, self.set_sizes_)[1]

    def find_region(self, region):
        """Return the index of a region given by index or by coordinates.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        index : int
            Row of ``wins_``.

        Raises
        ------
        ValueError
            When coordinates are given but regions have no centers in an image.
        """
        check_is_fitted(self, "region_scores_")
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
            Index, or (x, y, z) in mm of the nearest center.
        set_sizes : sequence of int or None
            From 2 to K; None is ``set_sizes_``.

        Returns
        -------
        set_sizes : ndarray of int
            Set sizes.
        accuracy : ndarray
            Accuracy at each.
        """
        return self._results.curve(self.find_region(region), set_sizes)

    def bound_curve(self, region):
        """Return a region's lower bounds on average Bayes accuracy.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        set_sizes : ndarray of int
            2, 5, 10, 20, 50, ..., K.
        bound : ndarray
            Lower bound at each set size, each by itself.

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
            Numbers of classes.
        method : {"gaussian_mixture", "gaussian"}
            How the curves are continued.

        Returns
        -------
        images : dict of image (ndarray for array input)
            One map for every set size.
        """
        check_is_fitted(self, "region_scores_")
        wins, sizes = self._results.scores.wins, np.atleast_1d(set_sizes)
        known = ~np.isnan(wins[:, 0])
        predicted = np.full((len(sizes), len(wins)), np.nan)
        predicted[:, known] = stats.extrapolate_wins(
            wins[known], self._results.n_test, sizes, method=method
        ).T
        values = dict(zip(sizes.tolist(), predicted, strict=True))
        return region_images(values, self._results.choice, self.masker_)

    def extrapolator(self, region, method="auto"):
        """Return a fitted extrapolator of one region's accuracy curve.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.
        method : str
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
            A folder that is not there or empty.
        overwrite : bool
            Replace what is there.
        bids : dict of str to str, or None
            Entities such as ``{"sub": "01", "task": "objects"}``: files are named and
            placed as BIDS derivatives.
        """
        check_is_fitted(self, "region_scores_")
        shared = {"overwrite": overwrite, "bids": bids}
        write_analysis(self, path, self._index_file, inputs=self._inputs(), **shared)

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
            When the folder holds no such analysis, or several.
        """
        fitted, table = read_analysis(cls(), path, cls._index_file)
        fitted._forget_data()
        fitted._publish()
        fitted.table_ = table  # with the standard errors, which need the data
        return fitted

    def merge(self, *others):
        """Join the parts (shards) of one run.

        Parameters
        ----------
        *others : estimator of this class
            Fitted or read from folders.

        Returns
        -------
        self : estimator of this class

        Raises
        ------
        TypeError
            When a part is of another class.
        ValueError
            When parts hold the same region, or belong to different runs.
        """
        check_is_fitted(self, "region_scores_")
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"parts to be merged must all be {type(self).__name__}, got "
                    f"{type(other).__name__}"
                )
            self._results = self._results.merge(other.results_)
        self._publish()
        return self

    def generate_report(self, title=None, *, bg_img=None):
        """Make a self-contained HTML page of the results.

        Parameters
        ----------
        title : str or None
            Title of the page.
        bg_img : path, Niimg, SurfaceImage, None or False
            What is drawn under the maps. None is what nilearn ships where it fits: the
            MNI152 template under masks that lie in it, sulcal depth on fsaverage5.

        Returns
        -------
        report : nilearn.reporting.HTMLReport
            The page.
        """
        check_is_fitted(self, "region_scores_")
        return identification_report(self, title, bg_img=bg_img)
