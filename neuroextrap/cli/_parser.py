"""The parser of the command line and the options that commands share."""

import argparse

from neuroextrap.cli._dask import add_dask
from neuroextrap.cli._encoding_options import encoder_of


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line and whose commands share some options.

    The parser of one command (`is_command`) keeps what was said about messages before
    the command's name. With `intermixed`, options may stand between its other words.
    Further arguments are those of ``argparse.ArgumentParser``.
    """

    def __init__(self, *args, is_command=True, intermixed=False, **kwargs):
        self._intermixed = intermixed
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("conflict_handler", "resolve")
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        group = self.add_argument_group("messages")
        volume = group.add_mutually_exclusive_group()
        default = argparse.SUPPRESS if is_command else False
        for where, name, text in (
            (volume, "--quiet", "show warnings only"),
            (volume, "--verbose", "show debug messages too"),
            (group, "--debug", "show the traceback of an error"),
        ):
            where.add_argument(name, action="store_true", default=default, help=text)

    def parse_known_args(self, args=None, namespace=None):
        """Parse words as ``argparse`` does, options between the others if intermixed.

        ``argparse`` joins words that options separate by calling this method again.
        """
        if not self._intermixed:
            return super().parse_known_args(args, namespace)
        self._intermixed = False
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = True

    def error(self, message):
        """Write one line and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def add_output_options(parser, *, report=True, maps=True):
    """Add the options of files.

    `report` is for commands that can write a report, `maps` for those whose report
    draws maps.
    """
    group = parser.add_argument_group("output")
    group.add_argument(
        "--overwrite",
        action="store_true",
        help="replace results that are already in the output folder",
    )
    group.add_argument(
        "--bids",
        action=argparse.BooleanOptionalAction,
        help="name and place results as BIDS derivatives, or not (default: do so if "
        "all inputs have BIDS names)",
    )
    if report:
        group.add_argument(
            "--report",
            action="store_true",
            help="also write a self-contained report.html",
        )
    if report and maps:
        group.add_argument(
            "--bg-img",
            metavar="IMG",
            help="image drawn under the maps of the report: an anatomy in their space, "
            "mni152 (the template), or none (default: the template if the images are "
            "in MNI space by their header's code 4 or their name's space-MNI..., else "
            "their mean)",
        )
        group.add_argument(
            "--atlas",
            metavar="IMG",
            help="labels image in the space of the maps that names the places of peaks "
            "in the report and in peaks.tsv; names are read from the table beside it "
            "(atlas.tsv for atlas.nii.gz, columns index and name; default: none)",
        )


def add_cleaning_options(group):
    """Add the options of confounds, smoothing and drifts."""
    group.add_argument(
        "--confounds",
        nargs="+",
        metavar="NAME",
        help="confounds that are regressed out: names of nilearn's load_confounds for "
        "images of fMRIPrep (motion, wm_csf, global_signal, high_pass, compcor, scrub, "
        "ica_aroma, tedana), or tables of numbers, one for each image (default: none)",
    )
    group.add_argument(
        "--smoothing-fwhm",
        type=float,
        metavar="MM",
        help="smooth volumes by a Gaussian of this full width at half maximum "
        "(default: no smoothing)",
    )
    group.add_argument(
        "--high-pass",
        type=float,
        metavar="HZ",
        help="remove drifts below this frequency, 0 for none (default: 0.01 for lsa "
        "and lss, none for blocks and volumes)",
    )


def add_dry_run(group):
    """Add the option that describes a run instead of doing it."""
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="check the input and print size, memory and time of the run, but write "
        "nothing",
    )


def add_region_options(parser, *, mask="computed from the images"):
    """Add the options of regions: which voxels are analyzed together.

    `mask` says which brain mask is the default.
    """
    group = parser.add_argument_group("regions")
    group.add_argument(
        "--mask",
        metavar="IMG",
        help=f"brain mask (default: {mask})",
    )
    group.add_argument(
        "--radius",
        type=float,
        default=8.0,
        metavar="MM",
        help="radius of the spheres in mm (default: %(default)g)",
    )
    group.add_argument(
        "--n-nearest",
        type=int,
        metavar="N",
        help="take the N voxels nearest to each center instead of a radius",
    )
    group.add_argument(
        "--labels-img",
        metavar="IMG",
        help="atlas whose regions are analyzed instead of spheres",
    )
    group.add_argument(
        "--process-mask",
        metavar="IMG",
        help="mask of the voxels that may be centers of spheres (default: the brain "
        "mask)",
    )
    group.add_argument(
        "--stride",
        type=int,
        default=1,
        metavar="N",
        help="use every N-th voxel in each direction as a center (default: "
        "%(default)s)",
    )
    group.add_argument(
        "--min-voxels",
        type=int,
        default=2,
        metavar="N",
        help="leave out regions with fewer usable voxels (default: %(default)s)",
    )


