"""Values that hold several parameters, and copies of analyses with others.

Nothing heavy is imported, so that the command line starts fast.
"""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from neuroextrap._parameter_table import PARAMETERS, RESOURCE, parameters, resources

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class Regions:
    """Which regions are analyzed, where a radius or an atlas does not say it all.

    Parameters
    ----------
    regions : sparse matrix of shape (n_regions, n_features) or None, default=None
        Members of the regions, if they are neither spheres nor those of an atlas.
    n_nearest : int or None, default=None
        If given, regions are the n_nearest voxels to each center, instead of spheres.
    stride : int, default=1
        Every stride-th voxel along each axis is the center of a region.
    min_voxels : int, default=2
        Regions with fewer usable voxels are NaN.

    Examples
    --------
    The hundred nearest voxels to every second voxel:

    >>> from neuroextrap.analysis import Regions
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> regions = Regions(n_nearest=100, stride=2)
    >>> searchlight = IdentificationSearchLight("mask.nii.gz", regions=regions)
    """

    regions: Any = None
    n_nearest: int | None = None
    stride: int = 1
    min_voxels: int = 2


@dataclass(frozen=True, eq=False)
class Curves:
    """At which set sizes accuracy is computed, and of which classifiers.

    Parameters
    ----------
    set_sizes : sequence of int or None, default=None
        Numbers of classes to choose from, of curves and implied information. If None,
        all of 2..K up to K = 32, else at most 32, log-spaced; 8 if they are measured.
    curves : {"trained_on_all", "measured"}, default="trained_on_all"
        Of which classifiers accuracy among k < K classes is. "trained_on_all": of those
        trained on all K. For a marginal classifier ("nearest_centroid", "gaussian_nb",
        "nearest_neighbor") training on k of them would be the same. For others it may
        differ by any amount; "measured" then trains and tests them on random subsets
        of k classes, the same in all regions, in about the time of 3 to 13 maps.
        P-values, accuracy among all K classes and lower bounds do not change.
    n_partitions : int, default=2
        How often the classes are divided at random into disjoint subsets of k (if k
        exceeds K / 2, how often k of them are drawn).

    Examples
    --------
    >>> from neuroextrap.analysis import Curves
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> searchlight = IdentificationSearchLight(
    ...     estimator="lda", set_sizes=Curves(curves="measured")
    ... )
    """

    set_sizes: Any = None
    curves: str = "trained_on_all"
    n_partitions: int = 2


@dataclass(frozen=True)
class Bounds:
    """Which lower confidence bounds are computed, and how.

    Parameters
    ----------
    bounds : {"auto", "forward", "folds", None}, default="auto"
        Where the lower bounds come from. "forward": additional tests that train on the
        earlier runs and test on the next, in every cyclic order of the runs, so that
        every run counts; runs that lack a class are joined with the next. "folds": the
        folds of ``cv``, which count as a single test because they share training data.
        "auto" is "forward" if folds leave out whole runs or partition the samples, and
        "folds" otherwise (``notes_`` says so); a single train/test split is tested as
        it is. None computes no bounds.
    test_units : {"samples", "runs"}, default="samples"
        Units that the bounds treat as independent given the classes: every test sample
        (or block), or only whole runs, for trials that depend on others of their run.
        With ``within_runs``, whole runs are always used.
    e_value_order : {"cyclic", "chronological"}, default="cyclic"
        Orders of the runs behind ``e_value``: the mean over all cyclic orders, or only
        the order of the samples. With "chronological" and ``first_tested_run`` fixed
        beforehand more runs may be added after looking, as long as all else stays as it
        was; do not decide by runs that lack a class, which wait for the next ones. It
        needs ``groups``. Estimators that choose a penalty or a least variance without
        labels ("lda", "ridge", "qda", "gaussian_nb") then take it, in these tests and
        those of the bounds, from the runs before the first tested one.
    first_tested_run : int, default=2
        First run, counted from 1, that chronological e-values test, however many runs
        there are; the earlier ones only train.
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.

    Examples
    --------
    >>> from neuroextrap.analysis import Bounds
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> searchlight = IdentificationSearchLight(bounds=Bounds(test_units="runs"))
    """

    bounds: str | None = "auto"
    test_units: str = "samples"
    e_value_order: str = "cyclic"
    first_tested_run: int = 2
    confidence_level: float = 0.95


