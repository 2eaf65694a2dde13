"""Names of the classifiers that have batched margins."""

from neuroextrap.margins._estimator_margins import EstimatorMargins
from neuroextrap.margins._lda import LDAMargins
from neuroextrap.margins._naive_bayes import GaussianNBMargins
from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
from neuroextrap.margins._nearest_neighbor import NearestNeighborMargins
from neuroextrap.margins._qda import QDAMargins
from neuroextrap.margins._ridge import RidgeMargins

CLASSIFIERS = {
    "gaussian_nb": GaussianNBMargins,
    "lda": LDAMargins,
    "nearest_centroid": NearestCentroidMargins,
    "nearest_neighbor": NearestNeighborMargins,
    "qda": QDAMargins,
    "ridge": RidgeMargins,
}

_SHRUNK = frozenset({"lda", "ridge", "qda"})


def resolve_classifier(classifier, *, shrinkage="auto"):
    """Return the margin kernel that a name or a scikit-learn classifier stands for.

    Parameters
    ----------
    classifier : str or scikit-learn classifier
        A key of ``CLASSIFIERS``, or any classifier with ``decision_function`` or
        ``predict_proba`` (slow: refitted for every region, fold and labeling).
    shrinkage : "auto" or float
        Passed to the classifiers that shrink.

    Returns
    -------
    kernel : object with ``prepare`` and ``margins``
        Margins of regions in batches.

    Raises
    ------
    ValueError
        When the name is unknown or the classifier has no scores.

    Examples
    --------
    >>> from neuroextrap.margins._registry import resolve_classifier
    >>> resolve_classifier("nearest_centroid")
    NearestCentroidMargins()
    """
    if not isinstance(classifier, str):
        return EstimatorMargins(classifier)
    if classifier not in CLASSIFIERS:
        raise ValueError(
            f"estimator={classifier!r} is not known; use one of "
            f"{', '.join(sorted(CLASSIFIERS))}, or a scikit-learn classifier"
        )
    if classifier in _SHRUNK:
        return CLASSIFIERS[classifier](shrinkage=shrinkage)
    return CLASSIFIERS[classifier]()
