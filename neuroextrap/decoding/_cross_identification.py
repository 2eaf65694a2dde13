"""Train on one condition of an experiment and test on another."""

from __future__ import annotations

from copy import copy
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.decoding._comparable import EXTRA, taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._findings import P_VALUES, Finding, tell
from neuroextrap.design._further_tests import cross_samples
from neuroextrap.maps._identification import not_marginal_below, permutation_statistics
from neuroextrap.maps._records import described_parameters
from neuroextrap.margins._engine import choice_tables
from neuroextrap.margins.running._null import null_file
from neuroextrap.reporting._region_page import cross_page
from neuroextrap.stats._arrangements import NameExchanges, named_share
from neuroextrap.stats._null_counts import NullCounts
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._shared_options import described_by

_FEW = 4
UNUSED_ACROSS = "cv", "statistic"
"""Parameters of other folds and tests than those of two conditions."""
_UNUSED = {*UNUSED_ACROSS, *EXTRA} - {"save_null"}
_ACCURACIES = "accuracy", "train_to_test_accuracy", "test_to_train_accuracy"
_TESTED = "p_value", "p_value_fwe", "neg_log10_p_fwe"


@described_by(IdentificationSearchLight.fit)
def cross_identification(  # noqa: PLR0913
    light: Any,
    imgs: Any,
    y: ArrayLike,
    groups: ArrayLike,
    conditions: ArrayLike,
    *,
    train: Any,
    test: Any,
    order: ArrayLike | None = None,
) -> RegionMaps:
    """Identify classes in one condition by classifiers trained in another.

    Does the code carry over: from seen to imagined objects, from words to pictures,
    from one session to another? Classifiers are trained on the samples of condition
    ``train`` and tested on those of ``test``, then the other way round, in every
    region. The p-values ask whether the classes of the two conditions **correspond by
    name**: class names are exchanged between the conditions, in the same way in all
    regions.

    Parameters
    ----------
    light : IdentificationSearchLight
        A searchlight that is not fitted, and never changed: all of its options are
        used, ``n_permutations`` as the number of exchanges of names, but folds are made
        from groups and conditions, and lower bounds are not computed.
    groups : array-like of shape (n_samples,)
        Run of every sample. When a run holds both conditions, its samples are left out
        of training while it is tested; conditions that share no run train as a whole.
    conditions : array-like of shape (n_samples,)
        Condition (task, modality, session) of every sample. Samples of conditions other
        than the two are left out.
    train, test : scalar
        Names of the two conditions. Exchanging them gives the same ``accuracy`` and
        p-values.

    Returns
    -------
    maps : dict of images, or of ndarray
        Its maps (arrays of regions for array input) are ``accuracy``, the mean of both
        directions, classes weighted equally; ``train_to_test_accuracy`` and
        ``test_to_train_accuracy``; ``pairwise_accuracy``, among two classes, of
        both directions, too; ``name_agreement``, the latter minus its mean over all
        exchanges of names, in units of its standard deviation over them;
        ``accuracy_above_names``, accuracy minus its mean over all exchanges of names (1
        / number of classes), which tests over subjects take; ``n_voxels``; and with
        permutations ``p_value``, ``p_value_fwe`` and ``neg_log10_p_fwe`` of
        name_agreement. ``table_`` holds the same, one row per region,
        ``region_scores_`` the same by region; ``classes_`` are the shared classes,
        ``null_maxima_`` the largest name_agreement over regions under each of
        ``n_permutations_`` exchanges, and ``notes_`` says what limits the result. It
        makes files and a page.

    Raises
    ------
    TypeError
        When ``light`` is no IdentificationSearchLight.
    ValueError
        When a condition does not exist, both are the same, their classes have other
        names, a class has no training samples left, groups are missing, or the
        searchlight asks for what this analysis does not give.

    See Also
    --------
    temporal_generalization : The same from one moment to others.
    neuroextrap.group.sign_flip_test : The test over subjects.

    Notes
    -----
    *What is tested.* Permuted labels ask whether labels have anything to do with the
    predictions, as they have with strong but unrelated codes of a few classes, which
    are never exactly orthogonal. Here the null hypothesis is that class c of one
    condition belongs to no particular class of the other, so that all K! pairings of
    names are equally likely. ``name_agreement``
    is read, for every pairing, from one K x K table of how often class d beats the
    others at test points of class c: no classifier is trained again. All exchanges are
    used where they are no more than ``n_permutations``, else that many random ones. The
    test is exact, and its maximum over regions controls the family-wise error.

    *Few classes.* The p-value of K classes cannot be below 1 / K!. Several subjects can
    show then that a code is shared: give their maps ``accuracy_above_names`` to
    :func:`neuroextrap.group.sign_flip_test`.

    With ``within_runs`` features are centered within each condition of a run, which
    removes a response that all classes of a condition share. Penalties that are chosen
    from the data (``shrinkage="auto"``) are chosen from the samples of both conditions,
    without labels.

    References
    ----------
    Kaplan, Man & Greening 2015, "Multivariate cross-classification: applying machine
    learning techniques to characterize abstraction in neural representations",
    Frontiers in Human Neuroscience 9.

    Examples
    --------
    Six classes; two regions of ten voxels, of which only the first has one code in both
    tasks:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.decoding import cross_identification
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile(np.arange(6), 16), np.repeat(np.arange(8), 12)
    >>> task = np.tile(np.repeat(["see", "imagine"], 6), 8)
    >>> codes = {"see": rng.normal(size=(6, 20)), "imagine": rng.normal(size=(6, 20))}
    >>> codes["imagine"][:, :10] = codes["see"][:, :10]
    >>> X = rng.normal(size=(96, 20))
    >>> X += np.where((task == "see")[:, None], codes["see"][y], codes["imagine"][y])
    >>> regions = np.kron(np.eye(2), np.ones(10))
    >>> light = IdentificationSearchLight(regions=regions, n_permutations=1000)
    >>> maps = cross_identification(
    ...     light, X, y, runs, task, train="see", test="imagine"
    ... )
    >>> maps.n_permutations_, (maps["p_value_fwe"] <= 0.05).tolist()
    (719, [True, False])
    """
    parameters = taken_options(light, "cross_identification", sorted(_UNUSED))
    RunParameters.of(light)
    pair = {"train": train, "test": test}
    samples = cross_samples(y, groups, conditions, light.classes, pair)
    n_classes = len(samples.classes)
    fixed = {"cv": samples.folds, "classes": np.arange(n_classes), "keep": None}
    plain = copy(light).set_params(n_permutations=0, bounds=None, **fixed)
    run = plan_decoding(plain, imgs, samples.codes, samples.parts, order)
    exchanges = NameExchanges.of(n_classes, light.n_permutations, light.random_state)
    few = few_names(n_classes) if light.n_permutations else ()
    tell(few)
    scores, maxima = _score(run, samples.weights, exchanges, parameters["save_null"])
    return maps_of_regions(
        run,
        scores,
        parameters=described_parameters(light) | pair,
        random_state=light.random_state,
        findings=(*map(_about_pairs, run.findings), *few),
        page=cross_page,
        conditions_=pair,
        classes_=samples.classes,
        n_permutations_=len(maxima),
        null_maxima_=maxima,
    )


