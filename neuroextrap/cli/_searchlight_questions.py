"""What a searchlight is asked: conditions, new samples, a confound, or distances.

A question reads and checks the samples, says what its answer costs, and writes it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.analysis._presentation import find_region
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.cli._parser import options_of, word_of
from neuroextrap.cli._planned_searchlight import Question, rows_by_condition
from neuroextrap.cli._results import cost_of_regions
from neuroextrap.decoding import (
    DissimilaritySearchLight,
    cross_identification,
    trial_confound,
)
from neuroextrap.design._further_tests import cross_samples
from neuroextrap.images import to_img
from neuroextrap.images._event_samples import labels_of_samples
from neuroextrap.images._events import event_labels
from neuroextrap.images._labeled_samples import read_tables
from neuroextrap.images._loading import load_samples
from neuroextrap.images._opening import image_files
from neuroextrap.margins.classifiers._classifier_names import LINEAR

# stands between class and condition; no entry of a tab-separated table has it
_BETWEEN = "\t"


def question_of(args):
    """Return what words ask; ValueError if they do not go together."""
    if (args.train is None) != (args.test is None) or (args.train and args.test_runs):
        raise ValueError(
            "--train and --test name two conditions of --conditions-column, without "
            f"--test-runs; got {args.train}, {args.test} and runs {args.test_runs}"
        )
    _check_targets(args)
    _check_confound(args)
    _check_decoder(args)
    if args.train is not None:
        pair = {"train": args.train, "test": args.test}
        return AcrossConditions(pair, args.conditions_column)
    if args.trial_confound is not None:
        return TrialConfound(args.trial_confound, args.stratum_size)
    if args.dissimilarities is not False:
        files = [] if args.dissimilarities is True else args.dissimilarities
        return Dissimilarities(files, args.agreement)
    return Identification(args.decoder, args.new_imgs, args.new_events)


@dataclass(frozen=True)
class Identification(Question):
    """Which condition, or target, was shown; of new samples by one region's decoder."""

    decoder: str | None = None
    new_imgs: Any = None
    new_events: Any = None

    def cost(self, planned):
        """Return what the analysis costs, and what is doubtful about conditions."""
        light, samples = planned.light, planned.samples
        cost = light.estimate_cost(*planned.data, order=samples.order)
        found = [] if light.kind == "targets" else planned.examined()
        return [cost_of_regions(cost, light.shard), *found]

    def answer(self, request, planned, output):
        """Fit, and write maps, tables and page."""
        light, samples, data = planned
        region, new = self._region(light, samples), None
        if self.new_imgs:  # refused before the work
            new = self._new_samples(request, samples)
        light.fit(*data, order=samples.order)
        light.bg_img_ = samples.bg_img  # before any cleaning
        if region is None:
            return output.write_analysis(light)
        return output.write_analysis(light, *_decoder_results(light, region, new))

    def _region(self, light, samples):
        """Return the index of the region that decodes, None for none."""
        if self.decoder is None:
            return None
        parameters = RunParameters.of(light)
        choice = parameters.choose_regions(samples.masker, samples.data.shape[1])
        radius = None if parameters.n_nearest is not None else light.radius
        return find_region(_parsed(self.decoder), choice, samples.masker, radius)

    def _new_samples(self, request, samples):
        """Return LabeledSamples of the new images, made as the others."""
        files = image_files(self.new_imgs)
        given = {"imgs": files, "files": files, "events": self.new_events}
        mask = samples.masker.mask_img_
        return replace(request, mask=mask, question=Question(), **given).read()[0]


def _decoder_results(light, region, new):
    """Return tables (data frames) and what writes images of one region's decoder."""
    files = {}
    for of in ("activation", "weights"):
        patterns = light.patterns(region, of=of)
        values = load_samples([*patterns.values()], light.masker_)
        image = to_img(values, light.masker_)
        files[f"decoder_{of}.nii.gz"] = image.to_filename
    outputs = pd.DataFrame({"volume": range(len(patterns)), "output": [*patterns]})
    tables = {"decoder": outputs}
    if new is not None:
        predicted = light.predict(region, to_img(new.data, light.masker_), new.runs)
        names = ["predicted"]
        if light.kind == "targets":
            names = [f"decoded_{column}" for column in range(predicted.shape[1])]
        table = pd.DataFrame({"run": new.runs, "trial_type": new.y})
        found = pd.DataFrame(predicted, columns=names)
        tables["predictions"] = pd.concat([table, found], axis=1)
    return tables, files


