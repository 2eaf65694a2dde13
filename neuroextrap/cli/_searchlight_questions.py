"""What a searchlight is asked: conditions, new samples, a confound, or distances.

A question is a Request that reads and checks the samples in its own way, says what its
answer costs, and writes it.
"""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap._parameter_table import taken_by
from neuroextrap.analysis._presentation import find_region
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.cli._planned_searchlight import Request, rows_by_condition
from neuroextrap.cli._results import cost_of_regions
from neuroextrap.decoding import (
    DissimilaritySearchLight,
    cross_identification,
    trial_confound,
)
from neuroextrap.design._further_tests import cross_samples
from neuroextrap.images import to_img
from neuroextrap.images._events import event_labels
from neuroextrap.images._loading import load_samples
from neuroextrap.images._opening import files_of
from neuroextrap.images._sample_plans import labels_of_samples, read_tables

# stands between class and condition; no entry of a tab-separated table has it
_BETWEEN = "\t"


def question_of(args):
    """Return the Request that words make."""
    if args.train is not None:
        return AcrossConditions(args)
    if args.trial_confound is not None:
        return TrialConfound(args)
    if args.dissimilarities is not False:
        return Dissimilarities(args)
    return Identification(args)


class Identification(Request):
    """Which condition, or target, was shown; of new samples by one region's decoder."""

    def cost(self, planned):
        """Return what the analysis costs, and what is doubtful about conditions."""
        light, samples, data = planned
        cost = light.estimate_cost(*data, order=samples.order)
        doubts = [] if light.kind == "targets" else planned.examined()
        return [cost_of_regions(cost, light.shard), *doubts]

    def answer(self, planned, output):
        """Fit, and write maps, tables and page."""
        light, samples, data = planned
        region, new = self._region(light, samples), None
        if self.args.new_imgs:  # refused before the work
            new = self._new_samples(samples)
        light.fit(*data, order=samples.order)
        light.bg_img_ = samples.bg_img  # before any cleaning
        if region is None:
            return output.write_analysis(light)
        return output.write_analysis(light, *_decoder_results(light, region, new))

    def _region(self, light, samples):
        """Return the index of the region that decodes, None for none."""
        if self.args.decoder is None:
            return None
        parameters = RunParameters.of(light)
        choice = parameters.choose_regions(samples.masker, samples.data.shape[1])
        radius = None if parameters.n_nearest is not None else light.radius
        return find_region(_parsed(self.args.decoder), choice, samples.masker, radius)

    def _new_samples(self, samples):
        """Return LabeledSamples of the new images, made as the others."""
        new = copy(self)
        new.imgs = new.files = files_of(self.args.new_imgs)
        new.events, new.mask = self.args.new_events, samples.masker.mask_img_
        return new.read()[0]


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
        decoded = pd.DataFrame(predicted, columns=names)
        tables["predictions"] = pd.concat([table, decoded], axis=1)
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


class AcrossConditions(Request):
    """What is trained in one condition and tested in another, both ways."""

    @property
    def pair(self):
        """Both conditions, by what is done with them first."""
        return {"train": self.args.train, "test": self.args.test}

    def labeled(self, imgs, events, options):
        """Return samples of classes, not averaged over conditions, and conditions."""

        def label(labels, where, given, _):
            return labels.mask(given & (where != ""), labels + _BETWEEN + where)

        column = self.args.conditions_column
        events = relabeled(imgs, events, column, options.excluded, label)
        samples, _ = super().labeled(imgs, events, options)
        parts = [label.partition(_BETWEEN)[::2] for label in samples.y.tolist()]
        y, conditions = np.array(parts).T
        return replace(samples, y=y), [conditions]

    def check(self, planned):
        """Raise ValueError for conditions that cannot be compared."""
        _, y, runs, conditions = planned.data
        cross_samples(y, runs, conditions, planned.light.classes, self.pair)

    def answer(self, planned, output):
        """Test in each condition what was trained in the other; write the maps."""
        light, samples, data = planned
        maps = cross_identification(light, *data, **self.pair, order=samples.order)
        maps.bg_img_ = samples.bg_img
        return output.write_maps(maps, ("accuracy", "p_value", "p_value_fwe"))


class TrialConfound(Request):
    """How much of accuracy a confound of the trials, a column of events, explains."""

    def labeled(self, imgs, events, options):
        """Return the samples, and the confound of each."""
        column = self.args.trial_confound
        confound = confound_of_samples(imgs, events, options, column)
        return super().labeled(imgs, events, options)[0], [confound]

    def cost(self, planned):
        """Return the cost, permutations included."""
        light, samples, data = planned
        return [cost_of_regions(light.estimate_cost(*data[:3], order=samples.order))]

    def answer(self, planned, output):
        """Ask three ways about the confound, and write the maps."""
        light, samples, data = planned
        size = self.args.stratum_size
        maps: Any = trial_confound(light, *data, stratum_size=size, order=samples.order)
        maps.bg_img_ = samples.bg_img
        columns = ("accuracy", "p_value_fwe", "unrestricted_p_value_fwe")
        return f"{maps.summary_}\n{output.write_maps(maps, columns)}"


class Dissimilarities(Request):
    """How distant conditions are, and how well models (tables) tell that."""

    def check(self, planned):
        """Raise ValueError for tables that are no models."""
        self._fitted_by(planned.light)

    def _fitted_by(self, light):
        """Return the analysis of distances with the options of a searchlight."""
        option, given = "--dissimilarities", self.args.dissimilarities
        models = [] if given is True else given
        names = [Path(file).stem for file in models]
        if len(set(names)) < len(names):
            raise ValueError(
                f"{option}: models are called {', '.join(names)}, as their files; give "
                "files of other names"
            )
        tables = [rows_by_condition(file, option) for file in models]
        shared = taken_by(DissimilaritySearchLight, light.get_params(deep=False))
        shared |= {"models": dict(zip(names, tables, strict=True)) or None}
        return DissimilaritySearchLight(**shared | {"method": self.args.agreement})

    def answer(self, planned, output):
        """Measure the distances, and write the maps."""
        light, samples, data = planned
        fitted = self._fitted_by(light).fit(*data, order=samples.order)
        fitted.maps_.bg_img_ = samples.bg_img
        later = ("n_voxels", "noise_ceiling", "mean_dissimilarity")
        columns = [name for name in fitted.region_scores_ if name not in later]
        return output.write_maps(fitted.maps_, [*columns, "mean_dissimilarity"], fitted)


def relabeled(imgs, events, column, excluded, label):
    """Return tables of events with other labels, one table if there is only one.

    ``label(shown, entries, given, name)`` makes them of labels, entries of a column,
    and which rows have a label that is not excluded.
    """
    _, tables = read_tables(imgs, events)
    for table, name in tables:
        labels, entries = table["trial_type"], event_labels(table, name, column)
        given = (labels != "") & ~labels.isin(excluded)
        table["trial_type"] = label(labels, entries, given, name)
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
