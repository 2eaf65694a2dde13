"""The parser of the command line and the options that commands share."""

import argparse


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line and whose commands share some options.

    Parameters
    ----------
    *args, **kwargs
        As for ``argparse.ArgumentParser``.
    is_command : bool, default=True
        Whether this is the parser of one command, which leaves alone what was said
        before the command's name.
    """

    def __init__(self, *args, is_command=True, **kwargs):
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("conflict_handler", "resolve")
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        group = self.add_argument_group("messages")
        volume = group.add_mutually_exclusive_group()
        default = argparse.SUPPRESS if is_command else False
        for where, name, text in (
            (volume, "--quiet", "warnings only"),
            (volume, "--verbose", "say more while working"),
            (group, "--debug", "show the traceback of an error"),
        ):
            where.add_argument(name, action="store_true", default=default, help=text)

    def error(self, message):
        """Write one line and leave with exit code 2.

        Parameters
        ----------
        message : str
        """
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def add_output_options(parser, *, report=True):
    """Add what says where results go and what they are called.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    report : bool, default=True
        Whether the command can write a report.
    """
    group = parser.add_argument_group("output")
    group.add_argument(
        "--overwrite",
        action="store_true",
        help="replace results that are in the output folder",
    )
    group.add_argument(
        "--bids",
        action=argparse.BooleanOptionalAction,
        help="name and place results as BIDS derivatives, or not (default: if all "
        "inputs have BIDS names)",
    )
    if report:
        group.add_argument(
            "--report",
            action="store_true",
            help="write a self-contained report.html too",
        )


def add_dry_run(group):
    """Add the option to say what a run would take.

    Parameters
    ----------
    group : argparse.ArgumentParser or group of options
    """
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="check the input, print size, memory and time of the run, write nothing",
    )


def add_region_options(parser):
    """Add what says which voxels are analyzed together.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    group = parser.add_argument_group("regions")
    group.add_argument("--mask", metavar="IMG", help="brain mask (default: computed)")
    group.add_argument(
        "--radius", type=float, default=8.0, metavar="MM", help="radius (default: 8 mm)"
    )
    group.add_argument(
        "--n-nearest", type=int, metavar="N", help="the N nearest voxels, not a radius"
    )
    group.add_argument(
        "--labels-img", metavar="IMG", help="atlas regions instead of spheres"
    )
    group.add_argument(
        "--process-mask", metavar="IMG", help="where centers of spheres may lie"
    )
    group.add_argument(
        "--stride", type=int, default=1, metavar="N", help="every N-th voxel a center"
    )
    group.add_argument(
        "--min-voxels", type=int, default=2, metavar="N", help="fewest usable voxels"
    )


def add_analysis_options(parser):
    """Add what says how regions are decoded and tested.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    group = parser.add_argument_group("analysis")
    group.add_argument(
        "--estimator",
        default="nearest_centroid",
        metavar="NAME",
        help="nearest_centroid (default), gaussian_nb, lda, ridge, qda, "
        "nearest_neighbor, svc, logistic",
    )
    group.add_argument(
        "--shrinkage",
        type=_number_or_auto,
        default="auto",
        metavar="X",
        help="of lda, ridge, qda: a number, or auto (default)",
    )
    group.add_argument(
        "--classes", nargs="+", metavar="NAME", help="analyze these conditions only"
    )
    group.add_argument(
        "--test-runs",
        nargs="+",
        metavar="RUN",
        help="test on these runs, train on the others (default: leave one run out)",
    )
    group.add_argument(
        "--statistic",
        type=_set_size_or_name,
        default="accuracy",
        metavar="NAME",
        help="what is tested: accuracy (default), pairwise_accuracy, "
        "implied_information, or a set size",
    )
    group.add_argument(
        "--n-permutations",
        type=int,
        default=0,
        metavar="N",
        help="permuted labelings (default: 0, no p-values)",
    )
    add_inference_options(group)


def add_inference_options(group):
    """Add what says how sure results shall be.

    Parameters
    ----------
    group : group of options
    """
    group.add_argument(
        "--save-null",
        metavar="NPY",
        help="keep permuted maps in this file, for neuroextrap group --null",
    )
    group.add_argument(
        "--confidence-level", type=float, default=0.95, metavar="P", help="of bounds"
    )
    group.add_argument(
        "--random-state", type=int, default=0, metavar="SEED", help="of permutations"
    )


def add_resource_options(parser):
    """Add what says how the work is done, without an effect on results.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    group = parser.add_argument_group("resources (without an effect on results)")
    group.add_argument("--n-jobs", type=int, default=1, metavar="N", help="workers")
    group.add_argument(
        "--max-memory", default="2G", metavar="SIZE", help="budget (default: 2G)"
    )
    group.add_argument(
        "--checkpoint", metavar="DIR", help="resume from finished work kept here"
    )
    group.add_argument(
        "--shard", metavar="i/N", help="do part i of N; join with neuroextrap merge"
    )
    add_dry_run(group)


def take_last_as_output(args, argv, names):
    """Let OUT follow an option that takes several values, as in ``--events C D OUT``.

    Parameters
    ----------
    args : argparse.Namespace
        With ``out`` None when the option swallowed it; changed in place.
    argv : sequence of str
        The words of the command.
    names : sequence of str
        Options that take several values.

    Raises
    ------
    ValueError
        If there is no output folder.
    """
    if args.out is not None:
        return
    for name in names:
        values = getattr(args, name)
        if values and len(values) > 1 and argv and values[-1] == argv[-1]:
            args.out = values.pop()
            return
    raise ValueError("OUT is missing; name the output folder as the last word")


def _number_or_auto(text):
    """Read a number or the word auto."""
    return text if text == "auto" else float(text)


def _set_size_or_name(text):
    """Read a whole number or a name."""
    return int(text) if text.isdecimal() else text
