"""Encoding models of participants: their stimuli, features and responses."""

import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
from neuroextrap.images import to_img
from neuroextrap.images._events import event_labels, read_events
from neuroextrap.images._feature_files import Photographs
from neuroextrap.images._sample_options import BETAS
from neuroextrap.margins.running._described import array_hash
from neuroextrap.stats._validation import random_generator

logger = logging.getLogger(__name__)


def encoding_data(request, participant, samples):
    """Return the EncodingData of a participant's LabeledSamples."""
    y, runs = samples.y, samples.runs
    rows, is_test, order = stimulus_rows(request, participant, y)
    design = request.stimuli
    tested = design.features.iloc[order]
    place = np.full(len(design.features), -1)
    place[order] = np.arange(len(order))
    stimuli, train = place[rows[is_test]], {}
    if design.n_folds is None:
        runs = _runs_of_tests(request, participant, stimuli, runs[is_test])
        train = {"train": _imgs(samples, ~is_test), "shown": rows[~is_test]}
        train["features"] = design.features
    return EncodingData(
        tested=tested,
        test=_imgs(samples, is_test),
        stimuli=stimuli,
        runs=runs,
        mask=samples.masker.mask_img_,
        n_folds=design.n_folds,
        **train,
    )


def stimulus_rows(request, participant, y):
    """Return the features' row of every sample, which are tested, and their order.

    `y` are the stimuli of the samples. The third array has the rows that are tested,
    in the order in which they are: with folds a random one, the same for everyone, so
    that no fold holds a single category. ValueError if nothing is left to test.
    """
    design = request.stimuli
    rows = rows_of_features(design, y)
    if design.n_folds is not None:
        order = random_generator(_seed(request)).permutation(len(design.features))
        shown = order[np.isin(order, rows)]
        if len(shown) < 2 * design.n_folds:
            raise ValueError(
                f"sub-{participant.label} saw {len(shown)} stimuli, too few for "
                f"n_folds={design.n_folds} folds of at least two; lower the number"
            )
        return rows, np.ones(len(y), dtype=bool), shown
    sets = sets_of_stimuli(
        design, [run.events for run in participant.runs if run.events]
    )
    unknown = sorted({str(name) for name in y} - sets.keys())
    if unknown:
        raise ValueError(
            f"sub-{participant.label}: stimulus {unknown[0]!r} is neither for training "
            "nor for testing; fill in the column 'set' of the events, or give folds "
            "(n_folds, --folds)"
        )
    is_test = np.array([sets[str(name)] for name in y])
    tested = np.unique(rows[is_test])
    if len(tested) < 2 or is_test.all():
        raise ValueError(
            f"sub-{participant.label} has {len(tested)} stimuli for testing and "
            f"{len(np.unique(rows[~is_test]))} for training; at least two are tested "
            "and others trained on: correct the column 'set' of the events, or give "
            "folds (n_folds, --folds)"
        )
    return rows, is_test, tested


def beta_tables(request, participant):
    """Return the tables of ready betas with stimuli for conditions, and their runs."""
    if participant.conditions is not None:
        return participant.events
    design = request.stimuli
    excluded = request.options.exclude
    tables = []
    for path in participant.events:
        table, name = read_events(path)
        labels = event_labels(table, name, design.column).copy()
        labels[table["trial_type"].isin(excluded).to_numpy()] = ""
        labels[(table["trial_type"] == "").to_numpy()] = ""
        tables.append(table.assign(trial_type=labels))
    return tables


def _imgs(samples, kept):
    """Return some of the samples as an image."""
    return to_img(samples.data[kept], samples.masker)


def _runs_of_tests(request, participant, stimuli, runs):
    """Return the runs within which the pairing is permuted, or None for none.

    Averages of repeats that lie in several runs belong to none of them.
    """
    if request.analysis.repeats == "keep":
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


def _seed(request):
    """Return the seed of the analysis, or a fixed one if there is none."""
    seed = request.analysis.random_state
    return seed if isinstance(seed, (int, np.integer)) else 0


