"""Cross-validated distances between classes in every region of a brain."""

from __future__ import annotations

from dataclasses import KW_ONLY
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator

from neuroextrap.analysis._presentation import find_region
from neuroextrap.analysis._region_files import FittedAttributes, check_has_results
from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.decoding._dissimilarity_run import measure_dissimilarities
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.maps._named_records import AGREEMENT, dissimilarity_records
from neuroextrap.maps._records import described_parameters
from neuroextrap.reporting._region_page import dissimilarity_page
from neuroextrap.stats._shared_options import described_by, takes_fields


@described_by(IdentificationSearchLight)
@takes_fields
class DissimilaritySearchLight(FittedAttributes, BaseEstimator):
    """Measure distances between the patterns of classes in every region.

    The squared Mahalanobis distance of two classes is cross-validated over runs
    ("crossnobis"): the difference of their patterns in one run is multiplied by that in
    another, so that noise, which runs do not share, does not add to distances. They are
    unbiased, zero on average where patterns do not differ, and may be negative.
    Models say which distances are expected to be large; their agreement with a region
    is tested by exchanging the names of classes.

    Parameters
    ----------
    models : dict, array-like of shape (K, K), or None, default=None
        Dissimilarities of the classes, in the order of ``classes_``, by the name of the
        model; a DataFrame is put in that order by its index. One matrix is called
        "model". If None, distances are measured and compared with nothing.
    method : {"spearman", "kendall", "cosine"}, default="spearman"
        How distances are compared with models: rank correlation, Kendall's tau-a (for
        models with ties), or the cosine, which takes distances as ratios.
    n_permutations : int, default=0
        Number of exchanges of the classes; 0 makes no test. If fewer exist (23 for four
        classes), each is used once.

    Attributes
    ----------
    maps_ : RegionMaps
        Images by name (arrays for array input): mean_dissimilarity; noise_ceiling,
        where there are at least four runs; and of each model its agreement
        ``<model>_correlation`` and, after permutations, ``<model>_p_value`` and
        ``<model>_p_value_fwe`` (corrected for all regions, not for several models).
        ``maps_.generate_report()`` makes a page of them.
    region_scores_ : dict of ndarray of shape (n_regions,)
        The same numbers, one for every region.
    dissimilarities_ : ndarray of shape (n_regions, K (K - 1) / 2)
        Squared distances divided by the number of voxels, pairs of classes in the order
        of ``numpy.triu_indices(K, 1)``; NaN for regions that were not analyzed.
    null_maxima_ : dict of ndarray of shape (n_permutations_,)
        Largest permuted agreement over regions, of each model.
    n_permutations_ : int
        Number of exchanges done.
    classes_, masker_, findings_, notes_
        As those of :class:`IdentificationSearchLight`.

    See Also
    --------
    IdentificationSearchLight : How well classes are told apart, in bits.

    Notes
    -----
    With patterns b_mi of run m and class i (means over samples), P voxels and noise
    covariance S, the distance is the mean over ordered pairs of different runs ::

        d_ij = mean_(m != n) (b_mi - b_mj)' S^-1 (b_ni - b_nj) / P

    The noise ceiling is the agreement with the measured distances that a model without
    error is expected to have: sqrt(c / v), where v is the variance of the distances
    over pairs of classes, and c the covariance of the distances of two halves of the
    runs, whose noise is independent, the mean over ten splits (mean squares and
    products for the cosine). It is noisy where distances are few, and approximate for
    rank correlations, the more so for Kendall's tau.

    References
    ----------
    Walther, Nili, Ejaz, Alink, Kriegeskorte & Diedrichsen 2016, "Reliability of
    dissimilarity measures for multi-voxel pattern analysis", NeuroImage 137, eq. 6.
    Nili et al. 2014, "A toolbox for representational similarity analysis", PLoS
    Computational Biology 10 (exchange of classes, tau-a).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import DissimilaritySearchLight
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.permuted(np.tile(np.arange(5), (6, 1)), axis=1).ravel()
    >>> runs, position = np.repeat(np.arange(6), 5), np.array([0.0, 1, 3, 7, 15])
    >>> X = np.outer(position[shown], rng.normal(size=30)) + rng.normal(size=(30, 30))
    >>> line = np.abs(np.subtract.outer(position, position))
    >>> light = DissimilaritySearchLight(models={"line": line}, n_permutations=99)
    >>> fitted = light.fit(X, shown, groups=runs)
    >>> round(float(fitted.region_scores_["line_correlation"][0]), 1)
    1.0
    """

    kind = "dissimilarity"

    mask: Any = None
    _: KW_ONLY
    radius: float = 8.0
    labels_img: Any = None
    regions: Any = None
    process_mask_img: Any = None
    models: Any = None
    method: str = "spearman"
    noise_covariance: Any = None
    n_permutations: int = 0
    memory: Any = None
    n_jobs: int = 1
    random_state: int | np.random.Generator | None = 0

    @described_by(IdentificationSearchLight.fit)
    def fit(
        self,
        imgs: Any,
        y: ArrayLike,
        groups: ArrayLike,
        *,
        order: ArrayLike | None = None,
    ) -> Self:
        """Measure the distances in every region, and compare them with the models.

        Parameters
        ----------
        groups : array-like of shape (n_samples,)
            Run of every sample; every two classes are together in at least two runs.

        Returns
        -------
        self : DissimilaritySearchLight
        """
        run, measured, about = measure_dissimilarities(self, imgs, y, groups, order)
        self.region_scores_, self.dissimilarities_, self.null_maxima_ = measured
        self._choice, self.masker_, self.classes_ = run.choice, run.masker, run.classes
        self.notes_, self.findings_ = tuple(about["notes_"]), about.pop("findings_")
        self.n_permutations_ = about["n_permutations_"]
        self.maps_ = maps_of_regions(
            run,
            self.region_scores_,
            records=dissimilarity_records([*about["models_"]], self.method),
            parameters=described_parameters(self),
            random_state=self.random_state,
            findings=self.findings_,
            page=dissimilarity_page,
            agreement_=AGREEMENT[self.method],
            further=[self._distances()],
            classes_=self.classes_,
            dissimilarities_=self.dissimilarities_,
            **about,
        )
        return self

    def _distances(self):
        """Return the table of all distances, a row a region, with its file."""
        import pandas as pd

        pairs = np.transpose(np.triu_indices(len(self.classes_), 1))
        names = [f"{self.classes_[i]} - {self.classes_[j]}" for i, j in pairs]
        table = pd.DataFrame(self.dissimilarities_, columns=names)
        table.insert(0, "region", np.arange(len(table)))
        return RegionMaps({}, table=table, table_file="dissimilarities.tsv")

    @described_by(IdentificationSearchLight.find_region)
    def dissimilarity_table(self, region: Any) -> Any:
        """Return the distances between all classes in one region.

        Returns
        -------
        table : pandas.DataFrame of shape (K, K)
            Squared distances divided by the number of voxels; rows and columns are
            classes.
        """
        import pandas as pd

        check_has_results(self)
        index = find_region(region, self._choice, self.masker_, self.radius)
        square = squareform(self.dissimilarities_[index])
        return pd.DataFrame(square, self.classes_, self.classes_)

    @described_by(RegionMaps.to_directory)
    def to_directory(self, path: str | PathLike, **options: Any) -> None:
        """Write the maps with sidecars, the table of regions, and all distances.

        The distances are in ``dissimilarities.tsv``, a row for each region and a column
        for each pair of classes.

        Parameters
        ----------
        **options
            As those of ``maps_.to_directory``: overwrite, bids, origin, more.
        """
        check_has_results(self)
        self.maps_.to_directory(path, **options)
