"""``neuroextrap group``: inference over subjects, from their maps to maps of p."""

from neuroextrap.cli._console import say
from neuroextrap.cli._cost import cost_line, seconds_of
from neuroextrap.cli._naming import bids_of_inputs
from neuroextrap.cli._origin import origin_of_command
from neuroextrap.cli._parser import (
    add_dry_run,
    add_output_options,
    take_last_as_output,
)

_EXAMPLES = """\
without --null, the mean over subjects is tested by flipping signs; with --null,
the smallest score over subjects tells in how many of the population there is
information.

Results of maps with BIDS names go to OUT/group, and their names say of what
they are: .._desc-accuracyPvaluefwe_stat.nii.gz.

examples:
  neuroextrap group --imgs sub-*/accuracy.nii.gz --baseline 0.125 group_mean
  neuroextrap group --imgs sub-*/accuracy.nii.gz --null sub-*/null.npy \\
      --mask mask.nii.gz group_prevalence
  neuroextrap group --baseline 0.125 \\
      --imgs maps/sub-*/func/sub-*_desc-accuracy_stat.nii.gz maps
"""

_ALL_VOXELS = "all voxels at once"
_TEXTS = {
    "mean": ("Mean over subjects, minus the baseline", "as the maps"),
    "t": ("One-sample t over subjects, against the baseline", "t"),
    "minimum": ("Smallest score over subjects", "as the maps"),
    "prevalence_bound": (
        "Lower confidence bound on the prevalence, every voxel by itself",
        "proportion",
    ),
    "prevalence_bound_fwe": (
        f"Lower confidence bound on the prevalence, {_ALL_VOXELS}",
        "proportion",
    ),
}
_P_VALUES = {
    "p_value": "p of the null hypothesis, every voxel by itself",
    "p_value_fwe": f"p of the null hypothesis, {_ALL_VOXELS}",
    "p_value_prevalence": "p of a prevalence of at most gamma, every voxel by itself",
    "p_value_prevalence_fwe": f"p of a prevalence of at most gamma, {_ALL_VOXELS}",
}


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "group",
        help="inference over subjects, from one map of each",
        usage="neuroextrap group --imgs A B [C ...] [options] OUT",
        description="Inference over subjects, from one map of each.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", nargs="?", metavar="OUT", help="folder for the results")
    _add_input_options(parser)
    _add_test_options(parser)
    add_output_options(parser, report=False)


