"""Standard errors and confidence intervals of one region of a fitted analysis."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._region_files import FittedAttributes
from neuroextrap.stats._shared_options import described_by


class RegionIntervals(FittedAttributes):
    """Errors and intervals that count the sampling of classes, from margins."""

    def accuracy_interval(
        self, region: Any, *, confidence_level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a confidence interval of a region's accuracy curve, size by size.

        It counts the sampling of classes, see
        :func:`neuroextrap.stats.average_accuracy_interval`.

        Parameters
        ----------
        region : int, str or tuple of float
            Index of the region, its name in the atlas, or (x, y, z) in mm of a place in
            it, see :meth:`find_region`.
        confidence_level : float, default=0.95
            Confidence level of the interval at each set size.

        Returns
        -------
        lower, upper : ndarray of shape (n_set_sizes,)
            Both ends at ``set_sizes_``, as proportions; NaN where accuracy is measured
            by training on fewer classes: see :meth:`standard_error`.

        Raises
        ------
        ValueError
            When there are fewer than three classes, the region was not analyzed, or the
            results were read from a folder, which holds no data: fit again.
        """
        lower, upper = stats.average_accuracy_interval(
            self.region_margins(region),
            self.test_codes_,
            self.set_sizes_,
            confidence_level=confidence_level,
        )
        measured = np.isin(self.set_sizes_, self.results_.measured_sizes)
        return np.where(measured, np.nan, lower), np.where(measured, np.nan, upper)

    @described_by(accuracy_interval)
    def implied_information_interval(
        self, region: Any, *, confidence_level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a confidence interval of a region's implied information, in bits.

        It counts the sampling of classes, see
        :func:`neuroextrap.stats.implied_information_interval`. With fewer than ten
        classes it is wide, and says more than the value itself.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Confidence level of the interval.

        Returns
        -------
        lower, upper : ndarray of shape ()
            Both ends in bits; the upper one is infinite where every test point beats
            every distractor.

        Raises
        ------
        ValueError
            When there are fewer than three classes, the region was not analyzed, or the
            results were read from a folder, which holds no data: fit again. When
            accuracy among fewer classes is measured.
        """
        if len(self.results_.measured_sizes):
            raise ValueError(
                "implied_information has no interval where accuracy among fewer "
                "classes is measured; use accuracy_interval(region), or "
                "curves='trained_on_all'"
            )
        return stats.implied_information_interval(
            self.region_margins(region),
            self.test_codes_,
            self.set_sizes_,
            confidence_level=confidence_level,
        )

    @described_by(accuracy_interval)
    def standard_error(self, region: Any) -> np.ndarray:
        """Return standard errors of a region's accuracy curve, by leaving classes out.

        Returns
        -------
        standard_error : ndarray of shape (n_set_sizes,)
            Standard errors at ``set_sizes_``, as proportions. NaN where they cannot be
            computed: for a region that was not analyzed, fewer than three classes,
            classes without test points (no class could be left out), and results read
            from a folder (which holds no margins). Where accuracy is measured, that of
            the mean over disjoint subsets of the classes; NaN beyond half of them.
        """
        return self._standard_error(self.find_region(region))

    def _standard_error(self, region):
        """Return the standard errors of a region by its index."""
        errors = zip(self.set_sizes_, self._jackknife_error(region), strict=True)
        measured = self.results_.measured_errors(region)
        return np.array([measured.get(k, error) for k, error in errors])

    def _jackknife_error(self, region):
        """Return the same by the jackknife over the columns of margins."""
        codes, n_classes = self.test_codes_, self.wins_.shape[1]
        unknown = codes is None or len(np.unique(codes)) < max(n_classes, 3)
        if unknown or np.isnan(self.wins_[region, 0]):
            return np.full(len(self.set_sizes_), np.nan)
        margins = self.run_.margins(region)
        with warnings.catch_warnings():  # of wrong signs, which a fit warns of once
            warnings.filterwarnings("ignore", message="the true class beats")
            return stats.average_accuracy_jackknife(margins, codes, self.set_sizes_)[1]
