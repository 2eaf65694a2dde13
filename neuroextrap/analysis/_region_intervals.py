"""Confidence intervals of one region of a fitted analysis."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._region_files import FittedAttributes


class RegionIntervals(FittedAttributes):
    """Intervals that count the sampling of classes, from a region's margins."""

    def accuracy_interval(
        self, region: Any, *, confidence_level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a confidence interval of a region's accuracy curve, size by size.

        It counts the sampling of classes, see
        :func:`neuroextrap.stats.average_accuracy_interval`.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.
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

    def implied_information_interval(
        self, region: Any, *, confidence_level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a confidence interval of a region's implied information, in bits.

        It counts the sampling of classes, see
        :func:`neuroextrap.stats.implied_information_interval`. With fewer than ten
        classes it is wide, and says more than the value itself.

        Parameters
        ----------
        region : int or tuple of float
            Index of the region, or (x, y, z) in mm of the nearest center.
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