@dataclass(frozen=True)
class Keep:
    """What is kept of an analysis beside its maps.

    Parameters
    ----------
    save_null : path-like or None, default=None
        A .npy file for every region's permuted statistics, float32 of shape
        (n_permutations, n_regions), for group inference and for the maps that need them
        (p_value_fwe_step_down and others); 280 MB for 70,000 regions and 1,000
        permutations, of which a few rows at a time are in memory. The file beside it
        (``null.npy.json``) identifies the analysis; keep the two together.
    per_fold : bool, default=False
        Whether to keep every fold's wins in ``fold_wins_``.

    Examples
    --------
    >>> from neuroextrap.analysis import Keep
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> searchlight = IdentificationSearchLight(keep=Keep("null.npy"))
    """

    save_null: str | PathLike[str] | None = None
    per_fold: bool = False


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """How decoders, or encoding models, are compared.

    Parameters
    ----------
    statistic : {"accuracy", "pairwise_accuracy"} or int, default="accuracy"
        Statistic that is compared; an integer k is accuracy among k candidates.
    n_permutations : int, default=1000
        Number of random exchanges; all of them where there are no more.
    two_sided : bool, default=True
        Whether a difference in either direction counts; False asks whether the first is
        better.
    n_jobs : int, default=1
        Number of joblib threads over regions. Does not affect results.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the exchanges.
    """

    statistic: str | int = "accuracy"
    n_permutations: int = 1000
    two_sided: bool = True
    n_jobs: int = 1
    random_state: "int | np.random.Generator | None" = 0

    def __post_init__(self) -> None:
        """Raise for a number of exchanges that is none, or another flag than a bool."""
        from neuroextrap.stats._validation import check_flags, check_integer

        check_integer(self.n_permutations, "n_permutations", minimum=1)
        check_flags(two_sided=self.two_sided)

    @property
    def recorded(self):
        """What results depend on, by name, but for the seed, on record by itself."""
        apart = {*resources(), "random_state"}
        return {name: value for name, value in vars(self).items() if name not in apart}


@dataclass(eq=False, repr=False, match_args=False, kw_only=True)
class RegionOptions:
    """Parameters that every analysis of regions has, after its own.

    Parameters
    ----------
    radius : float, default=8.0
        Radius of the spheres (or of the discs on a surface) in mm; a voxel whose center
        is at exactly the radius belongs to the sphere.
    labels_img : image, path or None, default=None
        Atlas whose regions are analyzed instead of spheres; label 0 is background. An
        atlas fetched by nilearn brings its names.
    regions : sparse matrix of shape (n_regions, n_features), Regions or None, \
            default=None
        Members of the regions, if they are neither spheres nor those of an atlas; or a
        choice of nearest voxels, every n-th center and fewest voxels, see
        :class:`neuroextrap.analysis.Regions`.
    process_mask_img : image, path or None, default=None
        Mask of the centers of regions, whose voxels may lie outside of it. If None,
        centers lie anywhere in the mask.
    keep : None, path-like or Keep, default=None
        What is kept beside the maps, such as the file of permuted statistics.
        See :class:`neuroextrap.analysis.Keep`.
    max_memory : str or int, default="2G"
        Memory budget of samples, regions and results (images come on top), such as "2G"
        or a number of bytes. Fewer workers start if need be, and a budget that is too
        small for one is refused. Does not affect results.
    checkpoint : path-like or None, default=None
        Folder for finished work; the same call resumes from it.
    memory : None, path or joblib.Memory, default=None
        Cache of what is read from image files and of surface discs, so that fitting
        again does not read them again; a changed file is read again. joblib keeps
        pickles there, so a folder that others can write to is refused. If None, nothing
        is cached. Does not affect results.
    n_jobs : int, default=1
        Number of joblib workers. Does not affect results.
    verbose : int, default=0
        If positive, terminals and notebooks show a progress bar; elsewhere progress
        is logged at level INFO.
    """

    radius: float = 8.0
    labels_img: Any = None
    regions: Any = None
    process_mask_img: Any = None
    keep: Any = None
    max_memory: str | int = "2G"
    checkpoint: str | PathLike | None = None
    shard: tuple[int, int] | str | None = None
    memory: Any = None
    n_jobs: int = 1
    random_state: "int | np.random.Generator | None" = 0
    verbose: int = 0


def _defaults(analysis, names):
    """Return the default of parameters by name."""
    from neuroextrap.maps._records import flat_parameters

    defaults = flat_parameters(type(analysis)())
    return {name: defaults[name] for name in names}


def of_no_places(analysis):
    """Return mask and regions, by name, as where features have no place."""
    names = [row.name for row in PARAMETERS if row.section == "regions"]
    names.remove("radius")
    return _defaults(analysis, ["mask", *names])


def of_arrays(analysis):
    """Return a copy for arrays of any few features, on one core, that keeps nothing."""
    names = [row.name for row in parameters(analysis.kind) if row.role == RESOURCE]
    names.remove("max_memory")  # by which work is divided, whatever is analyzed
    reset = of_no_places(analysis) | _defaults(analysis, names)
    return with_parameters(analysis, noise_covariance=None, **reset | {"min_voxels": 1})


def with_parameters(analysis, **changed):
    """Return a copy with parameters changed, those inside of value objects too."""
    from sklearn.base import clone

    from neuroextrap.maps._records import flat_parameters, nested_parameters

    kind, given = type(analysis), flat_parameters(analysis) | changed
    return clone(kind(**nested_parameters(kind, given)))
