"""Cross-validated distances between classes in every region of a brain."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from neuroextrap.analysis._presentation import find_region, region_images
from neuroextrap.analysis._region_files import FittedAttributes, check_has_results
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.decoding._dissimilarities import (
    METHODS,
    ceiling_of_halves,
    class_exchanges,
    comparison_features,
    distance_operator,
    halves,
    model_features,
    run_means,
)
from neuroextrap.decoding._reading import make_whitener, read_labeled_samples
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._copies import copied_samples
from neuroextrap.design._doubts import same_order
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import make_design
from neuroextrap.design._labels import code_labels
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.maps._described_parameters import described_parameters
from neuroextrap.maps._registry import dissimilarity_records
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import random_generator

_BLOCK = 2**22  # inner products of means that are in memory together
# parameters that mean what they mean in a searchlight, and are read as there
_SHARED = (
    "mask",
    "radius",
    "labels_img",
    "regions",
    "process_mask_img",
    "noise_covariance",
    "n_permutations",
    "max_memory",
    "memory",
    "n_jobs",
    "random_state",
    "verbose",
)


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
    mask : None, path, image, NiftiMasker or SurfaceMasker, default=None
        Voxels to analyze. None computes a mask from the images. Arrays need no mask.
    radius : float, default=8.0
        Radius of the spheres (or of the discs on a surface) in mm.
    labels_img : image, path or None, default=None
        Atlas whose regions are analyzed instead of spheres; label 0 is background.
    regions : sparse matrix of shape (n_regions, n_features), Regions or None, \
            default=None
        Members of the regions, or a choice of nearest voxels, every n-th center and
        fewest voxels, see :class:`neuroextrap.analysis.Regions`.
    process_mask_img : image, path or None, default=None
        Mask of the centers of regions.
    models : dict, array-like of shape (K, K), or None, default=None
        Dissimilarities of the classes, in the order of ``classes_``, by the name of the
        model; a DataFrame is put in that order by its index. One matrix is called
        "model". If None, distances are measured and compared with nothing.
    method : {"spearman", "kendall", "cosine"}, default="spearman"
        How distances are compared with models: rank correlation, Kendall's tau-a (for
        models with ties), or the cosine, which takes distances as ratios.
    noise_covariance : None, array or images, default=None
        Noise to whiten by: residuals of shape (n_observations, n_features), or images
        of them; every region's covariance is shrunk towards its diagonal. If None,
        distances are Euclidean.
    n_permutations : int, default=0
        Number of exchanges of the classes; 0 makes no test. If fewer exist (23 for four
        classes), each is used once.
    max_memory : str or int, default="2G"
        Memory budget, checked for samples and regions.
    memory : None, path or joblib.Memory, default=None
        Cache of what is read from image files.
    n_jobs : int, default=1
        Number of joblib workers (threads). Does not affect results.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the exchanges.
    verbose : int, default=0
        Not used; kept for the same parameters as in other searchlights.

    Attributes
    ----------
    maps_ : RegionMaps
        Images by name (arrays for array input): mean_dissimilarity; noise_ceiling,
        where there are at least four runs; and of each model its agreement
        ``<model>_correlation`` and, after permutations, ``<model>_p_value`` and
        ``<model>_p_value_fwe`` (corrected for all regions, not for several models).
        ``maps_.to_directory(path)`` writes them.
    region_scores_ : dict of ndarray of shape (n_regions,)
        The same numbers, one for every region.
    dissimilarities_ : ndarray of shape (n_regions, K (K - 1) / 2)
        Squared distances divided by the number of voxels, pairs of classes in the order
        of ``numpy.triu_indices(K, 1)``; NaN for regions that were not analyzed.
    classes_ : ndarray of shape (K,)
        Classes.
    null_maxima_ : dict of ndarray of shape (n_permutations_,)
        Largest permuted agreement over regions, of each model.
    n_permutations_ : int
        Number of exchanges done.
    masker_ : NiftiMasker, SurfaceMasker or None
        Fitted masker; None for array input.
    findings_ : list of Finding
        What is doubtful about the design and its samples.
    notes_ : tuple of str
        What a reader should know about the validity of the numbers.

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

    def __init__(  # noqa: PLR0913
        self,
        mask: Any = None,
        *,
        radius: float = 8.0,
        labels_img: Any = None,
        regions: Any = None,
        process_mask_img: Any = None,
        models: Any = None,
        method: str = "spearman",
        noise_covariance: Any = None,
        n_permutations: int = 0,
        max_memory: str | int = "2G",
        memory: Any = None,
        n_jobs: int = 1,
        random_state: int | np.random.Generator | None = 0,
        verbose: int = 0,
    ) -> None:
        self.mask = mask
        self.radius = radius
        self.labels_img = labels_img
        self.regions = regions
        self.process_mask_img = process_mask_img
        self.models = models
        self.method = method
        self.noise_covariance = noise_covariance
        self.n_permutations = n_permutations
        self.max_memory = max_memory
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            Samples, one volume (row) for each.
        y : array-like of shape (n_samples,)
            Class of every sample.
        groups : array-like of shape (n_samples,)
            Run of every sample; every two classes are together in at least two runs.
        order : array-like of shape (n_samples,) or None, default=None
            When every sample was acquired in its run, as time or rank. It only serves
            to check whether the classes came in the same order in all runs. If None,
            samples are assumed to be listed in the order of acquisition.

        Returns
        -------
        self : DissimilaritySearchLight

        Raises
        ------
        ValueError
            When parameters, images, labels, groups and models do not match.
        """
        light = IdentificationSearchLight(
            **{name: getattr(self, name) for name in _SHARED}
        )
        parameters = RunParameters.of(light)
        labels, models = self._checked(y, groups, order)
        orders, few = _exchanges(len(labels.classes), parameters)
        features = {
            name: model_features(model, orders, self.method)
            for name, model in models.items()
        }
        samples = read_labeled_samples(light, _AS_LIGHT, imgs, labels)
        findings = _findings(samples, labels, few)
        tell(findings)
        choice = parameters.choose_regions(samples.masker, samples.X.shape[1])
        regions = parameters.usable_regions(choice, samples.usable)
        run = np.unique(labels.groups, return_inverse=True)[1]
        means, counts = run_means(samples.X, labels.codes, run)
        n_features = samples.X.shape[1]
        whitener = make_whitener(self.noise_covariance, samples.masker, n_features)
        work = _Work(means, counts > 0, regions.regions, whitener, self.method)
        scores, self.dissimilarities_, self.null_maxima_ = work.run(
            features, self.n_jobs
        )
        analyzed = np.isfinite(scores["mean_dissimilarity"])
        scores["n_voxels"] = np.where(analyzed, regions.n_features, np.nan)
        notes = (*(finding.note for finding in findings), *samples.notes)
        self.findings_ = findings
        self.notes_ = notes if work.splits else (*notes, _NO_CEILING)
        self.classes_, self.masker_ = labels.classes, samples.masker
        self.n_permutations_, self._choice = len(orders), choice
        self.region_scores_ = scores
        self.maps_ = self._maps(scores, list(models))
        return self

    def _checked(self, y, groups, order):
        """Return Labels and the models; ValueError if there are none to be compared."""
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {METHODS}")
        if groups is None:
            raise ValueError(
                "distances are cross-validated over runs, but groups is None; give "
                "fit(..., groups=runs)"
            )
        labels = code_labels(y, None, groups, None, order)
        _check_pairs(labels)
        models = _checked_models(self.models, labels.classes)
        if self.n_permutations and not models:
            raise ValueError("n_permutations tests models; give models, or 0")
        return labels, models

    def _maps(self, scores, models):
        """Return the maps with their records, table and findings (RegionMaps)."""
        import pandas as pd

        choice = self._choice
        names = choice.names or [str(i) for i in range(choice.n_regions)]
        table = None
        if choice.names is not None or self.masker_ is None or not choice.has_place:
            table = pd.DataFrame({"name": names, **scores})
        maps = region_images(scores, choice, self.masker_)
        seed = self.random_state if isinstance(self.random_state, int) else None
        return RegionMaps(
            maps,
            records=dissimilarity_records(models, self.method),
            masker=self.masker_ if maps else None,
            region_scores=scores,
            table=table,
            parameters=described_parameters(self),
            random_state=seed,
            findings=self.findings_,
        )

    def dissimilarity_table(self, region: Any) -> Any:
        """Return the distances between all classes in one region.

        Parameters
        ----------
        region : int, str or tuple of float
            Index of the region, its name in the atlas, or (x, y, z) in mm of a place.

        Returns
        -------
        table : pandas.DataFrame of shape (K, K)
            Squared distances divided by the number of voxels; rows and columns are
            classes.

        Raises
        ------
        TypeError, ValueError
            When there is no such region.
        """
        import pandas as pd

        check_has_results(self)
        index = find_region(region, self._choice, self.masker_, self.radius)
        K = len(self.classes_)
        square = np.zeros((K, K))
        square[np.triu_indices(K, 1)] = self.dissimilarities_[index]
        return pd.DataFrame(square + square.T, self.classes_, self.classes_)

    def to_directory(self, path: str | PathLike, *, overwrite: bool = False) -> None:
        """Write the maps with sidecars, and the table of regions if there is one.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.

        Raises
        ------
        ValueError
            When the folder is not empty, or cannot be written.
        """
        check_has_results(self)
        self.maps_.to_directory(path, overwrite=overwrite)