def _parsed(word):
    """Return a region as `find_region` takes it: an index, a name, or a place."""
    if word.isdecimal():
        return int(word)
    try:
        place = tuple(map(float, word.split(",")))
    except ValueError:
        return word
    return place if len(place) == 3 else word


@dataclass(frozen=True)
class AcrossConditions(Question):
    """What is trained in one condition and tested in another, both ways."""

    pair: dict
    column: str

    def read(self, imgs, events, mask, options):
        """Return samples of classes, not averaged over conditions, and conditions."""

        def label(shown, where, given, _):
            return shown.mask(given & (where != ""), shown + _BETWEEN + where)

        events = relabeled(imgs, events, self.column, options.excluded, label)
        samples, _ = super().read(imgs, events, mask, options)
        parts = [label.partition(_BETWEEN)[::2] for label in samples.y.tolist()]
        y, conditions = np.array(parts).T
        return replace(samples, y=y), [conditions]

    def check(self, planned):
        """Raise ValueError for conditions that cannot be compared."""
        _, y, runs, conditions = planned.data
        cross_samples(y, runs, conditions, planned.light.classes, self.pair)

    def answer(self, _, planned, output):
        """Test in each condition what was trained in the other; write the maps."""
        light, samples, data = planned
        maps = cross_identification(light, *data, **self.pair, order=samples.order)
        maps.bg_img_ = samples.bg_img
        return output.write_maps(maps, ("accuracy", "p_value", "p_value_fwe"))


@dataclass(frozen=True)
class TrialConfound(Question):
    """How much of accuracy a confound of the trials, a column of events, explains."""

    column: str
    stratum_size: int

    def read(self, imgs, events, mask, options):
        """Return the samples, and the confound of each."""
        confound = confound_of_samples(imgs, events, options, self.column)
        return super().read(imgs, events, mask, options)[0], [confound]

    def cost(self, planned):
        """Return what the analysis costs."""
        light, samples, data = planned
        return [cost_of_regions(light.estimate_cost(*data[:3], order=samples.order))]

    def answer(self, _, planned, output):
        """Ask three ways about the confound, and write the maps."""
        light, samples, data = planned
        size = self.stratum_size
        maps: Any = trial_confound(light, *data, stratum_size=size, order=samples.order)
        maps.bg_img_ = samples.bg_img
        shown = ("accuracy", "p_value_fwe", "unrestricted_p_value_fwe")
        return f"{maps.summary_}\n{output.write_maps(maps, shown)}"


@dataclass(frozen=True)
class Dissimilarities(Question):
    """How distant conditions are, and how well models (tables) tell that."""

    files: list
    agreement: str

    def check(self, planned):
        """Raise ValueError for tables that are no models."""
        self._fitted_by(planned.light)

    def _fitted_by(self, light):
        """Return the analysis of distances with the options of a searchlight."""
        names, option = [Path(file).stem for file in self.files], "--dissimilarities"
        if len(set(names)) < len(names):
            raise ValueError(
                f"{option}: models are called {', '.join(names)}, as their files; give "
                "files of other names"
            )
        tables = [rows_by_condition(file, option) for file in self.files]
        own = DissimilaritySearchLight().get_params()
        shared = {k: v for k, v in light.get_params(deep=False).items() if k in own}
        shared |= {"models": dict(zip(names, tables, strict=True)) or None}
        return DissimilaritySearchLight(**shared | {"method": self.agreement})

    def answer(self, _, planned, output):
        """Measure the distances, and write the maps."""
        light, samples, data = planned
        fitted = self._fitted_by(light).fit(*data, order=samples.order)
        fitted.maps_.bg_img_ = samples.bg_img
        later = ("n_voxels", "noise_ceiling", "mean_dissimilarity")
        shown = [name for name in fitted.region_scores_ if name not in later]
        return output.write_maps(fitted.maps_, [*shown, "mean_dissimilarity"], fitted)


