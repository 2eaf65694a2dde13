"""Which way margins are made: one table, from the classifier and the shape of the data.

Every way gives the margins of refits; they differ in what they cost. The thresholds
were measured, in CPU time of one core, with spheres, atlases and single large regions.
No option chooses, and nothing else asks: `path_of` is called by the classifiers, and
`with_path` once for a run.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.margins._kernel import AdditiveKernel
from neuroextrap.margins._plan import Plan

# fewer samples are in good hands elsewhere: many labelings at once, compiled
_MIN_SAMPLES = 1024
# classes beyond either the matrices of which are work for BLAS, not for small loops
MANY_CLASSES = 32
# numbers in a table of samples times test points that stays in cache
_MAX_TABLE = 2**18
# samples (or test points) times classes that stay in cache
_MAX_INDICATORS = 2**14
# sums over features: of this many numbers of features and of regions, beside the inner
# products of samples, of which there are so many more in the time of a call
_OF_MEMBERS, _MORE_PRODUCTS = 1 / 27, 6000
# or, without inner products, where this many regions share a feature, or where a region
# adds so few features, and so few margins of them, that calls take longer
_LEAST_OVERLAP, _FEW_OWN, _FEW_MARGINS = 8, 32, 2**15
# sums of a task hold this many numbers at most: fixed, so that the memory at hand does
# not decide a rounding
_LARGEST_SUMS = 2**27


class Shape(NamedTuple):
    """What decides: the sizes of a design and of a region, and the labelings.

    ``n_held`` are the samples that a fold holds out, on average; ``grows`` says whether
    training sets grow from fold to fold, ``parts`` whether every sample is tested once,
    by the fold that holds it out.
    """

    n_samples: int
    n_test: int
    n_classes: int
    n_features: float
    n_held: float
    n_labelings: int
    grows: bool
    parts: bool


def _few_features(shape: Shape) -> bool:
    """Whether features are few beside the samples that a fold holds out."""
    n, p = shape.n_samples, shape.n_features
    return n >= _MIN_SAMPLES and p <= shape.n_held and 2 * p < n


def _few_features_or_many_classes(shape: Shape) -> bool:
    """Whether features are few, or classes too many to invert their matrices."""
    n, p, K = shape.n_samples, shape.n_features, shape.n_classes
    enough = n >= _MIN_SAMPLES or max(p, MANY_CLASSES) <= K
    return enough and p <= shape.n_held and 2 * p < n


def _short(shape: Shape) -> bool:
    """Whether a table of samples times test points stays in cache."""
    return shape.n_samples * shape.n_test <= _MAX_TABLE


def _short_and_parted(shape: Shape) -> bool:
    """Whether the same holds, and every sample is tested once."""
    return shape.parts and _short(shape)


def _grows(shape: Shape) -> bool:
    """Whether training sets grow from fold to fold."""
    return shape.grows


def _few_and_growing(shape: Shape) -> bool:
    """Whether training sets grow, among samples whose products stay in cache."""
    return shape.grows and shape.n_samples**2 <= _MAX_TABLE


def _many_small_labelings(shape: Shape) -> bool:
    """Whether there are several labelings, whose indicators stay in cache."""
    size = max(shape.n_samples, shape.n_test) * shape.n_classes
    small = shape.n_classes <= MANY_CLASSES and size <= _MAX_INDICATORS
    return small and shape.n_labelings > 1


def _always(shape: Shape) -> bool:
    """Return True: what is left."""
    del shape
    return True


Row = tuple[str, Callable[[Shape], bool]]

#: classifier -> ways of making a region's margins; the first that holds is taken
TABLE: dict[str, tuple[Row, ...]] = {
    "nearest_centroid": (
        ("linear", _few_features),
        ("class sums", _short_and_parted),
        ("growing folds", _few_and_growing),
        ("products", _always),
    ),
    "gaussian_nb": (("linear", _few_features), ("products", _always)),
    "ridge": (
        ("linear", _few_features),
        ("growing folds", _grows),
        ("class sums", _short),
        ("products", _always),
    ),
    "lda": (
        ("linear", _few_features_or_many_classes),
        ("growing folds", _grows),
        ("class sums", _many_small_labelings),
        ("products", _always),
    ),
}


def path_of(
    classifier: str,
    n_features: float,
    design: Design,
    n_labelings: int = 1,
    *,
    penalized: bool = True,
) -> str:
    """Return how a classifier makes the margins of a region of `n_features`.

    Next to no penalty (not ``penalized``) leaves folds that grow too little precision.
    """
    shape = Shape(
        design.n_samples,
        len(design.test),
        design.n_classes,
        n_features,
        design.mean_held_out,
        n_labelings,
        penalized and bool(design.chains),
        design.tests_each_once,
    )
    rows = TABLE.get(classifier, (("products", _always),))
    return next(name for name, holds in rows if holds(shape))


def describe_paths(plan: Plan, regions: scipy.sparse.csr_array) -> dict[str, str]:
    """Return how the plan's own tests and its forward tests are made, by name."""
    plan, sizes = with_path(plan, regions), np.diff(regions.indptr)
    tests = {"tests": plan}
    if plan.forward is not None:
        tests["forward tests"] = plan.forward_plan
    if plan.by_sums:
        return dict.fromkeys(tests, "sums over features")
    n_features = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    ways = {name: _path_of_regions(one, n_features) for name, one in tests.items()}
    n_subsets = sum(len(tests.rows) for tests in plan.subsets)
    measured = {"curves": f"{n_subsets} subsets of the classes"} if n_subsets else {}
    return ways | measured


