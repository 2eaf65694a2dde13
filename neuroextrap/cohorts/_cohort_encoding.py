"""Encoding models of participants: their stimuli, features and responses."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap._parameter_table import taken_by
from neuroextrap.analysis._analysis_files import origin_of, recorded_options
from neuroextrap.cohorts._cohort_films import read_films
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import (
    ContinuousEncoding,
    EncodingIdentification,
    read_features,
)
from neuroextrap.encoding._cost import EncodingData
from neuroextrap.encoding._stimuli import stimulus_names
from neuroextrap.encoding._stimulus_features import image_features as features_of_images
from neuroextrap.group._subjects import places_of_repeats
from neuroextrap.images import to_img
from neuroextrap.images._events import event_labels, read_events
from neuroextrap.images._feature_files import Photographs
from neuroextrap.images._sample_options import BETAS
from neuroextrap.margins.running._checkpoint import array_hash
from neuroextrap.stats._validation import random_generator

logger = logging.getLogger(__name__)


SET = "set"
"""Column of the events that says whether a stimulus is for training or for testing."""
_SAMPLES = (*BETAS, "betas")
_FOLDS = "give folds (n_folds, --folds)"


@dataclass(frozen=True, kw_only=True)
class StimulusDesign:
    """What was shown, and which stimuli are tested: all in folds, or as events say."""

    features: Any  # their index has the names of stimuli
    column: str = "trial_type"  # of the events, with these names
    n_folds: int | None = None
    source: dict = field(default_factory=dict)  # options that say where features are

    @property
    def identity(self):
        """What decides results, JSON values."""
        return {
            "features": array_hash(self.features.to_numpy()),
            "names": array_hash(self.features.index.to_numpy(dtype=str)),
            "column": self.column,
            "n_folds": self.n_folds,
        }

    @property
    def options(self):
        """The options of a configuration, and what no option says."""
        options = {
            "analysis": "encoding",
            **self.source,
            "stimulus_column": self.column,
            "folds": self.n_folds,
        }
        shape = " x ".join(map(str, self.features.shape))
        return options, {} if self.source else {"features": f"a table of {shape}"}

    def rows_of(self, names):
        """Return the row of every name, whose folder and suffix features may lack."""
        place = {str(name): row for row, name in enumerate(self.features.index)}
        rows = {}
        for name in dict.fromkeys(map(str, names)):
            own = (name, Path(name).name, Path(name).stem)
            rows[name] = next((place[n] for n in own if n in place), None)
        missing = [name for name, row in rows.items() if row is None]
        if missing:
            raise ValueError(
                f"features have no stimulus {missing[0]!r} ({len(missing)} of "
                f"{len(rows)} in all); give features of every stimulus, or exclude "
                f"conditions that are none (column {self.column!r} of the events)"
            )
        for row, first, second in places_of_repeats(rows.values()):
            raise ValueError(
                f"stimuli {list(rows)[first]!r} and {list(rows)[second]!r} have the "
                f"same features ({self.features.index[row]!r}); give features of each "
                "by its whole name"
            )
        return np.array([rows[str(name)] for name in names], dtype=int)

    def tested(self, events):
        """Return which stimuli are tested, a dict by name, as tables of events say."""
        sets: dict[str, str] = {}
        for path in dict.fromkeys(events):
            table, name = read_events(path)
            if SET not in table.columns:
                raise ValueError(
                    f"{name} has no column {SET!r} that says which stimuli are for "
                    f"training and which for testing (train, test); add it, or {_FOLDS}"
                )
            labels = event_labels(table, name, self.column)
            for label, own in zip(labels, event_labels(table, name, SET), strict=True):
                earlier = sets.setdefault(str(label), own) if label and own else own
                if earlier != own:
                    raise ValueError(
                        f"{name}: stimulus {str(label)!r} is for {own} here and for "
                        f"{earlier} elsewhere; a stimulus that is tested must not be "
                        "trained on"
                    )
        odd = sorted(set(sets.values()) - {"train", "test"})
        if odd:
            raise ValueError(
                f"column {SET!r} of the events must hold train and test, got "
                f"{', '.join(map(str, odd))}; correct the tables"
            )
        return {name: own == "test" for name, own in sets.items()}

    def tables_of(self, participant):
        """Return the tables of ready betas, and runs, with stimuli for conditions."""
        if participant.conditions is not None:
            return participant.events
        left_out, tables = [*participant.request.options.exclude, ""], []
        for path in participant.events:
            table, name = read_events(path)
            labels = event_labels(table, name, self.column).copy()
            labels[table["trial_type"].isin(left_out).to_numpy()] = ""
            tables.append(table.assign(trial_type=labels))
        return tables

    def rows_in(self, participant, y):
        """Return the row of every sample, which are tested, and their order."""
        rows, n_folds = self.rows_of(y), self.n_folds
        who = f"sub-{participant.label}"
        if n_folds is not None:
            seed = participant.request.analysis.random_state
            seed = seed if isinstance(seed, (int, np.integer)) else 0
            # the same for everyone, and random: no fold of a single category
            order = random_generator(seed).permutation(len(self.features))
            present = order[np.isin(order, rows)]
            if len(present) < 2 * n_folds:
                raise ValueError(
                    f"{who} saw {len(present)} stimuli, too few for n_folds={n_folds} "
                    "folds of at least two; lower the number"
                )
            return rows, np.ones(len(y), dtype=bool), present
        sets = self.tested([run.events for run in participant.runs if run.events])
        unknown = sorted({str(name) for name in y} - sets.keys())
        if unknown:
            raise ValueError(
                f"{who}: stimulus {unknown[0]!r} is neither for training nor for "
                f"testing; fill in the column 'set' of the events, or {_FOLDS}"
            )
        is_test = np.array([sets[str(name)] for name in y])
        tested = np.unique(rows[is_test])
        if len(tested) < 2 or is_test.all():
            raise ValueError(
                f"{who} has {len(tested)} stimuli for testing and "
                f"{len(np.unique(rows[~is_test]))} for training; at least two are "
                "tested and others trained on: correct the column 'set' of the events, "
                f"or {_FOLDS}"
            )
        return rows, is_test, tested

    def data_of(self, participant, samples):
        """Return the EncodingData of a participant's LabeledSamples."""
        rows, is_test, order = self.rows_in(participant, samples.y)
        stimuli, train = pd.Index(order).get_indexer(rows[is_test]), {}
        runs = samples.runs
        if self.n_folds is None:
            runs = _runs_of_tests(participant, stimuli, runs[is_test])
            train = {"train": to_img(samples.data[~is_test], samples.masker)}
            train |= {"train_stimuli": rows[~is_test], "features": self.features}
        return EncodingData(
            tested=self.features.iloc[order],
            test=to_img(samples.data[is_test], samples.masker),
            stimuli=stimuli,
            runs=runs,
            mask=samples.masker.mask_img_,
            n_folds=self.n_folds,
            **train,
        )

    def fit(self, participant, analysis):
        """Train an EncodingIdentification and identify; return it and its Origin."""
        request, options = participant.request, participant.options
        sources = {"imgs": participant.imgs, "events": participant.events}
        sources["features"] = self.source.get("features")
        made_by = {"n_folds": self.n_folds, **request.made_by}
        made_by |= {"samples": options.samples, "exclude": options.exclude}
        names = [] if request.of_betas else ["label_column"]
        names += ["confounds", "sample_mask"] if request.confounds else []
        made_by |= {name: getattr(options, name) for name in names}
        origin = origin_of(sources, recorded_options(made_by))
        samples = participant.samples()
        data = self.data_of(participant, samples)
        fitted = data.identify(analysis.set_params(mask=data.mask))
        fitted.bg_img_ = samples.bg_img  # of the series, before any cleaning
        return fitted, origin