_AS_LIGHT = SimpleNamespace(as_given=False)  # samples as searchlights get them
_NO_CEILING = (
    "no noise ceiling: it needs two halves of the runs in which every two classes are "
    "together in at least two runs"
)


def _check_pairs(labels):
    """Raise unless every two classes are together in at least two runs."""
    run = np.unique(labels.groups, return_inverse=True)[1]
    present = np.zeros((run.max() + 1, len(labels.classes)), dtype=bool)
    present[run, labels.codes] = True
    i, j = np.triu_indices(len(labels.classes), 1)
    rare = np.flatnonzero((present.T.astype(int) @ present)[i, j] < 2)
    if len(rare):
        pair = labels.classes[[i[rare[0]], j[rare[0]]]].tolist()
        raise ValueError(
            f"classes {pair[0]!r} and {pair[1]!r} are together in fewer than two runs "
            f"({len(rare)} such pairs in all), so that their distance cannot be "
            "cross-validated; leave one of them out"
        )


def _exchanges(n_classes, parameters):
    """Return other orders of the classes, and FewLabelings if these are all."""
    n_permutations = parameters.n_permutations
    if not n_permutations:
        return np.empty((0, n_classes), dtype=int), None
    rng = random_generator(parameters.random_state)
    orders, every = class_exchanges(n_classes, n_permutations, rng)
    return orders, FewLabelings(
        len(orders), 1, "orders of the classes"
    ) if every else None


