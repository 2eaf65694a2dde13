"""Everything about a run that is known before the work begins."""

from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs

from neuroextrap import images, margins, regions, stats
from neuroextrap.decoding._inputs import (
    BoundDesign,
    Labels,
    bound_design,
    check_parameters,
    code_labels,
)
from neuroextrap.decoding._permutations import permuted_codes
from neuroextrap.decoding._whitening import make_whitener


@dataclass(frozen=True)
class Experiment:
    """Checked data and the plan of a run.

    Parameters
    ----------
    labels : Labels
    samples : neuroextrap.images.FeatureData
    choice : neuroextrap.images.RegionChoice
    usable : neuroextrap.regions.UsableRegions
    bounds : BoundDesign
    plan : neuroextrap.margins.Plan
    set_sizes : ndarray of int
    n_workers : int
        As many of the workers asked for as the memory allows.
    """

    labels: Labels
    samples: images.FeatureData
    choice: images.RegionChoice
    usable: regions.UsableRegions
    bounds: BoundDesign
    plan: margins.Plan
    set_sizes: np.ndarray
    n_workers: int

    def cost(self):
        """Say what the run would take, by timing a few regions.

        Returns
        -------
        cost : dict
            n_regions, n_features, n_permutations, seconds and memory (bytes).
        """
        data = self.samples.X, self.usable.regions, self.plan
        return {
            "n_regions": int((np.diff(self.usable.regions.indptr) > 0).sum()),
            "n_features": self.samples.X.shape[1],
            "n_permutations": self.plan.n_permutations,
            "seconds": margins.estimate_seconds(*data) / self.n_workers,
            "memory": margins.estimate_memory(*data, self.n_workers),
        }


def plan_experiment(estimator, imgs, y, groups):
    """Check everything and plan the run; nothing expensive but reading the data.

    Parameters
    ----------
    estimator : IdentificationSearchLight
    imgs, y, groups
        As for its ``fit``.

    Returns
    -------
    Experiment

    Raises
    ------
    ValueError
        When parameters, images, labels and groups do not fit one another.
    """
    check_parameters(estimator)
    labels = code_labels(y, estimator.classes, groups, estimator.blocks)
    n_classes = len(labels.classes)
    sizes = estimator.set_sizes
    sizes = np.asarray(stats.default_set_sizes(n_classes) if sizes is None else sizes)
    statistic = margins.resolve_statistic(estimator.statistic, n_classes, sizes)
    kernel = margins.resolve_classifier(
        estimator.classifier, shrinkage=estimator.shrinkage
    )
    design = margins.make_design(
        labels.codes, n_classes, cv=estimator.cv, groups=labels.groups
    )
    codes, pairing = permuted_codes(
        labels, design, estimator.n_permutations, estimator.random_state
    )
    samples, choice, usable = _read(estimator, imgs, labels)
    bounds = bound_design(
        labels.codes,
        design,
        automatic_penalty=_has_automatic_penalty(estimator),
        confidence_level=estimator.confidence_level,
    )
    plan = margins.Plan(
        kernel=kernel,
        design=design,
        codes=codes,
        statistic=statistic,
        pairing=pairing,
        weightings=_weightings(estimator, labels, design, bounds),
        whitener=make_whitener(
            estimator.noise_covariance, samples.masker, samples.X.shape[1]
        ),
        keep_null=estimator.save_null is not None,
    )
    n_workers = _affordable_workers(estimator, samples.X, usable.regions, plan)
    return Experiment(labels, samples, choice, usable, bounds, plan, sizes, n_workers)


def _read(estimator, imgs, labels):
    """Read the samples and choose the regions."""
    samples = images.read_features(
        estimator.mask,
        imgs,
        n_samples=len(labels.keep),
        keep=labels.keep,
        memory=estimator.memory,
        memory_level=estimator.memory_level,
    )
    choice = images.choose_regions(
        samples.masker,
        samples.X.shape[1],
        radius=estimator.radius,
        n_nearest=estimator.n_nearest,
        labels_img=estimator.labels_img,
        regions=estimator.regions,
        center_mask_img=estimator.center_mask_img,
        stride=estimator.stride,
    )
    usable = regions.usable_regions(
        choice.regions, samples.usable, estimator.min_voxels
    )
    return samples, choice, usable


def _has_automatic_penalty(estimator):
    """Whether a penalty is taken from all samples, test points included."""
    named = isinstance(estimator.classifier, str)
    shrunk = named and estimator.classifier in ("lda", "ridge", "qda")
    return shrunk and estimator.shrinkage == "auto"


def _weightings(estimator, labels, design, bounds):
    """Return further weightings of the test points: the bound's, then each fold's."""
    if not estimator.per_fold:
        return bounds.weighting
    folds, _ = margins.fold_weightings(labels.codes, design)
    return np.concatenate([bounds.weighting, folds])


def _affordable_workers(estimator, X, members, plan):
    """Return the number of workers that fits the memory budget."""
    budget = margins.parse_memory(estimator.max_memory)
    for n_workers in range(effective_n_jobs(estimator.n_jobs), 0, -1):
        if margins.estimate_memory(X, members, plan, n_workers) <= budget:
            return n_workers
    needed = margins.estimate_memory(X, members, plan, 1) / 2**30
    raise ValueError(
        f"max_memory={estimator.max_memory!r} is too little: about {needed:.1f} GiB "
        "are needed; raise it, or use fewer voxels (mask, stride) or a smaller radius"
    )


def parse_shard(shard):
    """Return (index from 0, number of parts) of a shard counted from 1.

    Parameters
    ----------
    shard : tuple of (int, int), str "i/N", or None

    Returns
    -------
    tuple of (int, int), or None
    """
    if shard is None:
        return None
    parts = shard.split("/") if isinstance(shard, str) else shard
    index, n_parts = (int(part) for part in parts)
    return index - 1, n_parts
