"""``neuroextrap bids``: from BIDS derivatives to maps of everyone and of the group."""

from typing import Any

from neuroextrap._parameter_table import parameters, taken_by
from neuroextrap.cli import _parser as parser
from neuroextrap.cli._console import say
from neuroextrap.cli._option_files import RaisingParser

_EXAMPLES = """\
The two steps of a BIDS app: participant analyzes everyone, or those named by
--participant-label (a job of a cluster each, say); group puts the results
together. Runs, events, masks and confounds are found by the names of files,
repetition times are read from headers and JSON files. Participants that fail
are listed at the end with the reason (exit code 1); all others are completed.
Participants that were completed before, with the same files and options, are
skipped: give the same command to resume.

OUT/code/sub-<label>.toml has all options and files of a participant, what was
inferred too, and is a configuration of exactly this analysis; OUT/index.html
links to everything.

examples:
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap participant \\
      --space MNI152NLin2009cAsym --dry-run
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap participant \\
      --participant-label 01 02 --samples lss --confounds motion wm_csf
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap group --tfce
  neuroextrap bids derivatives/fmriprep derivatives/neuroextrap group \\
      --contrast "patients - controls" --covariates age motion --two-sided
  neuroextrap bids derivatives/fmriprep encoding participant \\
      --analysis encoding --stimulus-images stimuli \\
      --stimulus-column stim_file --encoder ridge --folds 5
  neuroextrap bids derivatives/fmriprep again participant \\
      --config derivatives/neuroextrap/code/sub-01.toml
  neuroextrap bids derivatives/fmriprep films participant --task film \\
      --analysis continuous --features features --test-runs run=4
"""
_OPTIONS = """
[input]
config: path TOML:
    options from a file; options given on the command line take precedence
+ cohort files
+ samples
samples: one_of lss|lsa|blocks|volumes|betas first = 'lss':
    what a sample is, as in neuroextrap searchlight; betas for images that are betas
    already, *_betas.nii.gz with a table *_betas.tsv (trial_type, run) or maps
    run-*_contrast-<condition>_stat-effect_statmap.nii.gz
t_r: real S first:
    repetition time in seconds (default: from headers, or RepetitionTime in the .json
    beside each image)
check_t_r: flag = True: use --t-r, or else the .json, even if headers disagree
confounds: texts NAME = ['motion']:
    confounds of fMRIPrep that are regressed out, by nilearn's names: motion, wm_csf,
    global_signal, high_pass, compcor, scrub, ica_aroma, tedana; or none (default:
    motion)
[regions]
+ searchlight voxels regions: -labels_img
~ mask (default: the brain masks of all runs, or computed where they lack)
[analysis]
+ searchlight analysis
~ statistic (default: accuracy; implied_information of encoding)
[encoding]
analysis: one_of searchlight|encoding|continuous = 'searchlight':
    what is done with every participant: conditions are identified from responses (in
    spheres, or regions of an atlas), or stimuli through an encoding model; or responses
    to films and stories are predicted
+ stimuli
~ features (default: none, needed for encoding)
~ folds (default: train and test stimuli as the column set of the events says)
+ cohort encoding
+ encoding analysis
[group]
+ group group
[films and stories]
+ cohort films
+ continuous analysis
[output and resources]
+ cohort output
+ searchlight resources: -checkpoint
+ dask
"""
COMMAND = parser.Command(
    "all participants of BIDS derivatives, and the group",
    "DERIVATIVES OUT participant|group|list [options]",
    "All participants of a folder of BIDS derivatives, and the group.",
    _EXAMPLES,
    f"derivatives: path DERIVATIVES required: fMRIPrep's output\n{parser.OUT}"
    "level: one_of participant|group|list required:"
    " which step; list prints the labels of participants, one a line",
    _OPTIONS,
)


def run(args):
    """Analyze participants, or the group, or list them."""
    args.given = _read_configuration(args)
    if args.level == "participant":
        return _run_participants(args)
    if args.level == "group":
        return _grouped(args)
    from neuroextrap.images._bids_runs import find_participants

    return "\n".join(find_participants(args.derivatives))


def _run_participants(args):
    """Analyze everyone; return the exit code."""
    from neuroextrap.cohorts import analyze_participants
    from neuroextrap.cohorts._cohort_records import tell_unlike

    analysis, of_stimuli = make_analysis(args)
    samples = parser.parameters_of(args, "samples")
    if args.confounds == ["none"]:
        samples["confounds"] = ()
    options = parser.parameters_of(args, "cohort") | of_stimuli | samples
    options["analysis"] = analysis
    outcomes = analyze_participants(args.derivatives, args.out, **options)
    if args.config is not None and not args.dry_run:
        tell_unlike(args.config, args.out)
    return _tell(outcomes, args)