def _findings(samples, labels, few):
    """Return Findings about the order of classes, copies of samples, and exchanges."""
    design = make_design(labels.codes, len(labels.classes), groups=labels.groups)
    exchanges = few_exchanges(few)
    if exchanges is not None:
        exchanges = exchanges._replace(remedy="more classes have more orders")
    found = (
        same_order(labels.codes, labels.groups, labels.order),
        copied_samples(samples.X[:, samples.usable], labels, design),
        exchanges,
    )
    return [finding for finding in found if finding is not None]


def _checked_models(models, classes):
    """Return models as symmetric float arrays (K, K), in the order of classes."""
    if models is None:
        return {}
    if not isinstance(models, Mapping):
        models = {"model": models}
    return {str(n): _checked_model(str(n), m, classes) for n, m in models.items()}


def _checked_model(name, model, classes):
    """Return one of them; ValueError if it is none."""
    if hasattr(model, "reindex"):  # a DataFrame, by the names of its rows
        named = [*model.index], [*model.columns]
        if any(sorted(names) != sorted(classes.tolist()) for names in named):
            raise ValueError(
                f"models[{name!r}] has rows {named[0][:5]} and columns {named[1][:5]}; "
                f"give the classes {classes.tolist()[:5]}"
            )
        model = model.loc[classes.tolist(), classes.tolist()]
    values, K = np.asarray(model, dtype=float), len(classes)
    if values.shape != (K, K) or not np.isfinite(values).all():
        raise ValueError(
            f"models[{name!r}] must be finite dissimilarities of shape ({K}, {K}), in "
            f"the order of the classes; got shape {values.shape}"
        )
    if not np.allclose(values, values.T):
        raise ValueError(f"models[{name!r}] must be symmetric")
    if np.ptp(values[np.triu_indices(K, 1)]) == 0:
        raise ValueError(
            f"models[{name!r}] expects the same dissimilarity of all classes, which "
            "cannot be compared; leave it out"
        )
    return values


