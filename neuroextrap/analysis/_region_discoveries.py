"""How many regions of a set, chosen after looking, are informative."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.analysis._presentation import find_region
from neuroextrap.images._atlas import labels_of
from neuroextrap.images._loading import feature_values
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._true_discoveries import fewest_permutations
from neuroextrap.stats._validation import brief, check_number


class DiscoveryCounts:
    """Lower bounds on the number of informative regions, for all sets at once."""

    def true_discoveries(
        self, region: Any = None, *, above: float | None = None, atlas: Any = None
    ) -> int:
        """Count how many regions of a set are informative, at least.

        The bound holds for all sets of regions at once, with the confidence level of
        the analysis (95% over subjects, where regions are the voxels of their maps).
        The set may therefore be chosen after looking at the maps, and several sets may
        be tried. It says that *regions* are informative: a sphere is when any of its
        voxels are. Of single voxels it says nothing.

        Parameters
        ----------
        region : int, str, array-like, image, path or None, default=None
            The set. An index or several; one bool for every region; the name of a
            region; or a mask (image, or its path): regions whose center lies in it, or,
            of an atlas, most of whose voxels do. With `atlas`, the name or the number
            of one of its labels. If None, all regions.
        above : float or None, default=None
            Only regions whose statistic is larger are in the set. The unit is that of
            the tested ``statistic``, for accuracy a proportion.
        atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
            Labels image in the space of the maps, or an atlas fetched by nilearn.

        Returns
        -------
        n_true : int
            Lower bound on the number of informative regions in the set.

        Raises
        ------
        TypeError, ValueError
            If the set does not fit the regions, or the run had no permutations, or too
            few of them (37 are needed at a confidence of .95).

        See Also
        --------
        neuroextrap.stats.true_discoveries : The bound, and when it holds.

        References
        ----------
        Blanchard, Neuvial & Roquain 2020, "Post hoc confidence bounds on false
        positives using reference families", Annals of Statistics 48.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(range(6), 3)
        >>> X = np.random.default_rng(1).normal(size=(18, 8))
        >>> X[:, :3] += 3 * y[:, np.newaxis]
        >>> pairs = np.repeat(np.eye(8), 2, axis=1)
        >>> light = IdentificationSearchLight(regions=pairs, n_permutations=99)
        >>> light = light.fit(np.repeat(X, 2, axis=1), y, groups=runs)
        >>> light.true_discoveries([0, 1, 2, 7]), light.true_discoveries()
        (3, 3)
        """
        bounds = self._discoveries()
        chosen = self._set_of(region, atlas)
        if above is not None:
            if np.isnan(check_number(above, "above")):
                raise ValueError("above is NaN; give a threshold of the statistic")
            chosen = chosen & (bounds.scores > above)
        return bounds.count(chosen)

    @described_by(true_discoveries)
    def true_discovery_curve(
        self, region: Any = None, *, atlas: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Count informative regions among those that reach each threshold, at least.

        Returns
        -------
        thresholds : ndarray of shape (n_thresholds,)
            Distinct statistics of the regions of the set, largest first.
        n_regions : ndarray of int of shape (n_thresholds,)
            How many regions of the set have this statistic or a larger one.
        n_true : ndarray of int of shape (n_thresholds,)
            How many of these are informative, at least, all at once.
        """
        return self._discoveries().curve(self._set_of(region, atlas))

    def _discoveries(self) -> Any:
        """Return the DiscoveryBounds; ValueError that says why there are none."""
        raise NotImplementedError

    def _places(self) -> tuple[Any, Any]:
        """Return where the regions are: their choice, and the masker or None."""
        raise NotImplementedError

    def _set_of(self, region: Any, atlas: Any) -> np.ndarray:
        """Return which regions are in a set, bool of shape (n_regions,)."""
        choice, masker = self._places()
        names = [str(name) for name in choice.names or ()]
        if atlas is not None:
            return choice.regions_in(_label_of(region, atlas, masker))
        if region is None:
            return np.ones(choice.n_regions, dtype=bool)
        if isinstance(region, str) and region in names:
            return np.arange(choice.n_regions) == find_region(
                region, choice, masker, None
            )
        if _is_image(region):
            return choice.regions_in(_mask_of(region, masker))
        return _indexed(region, choice.n_regions)


def known_bounds(results: Any) -> Any:
    """Return the DiscoveryBounds of RegionResults; ValueError why there are none."""
    if results.discoveries is not None:
        return results.discoveries
    needed = fewest_permutations(results.confidence_level)
    n_permutations = len(results.scores.maxima)
    if n_permutations < needed:
        raise ValueError(
            f"informative regions are counted with permutations: {needed} are needed "
            f"at confidence_level={results.confidence_level}, the run had "
            f"{n_permutations}; set n_permutations=1000 and fit again"
        )
    raise ValueError(
        "these results do not hold the largest values of the permuted maps: they were "
        "written by an earlier version, or no region was analyzed; fit again"
    )


def _is_image(region: Any) -> bool:
    """Whether a set is given as a mask: an image, or a file."""
    return isinstance(region, str | Path) or any(
        hasattr(region, name) for name in ("get_fdata", "mesh")
    )


def _mask_of(region: Any, masker: Any) -> np.ndarray:
    """Return the features (n_features,) in a mask."""
    if masker is None:
        raise ValueError(
            "region is a mask or a name, but these regions come from an array and have "
            "no place; give indices, or one bool for every region"
        )
    if isinstance(region, str) and not Path(region).expanduser().exists():
        raise ValueError(
            f"region={region!r} is neither the name of a region nor a file; give an "
            "index, a name or a mask, or atlas= for the label of an atlas"
        )
    values = feature_values(region, masker, "region")
    inside = ~np.isnan(values) & (values != 0)  # maps are NaN where nothing is known
    levels = np.unique(values[inside])
    if len(levels) > 1:
        raise ValueError(
            f"region is no mask: it has {len(levels)} different values ({levels[0]:g}, "
            f"{levels[1]:g}, ...); give zeros and ones, or atlas= and a label"
        )
    return inside


def _label_of(region: Any, atlas: Any, masker: Any) -> np.ndarray:
    """Return the features (n_features,) that an atlas calls `region`."""
    if masker is None:
        raise ValueError(
            "atlas names places, but these regions come from an array; give indices"
        )
    labels, names = labels_of(atlas, masker)
    found = [label for label, name in names.items() if region in (label, name)]
    if len(found) != 1:
        shown = ", ".join(repr(name) for name in list(names.values())[:4])
        raise ValueError(
            f"region={region!r} must be the name or number of one label of the atlas "
            f"inside the mask; it has {len(names)}: {shown}, ..."
        )
    return labels == found[0]


def _indexed(region: Any, n_regions: int) -> np.ndarray:
    """Return a set given by indices or by bools; indices twice count once."""
    given = np.atleast_1d(np.asarray(region))
    if given.dtype == bool and given.shape == (n_regions,):
        return given
    whole = given.size == 0 or given.dtype.kind in "iu"
    if given.ndim != 1 or not whole:
        raise TypeError(
            f"region={brief(region)} must be whole numbers, one bool for each of the "
            f"{n_regions} regions, a name or a mask; for a place (x, y, z) give the "
            "index that find_region returns"
        )
    if given.size and not 0 <= given.min() <= given.max() < n_regions:
        raise ValueError(
            f"region has indices from {given.min()} to {given.max()}; give whole "
            f"numbers from 0 to {n_regions - 1}"
        )
    chosen = np.zeros(n_regions, dtype=bool)
    chosen[given.astype(int)] = True
    return chosen
