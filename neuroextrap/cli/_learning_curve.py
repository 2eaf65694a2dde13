"""``neuroextrap learning-curve``: information against the number of subjects."""

import logging

from neuroextrap.cli._console import say
from neuroextrap.cli._cost import cost_line, seconds_of
from neuroextrap.cli._naming import bids_of_inputs
from neuroextrap.cli._origin import origin_of_command
from neuroextrap.cli._parser import (
    add_dry_run,
    add_n_jobs,
    add_output_options,
    take_last_as_output,
)

logger = logging.getLogger(__name__)

_EXAMPLES = """\
scans: tab-separated, one row for each volume (of all images, in order) or each
  row of the array, with a column of labels and one that names the subject (or
  run).

examples:
  neuroextrap learning-curve --imgs sub-*_con.nii.gz --scans scans.tsv \\
      --labels condition --groups subject --mask mask.nii.gz results
  neuroextrap learning-curve --array scans.npy --scans scans.tsv \\
      --train-sizes 4 8 12 --labels condition agnostic results
"""


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "learning-curve",
        help="information about unseen subjects against training subjects",
        usage="neuroextrap learning-curve (--imgs A [B ...] | --array X.npy) "
        "\n       --scans TSV [options] OUT",
        description="Mutual information learning curves: what canonical variates\n"
        "trained on some subjects tell about the scans of others, in bits.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", nargs="?", metavar="OUT", help="folder for the results")
    _add_input_options(parser)
    _add_model_options(parser)
    _add_curve_options(parser)
    add_output_options(parser, maps=False)


def _add_input_options(parser):
    """Add the options of the scans that are analyzed."""
    group = parser.add_argument_group("input")
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--imgs", nargs="+", metavar="IMG", help="3-D or 4-D images of scans"
    )
    source.add_argument("--array", metavar="NPY", help=".npy of scans x features")
    group.add_argument(
        "--scans",
        required=True,
        metavar="TSV",
        help="table with one row for each scan, see below",
    )
    group.add_argument(
        "--labels",
        nargs="+",
        default=["trial_type"],
        metavar="COLUMN",
        help="columns of labels, one curve for each; 'agnostic' labels every scan of "
        "a subject by its position (default: trial_type)",
    )
    group.add_argument(
        "--groups",
        default="subject",
        metavar="COLUMN",
        help="column of subjects or runs (default: %(default)s)",
    )
    group.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="NAME",
        help="labels whose scans are left out (default: none)",
    )
    group.add_argument(
        "--mask",
        metavar="IMG",
        help="brain mask (default: computed from the images)",
    )
    group.add_argument(
        "--center",
        choices=("group", "none"),
        default="group",
        help="subtract each group's mean scan, or nothing (default: %(default)s)",
    )
    group.add_argument(
        "--scale",
        choices=("mean", "none"),
        default="none",
        help="divide each scan by its mean, or leave it (default: %(default)s)",
    )


