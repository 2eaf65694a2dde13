"""A searchlight from the words of a command to what it is fitted to."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._parameters import command_words
from neuroextrap.cli._console import logger
from neuroextrap.cli._parser import parameters_of
from neuroextrap.cli._results import cost_of_regions
from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight
from neuroextrap.design import examine
from neuroextrap.images import to_img
from neuroextrap.images._bids_runs import STRATEGIES, fmriprep_confounds
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._fits import ready_betas
from neuroextrap.images._opening import image_files
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
        names = ("cv", "classes", "n_permutations")
        given = {name: getattr(light, name) for name in names}
        given |= {"X": samples.data, "order": samples.order}
        found = examine(samples.y, samples.runs, **given)
        lines = [command_words(finding.line) for finding in found]
        return lines or ["nothing doubtful was found in the design or the samples"]


@dataclass(frozen=True)
class Question:
    """What is asked of samples; how they are read, here all conditions together."""

    def read(self, imgs, events, mask, options):
        """Return LabeledSamples, and a list of what else is known of each."""
        return event_samples(imgs, events, mask, options), []

    def check(self, planned):
        """Raise ValueError for what cannot be answered, before any work."""

    def cost(self, planned):
        """Return lines about the cost; permutations of maps take next to no time."""
        light, n_permutations = planned.light, planned.light.n_permutations
        cost = light.set_params(n_permutations=0).estimate_cost(*planned.data[:3])
        return [cost_of_regions(cost | {"n_permutations": n_permutations})]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one searchlight is to analyze, and how; no data have been read.

    `files` are those of the images, `of_model` says that a program's model made them,
    `light` is not fitted, `targets` are their table.
    """

    imgs: Any
    events: Any
    mask: Any
    files: list
    of_model: bool
    options: Any
    light: Any
    test_runs: Any
    targets: Any = None
    question: Question = Question()

    @classmethod
    def of(cls, args, question=Question()):
        """Return the request that words make; ValueError if they do not fit."""
        imgs, events, mask = ready_betas(args.imgs, args.events, args.mask)
        of_model = imgs is not args.imgs
        named = [img if isinstance(img, str) else img.get_filename() for img in imgs]
        return cls(
            imgs=imgs,
            events=[events] if of_model else events,
            mask=mask,
            files=image_files(named),
            of_model=of_model,
            options=SampleOptions(**parameters_of(args, "samples")),
            light=_light_of(args),
            test_runs=args.test_runs,
            targets=getattr(args, "targets", None),
            question=question,
        )

    @property
    def strategy(self):
        """Names of confounds of fMRIPrep, None for files or nothing."""
        named = self.options.confounds
        return named if named is not None and set(named) <= set(STRATEGIES) else None

    def read(self):
        """Return LabeledSamples, and what the question knows of each besides."""
        options = self.options
        if self.strategy is not None:
            confounds, kept = fmriprep_confounds(self.files, self.strategy)
            options = replace(options, confounds=confounds, sample_mask=kept)
        imgs, events = (
            given if len(given) > 1 else given[0] for given in (self.imgs, self.events)
        )
        return self.question.read(imgs, events, self.mask, options)

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
        return Planned(light, samples, (data, y, samples.runs, *more))

    def _check_runs(self, samples):
        """Raise unless there are runs to leave out, or some to test on are named."""
        if len(set(samples.runs.tolist())) < 2 and not self.test_runs:
            tables = [each for each in self.events or () if isinstance(each, str)]
            given = " ".join(["--events", *tables[:2]]) if tables else "--imgs"
            raise ValueError(
                f"{given}: all samples belong to one run, but one run is left out at a "
                "time; give one image and table for each run, or add a column run"
            )

    def _single_split(self, samples):
        """Return the split that --test-runs asks for, or None to leave one run out."""
        if not self.test_runs:
            return None
        runs, classes = samples.runs.astype(str), getattr(self.light, "classes", None)
        unknown = sorted(set(self.test_runs) - set(runs))
        if unknown:
            raise ValueError(
                f"--test-runs {' '.join(unknown)}: no such run; there are "
                f"{' '.join(sorted(set(runs)))}"
            )
        if classes:  # folds count the samples of the classes that are analyzed
            runs = runs[np.isin(samples.y, classes)]
        tested = np.isin(runs, self.test_runs)
        if tested.all():
            raise ValueError("--test-runs names every run; leave some to train on")
        return [(np.flatnonzero(~tested), np.flatnonzero(tested))]


def _light_of(args):
    """Return the searchlight, of conditions or of targets, that words describe."""
    kind, given = IdentificationSearchLight, parameters_of(args, "searchlight")
    if getattr(args, "targets", None) is not None:
        kind = TargetSearchLight
        given = parameters_of(args, "targets", without=("exchange",))
        if not any(word.startswith("--statistic") for word in args.argv):
            del given["statistic"]  # its default is that of classes
    return kind(**nested_parameters(kind, given))


def targets_of(file, conditions):
    """Return the target of every sample, (n_samples, n_columns), from a table."""
    table, shown = rows_by_condition(file, "--targets"), list(map(str, conditions))
    lacking = sorted(set(shown) - set(table.index))
    if lacking:
        raise ValueError(
            f"--targets {file} lacks {', '.join(lacking[:5])}; give a row for each "
            "condition, or leave them out by --exclude"
        )
    return table.loc[shown].to_numpy()


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
