"""Options of the two steps of a cohort: its participants, and the group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any

from neuroextrap._parameter_table import taken_by
from neuroextrap.group import group_information, second_level_test
from neuroextrap.group._prevalence import PrevalenceOptions
from neuroextrap.group._subjects import MapOptions
from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._validation import brief, check_level

_NAMES = (Sequence[str], Sequence[str] | None)


def check_path(value, name):
    """Return a path as it is; TypeError for all else."""
    if not isinstance(value, (str, PathLike)):
        raise TypeError(f"{name} must be a path, got {brief(value)}")
    return value


def check_names(value, name):
    """Return names as a tuple of texts; one may come without a list."""
    if isinstance(value, (str, int)):
        value = (value,)
    value = value.tolist() if hasattr(value, "tolist") else value
    several = isinstance(value, (list, tuple))
    if not several or not all(isinstance(each, (str, int)) for each in value):
        raise TypeError(f"{name} must be a list of names, got {brief(value)}")
    return tuple(map(str, value))


@dataclass(frozen=True, kw_only=True)
class CohortOptions:
    """Which results of a cohort are made; flags are checked.

    Parameters
    ----------
    participants : sequence of str or None, default=None
        Labels, with or without "sub-". If None, all: of the derivatives, or for the
        group all who were analyzed.
    task : str or None, default=None
        Label of the task. If None, there must be one only.
    space : str or None, default=None
        Label of the space, such as "MNI152NLin2009cAsym". If None, there must be one
        only.
    report : bool, default=True
        Whether to write a page about every participant, or about the group.
    overwrite : bool, default=False
        Whether to replace earlier results, of other files or options.
    """

    participants: Sequence[str] | None = None
    task: str | None = None
    space: str | None = None
    report: bool = True
    overwrite: bool = False

    def __post_init__(self):
        """Raise TypeError for what is of another kind than its annotation says."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None and not isinstance(each.default, bool):
                value = each.default
            if each.type in _NAMES and value is not None:
                value = check_names(value, each.name)
            object.__setattr__(self, each.name, value)
        check_plain_types(self)


