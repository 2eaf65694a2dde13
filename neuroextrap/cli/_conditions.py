"""Conditions of samples on the command line: ``--train A --test B``."""

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
