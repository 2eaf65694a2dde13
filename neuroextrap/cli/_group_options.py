"""The options of ``neuroextrap group``."""

from neuroextrap.cli._parser import add_allow_mixed, add_dry_run


def add_input_options(parser):
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
    add_allow_mixed(group)
    group.add_argument(
        "--paired-imgs",
        nargs="+",
        metavar="IMG",
        help="a second map of each subject, subtracted from the first; paired by the "
        "sub-<label> of the maps, in any order, else in the same order",
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


def add_test_options(parser):
    """Add the options of the test over subjects."""
    group = parser.add_argument_group("test")
    group.add_argument(
        "--test",
        choices=("prevalence", "mean"),
        help="what is tested with --null: prevalence (in how many of the population "
        "there is information), or mean (whether the mean is larger than means of "
        "permuted maps; with --cluster-threshold also clusters) (default: prevalence)",
    )
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
        help="test clusters of voxels above this p-value, such as 0.001 (of t; with "
        "--test mean, of the voxel's own permuted means)",
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
        "--min-subjects",
        type=int,
        metavar="N",
        help="test voxels that at least N subjects have, each over those it has "
        "(default: voxels that all have)",
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
