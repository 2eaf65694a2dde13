"""``neuroextrap encoding``: from images and stimulus features to identification."""

import argparse
import logging
from typing import NamedTuple

from neuroextrap.cli._console import say
from neuroextrap.cli._cost import cost_line, part_of_run
from neuroextrap.cli._naming import bids_of_inputs
from neuroextrap.cli._origin import origin_of_command
from neuroextrap.cli._parser import (
    add_inference_options,
    add_output_options,
    add_region_options,
    add_resource_options,
    take_last_as_output,
)

logger = logging.getLogger(__name__)

_EXAMPLES = """\
--stimuli: tab-separated, one row for each volume, with the columns
  set         train or test
  run         optional; pairings are permuted within runs
  stimulus    optional; rows of the same stimulus are its repeats
  and, without --features or --stimulus-images, the features in all others.
--features: .npy (n_volumes x n_features) or .tsv (a header, then one row
  for each volume).
--stimulus-images: .npy (n_volumes x height x width, or x 3 for color),
  turned into --model features.
Results of images with BIDS names are BIDS derivatives, as of searchlight.

examples:
  neuroextrap encoding --imgs betas.nii.gz --stimuli volumes.tsv \\
      --features gabor.npy --radius 9 --n-permutations 1000 --report results
  neuroextrap encoding --imgs neurons.npy --stimuli volumes.tsv \\
      --stimulus-images photographs.npy --model gabor --encoder ridge results
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
    group.add_argument(
        "--features",
        metavar="FILE",
        help="features of the stimuli, .npy or .tsv (default: other columns of "
        "--stimuli)",
    )
    group.add_argument(
        "--stimulus-images",
        metavar="NPY",
        help="gray or color images of the stimuli, of which --model computes features",
    )
    group.add_argument(
        "--model",
        choices=("gabor", "retinotopic"),
        default="gabor",
        help="features computed of --stimulus-images (default: %(default)s)",
    )


def _add_model_options(parser):
    """Add the options of the encoding model and its test."""
    group = parser.add_argument_group("analysis")
    group.add_argument(
        "--encoder",
        choices=("elastic-net", "ridge"),
        default="elastic-net",
        help="encoding model; each voxel has its own cross-validated penalty, and "
        "repeats of a stimulus stay together (default: %(default)s)",
    )
    group.add_argument(
        "--covariance",
        default="shrunk",
        metavar="NAME",
        help="covariance of the noise: shrunk, ledoit_wolf, oas, diagonal or identity "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--repeats",
        choices=("average", "keep"),
        default="average",
        help="average the repeats of a test stimulus, or keep each as a sample "
        "(default: %(default)s)",
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


class EncodingData(NamedTuple):
    """What was read, split into training and test.

    `features` and `train` are features and responses of the training volumes;
    `repeated` holds their stimuli if some are repeated, else None. `tested` holds
    features of every test stimulus once, `test` the responses of the test volumes,
    `stimuli` the row of `tested` that each belongs to (or None) and `runs` their runs
    (or None). `mask` is the mask image used; None for arrays.
    """

    features: object
    train: object
    repeated: object
    tested: object
    test: object
    stimuli: object
    runs: object
    mask: object


def run(args):
    """Read, fit, identify, and write maps and summary."""
    take_last_as_output(args, args.argv, ("imgs",))
    from neuroextrap.cli._results import check_pictures, write_results
    from neuroextrap.maps._files import check_output_directory

    bids, files = bids_of_inputs(args, args.imgs)
    check_pictures(args)
    if not args.dry_run:
        check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    origin = origin_of_command(
        args,
        imgs=files,
        stimuli=args.stimuli,
        features=args.features,
        stimulus_images=args.stimulus_images,
        mask=args.mask,
        labels_img=args.labels_img,
        process_mask=args.process_mask,
    )
    data = _read(args)
    if args.dry_run:
        say(_cost(args, data))
        return
    model = _model(args, data.mask)
    model.fit(data.features, data.train, groups=data.repeated)
    model.identify(data.tested, data.test, data.runs, stimuli=data.stimuli)
    say(write_results(model, args, bids, origin))


def _read(args):
    """Read table, features and responses."""
    from neuroextrap.cli import _stimulus_tables as tables

    table, is_train = tables.read_table(args.stimuli)
    features = tables.read_features(
        table,
        is_train,
        features=args.features,
        images=args.stimulus_images,
        model=args.model,
    )
    names = table["stimulus"].to_numpy(dtype=str) if "stimulus" in table else None
    tables.unique_stimuli(features, names)  # repeats agree, before any work
    train, test, mask = tables.read_responses(args.imgs, args.mask, is_train)
    counts = (is_train.sum(), (~is_train).sum(), features.shape[1])
    logger.info("%d training and %d test volumes, %d features", *counts)
    tested, stimuli = tables.unique_stimuli(
        features[~is_train], None if names is None else names[~is_train]
    )
    return EncodingData(
        features=features[is_train],
        train=train,
        repeated=_repeated(names, is_train),
        tested=tested,
        test=test,
        stimuli=stimuli,
        runs=table["run"].to_numpy(dtype=str)[~is_train] if "run" in table else None,
        mask=mask,
    )


def _model(args, mask):
    """Return the model that the options describe, not fitted."""
    from neuroextrap.encoding import (
        ElasticNetEncoder,
        EncodingIdentification,
        RidgeEncoder,
    )

    encoder = ElasticNetEncoder(n_jobs=args.n_jobs)
    if args.encoder == "ridge":
        encoder = RidgeEncoder()
    names = (
        "radius n_nearest labels_img stride min_voxels covariance repeats "
        "n_permutations confidence_level random_state n_jobs max_memory checkpoint "
        "shard save_null"
    )
    return EncodingIdentification(
        mask,
        encoder,
        process_mask_img=args.process_mask,
        verbose=0 if args.quiet else 1,
        **{name: getattr(args, name) for name in names.split()},
    )


def _repeated(names, is_train):
    """Return the stimuli of training volumes if some are repeated, else None."""
    if names is None or len(set(names[is_train])) == is_train.sum():
        return None
    return names[is_train]


def _cost(args, data):
    """Describe what the run would take."""
    from joblib import effective_n_jobs

    from neuroextrap.cli._encoding_cost import estimate_cost

    n_parts, part = part_of_run(args.shard)
    plain = {"n_nearest": None, "labels_img": None, "process_mask": None, "stride": 1}
    alone = argparse.Namespace(
        **{
            **vars(args),
            **plain,
            "n_jobs": 1,
            "checkpoint": None,
            "shard": None,
            "save_null": None,
            "quiet": True,
        }
    )
    names = "radius n_nearest labels_img stride min_voxels"
    options = {name: getattr(args, name) for name in names.split()}
    options["process_mask_img"] = args.process_mask
    cost = estimate_cost(
        lambda regions: _model(alone, None).set_params(regions=regions), data, options
    )
    what = (
        f"{cost['n_regions']} regions, {cost['n_features']} voxels, "
        f"{len(data.tested)} stimuli, {args.n_permutations} permutations{part}"
    )
    seconds = cost["fitting"] + cost["identifying"] / n_parts
    return cost_line(what, seconds / effective_n_jobs(args.n_jobs), cost["memory"])