@dataclass(frozen=True, kw_only=True)
class ParticipantOptions(CohortOptions):
    """What is read and kept of every participant.

    Parameters
    ----------
    features : DataFrame, path-like or None, default=None
        Features of the stimuli, for an EncodingIdentification, the same for all
        participants: a table whose index has the names of stimuli, a file that
        :func:`neuroextrap.encoding.read_features` reads, or a folder of images, from
        which :class:`neuroextrap.encoding.GaborPyramid` makes features.
        For a ContinuousEncoding a folder: ``task-film_run-1_motion.tsv`` in it are the
        features, of the band "motion", of all runs whose names have these entities (of
        several files the one with most of them counts), at any rate, as in
        ``ContinuousEncoding.fit``; or, with a `stimulus_column`, ``part1_motion.tsv``
        those of the stimulus ``part1.mp4``, whose onsets count from its own.
    stimulus_column : str or None, default=None
        Column of the events that names the stimulus of a trial, such as "stim_file",
        for an EncodingIdentification (None is "trial_type") or, if files of features
        are called by stimuli, a ContinuousEncoding. A folder and a suffix that features
        lack do not count.
    n_folds : int or None, default=None
        Test every stimulus once, in this many folds (random, the same for all
        participants), by models trained on the others; without p-values. If None, the
        column ``set`` of the events says which stimuli train and which test the
        EncodingIdentification.
    test_runs : list of str, dict or None, default=None
        Labels that the names of test runs have, such as ``["run=4", "run=5"]``, for a
        ContinuousEncoding; the others train it.
    seconds : float or None, default=None
        Length of the segments of runs that are identified by a ContinuousEncoding.
    sessions : sequence of str or None, default=None
        Labels of sessions. If None, the runs of all sessions together.
    filters : dict, list of str or None, default=None
        Labels that the names of images must have, such as ``{"desc": "denoised",
        "echo": None}`` (None: names without an echo) or ``["desc=denoised", "echo="]``,
        to choose one of several versions of each run.
    filter_file : path-like or None, default=None
        JSON file of such labels, alone or as the entry "bold" of fMRIPrep's filter
        files; `filters` come before it.
    raw : path-like or None, default=None
        Data set with the tables of events. If None, `derivatives` and the data set that
        it lies in.
    save_null : bool, default=False
        Whether to keep every participant's permuted maps, from which the group's
        prevalence is inferred; needs permutations.
    shard : str or None, default=None
        "i/N" analyzes every N-th participant from the i-th on: one job of N.
    work_dir : path-like or None, default=None
        Folder for work in progress, from which a participant that was interrupted
        continues. If None, interrupted participants start again.
    dry_run : bool, default=False
        Whether to find and check everything, estimate time, and write nothing.
    """

    features: Any = None
    stimulus_column: str | None = None
    n_folds: int | None = None
    test_runs: Mapping | Sequence[str] | None = None
    seconds: float | None = None
    sessions: Sequence[str] | None = None
    filters: Mapping | Sequence[str] | None = None
    filter_file: str | PathLike | None = None
    raw: str | PathLike | None = None
    save_null: bool = False
    shard: str | None = None
    work_dir: str | PathLike | None = None
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class GroupOptions(CohortOptions, MapOptions):
    """How the group is tested; options of ``second_level_test`` among others.

    Parameters
    ----------
    contrast : str, sequence of str or None, default=None
        What is tested over participants: a column of numbers of their table ("age", a
        slope), an expression of the values of a column of text ("patients -
        controls"), or a column of text (any difference, F). Several are tested at
        once (F). If None, the mean.
    covariates : sequence of str, default=()
        Further columns, centered; ``motion`` (mean framewise displacement, mm),
        ``voxels_lost`` (proportion of the voxels of most) and ``n_runs`` need no table.
    participants_table : path-like, DataFrame or None, default=None
        Table with a column ``participant_id``. If None, the ``participants.tsv`` of
        `out` or of the data sets that it lies in.
    within : sequence of str, default=()
        Sessions or tasks of every participant that are compared, the second one
        subtracted from the first: ``("ses-2", "ses-1")``. With a contrast of groups
        that is the interaction. Four are the interaction of two factors, (first -
        second) - (third - fourth), such as ``("ses-2,task-a", "ses-1,task-a",
        "ses-2,task-b", "ses-1,task-b")``. One entry chooses it; commas join entities.
    confidence_level : float, default=0.95
        Confidence level of intervals and lower bounds.
    gamma : float, default=0.5
        Prevalence of the null hypothesis that ``p_value_prevalence`` tests.
    random_state : int, default=0
        Seed of flips and resamples.
    """

    contrast: str | Sequence[str] | None = None
    covariates: Sequence[str] = ()
    participants_table: Any = None
    within: Sequence[str] = ()
    two_sided: bool = False
    cluster_threshold: float | None = None
    tfce: bool = False
    n_permutations: int = 10_000
    confidence_level: float = 0.95
    gamma: float = 0.5
    random_state: Any = 0

    def __post_init__(self):
        """Raise also for levels that are none, asked for in the end or not."""
        super().__post_init__()
        MapOptions.__post_init__(self)
        check_level(self.confidence_level, "confidence_level")
        check_level(self.gamma, "gamma")

    @property
    def is_comparison(self):
        """Whether participants, or conditions within them, are compared."""
        return self.contrast is not None or bool(self.covariates) or len(self.cells) > 1

    @property
    def cells(self):
        """The entities of the analyses that each participant has, up to four dicts."""
        pairs = [[pair.partition("-") for pair in w.split(",")] for w in self.within]
        named = all(key and mark for p in pairs for key, mark, _ in p)
        if len(pairs) not in (0, 1, 2, 4) or not named:
            raise ValueError(
                f"within={list(self.within)} must be one, two or four of a "
                "participant's analyses, such as ses-2 ses-1"
            )
        chosen = [{key: label for key, _, label in each} for each in pairs] or [{}]
        return [{"task": self.task, "space": self.space, **each} for each in chosen]

    @property
    def shared(self):
        """The options that all analyses of the group have in common."""
        names = [each.name for each in fields(MapOptions)]
        return {name: getattr(self, name) for name in (*names, "random_state")}

    def by_kind(self, chance):
        """Return the options of every analysis of the group, by its kind."""
        # those of one, and no contrast, which the design says
        own = {n: v for n, v in vars(self).items() if n not in self.shared}
        own |= {"baseline": chance if len(self.cells) < 2 else 0.0}
        del own["contrast"]
        return {
            "accuracy": taken_by(second_level_test, own),
            "information": taken_by(group_information, own),
            "prevalence": taken_by(PrevalenceOptions, own),
        }
