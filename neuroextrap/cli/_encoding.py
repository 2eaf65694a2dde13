"""``neuroextrap encoding``: from images and stimulus features to identification."""

from neuroextrap.cli._console import say
from neuroextrap.cli._cost import cost_line, part_of_run
from neuroextrap.cli._encoding_options import (
    add_encoder_options,
    add_feature_options,
    add_folds,
)
from neuroextrap.cli._naming import bids_of_inputs
from neuroextrap.cli._origin import origin_of_command
from neuroextrap.cli._parser import (
    add_inference_options,
    add_output_options,
    add_region_options,
    add_resource_options,
    parameters_of,
    take_last_as_output,
)

_EXAMPLES = """\
--stimuli: tab-separated, one row for each volume, with the columns
  set         train or test; not needed with --folds
  run         optional; pairings are permuted within runs
  stimulus    optional; rows of the same stimulus are its repeats, and results
              call it by this name
  stim_file   optional; image of the stimulus, below --stimulus-images or
              beside the table
  and, without --features or images, the features in all others.
--features: .tsv, .csv, .parquet or .npz with the names of stimuli in a column
  (array) 'stimulus', one row for each stimulus; or, without names, one row for
  each volume, also as .npy.
--stimulus-images: a folder of images, named like the stimuli or in the column
  stim_file; or .npy (n_volumes x height x width, or x 3 for color). They are
  turned into --model features.
Maps voxel_r2 and voxel_correlation say how well test responses are predicted;
where test stimuli are repeated, also as shares of the noise ceiling.
Results of images with BIDS names are BIDS derivatives, as of searchlight.

examples:
  neuroextrap encoding --imgs betas.nii.gz --stimuli volumes.tsv \\
      --features gabor.npy --radius 9 --n-permutations 1000 --report results
  neuroextrap encoding --imgs neurons.npy --stimuli volumes.tsv \\
      --stimulus-images photographs --folds 5 --extrapolate 1000 10000 results
  neuroextrap compare results_gabor results_layer5 comparison
"""


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "encoding",
        help="identify stimuli through an encoding model",
        usage="neuroextrap encoding --imgs A [B ...] --stimuli TSV [options] OUT",
        description="Fit an encoding model to training volumes and identify the\n"
        "stimuli of test volumes, region by region.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", nargs="?", metavar="OUT", help="folder for the results")
    _add_input_options(parser)
    add_region_options(parser)
    _add_model_options(parser)
    add_resource_options(parser)
    add_output_options(parser)


def _add_input_options(parser):
    """Add the options of responses and stimuli."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "--imgs",
        nargs="+",
        required=True,
        metavar="IMG",
        help="images with one volume for each stimulus shown, or a .npy of volumes x "
        "neurons",
    )
    group.add_argument(
        "--stimuli",
        required=True,
        metavar="TSV",
        help="table with one row for each volume, see below",
    )
    add_feature_options(group, default="other columns of --stimuli")


def _add_model_options(parser):
    """Add the options of the encoding model and its test."""
    group = parser.add_argument_group("analysis")
    add_encoder_options(group)
    add_folds(group, default="train and test as the column set says")
    group.add_argument(
        "--extrapolate",
        nargs="+",
        metavar="K",
        help="predict accuracy among so many candidates, with intervals, in "
        "extrapolation.tsv: for the strongest regions, or all of an atlas",
    )
    group.add_argument(
        "--interval-level",
        type=float,
        default=0.9,
        metavar="P",
        help="confidence level of these intervals (default: %(default)s)",
    )
    group.add_argument(
        "--n-permutations",
        type=int,
        default=0,
        metavar="N",
        help="number of permuted pairings of stimuli and responses (default: "
        "%(default)s, no p-values)",
    )
    add_inference_options(group)


def run(args):
    """Read, fit, identify, and write maps and summary."""
    take_last_as_output(args, args.argv, ("imgs", "extrapolate"))
    from neuroextrap.cli._encoding_data import read_data
    from neuroextrap.cli._extrapolation import check_extrapolation, extrapolation_table
    from neuroextrap.cli._results import check_pictures, write_results
    from neuroextrap.maps._files import check_output_directory

    bids, files = bids_of_inputs(args, args.imgs)
    check_pictures(args)
    check_extrapolation(args)
    _check_folds(args)
    if not args.dry_run:
        check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    origin = origin_of_command(
        args,
        imgs=files,
        stimuli=args.stimuli,
        features=args.features,
        mask=args.mask,
        stimulus_images=_one_file(args.stimulus_images),
        labels_img=args.labels_img,
        process_mask=args.process_mask,
    )
    data = read_data(args)
    if args.dry_run:
        say(_cost(args, data))
        return
    model = data.identify(_model(args, data.mask))
    predicted = extrapolation_table(model, args.extrapolate, args.interval_level)
    say(write_results(model, args, bids, origin, tables={"extrapolation": predicted}))


def _check_folds(args):
    """Raise before any work where --folds cannot be, or has no p-values."""
    if args.folds is None:
        return
    if args.folds < 2:
        raise ValueError(f"--folds {args.folds} must be at least 2")
    if args.n_permutations:
        raise ValueError(
            "--folds has no p-values, which would come out too small; leave out "
            "--n-permutations, or test on the rows whose set is test"
        )


def _one_file(path):
    """Return a path unless it is a folder, or None."""
    from pathlib import Path

    return None if path is None or Path(path).is_dir() else path


def _model(args, mask):
    """Return the model that the options describe, not fitted."""
    from neuroextrap.encoding import EncodingIdentification

    parameters = parameters_of(args, EncodingIdentification)
    return EncodingIdentification(**parameters | {"mask": mask})


def _cost(args, data):
    """Describe what the run would take."""
    from joblib import effective_n_jobs

    from neuroextrap.encoding._cost import estimate_cost

    n_parts, part = part_of_run(args.shard)
    cost = estimate_cost(_model(args, data.mask), data)
    what = (
        f"{cost['n_regions']} regions, {cost['n_features']} voxels, "
        f"{len(data.tested)} stimuli, {args.n_permutations} permutations{part}"
    )
    seconds = data.n_folds * (cost["fitting"] + cost["identifying"] / n_parts)
    return cost_line(what, seconds / effective_n_jobs(args.n_jobs), cost["memory"])
