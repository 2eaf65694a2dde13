"""``neuroextrap encoding``: from images and stimulus features to identification."""

import logging

from neuroextrap.cli._console import say
from neuroextrap.cli._parser import (
    add_output_options,
    add_region_options,
    take_last_as_output,
)

logger = logging.getLogger(__name__)

_EXAMPLES = """\
--stimuli: tab-separated, one row a volume, with the columns
  set         train or test
  run         optional; pairings are permuted within runs
  stimulus    optional; rows of the same stimulus are its repeats
  and, without --features or --stimulus-images, the features in all other columns.
--features: .npy (n_volumes x n_features) or .tsv (a header, then one row a volume).
--stimulus-images: .npy (n_volumes x height x width), turned into --model features.

examples:
  neuroextrap encoding --imgs betas.nii.gz --stimuli volumes.tsv --features gabor.npy \\
      --radius 9 --n-permutations 1000 --report results
  neuroextrap encoding --imgs neurons.npy --stimuli volumes.tsv \\
      --stimulus-images photographs.npy --model gabor --encoder ridge results
"""


def add_parser(subparsers):
    """Add the command to the parser.

    Parameters
    ----------
    subparsers : object
        What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser(
        "encoding",
        help="identify stimuli through an encoding model",
        usage="neuroextrap encoding --imgs A [B ...] --stimuli TSV [options] OUT",
        description="Fit an encoding model to training volumes and identify the "
        "stimuli of test volumes, region by region.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", nargs="?", metavar="OUT", help="folder for the results")
    _add_input_options(parser)
    add_region_options(parser)
    _add_model_options(parser)
    add_output_options(parser)


def _add_input_options(parser):
    """Add what says which responses and stimuli are analysed."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "--imgs",
        nargs="+",
        required=True,
        metavar="IMG",
        help="images, one volume a stimulus, or a .npy of volumes x neurons",
    )
    group.add_argument("--stimuli", required=True, metavar="TSV", help="see below")
    group.add_argument("--features", metavar="FILE", help=".npy or .tsv")
    group.add_argument("--stimulus-images", metavar="NPY", help="grey-level images")
    group.add_argument(
        "--model",
        choices=("gabor", "retinotopic"),
        default="gabor",
        help="features of --stimulus-images (default: gabor)",
    )


def _add_model_options(parser):
    """Add what says how the model is fitted and tested."""
    group = parser.add_argument_group("analysis")
    group.add_argument(
        "--encoder",
        choices=("elastic-net", "ridge"),
        default="elastic-net",
        help="elastic-net (default; penalties of every voxel cross-validated) or ridge",
    )
    group.add_argument(
        "--covariance",
        default="shrunk",
        metavar="NAME",
        help="of the noise: shrunk (default), ledoit_wolf, oas, diagonal, identity",
    )
    group.add_argument(
        "--repeats", choices=("average", "keep"), default="average", help="of stimuli"
    )
    group.add_argument(
        "--n-permutations", type=int, default=0, metavar="N", help="permuted pairings"
    )
    group.add_argument("--confidence-level", type=float, default=0.95, metavar="P")
    group.add_argument("--random-state", type=int, default=0, metavar="SEED")
    group.add_argument("--n-jobs", type=int, default=1, metavar="N", help="workers")
    group.add_argument("--checkpoint", metavar="DIR", help="resume from finished work")


def run(args):
    """Read, fit, identify, and write maps and summary.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed options.
    """
    take_last_as_output(args, args.argv, ("imgs",))
    from neuroextrap.cli import _stimulus_tables as tables
    from neuroextrap.cli._results import write_results
    from neuroextrap.maps import check_output_directory

    check_output_directory(args.out, overwrite=args.overwrite)
    table, is_train = tables.read_table(args.stimuli)
    features = tables.read_features(
        table,
        is_train,
        features=args.features,
        images=args.stimulus_images,
        model=args.model,
    )
    names = table["stimulus"].to_numpy() if "stimulus" in table else None
    tables.unique_stimuli(features, names)  # repeats agree, before any work
    train, test, mask = tables.read_responses(args.imgs, args.mask, is_train)
    counts = (is_train.sum(), (~is_train).sum(), features.shape[1])
    logger.info("%d training and %d test volumes, %d features", *counts)
    model = _model(args, mask)
    model.fit(features[is_train], train, groups=_repeated(names, is_train))
    tested, stimuli = tables.unique_stimuli(
        features[~is_train], None if names is None else names[~is_train]
    )
    runs = table["run"].to_numpy()[~is_train] if "run" in table else None
    model.identify(tested, test, runs, stimuli=stimuli)
    say(write_results(model, args.out, overwrite=args.overwrite, report=args.report))


def _model(args, mask):
    """Return the model that the options describe, not fitted."""
    from sklearn.linear_model import RidgeCV

    from neuroextrap.encoding import ElasticNetEncoder, EncodingIdentification

    encoder = ElasticNetEncoder(n_jobs=args.n_jobs)
    if args.encoder == "ridge":
        encoder = RidgeCV([10.0**power for power in range(-2, 8)])
    names = (
        "radius n_nearest labels_img stride min_voxels covariance repeats "
        "n_permutations confidence_level random_state n_jobs checkpoint"
    )
    return EncodingIdentification(
        mask,
        encoder,
        center_mask_img=args.center_mask,
        verbose=0 if args.quiet else 1,
        **{name: getattr(args, name) for name in names.split()},
    )


def _repeated(names, is_train):
    """Return the stimuli of training volumes if some are repeated, else None."""
    if names is None or len(set(names[is_train])) == is_train.sum():
        return None
    return names[is_train]
