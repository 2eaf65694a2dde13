"""``neuroextrap bids``: from BIDS derivatives to maps of everyone and of the group."""

from neuroextrap.cli._bids_analysis import add_encoding_options, make_analysis
from neuroextrap.cli._configuration_values import typed_values
from neuroextrap.cli._console import say
from neuroextrap.cli._cost import size_words
from neuroextrap.cli._dask import add_dask
from neuroextrap.cli._parser import (
    add_allow_mixed,
    add_analysis_options,
    add_cleaning_options,
    add_n_jobs,
    add_region_options,
    parameters_of,
)

_EXAMPLES = """\
The two steps of a BIDS app: participant analyzes everyone, or those named by
--participant-label (a job of a cluster each, say); group puts the results
together. Runs, events, masks and confounds are found by the names of files,
repetition times are read from headers and JSON files. Who fails is named at
the end with the reason (exit code 1), the others are done. Who is done already,
with the same files and options, is skipped: give the same command to resume.

OUT/code/sub-<label>.toml has all options and files of a participant, what was
inferred too, and is a configuration of exactly this analysis; OUT/index.html
links to everything.

examples:
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap participant \\
      --space MNI152NLin2009cAsym --dry-run
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap participant \\
      --participant-label 01 02 --samples lss --confounds motion wm_csf
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap group --tfce
  neuroextrap bids derivatives/fmriprep encoding participant \\
      --analysis encoding --stimulus-images stimuli \\
      --stimulus-column stim_file --encoder ridge --folds 5
  neuroextrap bids derivatives/fmriprep again participant \\
      --config derivatives/neuroextrap/code/sub-01.toml
"""
_OF_COHORT = "task space raw overwrite dry_run report save_null shard work_dir"
_GROUP = (
    "task space mask two_sided cluster_threshold tfce confidence_level gamma "
    "allow_mixed allow_native_space labels_img random_state report overwrite"
)
_UNUSED = ("test_runs",)


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "bids",
        help="all participants of BIDS derivatives, and the group",
        usage="neuroextrap bids DERIVATIVES OUT participant|group [options]",
        description="All participants of a folder of BIDS derivatives, and the group.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("derivatives", metavar="DERIVATIVES", help="fMRIPrep's output")
    parser.add_argument("out", metavar="OUT", help="folder for the results")
    parser.add_argument("level", choices=("participant", "group"), help="which step")
    _add_options(parser)


def _add_options(parser):
    """Add all options, which a configuration may have too."""
    _add_input_options(parser)
    add_region_options(
        parser, mask="the brain masks of all runs, or computed where they lack"
    )
    add_analysis_options(parser)
    add_encoding_options(parser)
    _add_group_options(parser)
    _add_other_options(parser)


