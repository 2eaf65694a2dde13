"""Conditions and confounds of samples: ``--train A --test B``, ``--trial-confound``."""

from dataclasses import replace
from typing import Any

from neuroextrap.cli._console import say
from neuroextrap.cli._results import cost_of_regions, write_region_maps

# stands between class and condition; no entry of a tab-separated table has it
_BETWEEN = "\t"


def check_conditions(args):
    """Raise ValueError if only one of two conditions is named."""
    if (args.train is None) != (args.test is None) or (args.train and args.test_runs):
        raise ValueError(
            "--train and --test name two conditions of --conditions-column, without "
            f"--test-runs; got {args.train}, {args.test} and runs {args.test_runs}"
        )


def relabeled(imgs, events, column, excluded, label):
    """Return tables of events with other labels, one table if there is only one.

    ``label(shown, entries, given, name)`` makes the labels of a table called `name` of
    those it has, its entries in a column ("" for none), and which rows are `given`:
    have a label that is not `excluded`.
    """
    from neuroextrap.images._events import event_labels
    from neuroextrap.images._labeled_samples import read_tables

    _, tables = read_tables(imgs, events)
    for table, name in tables:
        shown, entries = table["trial_type"], event_labels(table, name, column)
        given = (shown != "") & ~shown.isin(excluded)
        table["trial_type"] = label(shown, entries, given, name)
    only = [table for table, _ in tables]
    return only if len(only) > 1 else only[0]


def events_by_condition(imgs, events, column, excluded):
    """Return tables of events whose conditions are written behind their classes.

    So that volumes of a class in two conditions are not averaged. Rows without an entry
    in the column, and of classes that are `excluded`, stay as they are.
    """

    def label(shown, where, given, _):
        return shown.mask(given & (where != ""), shown + _BETWEEN + where)

    return relabeled(imgs, events, column, excluded, label)


def split_conditions(labels):
    """Return the classes and the conditions that labels are written of."""
    import numpy as np

    parts = np.array([label.partition(_BETWEEN)[::2] for label in labels.tolist()])
    return parts[:, 0], parts[:, 1]


def run_cross(args, light, samples, data, bids, origin):
    """Train in one condition and test in the other; write maps, table and page."""
    from neuroextrap.decoding import cross_identification
    from neuroextrap.design._cross_folds import cross_samples

    pair = {"train": args.train, "test": args.test}
    _, y, runs, conditions = data
    cross_samples(y, runs, conditions, light.classes, pair)  # refused before the work
    if args.dry_run:
        untested = light.__class__(**light.get_params()).set_params(n_permutations=0)
        cost = untested.estimate_cost(*data[:3])
        exchanges = {"n_permutations": light.n_permutations}
        say(cost_of_regions(cost | exchanges, None))
        return
    maps = cross_identification(light, *data, **pair, order=samples.order)
    maps.bg_img_ = samples.bg_img
    shown = ("accuracy", "p_value", "p_value_fwe")
    say(write_region_maps(maps, maps, args, shown, bids=bids, origin=origin))


def check_confound(args):
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


def confound_of_samples(imgs, events, options, column):
    """Return the entry of a column of the events for every sample, numbers if all are.

    `options` are the SampleOptions by which samples are made.
    """
    import numpy as np

    from neuroextrap.images._event_samples import labels_of_samples

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


def run_confound(args, light, samples, data, **about):
    """Ask three ways about the confound; write maps, table and page."""
    from neuroextrap.decoding import trial_confound

    if args.dry_run:
        say(cost_of_regions(light.estimate_cost(*data[:3], order=samples.order), None))
        return
    maps: Any = trial_confound(
        light, *data, stratum_size=args.stratum_size, order=samples.order
    )
    maps.bg_img_ = samples.bg_img
    shown = ("accuracy", "p_value_fwe", "unrestricted_p_value_fwe")
    written = write_region_maps(maps, maps, args, shown, **about)
    say(f"{maps.summary_}\n{written}")