def _add_input_options(parser):
    """Add the options of the maps that are analyzed."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "--imgs",
        nargs="+",
        required=True,
        metavar="IMG",
        help="maps, one for each subject",
    )
    group.add_argument(
        "--null",
        nargs="+",
        metavar="NPY",
        help="permuted maps of every subject, written by --save-null, in the order "
        "of --imgs",
    )
    group.add_argument(
        "--mask",
        metavar="IMG",
        help="voxels that are tested (default: those finite in all subjects)",
    )
    group.add_argument(
        "--allow-native-space",
        action="store_true",
        help="test voxel by voxel even if the maps lie in the subjects' own spaces "
        "(space-T1w, or different grids that are not marked as MNI)",
    )


def _add_test_options(parser):
    """Add the options of the test over subjects."""
    group = parser.add_argument_group("test")
    group.add_argument(
        "--baseline",
        type=float,
        metavar="X",
        help="mean over subjects under the null hypothesis, such as chance (default: "
        "0)",
    )
    group.add_argument(
        "--two-sided",
        action="store_true",
        help="test for means below the baseline as well as above it",
    )
    group.add_argument(
        "--gamma",
        type=float,
        metavar="P",
        help="prevalence under the null hypothesis of the test of prevalence "
        "(default: 0.5)",
    )
    group.add_argument(
        "--confidence-level",
        type=float,
        metavar="P",
        help="confidence level of the bound on the prevalence (default: 0.95)",
    )
    group.add_argument(
        "--n-permutations",
        type=int,
        metavar="N",
        help="number of sign flips (default: 1000), or of combinations of permuted "
        "maps (default: 10000)",
    )
    group.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the permutations (default: %(default)s)",
    )
    add_dry_run(group)


def run(args):
    """Test and write maps."""
    take_last_as_output(args, args.argv, ("imgs", "null"))
    _check_options(args)
    from neuroextrap.maps._files import (
        check_output_directory,
        describe_map,
        write_maps,
    )
    from neuroextrap.maps._provenance import provenance

    bids, files = bids_of_inputs(args, args.imgs, keep_desc=True)
    if args.dry_run:
        say(_cost(args))
        return
    check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    origin = origin_of_command(args, imgs=files, null=args.null, mask=args.mask)
    maps, options = _tested(args)
    about = origin.sidecar()
    about |= provenance(parameters=options, random_state=args.random_state)
    records = _records()
    metadata = {name: describe_map(records[name], about) for name in maps}
    sidecars = write_maps(
        args.out,
        maps,
        metadata,
        overwrite=args.overwrite,
        bids=bids,
        provenance=origin.record | about,
    )
    say(_summary(maps, len(args.imgs), prevalence=args.null is not None))
    say(f"maps and sidecars in {next(iter(sidecars.values())).parent}")


def _records():
    """Return the records of the maps over subjects, by name."""
    from neuroextrap.maps import MapRecord

    records = [
        MapRecord(name=name, description=description, unit=unit)
        for name, (description, unit) in _TEXTS.items()
    ]
    records += [
        MapRecord(name=name, description=description, unit="p", tail="lower")
        for name, description in _P_VALUES.items()
    ]
    return {record.name: record for record in records}


def _check_options(args):
    """Raise if an option belongs to the test that is not done."""
    options_of = {False: ("baseline", "two_sided"), True: ("gamma", "confidence_level")}
    prevalence = args.null is not None
    for name in options_of[not prevalence]:
        if getattr(args, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            needed = "does not go with --null" if prevalence else "needs --null"
            raise ValueError(f"{option} {needed}; leave it out")


def _tested(args, n_permutations=None):
    """Run the test that was asked for; return its maps and its options."""
    from neuroextrap.group import prevalence_test, sign_flip_test

    names = ["n_permutations", "baseline", "gamma", "confidence_level"]
    options = {n: getattr(args, n) for n in names if getattr(args, n) is not None}
    if n_permutations is not None:
        options["n_permutations"] = n_permutations
    names = ("mask", "random_state", "allow_native_space")
    shared = {name: getattr(args, name) for name in names}
    if args.null is not None:
        return prevalence_test(args.imgs, args.null, **shared, **options), options
    options["two_sided"] = args.two_sided
    return sign_flip_test(args.imgs, **shared, **options), options


def _cost(args):
    """Describe what the test would take."""
    import warnings

    import numpy as np

    n_permutations = args.n_permutations
    if n_permutations is None:
        n_permutations = 1000 if args.null is None else 10_000
    with warnings.catch_warnings():  # of few permutations
        warnings.simplefilter("ignore", UserWarning)
        maps, _ = _tested(args, 2)
        n_voxels = int(np.isfinite(maps["p_value"].get_fdata()).sum())
        seconds = seconds_of(lambda n: _tested(args, n), n_permutations, few=(10, 60))
    n_bytes = 8.0 * n_voxels * (4 * len(args.imgs) + 64)
    what = (
        f"{len(args.imgs)} subjects, {n_voxels} voxels, {n_permutations} permutations"
    )
    return cost_line(what, seconds, n_bytes)


def _summary(maps, n_subjects, *, prevalence):
    """Describe the results in one or two lines."""
    import numpy as np

    p = maps["p_value_fwe"].get_fdata()
    tested = np.isfinite(p)
    n_significant = int((p[tested] <= 0.05).sum())
    lines = [
        f"{n_subjects} subjects, {int(tested.sum())} voxels; smallest family-wise p "
        f"{p[tested].min():.4g}, {n_significant} voxels at or below 0.05"
    ]
    if prevalence:
        bound = maps["prevalence_bound_fwe"].get_fdata()[tested]
        lines.append(
            f"largest prevalence shown, all voxels at once: {bound.max():.3f}; "
            f"{int((bound >= 0.5).sum())} voxels in a majority of the population"
        )
    return "\n".join(lines)
