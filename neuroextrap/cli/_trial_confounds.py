"""A confound of the trials on the command line: ``--trial-confound COLUMN``."""

from dataclasses import replace
from typing import Any

from neuroextrap.cli._conditions import relabeled
from neuroextrap.cli._console import say
from neuroextrap.cli._results import cost_of_regions, write_region_maps


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
