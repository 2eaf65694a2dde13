"""``neuroextrap group``: inference over subjects, from their maps to maps of p."""

from neuroextrap.cli._console import say
from neuroextrap.cli._cost import cost_line, seconds_of
from neuroextrap.cli._group_design import read_design
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

With a design, pairs, clusters or TFCE, rows of the design are permuted (signs
flipped for a mean), the nuisance columns taken out first.

examples:
  neuroextrap group --imgs sub-*/accuracy.nii.gz --baseline 0.125 group_mean
  neuroextrap group --imgs sub-*/accuracy.nii.gz --null sub-*/null.npy \\
      --mask mask.nii.gz group_prevalence
  neuroextrap group --baseline 0.125 \\
      --imgs maps/sub-*/func/sub-*_desc-accuracy_stat.nii.gz maps
  neuroextrap group --imgs sub-*/faces.nii.gz --paired-imgs sub-*/words.nii.gz \\
      --two-sided --cluster-threshold 0.001 --tfce faces_words
  neuroextrap group --imgs sub-*/accuracy.nii.gz --design participants.tsv \\
      --contrast "patients - controls" --step-down patients
  neuroextrap group --subjects results/sub-* group_information
"""


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "group",
        help="inference over subjects, from one map of each",
        usage="neuroextrap group --imgs A B [C ...] [options] OUT\n"
        "       neuroextrap group --subjects DIR DIR [DIR ...] [options] OUT",
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
        metavar="IMG",
        help="maps, one for each subject",
    )
    group.add_argument(
        "--subjects",
        nargs="+",
        metavar="DIR",
        help="folders of one analysis each, instead of maps: means, spread and lower "
        "bounds of information over subjects",
    )
    group.add_argument(
        "--allow-mixed",
        action="store_true",
        help="with --subjects: accept other classifiers, radii or set sizes in some "
        "subjects",
    )
    group.add_argument(
        "--paired-imgs",
        nargs="+",
        metavar="IMG",
        help="a second map of each subject, subtracted from the first; in the same "
        "order",
    )
    group.add_argument(
        "--design",
        metavar="TSV",
        help="model of the subjects: a table with one row each; if it has a column "
        "participant_id, rows are matched to the sub-<label> of the maps, else they "
        "are in their order",
    )
    group.add_argument(
        "--contrast",
        metavar="TEXT",
        help="what is tested of the design: a column, or an expression such as "
        "'patients - controls'",
    )
    group.add_argument(
        "--null",
        nargs="+",
        metavar="NPY",
        help="permuted maps of every subject, written by --save-null, in the order "
        "of --imgs; those of another run or subject are refused",
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
        "--cluster-threshold",
        type=float,
        metavar="P",
        help="test clusters of voxels above this p-value of t, such as 0.001",
    )
    group.add_argument(
        "--tfce",
        action="store_true",
        help="test threshold-free cluster enhancement",
    )
    group.add_argument(
        "--step-down",
        action="store_true",
        help="add step-down p-values, never larger than the family-wise ones",
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
        help="number of sign flips (default: 1000), of permutations with a design or "
        "clusters, or of combinations of permuted maps (both 10000)",
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
    several = ("imgs", "null", "subjects", "paired_imgs")
    take_last_as_output(args, args.argv, several)
    _check_options(args)
    from neuroextrap.group._group_maps import records, summary
    from neuroextrap.maps._files import (
        check_output_directory,
        describe_map,
        write_maps,
    )
    from neuroextrap.maps._provenance import provenance

    bids, files = None, []
    if args.imgs is not None:
        bids, files = bids_of_inputs(args, args.imgs, keep_desc=True)
    if args.dry_run:
        say(_cost(args))
        return
    check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    origin = origin_of_command(
        args,
        imgs=files,
        paired_imgs=args.paired_imgs,
        design=args.design,
        null=args.null,
        mask=args.mask,
    )
    maps, options = _tested(args)
    about = origin.sidecar()
    about |= provenance(parameters=options, random_state=args.random_state)
    known = records()
    metadata = {name: describe_map(known[name], about) for name in maps}
    sidecars = write_maps(
        args.out,
        maps,
        metadata,
        overwrite=args.overwrite,
        bids=bids,
        provenance=origin.record | about,
    )
    n_subjects = len(args.subjects or files)
    say(summary(maps, n_subjects, prevalence=args.null is not None))
    say(f"maps and sidecars in {next(iter(sidecars.values())).parent}")


_SECOND_LEVEL = (
    "paired_imgs",
    "design",
    "contrast",
    "cluster_threshold",
    "tfce",
    "step_down",
)
_OPTIONS = {
    "--subjects": ("confidence_level", "allow_mixed"),
    "--null": ("gamma", "confidence_level"),
    "--imgs": ("baseline", "two_sided", *_SECOND_LEVEL),
}
"""Options that belong to one kind of test, which the key asks for."""


def _kind(args):
    """Return the option that says what is tested."""
    if args.subjects is not None:
        return "--subjects"
    return "--imgs" if args.null is None else "--null"


def _is_given(args, name):
    """Return whether an option was given; 0 is a value."""
    value = getattr(args, name)
    return value is not None and value is not False


def _check_options(args):
    """Raise if an option belongs to a test that is not done."""
    if (args.imgs is None) == (args.subjects is None):
        raise ValueError(
            "give maps by --imgs or folders of analyses by --subjects, one of them"
        )
    kind = _kind(args)
    if kind == "--subjects" and args.null is not None:
        raise ValueError("--null does not go with --subjects; give maps by --imgs")
    for other in _OPTIONS.keys() - {kind}:
        for name in set(_OPTIONS[other]) - set(_OPTIONS[kind]):
            if _is_given(args, name):
                option = f"--{name.replace('_', '-')}"
                needs = {"--null": "needs --null", "--subjects": "needs --subjects"}
                text = needs.get(other, f"does not go with {kind}")
                raise ValueError(f"{option} {text}; leave it out")


def _tested(args, n_permutations=None):
    """Run the test that was asked for; return its maps and its options."""
    from neuroextrap import group

    kind = _kind(args)
    shared = {name: getattr(args, name) for name in _SHARED}
    names = (*_OPTIONS[kind], "n_permutations")
    options = {name: getattr(args, name) for name in names if _is_given(args, name)}
    if n_permutations is not None:
        options["n_permutations"] = n_permutations
    if kind == "--subjects":
        options.pop("n_permutations", None)
        maps = group.group_information(args.subjects, **shared, **options)
        return maps, options
    if kind == "--null":
        return group.prevalence_test(args.imgs, args.null, **shared, **options), options
    options["two_sided"] = args.two_sided
    if not any(name in options for name in _SECOND_LEVEL):
        return group.sign_flip_test(args.imgs, **shared, **options), options
    given = dict(options)
    path = given.pop("design", None)
    design = None if path is None else read_design(path, args.imgs)
    maps = group.second_level_test(args.imgs, design, **shared, **given)
    return maps, options


_SHARED = ("mask", "random_state", "allow_native_space")


def _cost(args):
    """Describe what the test would take."""
    import warnings

    import numpy as np

    if _kind(args) == "--subjects":
        return f"{len(args.subjects)} folders are read, no permutations are done"
    n_permutations = args.n_permutations
    if n_permutations is None:
        plain = args.null is None and not any(
            _is_given(args, name) for name in _SECOND_LEVEL
        )
        n_permutations = 1000 if plain else 10_000
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
