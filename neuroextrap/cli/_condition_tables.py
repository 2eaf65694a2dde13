"""Conditions, confounds, targets and distances of a searchlight, from tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from neuroextrap.analysis._options import one_of, path, paths
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import options_of, parameters_of
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
    from neuroextrap.design._further_tests import cross_samples

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


TARGETS = {
    "targets": path(
        "decode numbers or vectors instead of conditions: a table with a row for each "
        "condition, a column trial_type, and columns of numbers",
        "TSV",
        said="conditions are identified",
    ),
    "metric": options_of("targets", "analysis")["metric"],
    "dissimilarities": paths(
        "measure cross-validated distances between conditions instead, and compare "
        "them with these models: square tables with a row and a column for each "
        "condition, and a column trial_type; without a table, distances only",
        "TSV",
        said="conditions are identified",
    )._replace(default=False),
    "agreement": one_of(
        "how distances are compared with models: by rank correlation, Kendall's tau-a, "
        "or cosine",
        "spearman kendall cosine",
        "spearman",
    ),
}
_OF_DISTANCES = ("n_permutations", "random_state", "n_jobs", "max_memory")
_OF_CLASSES = ("estimator", "classes", "curves", "curve_partitions")
_OF_CONDITIONS = ("train", "test", "conditions_column")


def check_targets(args):
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
    changed = [word for word in words if getattr(args, word) != plain[word]]
    if changed:
        listed = ", ".join("--" + word.replace("_", "-") for word in changed)
        raise ValueError(f"{what}, without {listed}")


def model_files(args):
    """Return the tables of models of distances, None if none are named."""
    return args.dissimilarities if isinstance(args.dissimilarities, list) else None


def run_dissimilarities(args, light, samples, data, **about):
    """Measure distances between conditions; write maps, tables and page."""
    from neuroextrap.decoding import DissimilaritySearchLight

    files = model_files(args) or []
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        raise ValueError(
            f"--dissimilarities: models are called {', '.join(names)}, as their files; "
            "give files of other names"
        )
    own = DissimilaritySearchLight().get_params()
    shared = {k: v for k, v in light.get_params(deep=False).items() if k in own}
    option = "--dissimilarities"
    models = {n: _by_condition(f, option) for n, f in zip(names, files, strict=True)}
    fitted = DissimilaritySearchLight(
        **shared | {"models": models or None, "method": args.agreement}
    )
    if args.dry_run:
        cost = light.set_params(n_permutations=0).estimate_cost(*data)
        say(cost_of_regions(cost | {"n_permutations": args.n_permutations}, None))
        return
    fitted.fit(*data, order=samples.order)
    fitted.maps_.bg_img_ = samples.bg_img
    later = ("n_voxels", "noise_ceiling", "mean_dissimilarity")
    shown = [name for name in fitted.region_scores_ if name not in later]
    shown += ["mean_dissimilarity"]
    say(write_region_maps(fitted.maps_, fitted, args, shown, **about))


def _by_condition(file, option):
    """Return a table of numbers with a row for each condition, and its name (index)."""
    from neuroextrap.images._tables import numbers, read_text_table

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


def decoder_of_targets(args, light):
    """Return the analysis of targets with the options of a command."""
    from neuroextrap.decoding import TargetSearchLight
    from neuroextrap.maps._records import nested_parameters

    given = parameters_of(args, "targets", without=("exchange",))
    if not any(word.startswith("--statistic") for word in args.argv):
        del given["statistic"]  # its default is that of classes
    decoder = TargetSearchLight(**nested_parameters(TargetSearchLight, given))
    return decoder.set_params(mask=light.mask, cv=light.cv)


def targets_of(file, conditions):
    """Return the target of every sample, (n_samples, n_columns), from a table."""
    table, shown = _by_condition(file, "--targets"), list(map(str, conditions))
    lacking = sorted(set(shown) - set(table.index))
    if lacking:
        raise ValueError(
            f"--targets {file} lacks {', '.join(lacking[:5])}; give a row for each "
            "condition, or leave them out by --exclude"
        )
    return table.loc[shown].to_numpy()
