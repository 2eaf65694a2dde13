"""The classifiers that have names."""

from typing import Any

from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.classifiers._estimator_margins import (
    EstimatorMargins,
    LogisticMargins,
    SVCMargins,
)
from neuroextrap.margins.classifiers._lda import LDAMargins
from neuroextrap.margins.classifiers._naive_bayes import GaussianNBMargins
from neuroextrap.margins.classifiers._nearest_centroid import NearestCentroidMargins
from neuroextrap.margins.classifiers._nearest_neighbor import NearestNeighborMargins
from neuroextrap.margins.classifiers._qda import QDAMargins
from neuroextrap.margins.classifiers._ridge import RidgeMargins

_KERNELS: tuple[type[MarginKernel], ...] = (
    NearestCentroidMargins,
    GaussianNBMargins,
    LDAMargins,
    RidgeMargins,
    QDAMargins,
    NearestNeighborMargins,
    SVCMargins,
    LogisticMargins,
)

CLASSIFIERS = {kernel.name: kernel for kernel in _KERNELS}


def resolve_classifier(classifier: Any, *, shrinkage: Any = "auto") -> MarginKernel:
    """Return the kernel that a name, a kernel or a scikit-learn classifier stands for.

    A scikit-learn classifier is refitted for every region, fold and labeling. Kernels
    that are named and shrink get the ``shrinkage``.
    """
    if isinstance(classifier, MarginKernel):
        return classifier
    if not isinstance(classifier, str):
        return EstimatorMargins(classifier)
    if classifier not in CLASSIFIERS:
        raise ValueError(
            f"estimator={classifier!r} is not known; use one of "
            f"{', '.join(CLASSIFIERS)}, a MarginKernel or a scikit-learn classifier"
        )
    kernel: Any = CLASSIFIERS[classifier]
    return kernel(shrinkage=shrinkage) if kernel.shrinks else kernel()