SET = "set"
"""Column of the events that says whether a stimulus is for training or for testing."""
_SETS = ("train", "test")
_SAMPLES = (*BETAS, "betas")


@dataclass(frozen=True, kw_only=True)
class StimulusDesign:
    """What was shown, and which stimuli are tested.

    `features` is a DataFrame with the names of stimuli as its index, `column` the one
    of the events that names them. With `n_folds` every stimulus is tested once, else
    the events' column `set` says which are. `source` are the options that say where the
    features come from, for a configuration.
    """

    features: Any
    column: str = "trial_type"
    n_folds: int | None = None
    source: dict = field(default_factory=dict)

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

    @property
    def files(self):
        """The file of the features, if there is one."""
        path = self.source.get("features")
        return [] if path is None else [path]


def read_stimuli(features, column, n_folds):
    """Return a StimulusDesign; ValueError before any work if it cannot be.

    `features` is a DataFrame, the path of a table or of a folder of images, or a
    StimulusDesign without column and folds (of images and a model, say).
    """
    if n_folds is not None and (not isinstance(n_folds, int) or n_folds < 2):
        raise ValueError(f"n_folds={n_folds!r} must be an integer of at least 2")
    if not isinstance(column, str) or not column:
        raise ValueError(f"stimulus_column={column!r} must be the name of a column")
    read = features
    if isinstance(features, (str, os.PathLike)):
        read = _read(Path(features))
    elif not isinstance(features, StimulusDesign):
        read = StimulusDesign(features=features)
    if not hasattr(read.features, "columns") or stimulus_names(read.features) is None:
        raise ValueError(
            "features have no names of stimuli; give a DataFrame whose index has them, "
            "a table with a column 'stimulus', or a folder of images"
        )
    return StimulusDesign(
        features=read.features, column=column, n_folds=n_folds, source=read.source
    )


def image_features(folder, *, model="gabor", image_size=128, verbose=0):
    """Return a StimulusDesign of the images of a folder, called by their file names.

    Two names without suffix that are the same are an error. The scale of features is
    learned from all images. With `verbose` there is a progress bar.
    """
    import pandas as pd

    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder of images of stimuli; check the path")
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    paths = [path for path in paths if not path.name.startswith(".")]
    if not paths:
        raise ValueError(f"{folder} holds no images of stimuli; check the folder")
    stems = [path.stem for path in paths]
    twice = sorted({stem for stem in stems if stems.count(stem) > 1})
    if twice:
        raise ValueError(
            f"{folder} holds several files named {twice[0]}; keep one image of each "
            "stimulus"
        )
    pictures = Photographs(paths, max_size=image_size)
    features = features_of_images(pictures, model, verbose=verbose)
    logger.info("%d images, %d features", *features.shape)
    return StimulusDesign(
        features=pd.DataFrame(features, index=stems),
        source={
            "stimulus_images": str(folder),
            "model": model,
            "image_size": image_size,
        },
    )


def rows_of_features(design, names):
    """Return the row of the features for every name of a stimulus.

    A name may have a folder and a suffix that features lack (``pictures/cat.png``), as
    the column stim_file has. ValueError for names without features.
    """
    place = {str(name): row for row, name in enumerate(design.features.index)}
    rows = {}
    for name in dict.fromkeys(map(str, names)):
        known = [n for n in (name, Path(name).name, Path(name).stem) if n in place]
        rows[name] = place[known[0]] if known else None
    missing = [name for name, row in rows.items() if row is None]
    if missing:
        raise ValueError(
            f"features have no stimulus {missing[0]!r} ({len(missing)} of {len(rows)} "
            "in all); give features of every stimulus, or exclude conditions that are "
            f"none (column {design.column!r} of the events)"
        )
    names_of: dict[int | None, str] = {}
    for name, row in rows.items():
        if names_of.setdefault(row, name) != name:
            raise ValueError(
                f"stimuli {names_of[row]!r} and {name!r} have the same features "
                f"({design.features.index[row]!r}); give features of each by its whole "
                "name"
            )
    return np.array([rows[str(name)] for name in names], dtype=int)