def _tell(outcomes, args):
    """Say how it ended for everyone; return the exit code."""
    from neuroextrap.cohorts._cohort_records import reason_once

    causes: dict[str, str] = {}
    for entry in outcomes.itertuples():
        name = entry.participant_id
        why = f", {entry.seconds:g} s"
        if entry.reason:
            why = f": {reason_once(causes, entry.reason, name)}"
        say(f"{name}: {entry.status}, {entry.n_runs} runs{why}")
    say(_cost(outcomes) if args.dry_run else f"open {args.out}/index.html")
    return int((outcomes["status"] == "failed").any())


def _cost(outcomes):
    """Describe what the analysis of everyone would take."""
    from neuroextrap.cli._results import size_words

    return (
        f"dry run: {len(outcomes)} participants, about "
        f"{outcomes['seconds'].sum():.0f} s one after another, "
        f"{size_words(outcomes['memory'].max())} of data in memory and "
        f"{size_words(outcomes['disk'].sum())} on disk; nothing written"
    )


def _grouped(args):
    """Put the participants together; return what was found."""
    import numpy as np

    from neuroextrap.cohorts import analyze_group
    from neuroextrap.group._group_maps import summary
    from neuroextrap.images._loading import flat_values

    if args.dry_run:
        raise ValueError("--dry-run is for the step participant; leave it out")
    maps: Any = analyze_group(args.out, **_group_options(args))
    if "n_subjects" in maps:
        n_subjects = int(np.nanmax(flat_values(maps["n_subjects"])))
    else:
        n_subjects = len(maps.subjects)
    return f"{summary(maps, n_subjects)}\nopen {args.out}/index.html"


def _group_options(args):
    """Return what ``analyze_group`` takes besides the folder."""
    from neuroextrap.cli._results import background
    from neuroextrap.cohorts._cohort_design import find_table
    from neuroextrap.images._tables import read_text_table

    options = parser.parameters_of(args, "group")
    options["bg_img"] = background(args.bg_img)
    if args.labels is not None:
        options["names"] = read_text_table(args.labels, "--labels")
    if not args.n_permutations:
        del options["n_permutations"]
    if args.participants_table is None:
        options["participants_table"] = find_table(args.derivatives)
    return options


def _read_configuration(args):
    """Take options from --config that are not given; return the words of either."""
    given = {word.partition("=")[0] for word in args.argv if word.startswith("--")}
    if args.config is None:
        return given
    from neuroextrap.cohorts._cohort_records import read_configuration

    names = set(vars(args)) - {"derivatives", "out", "level", "config", "run", "argv"}
    options = read_configuration(args.config)
    for key in options:
        if key.replace("-", "_") not in names:
            raise ValueError(
                f"{args.config}: {key} is not an option of neuroextrap bids; see --help"
            )
    values = RaisingParser(_OPTIONS, strict=True).read_file(args.config, options)
    for name, value in values.items():
        if parser.word_of(name) not in given:
            setattr(args, name, value)
    return given | set(map(parser.word_of, values))


def make_analysis(args):
    """Return the analysis, not fitted, and what it knows of stimuli, by argument."""
    from neuroextrap.decoding import IdentificationSearchLight
    from neuroextrap.encoding import ContinuousEncoding, EncodingIdentification
    from neuroextrap.maps._records import nested_parameters

    _check_given(args)
    # words that are of all participants here, such as shard
    of_cohort = [row.word for row in parameters("cohort")]
    how = {"without": of_cohort, "given": args.given}
    given = parser.parameters_of(args, args.analysis, **how)
    classes = IdentificationSearchLight, EncodingIdentification, ContinuousEncoding
    kind = {each.kind: each for each in classes}[args.analysis]
    if args.analysis != "continuous":  # which has no value objects
        given = nested_parameters(kind, given)
    return kind(**given), _features(args)


def _check_given(args):
    """Raise if an option belongs to the other analysis."""
    own = _words_of(args.analysis)
    for other in ("encoding", "searchlight", "continuous"):
        for word in _words_of(other):
            option = parser.word_of(word)
            if word not in own and option in args.given:
                raise ValueError(f"{option} is for --analysis {other}; leave it out")


def _words_of(analysis):
    """Return the options of an analysis of participants that others may lack."""
    from neuroextrap.cohorts._cohort_encoding import DESIGNS

    kinds = {"searchlight": ("samples",), "encoding": ("samples", "stimuli")}
    rows = parameters(analysis, *kinds.get(analysis, ()))
    by_name = {row.name: row for row in parameters("cohort", "stimuli")}
    rows += taken_by(DESIGNS[analysis], by_name).values()
    return [*(row.word for row in rows if row.word), "confounds"]


def _features(args):
    """Return features and folds as ``analyze_participants`` takes them."""
    if args.features is not None and args.stimulus_images is not None:
        raise ValueError("--features and --stimulus-images were both given; give one")
    features = args.features
    if args.stimulus_images is not None:
        from neuroextrap.cohorts._cohort_encoding import image_features

        how = taken_by(image_features, vars(args)) | {"verbose": int(not args.quiet)}
        features = image_features(args.stimulus_images, **how)
    return {"features": features, "n_folds": args.folds}
