"""Of one region and of all, afterwards: intervals, a data frame, curves, maps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._presentation import find_region, mean_places, region_images
from neuroextrap.analysis._region_files import FittedAttributes
from neuroextrap.maps._records import flat_parameters
from neuroextrap.reporting._identification_page import curve_axes
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_flags

if TYPE_CHECKING:
    import pandas as pd


class RegionInference(FittedAttributes):
    """Errors and intervals of a region, a row for each, curves, and masked maps."""

    def find_region(self, region: Any) -> int:
        """Return the index of a region given by its index, name, or coordinates.

        Parameters
        ----------
        region : int, str or tuple of float
            Index of the region, its name in the atlas, or (x, y, z) in mm of a place.
            A place belongs to the region with the nearest center, at most a radius
            away; in an atlas, to the region whose voxel (vertex) lies there.

        Returns
        -------
        index : int
            Row of ``wins_``, from 0.

        Raises
        ------
        TypeError
            When ``region`` is none of these.
        ValueError
            When there is no region of that index or name, several have the name, or
            the place lies in no region; the nearest one is named.
        """
        parameters = flat_parameters(self)
        near = parameters.get("n_nearest") is not None
        radius = None if near else parameters.get("radius")
        return find_region(region, self.results_.choice, self.masker_, radius)

    @described_by(find_region)
    def accuracy_interval(
        self, region: Any, *, confidence_level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a confidence interval of a region's accuracy curve, size by size.

        It counts the sampling of classes, see
        :func:`neuroextrap.stats.average_accuracy_interval`.

        Parameters
        ----------
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
        margins, sizes = self.region_margins(region), self.set_sizes_
        lower, upper = stats.average_accuracy_interval(
            margins, self.test_codes_, sizes, confidence_level=confidence_level
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

        Returns
        -------
        lower, upper : ndarray of shape ()
            Both ends in bits; the upper one is infinite where every test point beats
            every distractor.

        Raises
        ------
        ValueError
            As :meth:`accuracy_interval`; and when accuracy among fewer classes is
            measured.
        """
        if len(self.results_.measured_sizes):
            raise ValueError(
                "implied_information has no interval where accuracy among fewer "
                "classes is measured; use accuracy_interval(region), or "
                "curves='trained_on_all'"
            )
        margins, sizes = self.region_margins(region), self.set_sizes_
        return stats.implied_information_interval(
            margins, self.test_codes_, sizes, confidence_level=confidence_level
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
        region = self.find_region(region)
        codes, sizes = self.test_codes_, self.set_sizes_
        errors, fewest = np.full(len(sizes), np.nan), max(self.results_.n_classes, 3)
        enough = codes is not None and len(np.unique(codes)) >= fewest
        if enough and not np.isnan(self.wins_[region, 0]):
            margins = self.run_.margins(region)
            with warnings.catch_warnings():  # of wrong signs, which a fit warns of once
                warnings.filterwarnings("ignore", message="the true class beats")
                errors = stats.average_accuracy_jackknife(margins, codes, sizes)[1]
        at_sizes = self.results_.measured_sizes
        if len(at_sizes):  # over disjoint subsets of classes
            at, measured = np.isin(sizes, at_sizes), self.results_.scores.measured
            errors[at] = measured[region, np.searchsorted(at_sizes, sizes[at]), 1]
        return errors

    def to_dataframe(self) -> pd.DataFrame:
        """Return the numbers of all regions, one row for each.

        Returns
        -------
        table : pandas.DataFrame of n_regions rows
            ``region`` is the index that :meth:`accuracy_curve` and others take, and
            ``name`` the name, if regions have one; ``X``, ``Y`` and ``Z`` the center in
            mm, if they have a place (of an atlas region, the mean place of its voxels),
            as in nilearn's tables of clusters. The other columns are those of
            ``region_scores_``, NaN where a region was not analyzed; ``z`` is that of
            the p-value.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> X, y = np.random.default_rng(0).normal(size=(12, 5)), np.tile([0, 1], 6)
        >>> light = IdentificationSearchLight(cv=[(range(6), range(6, 12))]).fit(X, y)
        >>> light.to_dataframe()[["region", "n_voxels"]].to_dict("records")
        [{'region': 0, 'n_voxels': 5.0}]
        """
        import pandas as pd

        scores, choice = self.region_scores_, self.results_.choice
        columns: dict[str, Any] = {"region": np.arange(choice.n_regions)}
        if choice.names is not None:
            columns["name"] = [str(name) for name in choice.names]
        if self.masker_ is not None and choice.has_place:
            places = mean_places(choice, self.masker_)
            columns |= dict(zip("XYZ", places.T, strict=True))
        return pd.DataFrame(columns | scores)

    @described_by(accuracy_interval)
    def plot_curve(self, region: Any, *, ax: Any = None) -> Any:
        """Draw a region's identification accuracy curve, as reports do.

        The band is a 95% interval that counts the sampling of classes; it is left out
        for results read from a folder, which holds no data. The lower bound is drawn
        where one holds, and the extrapolation to ten times the classes with at least
        ten classes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in. If None, those of a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        return curve_axes(self, self.find_region(region), ax)

    def masked_map(self, name: str) -> Any:
        """Return a map with NaN wherever nothing survives correction.

        What survives is decided as in reports: by family-wise p-values of at most .05;
        without permutations, by lower bounds for all regions at once that lie above
        chance.

        Parameters
        ----------
        name : str
            Name of a map of ``maps_``, such as "implied_information".

        Returns
        -------
        map : image (ndarray for array input)
            The map, NaN in all other regions.

        Raises
        ------
        ValueError
            When there is no map of that name, or the analysis has neither p-values nor
            bounds that hold for all regions at once.
        """
        self._map(name)
        finding = page_maps(self).finding
        if not finding.criterion:
            raise ValueError(
                "nothing was tested for all regions at once; fit with n_permutations, "
                "or with bounds"
            )
        kept = np.where(finding.survives, self.region_scores_[name], np.nan)
        results = self.results_
        return region_images({name: kept}, results.choice, self.masker_)[name]

    @described_by(masked_map)
    def plot_map(self, name: str, *, survives: bool = False, **options: Any) -> Any:
        """Draw slices of a map over the anatomy.

        Parameters
        ----------
        survives : bool, default=False
            Whether to draw only what survives correction, as in :meth:`masked_map`.
        **options
            Further options of :func:`neuroextrap.plotting.plot_map`, such as ``bg_img``
            or ``threshold``.

        Returns
        -------
        display : nilearn.plotting.displays.OrthoSlicer
            Display of nilearn.

        Raises
        ------
        ValueError
            As :meth:`masked_map`; and when nothing survives, so that nothing could be
            drawn, or maps are arrays or surfaces.
        """
        from neuroextrap.plotting import plot_map

        check_flags(survives=survives)
        image = self.masked_map(name) if survives else self._map(name)
        if not hasattr(image, "affine"):
            raise ValueError(
                f"the map {name!r} is no volume; draw arrays with plot_curve, and "
                "surfaces with nilearn.plotting.plot_surf_stat_map"
            )
        finding = page_maps(self).finding
        if survives and not finding.n_surviving:
            raise ValueError(f"nothing survives ({finding.words}): no map to draw")
        return plot_map(image, **{"bg_img": self.bg_img_, **options})

    def _map(self, name):
        """Return the map of this name; ValueError if there is none."""
        if name not in self.maps_:
            raise ValueError(
                f"name={name!r} is no map of this analysis; there are "
                f"{', '.join(self.maps_)}"
            )
        return self.maps_[name]