def relabeled(imgs, events, column, excluded, label):
    """Return tables of events with other labels, one table if there is only one.

    ``label(shown, entries, given, name)`` makes them of labels, entries of a column,
    and which rows have a label that is not excluded.
    """
    _, tables = read_tables(imgs, events)
    for table, name in tables:
        shown, entries = table["trial_type"], event_labels(table, name, column)
        given = (shown != "") & ~shown.isin(excluded)
        table["trial_type"] = label(shown, entries, given, name)
    only = [table for table, _ in tables]
    return only if len(only) > 1 else only[0]


def confound_of_samples(imgs, events, options, column):
    """Return what a column of events says of every sample, numbers if all are."""

    def label(_, value, given, name):
        missing = np.flatnonzero(given & (value == ""))
        if len(missing):
            raise ValueError(
                f"{name}: column {column} has no entry in row {missing[0] + 1}; give "
                "every trial one, or leave it out (trial_type n/a)"
            )
        return np.where(given, value, "")

    tables = relabeled(imgs, events, column, options.excluded, label)
    plain = replace(options, exclude=(), label_column="trial_type", confounds=None)
    values, _ = labels_of_samples(imgs, tables, plain)
    try:
        return values.astype(float)
    except ValueError:  # names of levels
        return values


_OF_DISTANCES = ("n_permutations", "random_state", "n_jobs", "max_memory")
_OF_CLASSES = ("estimator", "classes", "curves", "curve_partitions")
_OF_CONDITIONS = ("train", "test", "conditions_column")


def _check_targets(args):
    """Raise if options of classes come with targets, or with distances."""
    rows = options_of("searchlight", "analysis", "resources") | options_of("cross")
    plain = {word: row.default for word, row in rows.items()} | {"test_runs": None}
    if args.targets is not None:
        words = (*_OF_CLASSES, *_OF_CONDITIONS)
        _check_unused(args, plain, words, "--targets decodes by ridge regression")
    elif args.metric != "auto":
        raise ValueError("--metric compares decoded targets; give --targets")
    if args.dissimilarities is not False:
        plain["targets"] = None
        words = [word for word in plain if word not in _OF_DISTANCES]
        _check_unused(args, plain, words, "--dissimilarities measures distances")


def _check_unused(args, plain, words, what):
    """Raise if one of some options is not at its default, what is `plain`."""
    changed = [word_of(word) for word in words if getattr(args, word) != plain[word]]
    if changed:
        raise ValueError(f"{what}, without {', '.join(changed)}")


def _check_confound(args):
    """Raise ValueError if options do not go with a confound of the trials."""
    if args.trial_confound is None:
        return
    if args.samples == "blocks":
        raise ValueError(
            "--trial-confound needs a sample of every trial, not means of conditions; "
            "give --samples lss, lsa or volumes"
        )
    if args.train is not None or args.targets is not None:
        raise ValueError("--trial-confound goes with neither --train nor --targets")
    if args.dissimilarities is not False:
        raise ValueError("--trial-confound does not go with --dissimilarities")
    if not args.n_permutations:
        raise ValueError("--trial-confound needs --n-permutations, 1000 say")


def _check_decoder(args):
    """Raise ValueError if options do not go with the decoder of a region."""
    new = bool(args.new_imgs), bool(args.new_events)
    if args.decoder is None and any(new):
        raise ValueError(
            "--new-imgs and --new-events are predicted by one region; give --decoder"
        )
    if sum(new) == 1:
        raise ValueError("--new-imgs and --new-events go together; give both")
    others = args.train, args.trial_confound, args.shard
    if args.decoder and (any(others) or args.dissimilarities is not False):
        raise ValueError(
            "--decoder does not go with --train, --trial-confound, --dissimilarities "
            "and --shard"
        )
    if args.decoder and args.targets is None and args.estimator not in LINEAR:
        raise ValueError(
            f"--decoder: {args.estimator} has no weights of voxels; give --estimator "
            "nearest_centroid, ridge or lda"
        )