def _add_model_options(parser):
    """Add the options of canonical variates."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--n-components",
        type=int,
        metavar="P",
        help="number of principal components (default: scans per subject)",
    )
    group.add_argument(
        "--basis",
        choices=("svd", "generalizable"),
        default="svd",
        help="use singular values as they are (svd), or re-estimate them with each "
        "group left out (generalizable) (default: %(default)s)",
    )
    group.add_argument(
        "--significance-level",
        type=float,
        metavar="P",
        help="keep only canonical directions that are significant at this level "
        "(default: keep all)",
    )
    group.add_argument(
        "--prior-weight",
        type=_number_or_name,
        metavar="E",
        default="cross-validated",
        help="weight of the prior in predicted probabilities: a number, "
        "cross-validated, or none for no regularization (default: %(default)s)",
    )


def _add_curve_options(parser):
    """Add the options of splits and of what is measured."""
    group = parser.add_argument_group("curve")
    group.add_argument(
        "--train-sizes",
        nargs="+",
        type=int,
        metavar="N",
        help="numbers of training subjects (default: all sizes that leave twice as "
        "many residual degrees of freedom as components)",
    )
    group.add_argument(
        "--n-splits",
        type=int,
        default=150,
        metavar="N",
        help="number of random splits at every size (default: %(default)s)",
    )
    group.add_argument(
        "--pattern",
        choices=("sensitivity", "log_sensitivity", "canonical", "none"),
        default="sensitivity",
        help="map whose reproducibility is measured (default: %(default)s)",
    )
    group.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the splits (default: %(default)s)",
    )
    add_n_jobs(group, default=1)
    add_dry_run(group)


def run(args):
    """Read the scans, compute the curves, write tables, figure and maps."""
    lists = ("labels", "imgs", "exclude", "train_sizes")
    take_last_as_output(args, args.argv, lists)
    from neuroextrap.cli._learning_curve_files import write_curves
    from neuroextrap.learning_curves._scans import read_scans
    from neuroextrap.maps._files import check_output_directory

    source = args.array if args.imgs is None else args.imgs
    bids, files = bids_of_inputs(args, source)
    if not args.dry_run:
        check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    role = "imgs" if args.array is None else "array"
    origin = origin_of_command(args, **{role: files}, scans=args.scans, mask=args.mask)
    schemes, groups, rows = _read_scans(args)
    samples = read_scans(_source(args), args.mask)
    if len(samples.X) != len(rows):
        raise ValueError(
            f"{args.scans} has {len(rows)} rows, but there are {len(samples.X)} scans; "
            "give one row for each scan"
        )
    X, groups = samples.X[rows], groups[rows]
    logger.info(
        "%d scans of %d groups, %d features", *X.shape[:1], len(set(groups)), X.shape[1]
    )
    labels = {name: values[rows] for name, values in schemes.items()}
    if args.dry_run:
        say(_cost(args, X, labels, groups))
        return
    curves = {name: _curve(args, X, y, groups) for name, y in labels.items()}
    data = {"X": X, "groups": groups, "samples": samples}
    output = write_curves(
        args, curves, labels, data, _classifier(args), bids=bids, origin=origin
    )
    say(output)


def _curve(args, X, y, groups, **changed):
    """Compute one curve."""
    from neuroextrap.learning_curves import information_learning_curve

    options = {**_options(args), **changed}
    return information_learning_curve(
        X, y, groups, classifier=_classifier(args), **options
    )


def _cost(args, X, labels, groups):
    """Describe what the curves would take, by timing a few splits of each."""
    from joblib import effective_n_jobs

    n_sizes, seconds = 0, 0.0
    for y in labels.values():
        curve = _curve(args, X, y, groups, n_splits=1, n_jobs=1)
        n_sizes = len(curve.train_sizes)
        seconds += seconds_of(
            lambda n, y=y: _curve(args, X, y, groups, n_splits=n, n_jobs=1),
            args.n_splits,
            few=(1, 4),
        )
    n_workers = effective_n_jobs(args.n_jobs)
    what = (
        f"{len(labels)} curves of {n_sizes} training sizes, {args.n_splits} splits, "
        f"{len(X)} scans of {len(set(groups))} groups, {X.shape[1]} features"
    )
    return cost_line(what, seconds / n_workers, (4 + n_workers) * X.nbytes)


def _source(args):
    """Return images, or the array."""
    from neuroextrap.images._arrays import load_array

    if args.array is not None:
        array = load_array(args.array)
        if array.ndim != 2:
            raise ValueError(
                f"--array {args.array} has shape {array.shape}; give one row for each "
                "scan and one column for each feature"
            )
        return array
    return args.imgs if len(args.imgs) > 1 else args.imgs[0]


def _read_scans(args):
    """Return labels of every scheme, groups, and which rows are analyzed."""
    import numpy as np

    from neuroextrap.images._tables import read_text_table, text_column
    from neuroextrap.learning_curves._protocol import agnostic_labels

    table = read_text_table(args.scans, "--scans")
    wanted = [args.groups, *(name for name in args.labels if name != "agnostic")]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ValueError(
            f"{args.scans} has no column {', '.join(missing)}; it has "
            f"{', '.join(table.columns)}; name others with --labels and --groups"
        )
    columns = {name: text_column(table, name, args.scans) for name in wanted}
    groups = columns[args.groups]
    labeled = np.all([columns[name] != "" for name in wanted], axis=0)
    if not labeled.all():
        logger.warning(
            "%d of %d rows of %s lack a label or a group (n/a or empty) and are left "
            "out",
            (~labeled).sum(),
            len(labeled),
            args.scans,
        )
    excluded = [np.isin(columns[name], args.exclude) for name in wanted[1:]]
    rows = labeled & ~np.any([np.zeros_like(labeled), *excluded], axis=0)
    if not rows.any():
        raise ValueError(f"{args.scans} has no row left to analyze; exclude fewer")
    schemes = {}
    for name in args.labels:
        if name == "agnostic":
            schemes[name] = np.full(len(table), -1)
            schemes[name][rows] = agnostic_labels(groups[rows])
        else:
            schemes[name] = columns[name]
    return schemes, groups, rows


def _classifier(args):
    """Return canonical variates as asked for."""
    from neuroextrap.learning_curves import CanonicalVariates

    return CanonicalVariates(
        args.n_components,
        basis=args.basis,
        significance_level=args.significance_level,
    )


def _options(args):
    """Return what the curve function is told."""
    return {
        "center": None if args.center == "none" else args.center,
        "scale": None if args.scale == "none" else args.scale,
        "pattern": None if args.pattern == "none" else args.pattern,
        "prior_weight": args.prior_weight,
        "train_sizes": args.train_sizes,
        "n_splits": args.n_splits,
        "random_state": args.random_state,
        "n_jobs": args.n_jobs,
    }


def _number_or_name(text):
    """Read a number or a name; "none" is None."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text