def _runs_of_tests(participant, stimuli, runs):
    """Return the runs within which pairings are permuted; averages may have none."""
    if participant.request.analysis.repeats == "keep":
        return runs
    pairs = set(zip(stimuli.tolist(), runs.tolist(), strict=True))
    if len(pairs) == len(set(stimuli.tolist())):
        return runs
    logger.info(
        "sub-%s: repeats of test stimuli lie in several runs; the pairing of their "
        "averages is permuted over all of them",
        participant.label,
    )
    return None


def read_stimuli(features, stimulus_column, n_folds):
    """Return the StimulusDesign of a table, its path, or a folder of images."""
    column = "trial_type" if stimulus_column is None else stimulus_column
    if n_folds is not None and n_folds < 2:
        raise ValueError(f"n_folds={n_folds} must be an integer of at least 2")
    if not column:
        raise ValueError("stimulus_column='' must be the name of a column")
    is_path = isinstance(features, (str, os.PathLike))
    if is_path and Path(features).is_dir():
        read = image_features(Path(features))
    elif is_path:
        source = {"features": str(features)}
        read = StimulusDesign(features=read_features(Path(features)), source=source)
    elif isinstance(features, StimulusDesign):
        read = features
    else:
        read = StimulusDesign(features=features)
    if stimulus_names(read.features) is None:
        raise ValueError(
            "features have no names of stimuli; give a DataFrame whose index has them, "
            "a table with a column 'stimulus', or a folder of images"
        )
    return replace(read, column=column, n_folds=n_folds)


