"""One participant's encoding analysis: betas of trials, identified by their stimuli."""

import logging

import numpy as np

from neuroextrap.cohorts._stimuli import rows_of_features, sets_of_stimuli
from neuroextrap.encoding._trials import EncodingData, FoldData
from neuroextrap.images import to_img
from neuroextrap.images._events import event_labels, read_events
from neuroextrap.stats._validation import random_generator

logger = logging.getLogger(__name__)


def encoding_data(request, participant, samples):
    """Return the EncodingData, or FoldData, of a participant's LabeledSamples."""
    y, runs = samples.y, samples.runs
    rows, is_test, order = stimulus_rows(request, participant, y)
    design = request.stimuli
    tested = design.features.iloc[order]
    place = np.full(len(design.features), -1)
    place[order] = np.arange(len(order))
    if design.n_folds is not None:
        return FoldData(
            None,
            None,
            None,
            tested,
            _imgs(samples, is_test),
            place[rows],
            runs,
            samples.masker.mask_img_,
            n_folds=design.n_folds,
        )
    features = design.features.to_numpy()[rows[~is_test]]
    return EncodingData(
        features=features,
        train=_imgs(samples, ~is_test),
        repeated=None,  # equal rows of features stay together
        tested=tested,
        test=_imgs(samples, is_test),
        stimuli=place[rows[is_test]],
        runs=_runs_of_tests(request, participant, place[rows[is_test]], runs[is_test]),
        mask=samples.masker.mask_img_,
    )


def stimulus_rows(request, participant, y):
    """Return the features' row of every sample, which are tested, and their order.

    `y` are the stimuli of the samples. The third array has the rows that are tested,
    in the order in which they are: with folds a random one, the same for everyone, so
    that no fold holds a single category. ValueError where nothing is left to test.
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
    """Return the seed of the analysis, or a fixed one where there is none."""
    seed = request.analysis.random_state
    return seed if isinstance(seed, (int, np.integer)) else 0
