"""A searchlight from the words of a command to what it is fitted to."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap._parameter_table import command_words, taken_by
from neuroextrap.cli._console import logger
from neuroextrap.cli._parser import parameters_of
from neuroextrap.cli._results import cost_of_regions
from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight
from neuroextrap.design import examine
from neuroextrap.images import to_img
from neuroextrap.images._bids_runs import STRATEGIES, fmriprep_confounds
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._fits import ready_betas
from neuroextrap.images._opening import files_of
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.images._tables import numbers, read_text_table
from neuroextrap.maps._records import nested_parameters


class Planned(NamedTuple):
    """A searchlight, its LabeledSamples, and the data that it will be fitted to."""

    light: Any
    samples: Any
    data: tuple

    def examined(self):
        """Return what the examination of the design and the samples finds, in lines."""
        light, samples, _ = self
        given = taken_by(examine, light.get_params(deep=False))
        given |= {"X": samples.data, "order": samples.order}
        findings = examine(samples.y, samples.runs, **given)
        lines = [command_words(finding.line) for finding in findings]
        return lines or ["nothing doubtful was found in the design or the samples"]


class Request:
    """What one searchlight is to analyze, and how; no data have been read.

    `files` are those of the images, `of_model` says that a program's model made them,
    `light` is not fitted, `targets` are their table.
    """

    def __init__(self, args):
        self.args = args
        self.imgs, events, self.mask = ready_betas(args.imgs, args.events, args.mask)
        self.of_model = self.imgs is not args.imgs
        self.events = [events] if self.of_model else events
        named = [i if isinstance(i, str) else i.get_filename() for i in self.imgs]
        self.files = files_of(named)
        self.options = SampleOptions(**parameters_of(args, "samples"))
        self.targets = getattr(args, "targets", None)
        kind, given = IdentificationSearchLight, parameters_of(args, "searchlight")
        if self.targets is not None:
            kind = TargetSearchLight
            words = {word.partition("=")[0] for word in args.argv}
            given = parameters_of(args, "targets", given=words)
        self.light = kind(**nested_parameters(kind, given))

    @property
    def strategy(self):
        """Names of confounds of fMRIPrep, None for files or nothing."""
        named = self.options.confounds
        return named if named is not None and set(named) <= set(STRATEGIES) else None

    def read(self):
        """Return LabeledSamples, and a list of what else is known of each."""
        options = self.options
        if self.strategy is not None:
            confounds, kept = fmriprep_confounds(self.files, self.strategy)
            options = replace(options, confounds=confounds, sample_mask=kept)
        imgs, events = (
            given if len(given) > 1 else given[0] for given in (self.imgs, self.events)
        )
        return self.labeled(imgs, events, options)

    def labeled(self, imgs, events, options):
        """Return what `read` does, here of all conditions together."""
        return event_samples(imgs, events, self.mask, options), []

    def plan(self):
        """Return the Planned analysis of the samples, which are read."""
        samples, more = self.read()
        if samples.order is None and not self.of_model:  # listed in this order
            samples = replace(samples, order=range(len(samples.y)))
        self._check_runs(samples)
        logger.info(
            "%d samples of %d conditions in %d runs, %d voxels",
            len(samples.y),
            len(set(samples.y)),
            len(set(samples.runs.tolist())),
            samples.data.shape[1],
        )
        cv = self._single_split(samples)
        light = self.light.set_params(mask=samples.masker.mask_img_, cv=cv)
        y = samples.y if self.targets is None else targets_of(self.targets, samples.y)
        data = to_img(samples.data, samples.masker)
        planned = Planned(light, samples, (data, y, samples.runs, *more))
        self.check(planned)
        return planned

    def check(self, planned):
        """Raise ValueError for what cannot be answered, before any work."""

    def cost(self, planned):
        """Return lines about the cost; permutations of maps take next to no time."""
        light, n_permutations = planned.light, planned.light.n_permutations
        cost = light.set_params(n_permutations=0).estimate_cost(*planned.data[:3])
        return [cost_of_regions(cost | {"n_permutations": n_permutations})]

    def _check_runs(self, samples):
        """Raise unless there are runs to leave out, or some to test on are named."""
        if len(set(samples.runs.tolist())) < 2 and not self.args.test_runs:
            tables = [each for each in self.events or () if isinstance(each, str)]
            given = " ".join(["--events", *tables[:2]]) if tables else "--imgs"
            raise ValueError(
                f"{given}: all samples belong to one run, but one run is left out at a "
                "time; give one image and table for each run, or add a column run"
            )

    def _single_split(self, samples):
        """Return the split that --test-runs asks for, or None to leave one run out."""
        if not self.args.test_runs:
            return None
        runs, classes = samples.runs.astype(str), getattr(self.light, "classes", None)
        unknown = sorted(set(self.args.test_runs) - set(runs))
        if unknown:
            raise ValueError(
                f"--test-runs {' '.join(unknown)}: no such run; there are "
                f"{' '.join(sorted(set(runs)))}"
            )
        if classes:  # folds count the samples of the classes that are analyzed
            runs = runs[np.isin(samples.y, classes)]
        tested = np.isin(runs, self.args.test_runs)
        if tested.all():
            raise ValueError("--test-runs names every run; leave some to train on")
        return [(np.flatnonzero(~tested), np.flatnonzero(tested))]


def targets_of(file, conditions):
    """Return the target of every sample, (n_samples, n_columns), from a table."""
    table, labels = rows_by_condition(file, "--targets"), list(map(str, conditions))
    lacking = sorted(set(labels) - set(table.index))
    if lacking:
        raise ValueError(
            f"--targets {file} lacks {', '.join(lacking[:5])}; give a row for each "
            "condition, or leave them out by --exclude"
        )
    return table.loc[labels].to_numpy()


def rows_by_condition(file, option):
    """Return a table of numbers whose index are the names of conditions."""
    table = read_text_table(file, option)
    if "trial_type" not in table or table.shape[1] < 2:
        raise ValueError(
            f"{option} {file} has columns {', '.join(table.columns[:5])}; give a "
            "column trial_type and one or more columns of numbers"
        )
    table = table.set_index("trial_type").rename_axis(None)
    if table.index.has_duplicates:
        raise ValueError(
            f"{option} {file} has a condition in several rows; give one row each"
        )
    table[:] = numbers(table, f"{option} {file}")
    return table.astype(float)
