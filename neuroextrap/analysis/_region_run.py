"""One run over regions: what it needs, what it costs, what comes out."""

import json
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from neuroextrap._parameter_table import PARAMETERS, taken_by
from neuroextrap.analysis._results import RegionResults
from neuroextrap.design._findings import tell
from neuroextrap.design._permutations import few_permutations
from neuroextrap.design._tests import BoundDesign
from neuroextrap.images._caching import image_hash
from neuroextrap.images._region_choice import RegionChoice, choose_regions
from neuroextrap.maps._identification import null_statistics
from neuroextrap.maps._records import flat_parameters
from neuroextrap.maps._registry import record_of
from neuroextrap.margins._engine import identify_run, observed_margins, score_regions
from neuroextrap.margins._paths import describe_paths
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import (
    affordable_workers,
    estimate_memory,
    estimate_seconds,
    parse_memory,
    parse_shard,
)
from neuroextrap.margins._wins import InformationStatistic
from neuroextrap.margins.running._checkpoint import array_hash, identity_hash
from neuroextrap.margins.running._execution import Progress, clock
from neuroextrap.margins.running._null import null_file
from neuroextrap.regions._regions import UsableRegions, usable_regions
from neuroextrap.stats import resolution_information
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._validation import (
    brief,
    check_flags,
    check_flags_of,
    check_n_jobs,
    check_set_sizes,
    random_generator,
)


def checked_parameters(estimator):
    """Return parameters by name; raise if one is none that its table allows."""
    random_generator(estimator.random_state)
    check_flags_of(estimator)
    given = flat_parameters(estimator)
    for row in PARAMETERS:
        is_own = row.option is not None and row.name in given
        if is_own and estimator.kind in row.of:
            row.option.check(row.name, given[row.name])
    return given


class RunParameters(SimpleNamespace):
    """Parameters of an analysis of regions; checked when made."""

    @classmethod
    def of(cls, estimator):
        """Take them from an estimator, and check them before any data are read."""
        given = checked_parameters(estimator)
        check_flags(per_fold=given["per_fold"])
        if given["per_fold"] and estimator.kind != "searchlight":
            raise ValueError("per_fold=True is for a searchlight; leave it out of keep")
        parameters = cls(**given)
        parameters.check()
        return parameters

    def check(self):
        """Raise ValueError if a parameter cannot be used or two exclude each other."""
        check_n_jobs(self.n_jobs)
        parse_shard(self.shard)
        parse_memory(self.max_memory)
        if self.save_null is not None:
            self._check_null()
        given = self.checkpoint
        named = given is None or isinstance(given, (str, PathLike))
        if not named or (given is not None and Path(given).is_file()):
            raise (ValueError if named else TypeError)(
                f"checkpoint={brief(given)} must be the path of a folder, which may be "
                "new; name another"
            )

    def _check_null(self):
        """Raise if the permuted maps cannot be saved where they should be."""
        if not isinstance(self.save_null, (str, PathLike)):
            raise TypeError(
                f"keep (save_null) is {brief(self.save_null)}; give the path of a "
                ".npy file for the permuted maps, or neuroextrap.analysis.Keep(...)"
            )
        path = Path(self.save_null).expanduser()
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(
                f"keep: save_null={str(path)!r} must be a file in a folder that "
                "exists; make the folder, or name another file"
            )
        if self.n_permutations == 0:
            raise ValueError("save_null needs permutations; set n_permutations")
        if self.shard is not None:
            raise ValueError("save_null and shard do not go together; save in one run")

    def choose_regions(self, masker, n_features):
        """Return the regions, and where their values go (RegionChoice)."""
        given = taken_by(choose_regions, vars(self))
        return choose_regions(masker, n_features, **given)

    def usable_regions(self, choice, usable):
        """Drop features that are not usable, then regions with too few left."""
        return usable_regions(choice.regions, usable, self.min_voxels)

    def resolve_set_sizes(self, n_classes):
        """Return the requested set sizes, or the defaults of `n_classes` classes."""
        if self.set_sizes is None:
            return np.asarray(default_set_sizes(n_classes))
        try:
            sizes = check_set_sizes(self.set_sizes, n_classes=n_classes)
        except (TypeError, ValueError):
            sizes = np.empty(0)
        if sizes.ndim != 1 or not len(sizes):
            raise ValueError(
                f"set_sizes={brief(self.set_sizes)} must be a list of whole numbers "
                f"from 2 to the {n_classes} classes; leave it None for the default"
            )
        return sizes


logger = logging.getLogger(__name__)

# seconds from which users should know beforehand, and what to do about it
_LONG = 300.0
_FASTER = (
    "nearest_centroid, gaussian_nb, lda and ridge are not, and take seconds to minutes"
)