def _path_of_regions(plan: Plan, n_features: float) -> str:
    """Return how a plan makes the margins of regions of `n_features`."""
    kernel, design = plan.kernel, plan.design
    if kernel.refits or not isinstance(design, Design):
        return "refits" if kernel.refits else "predictions"
    return path_of(kernel.name, n_features, design, plan.n_trained)


def with_path(plan: Plan, regions: scipy.sparse.csr_array) -> Plan:
    """Return a plan that says how margins are made, from all regions of the run.

    By sums over features or region by region; a plan that says so already is returned
    as it is.
    """
    if plan.by_sums is not None:
        return plan
    summed = replace(plan, by_sums=True)
    return replace(plan, by_sums=plan.is_additive and _is_faster(summed, regions))


def middle_task(plan: Plan, regions: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return the regions of a task, in the middle of all regions."""
    filled = np.flatnonzero(np.diff(regions.indptr))
    start = max(0, (len(filled) - plan.task_size) // 2)
    return regions[filled[start : start + plan.task_size]]


def _is_faster(plan: Plan, regions: scipy.sparse.csr_array) -> bool:
    """Return whether sums over features are faster than regions one by one.

    They are where regions share most features and labelings are few, the fewer the
    more test points there are: inner products of samples serve all of these.
    """
    assert isinstance(plan.kernel, AdditiveKernel)
    assert isinstance(plan.design, Design)  # additive classifiers are cross-validated
    members, n_labelings = middle_task(plan, regions), plan.n_trained
    n_features = len(np.unique(members.indices))
    if n_features * plan.size > _LARGEST_SUMS:
        return False
    n_regions = max(1, members.shape[0])
    in_region, own = members.nnz / n_regions, n_features / n_regions
    path = path_of(plan.kernel.name, in_region, plan.design)
    n_points = len(plan.design.test)
    if plan.forward is not None:
        n_points += len(plan.forward.design.test)
    n_margins = n_points * plan.design.n_classes * n_labelings
    if path == "linear":
        return own * _LEAST_OVERLAP <= in_region
    if path == "products":
        few = own <= _FEW_OWN and own * n_margins <= _FEW_MARGINS
        return (few and n_labelings == 1) or own * _LEAST_OVERLAP <= in_region
    n_products = plan.design.n_samples**2
    return n_margins * (own + _OF_MEMBERS * in_region) <= n_products + _MORE_PRODUCTS