def sets_of_stimuli(design, events):
    """Return which stimuli are tested, a dict of bool by name, by the column `set`.

    `events` are the paths of a participant's tables. ValueError if a stimulus is in
    both sets.
    """
    found: dict[str, str] = {}
    for path in dict.fromkeys(events):
        table, name = read_events(path)
        if SET not in table.columns:
            raise ValueError(
                f"{name} has no column {SET!r} that says which stimuli are for "
                "training and which for testing (train, test); add it, or give folds "
                "(n_folds, --folds)"
            )
        labels = event_labels(table, name, design.column)
        sets = event_labels(table, name, SET)
        shown = labels != ""
        known = [str(label) for label in labels[shown]]
        for label, own in zip(known, sets[shown], strict=True):
            if own != "" and found.setdefault(label, own) != own:
                raise ValueError(
                    f"{name}: stimulus {label!r} is for {own} here and for "
                    f"{found[label]} elsewhere; a stimulus that is tested must not be "
                    "trained on"
                )
    odd = sorted(set(found.values()) - set(_SETS))
    if odd:
        raise ValueError(
            f"column {SET!r} of the events must hold train and test, got "
            f"{', '.join(map(str, odd))}; correct the tables"
        )
    return {name: own == "test" for name, own in found.items()}


def _read(path):
    """Return the StimulusDesign of a table, or of a folder of images."""
    if path.is_dir():
        return image_features(path)
    return StimulusDesign(features=read_features(path), source={"features": str(path)})


def analysis_of(analysis, asked, samples):
    """Return the analysis, and the design of stimuli of an encoding model.

    `asked` are ParticipantOptions, `samples` the argument of ``analyze_participants``.
    ValueError (TypeError for something
    else than an analysis) before any work if they do not go together.
    """
    analysis = IdentificationSearchLight() if analysis is None else analysis
    features, n_folds = asked.features, asked.n_folds
    films = isinstance(analysis, ContinuousEncoding)
    if not films and (asked.test_runs is not None or asked.seconds is not None):
        raise ValueError(
            "test_runs and seconds are for a ContinuousEncoding; give one as analysis "
            "(--analysis continuous), or leave them out"
        )
    if isinstance(analysis, IdentificationSearchLight):
        if features is not None or n_folds is not None:
            raise ValueError(
                "features and n_folds are for an EncodingIdentification; give one as "
                "analysis (--analysis encoding), or leave them out"
            )
        return analysis, None
    if not films and not isinstance(analysis, EncodingIdentification):
        raise TypeError(
            f"analysis is a {type(analysis).__name__}; give an "
            "IdentificationSearchLight, an EncodingIdentification or a "
            "ContinuousEncoding, not fitted"
        )
    if features is None:
        raise ValueError(
            "analysis is an encoding model, which needs features of the "
            "stimuli; give features (--features, --stimulus-images)"
        )
    if films:
        if n_folds is not None or asked.save_null or samples == "betas":
            raise ValueError(
                "n_folds, save_null and betas are not for a ContinuousEncoding; leave "
                "them out"
            )
        column, tested = asked.stimulus_column, asked.test_runs
        return analysis, read_films(features, column, tested, asked.seconds)
    if samples not in _SAMPLES:
        raise ValueError(
            f"samples={samples!r} is not for encoding, whose responses are to single "
            f"stimuli; use {', '.join(_SAMPLES)}"
        )
    if n_folds is not None and analysis.n_permutations:
        raise ValueError(
            f"n_permutations={analysis.n_permutations} must be 0 in folds, which "
            "would be trained again for every permutation and participant; leave it "
            "out, or say by the column set of the events which stimuli are tested"
        )
    column = "trial_type" if asked.stimulus_column is None else asked.stimulus_column
    return analysis, read_stimuli(features, column, n_folds)