def _add_input_options(parser):
    """Add the options by which files are found and samples made."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "--config", metavar="TOML", help="options from a file; words given here win"
    )
    for name, what in (
        ("participant", "participants"),
        ("session", "sessions (together)"),
    ):
        group.add_argument(
            f"--{name}-label",
            nargs="+",
            metavar="LABEL",
            help=f"these {what} only (default: all)",
        )
    for name in ("task", "space"):
        group.add_argument(
            f"--{name}",
            metavar="LABEL",
            help=f"the {name} (default: the one that there is)",
        )
    group.add_argument(
        "--raw",
        metavar="DIR",
        help="data set with the events (default: DERIVATIVES and the data set that it "
        "lies in)",
    )
    group.add_argument(
        "--samples",
        choices=("lss", "lsa", "blocks", "volumes", "betas"),
        default="lss",
        help="what a sample is, as in neuroextrap searchlight; betas for images that "
        "are betas already, *_betas.nii.gz with a table *_betas.tsv (trial_type, run) "
        "or maps run-*_contrast-<condition>_stat-effect_statmap.nii.gz (default: "
        "%(default)s)",
    )
    group.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="NAME",
        help="conditions that give no sample, such as rest (default: none)",
    )
    group.add_argument(
        "--delay",
        type=float,
        default=0.0,
        metavar="S",
        help="seconds by which responses lag behind events, for blocks and volumes "
        "(default: %(default)g)",
    )
    group.add_argument(
        "--t-r",
        type=float,
        metavar="S",
        help="repetition time in seconds (default: from headers, or RepetitionTime in "
        "the .json beside each image)",
    )
    group.add_argument(
        "--no-check-t-r",
        action="store_false",
        dest="check_t_r",
        help="take --t-r, or else the .json, even if others say otherwise",
    )
    for name, what in (
        ("detrend", "remove the linear trend of"),
        ("standardize", "z-score"),
    ):
        group.add_argument(
            f"--{name}",
            action="store_true",
            help=f"{what} every voxel in every run, for blocks and volumes",
        )
    add_cleaning_options(group)
    group.add_argument(
        "--confounds",
        nargs="+",
        default=["motion"],
        metavar="NAME",
        help="confounds of fMRIPrep that are regressed out, by nilearn's names: "
        "motion, wm_csf, global_signal, high_pass, compcor, scrub, ica_aroma, tedana; "
        "or none (default: motion)",
    )


def _add_group_options(parser):
    """Add the options of the second step."""
    group = parser.add_argument_group("group")
    group.add_argument(
        "--two-sided", action="store_true", help="test below chance as well as above"
    )
    group.add_argument(
        "--cluster-threshold",
        type=float,
        metavar="P",
        help="test clusters of voxels above this p-value of t, such as 0.001",
    )
    group.add_argument(
        "--tfce", action="store_true", help="test threshold-free cluster enhancement"
    )
    group.add_argument(
        "--gamma",
        type=float,
        default=0.5,
        metavar="P",
        help="prevalence under the null hypothesis of the test of prevalence, which is "
        "done where participants have --save-null (default: %(default)s)",
    )
    group.add_argument(
        "--labels-img",
        metavar="IMG",
        help="atlas: participant analyzes its regions instead of spheres, group names "
        "the clusters by them",
    )
    group.add_argument(
        "--labels",
        metavar="TSV",
        help="names of the atlas's labels on the group's page, a table with columns "
        "index and name (default: their numbers)",
    )
    group.add_argument(
        "--bg-img",
        metavar="IMG",
        help="image drawn under the maps of the group's page: an anatomy, mni152 or "
        "none (default: the template if the maps are in MNI space)",
    )
    add_allow_mixed(group)
    group.add_argument(
        "--allow-native-space",
        action="store_true",
        help="test voxel by voxel even if maps lie in the participants' own spaces",
    )


def _add_other_options(parser):
    """Add the options of files and resources."""
    group = parser.add_argument_group("output and resources")
    group.add_argument(
        "--overwrite", action="store_true", help="replace results of other options"
    )
    group.add_argument(
        "--no-report",
        action="store_false",
        dest="report",
        help="write no page about every participant or the group",
    )
    group.add_argument(
        "--save-null",
        action="store_true",
        help="keep the permuted maps of every participant, from which group infers the "
        "prevalence; needs --n-permutations",
    )
    group.add_argument(
        "--shard",
        metavar="i/N",
        help="analyze every N-th participant from the i-th on: one of N jobs",
    )
    group.add_argument(
        "--work-dir",
        metavar="DIR",
        help="folder for work in progress, from which an interrupted participant "
        "continues (default: none, it begins anew)",
    )
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="find and check everything, estimate the time, write nothing",
    )
    add_n_jobs(group, default=1)
    add_dask(group)
    group.add_argument(
        "--max-memory",
        default="2G",
        metavar="SIZE",
        help="memory that the work may take (default: %(default)s)",
    )


def run(args):
    """Analyze participants, or the group."""
    args.given = _read_configuration(args)
    for name in _UNUSED:
        if getattr(args, name):
            raise ValueError(f"--{name.replace('_', '-')} is not for neuroextrap bids")
    if args.level == "group":
        return _run_group(args)
    from neuroextrap.cohorts import analyze_participants

    analysis, of_stimuli = make_analysis(args)
    samples = parameters_of(args, "samples")
    if args.confounds == ["none"]:
        samples["confounds"] = ()
    outcomes = analyze_participants(
        args.derivatives,
        args.out,
        analysis=analysis,
        **of_stimuli,
        participants=args.participant_label,
        sessions=args.session_label,
        **samples,
        **{name: getattr(args, name) for name in _OF_COHORT.split()},
    )
    return _tell(outcomes, args)


def _tell(outcomes, args):
    """Say how it ended for everyone; return the exit code."""
    for entry in outcomes.itertuples():
        line = f"{entry.participant_id}: {entry.status}, {entry.n_runs} runs"
        line += f": {entry.reason}" if entry.reason else f", {entry.seconds:g} s"
        say(line)
    if args.dry_run:
        say(
            f"dry run: {len(outcomes)} participants, about "
            f"{outcomes['seconds'].sum():.0f} s one after another, "
            f"{size_words(outcomes['memory'].max())} of data in memory and "
            f"{size_words(outcomes['disk'].sum())} on disk; nothing written"
        )
    else:
        say(f"open {args.out}/index.html")
    return int((outcomes["status"] == "failed").any())


def _run_group(args):
    """Put the participants together."""
    from neuroextrap.cohorts import analyze_group
    from neuroextrap.group._results import summary
    from neuroextrap.images._tables import read_text_table

    if args.dry_run:
        raise ValueError("--dry-run is for the step participant; leave it out")
    options = {name: getattr(args, name) for name in _GROUP.split()}
    if args.labels is not None:
        options["names"] = read_text_table(args.labels, "--labels")
    if args.bg_img is not None:
        options["bg_img"] = False if args.bg_img.lower() == "none" else args.bg_img
    if args.n_permutations:
        options["n_permutations"] = args.n_permutations
    maps = analyze_group(args.out, participants=args.participant_label, **options)
    import numpy as np

    n_subjects = int(np.nanmax(maps["n_subjects"].get_fdata()))
    say(summary(maps, n_subjects))
    say(f"open {args.out}/index.html")
    return 0


def _read_configuration(args):
    """Take options from --config, where the command line does not say otherwise.

    Returns the options that either gives, as words.
    """
    given = {word.partition("=")[0] for word in args.argv if word.startswith("--")}
    if args.config is None:
        return given
    from neuroextrap.cohorts._records import read_configuration

    words = set(given)
    known = set(vars(args)) - {"derivatives", "out", "level", "config", "run", "argv"}
    options = read_configuration(args.config)
    for key, value in options.items():
        name = key.replace("-", "_")
        words.add(f"--{name.replace('_', '-')}")
        if name not in known:
            raise ValueError(
                f"{args.config}: {key} is no option of neuroextrap bids; see --help"
            )
        if isinstance(value, dict):
            raise ValueError(f"{args.config}: {key} is a table; give a value")
    for name, value in typed_values(args.config, options, _add_options).items():
        if f"--{name.replace('_', '-')}" not in given:
            setattr(args, name, value)
    return words