def image_features(folder, *, model="gabor", image_size=128, verbose=0):
    """Return a StimulusDesign of the images of a folder, called by their file names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder of images of stimuli; check the path")
    paths = [path for path in sorted(folder.glob("[!.]*")) if path.is_file()]
    if not paths:
        raise ValueError(f"{folder} holds no images of stimuli; check the folder")
    stems = pd.Index([path.stem for path in paths])
    if not stems.is_unique:
        raise ValueError(
            f"{folder} holds several files named {min(stems[stems.duplicated()])}; "
            "keep one image of each stimulus"
        )
    pictures = Photographs(paths, max_size=image_size)
    features = features_of_images(pictures, model, verbose=verbose)
    logger.info("%d images, %d features", *features.shape)
    source = {"stimulus_images": str(folder), "model": model, "image_size": image_size}
    return StimulusDesign(features=pd.DataFrame(features, index=stems), source=source)


DESIGNS: dict[str, Callable] = {
    "searchlight": lambda: None,
    "encoding": read_stimuli,
    "continuous": read_films,
}
"""What makes the design of the stimuli of each kind of analysis, of options."""
_ANALYSES = IdentificationSearchLight, EncodingIdentification, ContinuousEncoding


def analysis_of(analysis, given, samples):
    """Return the analysis, and the design of its stimuli, if `given` options fit it."""
    analysis = IdentificationSearchLight() if analysis is None else analysis
    if not isinstance(analysis, _ANALYSES):
        raise TypeError(
            f"analysis is a {type(analysis).__name__}; give an "
            "IdentificationSearchLight, an EncodingIdentification or a "
            "ContinuousEncoding, not fitted"
        )
    own = taken_by(DESIGNS[analysis.kind], vars(given))
    _check_design(own, given)
    if analysis.kind == "encoding":
        _check_stimuli(given, samples, analysis)
    elif analysis.kind == "continuous" and (given.save_null or samples == "betas"):
        raise ValueError(
            "save_null and betas are not for a ContinuousEncoding; leave them out"
        )
    return analysis, DESIGNS[analysis.kind](**own)


def _check_design(own, given):
    """Raise ValueError without features, or for an option of another's design."""
    for each in _ANALYSES:
        for name, value in taken_by(DESIGNS[each.kind], vars(given)).items():
            if name not in own and value is not None:
                raise ValueError(
                    f"{name} is for {each.__name__}; give one as analysis "
                    f"(--analysis {each.kind}), or leave it out"
                )
    if own and own["features"] is None:
        raise ValueError(
            "analysis is an encoding model, which needs features of the "
            "stimuli; give features (--features, --stimulus-images)"
        )


def _check_stimuli(given, samples, analysis):
    """Raise ValueError if options do not go with stimuli."""
    if samples not in _SAMPLES:
        raise ValueError(
            f"samples={samples!r} is not for encoding, whose responses are to single "
            f"stimuli; use {', '.join(_SAMPLES)}"
        )
    if given.n_folds is not None and analysis.n_permutations:
        raise ValueError(
            f"n_permutations={analysis.n_permutations} must be 0 in folds, which "
            "would be trained again for every permutation and participant; leave it "
            "out, or say by the column set of the events which stimuli are tested"
        )
