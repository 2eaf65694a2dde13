"""Which way margins are made: one table, from the classifier and the shape of the data.

Every way gives the margins of refits. The thresholds were measured, in CPU time of one
core. No option chooses: classifiers call `path_of`, and a run `with_path`, once.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.margins._kernel import AdditiveKernel
from neuroextrap.margins._plan import Plan

# fewer samples are in good hands elsewhere: many labelings at once, compiled
_MIN_SAMPLES = 1024
# classes from which products of few features beat compiled loops, and beyond which the
# matrices of classes are work for BLAS, too
_SEVERAL_CLASSES, _MANY_CLASSES = 16, 32
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
    """What decides: a design, the features of a region, and the labelings.

    ``grows`` says whether training sets grow from fold to fold.
    """

    design: Design
    n_features: float
    n_labelings: int
    grows: bool

    @property
    def parts(self) -> bool:
        """Whether every sample is tested once, by the fold that holds it out."""
        return self.design.tests_each_once

    @property
    def thin(self) -> bool:
        """Whether features are few beside the samples that a fold holds out."""
        few = self.n_features <= self.design.mean_held_out
        return few and 2 * self.n_features < self.design.n_samples

    @property
    def long(self) -> bool:
        """Whether samples are many."""
        return self.design.n_samples >= _MIN_SAMPLES

    @property
    def long_or_several_classes(self) -> bool:
        """Whether samples are many, or classes."""
        return self.long or self.design.n_classes >= _SEVERAL_CLASSES

    @property
    def long_or_fewer_features(self) -> bool:
        """Whether samples are many, or several classes at least as many as features."""
        several = max(self.n_features, _SEVERAL_CLASSES)
        return self.long or several <= self.design.n_classes

    @property
    def short(self) -> bool:
        """Whether a table of samples times test points stays in cache."""
        return self.design.n_samples * len(self.design.test) <= _MAX_TABLE

    @property
    def short_or_several(self) -> bool:
        """Whether such a table stays in cache, or serves several labelings."""
        return self.short or self.n_labelings > 1

    @property
    def products_in_cache(self) -> bool:
        """Whether the inner products of samples stay in cache."""
        return self.design.n_samples**2 <= _MAX_TABLE

    @property
    def many_small_labelings(self) -> bool:
        """Whether there are several labelings, whose indicators stay in cache."""
        n_classes, n_test = self.design.n_classes, len(self.design.test)
        size = max(self.design.n_samples, n_test) * n_classes
        small = n_classes <= _MANY_CLASSES and size <= _MAX_INDICATORS
        return small and self.n_labelings > 1


#: classifier -> ways of making a region's margins, each with what must be true of the
#: shape; the first that may be taken is
TABLE: dict[str, tuple[tuple[str, ...], ...]] = {
    "nearest_centroid": (
        ("class sums", "parts", "short"),
        ("growing folds", "grows", "products_in_cache"),
        ("class sums", "products_in_cache"),
        ("linear",),
    ),
    "gaussian_nb": (("linear",),),
    "ridge": (
        ("linear", "thin", "long_or_several_classes"),
        ("growing folds", "grows"),
        ("class sums", "short_or_several"),
        ("products",),
    ),
    "lda": (
        ("linear", "thin", "long_or_fewer_features"),
        ("growing folds", "grows"),
        ("class sums", "many_small_labelings"),
        ("products",),
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
    """Return how margins of a region are made; growing folds need a penalty."""
    grows = penalized and bool(design.chains)
    shape = Shape(design, n_features, n_labelings, grows)
    for path, *needed in TABLE.get(classifier, ()):
        if all(getattr(shape, name) for name in needed):
            return path
    return "products"


def describe_paths(plan: Plan, regions: scipy.sparse.csr_array) -> dict[str, str]:
    """Return how the plan's own tests and its forward tests are made, by name."""
    plan, sizes = with_path(plan, regions), np.diff(regions.indptr)
    tests = {"tests": plan}
    if plan.forward is not None:
        tests["forward tests"] = plan.forward_plan
    if plan.by_sums:
        return dict.fromkeys(tests, "sums over features")
    n_features = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    ways = dict.fromkeys(tests, "refits" if plan.kernel.refits else "predictions")
    for name, one in tests.items():
        if isinstance(one.design, Design) and not plan.kernel.refits:
            given = n_features, one.design, one.n_trained
            ways[name] = path_of(plan.kernel.name, *given)
    if n_subsets := sum(len(each.rows) for each in plan.subsets):
        ways["curves"] = f"{n_subsets} subsets of the classes"
    return ways


def with_path(plan: Plan, regions: scipy.sparse.csr_array) -> Plan:
    """Return a plan that says whether margins are summed over features."""
    if plan.by_sums is not None:
        return plan
    summed = replace(plan, by_sums=True)
    is_additive = isinstance(plan.kernel, AdditiveKernel) and plan.whitener is None
    return replace(plan, by_sums=is_additive and _is_faster(summed, regions))


def middle_task(plan: Plan, regions: scipy.sparse.csr_array) -> np.ndarray:
    """Return the rows of the regions of a task, in the middle of all regions."""
    filled = np.flatnonzero(np.diff(regions.indptr))
    start = max(0, (len(filled) - plan.task_size) // 2)
    return filled[start : start + plan.task_size]


def _is_faster(plan: Plan, regions: scipy.sparse.csr_array) -> bool:
    """Return whether sums over features, which overlap, beat regions one by one."""
    assert isinstance(plan.design, Design)  # additive classifiers are cross-validated
    members, n_labelings = regions[middle_task(plan, regions)], plan.n_trained
    n_features = len(np.unique(members.indices))
    if n_features * plan.size > _LARGEST_SUMS:
        return False
    n_regions = max(1, members.shape[0])
    in_region, own = members.nnz / n_regions, n_features / n_regions
    path = path_of(plan.kernel.name, in_region, plan.design)
    forward = () if plan.forward is None else (plan.forward.design,)
    n_points = sum(len(design.test) for design in (plan.design, *forward))
    n_margins = n_points * plan.design.n_classes * n_labelings
    if path == "linear":
        few = own <= _FEW_OWN and own * n_margins <= _FEW_MARGINS
        return (few and n_labelings == 1) or own * _LEAST_OVERLAP <= in_region
    n_products = plan.design.n_samples**2
    return n_margins * (own + _OF_MEMBERS * in_region) <= n_products + _MORE_PRODUCTS