@dataclass(frozen=True, kw_only=True)
class RegionRun:
    """Checked data, regions and plan of one run; `test_codes` index its K `classes`."""

    parameters: RunParameters
    rows: np.ndarray
    masker: Any
    choice: RegionChoice
    usable: UsableRegions
    plan: Plan
    bounds: BoundDesign
    classes: np.ndarray
    test_codes: np.ndarray
    set_sizes: np.ndarray
    notes: tuple
    findings: tuple = ()  # of Finding
    bg_img: Any = None  # drawn under maps if there is no template
    # what was subtracted from every feature, and by what it was then multiplied
    location: np.ndarray | None = None
    scale: float = 1.0

    @cached_property
    def identity(self):
        """Hashes and texts that all parts of the run share, by name.

        Confidence level, and set sizes without effect on the statistic, are not in it.
        """
        masker, names = self.masker, self.choice.names
        identity = identify_run(*self.data) | {
            "classes": array_hash([repr(name) for name in self.classes.tolist()]),
            "test labels": array_hash(self.test_codes),
            "voxels": None if masker is None else image_hash(masker.mask_img_),
            "region names": names and array_hash(list(map(str, names))),
        }
        return json.loads(json.dumps(identity))

    @cached_property
    def n_workers(self):
        """Workers requested, or as many as the memory allows (ValueError if none)."""
        parameters, of_images = self.parameters, self.masker is not None
        given = {"max_memory": parameters.max_memory, "n_jobs": parameters.n_jobs}
        return affordable_workers(*self.data, of_images=of_images, **given)

    @property
    def analyzed(self):
        """Indices of the regions that have enough usable features."""
        return np.flatnonzero(np.diff(self.usable.regions.indptr))

    def cost(self):
        """Estimate seconds and memory (bytes) by timing a few regions, as a dict."""
        n_workers = self.n_workers  # what would not fit is not tried
        seconds = estimate_seconds(*self.data) / n_workers
        return {
            "n_regions": len(self.analyzed),
            "n_features": self.rows.shape[1],
            "n_permutations": self.plan.n_permutations,
            "seconds": seconds / self._part[1],
            "memory": estimate_memory(*self.data, n_workers),
            "paths": describe_paths(self.plan, self.usable.regions),
        }

    def margins(self, region):
        """Return the observed margins of a region by index, shape (n_test, K)."""
        return observed_margins(*self.data, region)

    def score(self):
        """Score every region; return RegionScores, and what saved null maps give."""
        parameters = self.parameters
        self._announce()
        shape = self.plan.n_permutations, self.choice.n_regions
        with null_file(parameters.save_null, *shape, self._about_null) as null:
            scores = score_regions(
                *self.data,
                n_jobs=self.n_workers,
                checkpoint=parameters.checkpoint,
                shard=parse_shard(parameters.shard),
                null=null,
                progress=Progress(parameters.verbose),
            )
            from_null = {} if null is None else self._from_null(scores.score, null)
        return scores, from_null

    def _announce(self):
        """Log beforehand how long a classifier takes that is refitted throughout."""
        if not self.plan.kernel.refits or not self.plan.n_permutations:
            return
        seconds = estimate_seconds(*self.data) / self.n_workers
        long = seconds > _LONG
        logger.log(
            logging.WARNING if long else logging.INFO,
            "about %s (h:mm:ss) for %d regions and %d permutations with n_jobs=%d, "
            "because the classifier is refitted for each of them%s",
            clock(seconds),
            len(self.analyzed),
            self.plan.n_permutations,
            self.n_workers,
            f"; {_FASTER}" if long else "",
        )

    @property
    def _about_null(self):
        """What a file of permuted maps says of itself: run and statistic."""
        return {
            "description": "Permuted statistics (n_permutations, n_regions)",
            "run": identity_hash(self.identity),
            "maps": {
                name: record_of(name).description for name in self.plan.statistic.maps
            },
        }

    def _from_null(self, score, null):
        """Return what follows from the permuted statistics of every region."""
        statistic, most = self.plan.statistic, None
        if isinstance(statistic, InformationStatistic):
            most = resolution_information(
                statistic.n_classes, len(self.test_codes), statistic.set_sizes
            )
        return null_statistics(score, null, most=most)

    def findings_of_outcomes(self):
        """Return Findings that are made of the outcomes, after the work."""
        return ()

    def results(self):
        """Score every region and return RegionResults."""
        identity = self.identity  # before the work: what cannot be hashed fails now
        scores, from_null = self.score()
        seen = self.findings_of_outcomes()
        tell(seen)
        level, forward = self.parameters.confidence_level, self.plan.forward
        few = few_permutations(self.plan.n_permutations, level)
        findings = (*self.findings, *few, *seen)
        of_bound, fold_wins = np.split(
            scores.weighted_wins, [len(self.bounds.weighting)]
        )
        return RegionResults(
            scores=replace(scores, weighted_wins=of_bound, null=None),
            choice=self.choice,
            n_voxels=self.usable.n_features,
            n_test=len(self.test_codes),
            set_sizes=self.set_sizes,
            n_repeats=self.bounds.n_repeats,
            forward=None if forward is None else forward.outcomes,
            confidence_level=level,
            notes=(*(finding.note for finding in findings), *self.notes),
            findings=findings,
            marginal=self.plan.kernel.marginal,
            **from_null,
            fold_wins=fold_wins if len(fold_wins) else None,
            identity=identity,
            parts=(self._part,),
        )

    @property
    def _part(self):
        """Which part (i, N) of the run is done, i from 1."""
        shard = parse_shard(self.parameters.shard)
        return (1, 1) if shard is None else (shard[0] + 1, shard[1])

    @property
    def data(self) -> tuple[Any, Any, Any]:
        """What the engine takes first: rows, regions and plan."""
        return self.rows, self.usable.regions, self.plan