def _about_pairs(finding):
    """Return a Finding; about classifiers of all classes, what it means for pairs."""
    if finding.name != "not_marginal":
        return finding
    pairs = not_marginal_below(int(finding.seen), 2, ("pairwise_accuracy",))
    return pairs._replace(remedy="")


def few_names(n_classes):
    """Return a Finding where one subject's names have few pairings, 0 or 1."""
    if n_classes > _FEW:
        return ()
    least = 1 / factorial(n_classes)
    can = "cannot" if least > LEVEL else "can hardly"
    because = f"{n_classes} classes can be paired in {factorial(n_classes)} ways only"
    effect = (
        f"no p-value is below {least:.2g}, and one subject {can} show that the classes "
        "correspond"
    )
    remedy = (
        "test subjects together: give the accuracy minus 1 / number of classes of each "
        "(accuracy_above_names) to neuroextrap.group.sign_flip_test"
    )
    seen = "few_names", "note", float(n_classes), P_VALUES
    return (Finding(*seen, because, effect, remedy),)


class NamedCounts:
    """Numbers of `n` regions, or other cells, from tables in both directions."""

    def __init__(self, n, exchanges, null=None):
        self.exchanges = exchanges
        self.shares = np.full((2, 3, n), np.nan)  # of the mean, and each direction
        self.counts = NullCounts.start(np.full(n, np.nan), len(exchanges))
        self.counts.null = null

    def add(self, there, back, part):
        """Take in both kinds of tables of some cells, (n_cells, 2, K, K) each."""
        both = (there + back.swapaxes(2, 3)) / 2
        named = named_share(np.stack([both, there, back]))
        self.shares[:, :, part] = np.moveaxis(named, 2, 0)
        self.counts.score[part], permuted = self.exchanges.compared(both[:, 1])
        self.counts.add(permuted, 0, part)

    def scores(self):
        """Return numbers of every cell by name, with p-values after exchanges."""
        counts, accuracy = self.counts, self.shares[0]
        scores = dict(zip(_ACCURACIES, accuracy, strict=True))
        scores |= {"pairwise_accuracy": self.shares[1, 0]}
        n_classes = self.exchanges.names.shape[1]
        scores["accuracy_above_names"] = accuracy[0] - 1 / n_classes
        scores["name_agreement"] = counts.score
        if len(self.exchanges):
            scores |= permutation_statistics(counts, _TESTED)
        return scores


def _score(run, weights, exchanges, save_null):
    """Return numbers (n_regions,) by name, and the largest under every exchange."""
    n, given = run.choice.n_regions, (*run.data, run.analyzed, weights)
    with null_file(save_null, len(exchanges), n) as null:
        counted = NamedCounts(n, exchanges, null)
        for part, wins in choice_tables(*given, n_jobs=run.n_workers):
            counted.add(wins[:, :, 0], wins[:, :, 1], part)
    n_voxels = {"n_voxels": run.usable.n_features.astype(float)}
    return counted.scores() | n_voxels, counted.counts.maxima
