"""What a fitted analysis shows of itself: a data frame, curves, and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neuroextrap.analysis._presentation import mean_places, region_images
from neuroextrap.analysis._region_files import FittedAttributes
from neuroextrap.reporting._curves import curve_axes
from neuroextrap.reporting._finding import find
from neuroextrap.stats._validation import check_flags

if TYPE_CHECKING:
    import pandas as pd


class RegionPlots(FittedAttributes):
    """A row for every region, its curve, and maps of what survives correction."""

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

    def plot_curve(self, region: Any, *, ax: Any = None) -> Any:
        """Draw a region's identification accuracy curve, as reports do.

        The band is a 95% interval that counts the sampling of classes; it is left out
        for results read from a folder, which holds no data. The lower bound is drawn
        where one holds, and the extrapolation to ten times the classes with at least
        ten classes.

        Parameters
        ----------
        region : int, str or tuple of float
            Index of the region, its name in the atlas, or (x, y, z) in mm of a place.
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
        self._check_name(name)
        found = find(self)
        if not found.criterion:
            raise ValueError(
                "nothing was tested for all regions at once; fit with n_permutations, "
                "or with bounds"
            )
        kept = np.where(found.survives, self.region_scores_[name], np.nan)
        results = self.results_
        return region_images({name: kept}, results.choice, self.masker_)[name]

    def plot_map(self, name: str, *, survives: bool = False, **options: Any) -> Any:
        """Draw slices of a map over the anatomy.

        Parameters
        ----------
        name : str
            Name of a map of ``maps_``, such as "implied_information".
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
        self._check_name(name)
        image = self.masked_map(name) if survives else self.maps_[name]
        if not hasattr(image, "affine"):
            raise ValueError(
                f"the map {name!r} is no volume; draw arrays with plot_curve, and "
                "surfaces with nilearn.plotting.plot_surf_stat_map"
            )
        if survives and not find(self).survives.any():
            raise ValueError(f"nothing survives ({find(self).words}): no map to draw")
        return plot_map(image, **{"bg_img": self.bg_img_, **options})

    def _check_name(self, name):
        """Raise ValueError if there is no map of this name."""
        if name not in self.maps_:
            raise ValueError(
                f"name={name!r} is no map of this analysis; there are "
                f"{', '.join(self.maps_)}"
            )
