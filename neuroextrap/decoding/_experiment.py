"""Everything about a run that is known before the work begins."""

from dataclasses import dataclass

import numpy as np

from neuroextrap import stats
from neuroextrap.decoding._inputs import (
    BoundDesign,
    Labels,
    bound_design,
    check_parameters,
    code_labels,
)
from neuroextrap.decoding._permutations import permuted_codes
from neuroextrap.decoding._whitening import make_whitener
from neuroextrap.images._features import FeatureData, read_features
from neuroextrap.images._region_choice import RegionChoice, choose_regions
from neuroextrap.margins._cost import estimate_memory, estimate_seconds
from neuroextrap.margins._engine import with_path
from neuroextrap.margins._folds import fold_weightings, make_design
from neuroextrap.margins._registry import resolve_classifier
from neuroextrap.margins._resources import affordable_workers
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins._task import Plan
from neuroextrap.regions._usable import UsableRegions, usable_regions


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
    samples: FeatureData
    choice: RegionChoice
    usable: UsableRegions
    bounds: BoundDesign
    plan: Plan
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
            "seconds": estimate_seconds(*data) / self.n_workers,
            "memory": estimate_memory(*data, self.n_workers),
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
    statistic = resolve_statistic(estimator.statistic, n_classes, sizes)
    kernel = resolve_classifier(estimator.estimator, shrinkage=estimator.shrinkage)
    design = make_design(labels.codes, n_classes, cv=estimator.cv, groups=labels.groups)
    codes, pairing = permuted_codes(
        labels, design, estimator.n_permutations, estimator.random_state
    )
    samples, choice, usable = _read(estimator, imgs, labels)
    bounds = bound_design(
        labels.codes,
        design,
        automatic_penalty=kernel.shrinks and kernel.shrinkage == "auto",
        confidence_level=estimator.confidence_level,
    )
    plan = Plan(
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
    plan = with_path(plan, usable.regions)
    n_workers = affordable_workers(
        samples.X,
        usable.regions,
        plan,
        max_memory=estimator.max_memory,
        n_jobs=estimator.n_jobs,
    )
    return Experiment(labels, samples, choice, usable, bounds, plan, sizes, n_workers)


def _read(estimator, imgs, labels):
    """Read the samples and choose the regions."""
    samples = read_features(
        estimator.mask,
        imgs,
        n_samples=len(labels.keep),
        keep=labels.keep,
        memory=estimator.memory,
        memory_level=estimator.memory_level,
    )
    choice = choose_regions(
        samples.masker,
        samples.X.shape[1],
        radius=estimator.radius,
        n_nearest=estimator.n_nearest,
        labels_img=estimator.labels_img,
        regions=estimator.regions,
        process_mask_img=estimator.process_mask_img,
        stride=estimator.stride,
    )
    usable = usable_regions(choice.regions, samples.usable, estimator.min_voxels)
    return samples, choice, usable


def _weightings(estimator, labels, design, bounds):
    """Return further weightings of the test points: the bound's, then each fold's."""
    if not estimator.per_fold:
        return bounds.weighting
    folds, _ = fold_weightings(labels.codes, design)
    return np.concatenate([bounds.weighting, folds])