def add_analysis_options(parser):
    """Add the options of decoding and of the permutation test."""
    group = parser.add_argument_group("analysis")
    group.add_argument(
        "--estimator",
        default="nearest_centroid",
        metavar="NAME",
        help="classifier: nearest_centroid, gaussian_nb, lda, ridge, qda, "
        "nearest_neighbor, svc or logistic (default: %(default)s)",
    )
    group.add_argument(
        "--shrinkage",
        type=_number_or_auto,
        default="auto",
        metavar="X",
        help="shrinkage of the covariance in lda, ridge and qda: a number, or auto "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--classes",
        nargs="+",
        metavar="NAME",
        help="analyze these conditions only (default: all)",
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
        help="statistic of the permutation test: accuracy, pairwise_accuracy, "
        "implied_information, or a set size (default: %(default)s)",
    )
    group.add_argument(
        "--n-permutations",
        type=int,
        default=0,
        metavar="N",
        help="number of permutations of the labels (default: %(default)s, no p-values)",
    )
    _add_bound_options(group)
    add_inference_options(group)


def _add_bound_options(group):
    """Add the options of lower bounds and e-values."""
    group.add_argument(
        "--bounds",
        choices=("auto", "forward", "folds", "none"),
        default="auto",
        help="where lower bounds come from: forward (trained on the runs before, "
        "tested on the next), folds, none, or auto: forward where the design allows "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--test-units",
        choices=("samples", "runs"),
        default="samples",
        help="what the lower bounds count as independent given the conditions "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--e-value-order",
        choices=("cyclic", "chronological"),
        default="cyclic",
        help="orders of the runs behind e-values; chronological ones (every run but "
        "the first is tested, after those before it) hold when runs are added after "
        "looking (default: %(default)s)",
    )


def add_inference_options(group):
    """Add the options of bounds and permutations to a group of options."""
    group.add_argument(
        "--save-null",
        metavar="NPY",
        help="file for the permuted maps, which neuroextrap group --null reads "
        "(default: not kept)",
    )
    group.add_argument(
        "--confidence-level",
        type=float,
        default=0.95,
        metavar="P",
        help="confidence level of the lower bounds (default: %(default)s)",
    )
    group.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the permutations (default: %(default)s)",
    )


def add_resource_options(parser):
    """Add the options of workers, memory and shards, which do not change results."""
    group = parser.add_argument_group("resources (without an effect on results)")
    add_n_jobs(group, default=1)
    add_dask(group)
    group.add_argument(
        "--max-memory",
        default="2G",
        metavar="SIZE",
        help="memory that the work may take (default: %(default)s)",
    )
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder of finished work, from which an interrupted run resumes",
    )
    group.add_argument(
        "--shard",
        metavar="i/N",
        help="do part i of N only; neuroextrap merge joins the parts",
    )
    add_dry_run(group)


def add_allow_mixed(group):
    """Add the option that says what may differ among subjects."""
    group.add_argument(
        "--allow-mixed",
        nargs="*",
        default=False,
        action=_NamesOrAll,
        metavar="NAME",
        help="accept that subjects differ in these, such as runs, smoothing_fwhm or "
        "radius, by the names that the refusal says; without a name, in anything",
    )


class _NamesOrAll(argparse.Action):
    """Keep the names that follow an option, or True where none do."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Note the names."""
        del parser, option_string
        setattr(namespace, self.dest, values or True)


def add_n_jobs(group, *, default):
    """Add the number of workers."""
    group.add_argument(
        "--n-jobs",
        type=int,
        default=default,
        metavar="N",
        help="number of workers (default: %(default)s)",
    )


def parameters_of(args, kind, *, without=()):
    """Return parameters of a class of analysis, or of "samples", as `args` say them.

    `without` are words that mean something else to the command.
    """
    from neuroextrap.analysis._parameters import parameters
    from neuroextrap.maps._parameters import nested_parameters

    of = getattr(kind, "kind", kind)
    words = {row.name: row.word for row in parameters(of) if row.word}
    given = {n: getattr(args, word) for n, word in words.items() if word not in without}
    if given.get("bounds") == "none":
        given["bounds"] = None
    if "encoder" in given:
        given["encoder"] = encoder_of(args)
    if kind == "samples":
        return given
    return nested_parameters(kind, given | {"verbose": 0 if args.quiet else 1})


def take_last_as_output(args, argv, names):
    """Let OUT follow an option that takes several values, as in ``--events C D OUT``.

    ``args.out`` is None where the option took OUT as a value of its own; `args` is
    changed in place. `argv` holds the words of the command, `names` the options that
    take several values.
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