class _Work:
    """The distances of all regions, and their comparison with models."""

    def __init__(self, means, present, regions, whitener, method):
        self.means = means.reshape(-1, means.shape[2])  # (n_runs K, n_features)
        self.regions, self.whitener, self.method = regions, whitener, method
        self.operator = distance_operator(present)
        self.splits = [
            tuple(distance_operator(half) for half in split)
            for split in halves(present, 0)
        ]

    def run(self, features, n_jobs):
        """Return scores, distances, and maxima over regions by the name of a model."""
        sizes = np.diff(self.regions.indptr)
        known = sizes > 0
        rows = np.flatnonzero(known)
        width = max(1, _BLOCK // len(self.means) ** 2)
        blocks = [rows[start : start + width] for start in range(0, len(rows), width)]
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        parts = parallel(delayed(self._block)(block) for block in blocks)
        distances = np.empty((len(rows), self.operator.shape[0]))
        scores = {"mean_dissimilarity": np.empty(len(rows))}
        if self.splits:
            scores["noise_ceiling"] = np.empty(len(rows))
        counts = {}
        for name, of_model in features.items():
            value = np.empty(len(rows))
            counts[name] = NullCounts.start(value, of_model.shape[1] - 1)
        for start, (part, ceiling) in zip(
            range(0, len(rows), width), parts, strict=True
        ):
            some = slice(start, start + len(part))
            distances[some] = part
            scores["mean_dissimilarity"][some] = part.mean(axis=1)
            if ceiling is not None:
                scores["noise_ceiling"][some] = ceiling
            compared = comparison_features(part, self.method)
            for name, of_model in features.items():
                agreement = round_ties(compared @ of_model)
                counts[name].score[some] = agreement[:, 0]
                counts[name].add(agreement[:, 1:], 0, some)
        for name, count in counts.items():
            scores[f"{name}_correlation"] = count.score
            if len(count.maxima):
                scores[f"{name}_p_value"] = count.p_value()
                scores[f"{name}_p_value_fwe"] = count.p_value_fwe()
        spread = spread_known(known, scores | {"": distances})
        everywhere = spread.pop("")
        return spread, everywhere, {n: c.maxima for n, c in counts.items()}

    def _block(self, rows):
        """Return the distances of some regions, and the noise ceiling (or None)."""
        products = np.stack([self._products(row) for row in rows], axis=1)
        distances = (self.operator @ products).T
        if not self.splits:
            return distances, None
        halved = [tuple((half @ products).T for half in split) for split in self.splits]
        return distances, ceiling_of_halves(distances, halved, self.method)

    def _products(self, row):
        """Return inner products of a region's means over its voxels, flat."""
        start, stop = self.regions.indptr[row : row + 2]
        features = self.regions.indices[start:stop]
        patterns = self.means[:, features].astype(float)
        if self.whitener is not None:
            patterns = self.whitener(features, patterns)
        return (patterns @ patterns.T).ravel() / len(features)
