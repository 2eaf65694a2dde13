"""``neuroextrap learning-curve``: information against the number of subjects."""

import logging

from neuroextrap.analysis._options import (
    number_or_name,
    one_of,
    path,
    paths,
    real,
    text,
    texts,
    whole,
)
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import (
    DRY_RUN,
    add_options,
    add_output_options,
    take_last_as_output,
)
from neuroextrap.cli._results import (
    bids_of_inputs,
    cost_line,
    origin_of_command,
    seconds_of,
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
_SOURCES = {
    "imgs": paths("3-D or 4-D images of scans", first=True),
    "array": path(".npy of scans x features", "NPY", first=True),
}
_INPUT = {
    "scans": path(
        "table with one row for each scan (see --help-all)", "TSV", required=True
    ),
    "labels": texts(
        "columns of labels, one curve for each; 'agnostic' labels every scan of a "
        "subject by its position",
        ["trial_type"],
        "COLUMN",
        said="trial_type",
        first=True,
    ),
    "groups": text("column of subjects or runs", "subject", "COLUMN", first=True),
    "exclude": texts("labels whose scans are left out", [], said="none"),
    "mask": path("brain mask", said="computed from the images", first=True),
}
_MODEL = {
    "n_components": whole(
        "number of principal components", None, "P", said="scans per subject"
    ),
    "basis": one_of(
        "use singular values as they are (svd), or re-estimate them with each group "
        "left out (generalizable)",
        "svd generalizable",
        "svd",
    ),
    "significance_level": real(
        "keep only canonical directions that are significant at this level",
        None,
        "P",
        said="keep all",
    ),
}
_CURVE = {
    "center": one_of(
        "subtract each group's mean scan, or nothing", "group none", "group"
    ),
    "scale": one_of("divide each scan by its mean, or leave it", "mean none", "none"),
    "pattern": one_of(
        "map whose reproducibility is measured",
        "sensitivity log_sensitivity canonical none",
        "sensitivity",
    ),
    "prior_weight": text(
        "weight of the prior in predicted probabilities: a number, cross-validated, or "
        "none for no regularization",
        "cross-validated",
        "E",
        kind=number_or_name,
    ),
    "train_sizes": whole(
        "numbers of training subjects",
        many=True,
        said="all sizes that leave twice as many residual degrees of freedom as "
        "components",
        first=True,
    ),
    "n_splits": whole("number of random splits at every size", 150, first=True),
    "random_state": whole("seed of the splits", 0, "SEED"),
    "n_jobs": whole("number of workers", 1),
}


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
    group = add_options(parser, "input", _INPUT)
    source = group.add_mutually_exclusive_group(required=True)
    add_options(source, None, _SOURCES)
    add_options(parser, "model", _MODEL)
    add_options(parser, "curve", _CURVE | {"dry_run": DRY_RUN})
    add_output_options(parser, maps=False)


def run(args):
    """Read the scans, compute the curves, write tables and maps."""
    take_last_as_output(args)
    from neuroextrap.cli._learning_curve_files import write_curves
    from neuroextrap.learning_curves._curve_run import read_scans
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
    from neuroextrap.images._tables import load_array

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
    """Return canonical variates as requested."""
    from neuroextrap.learning_curves import CanonicalVariates

    return CanonicalVariates(**{name: getattr(args, name) for name in _MODEL})


def _options(args):
    """Return what the curve function is told."""
    return {name: each.value(getattr(args, name)) for name, each in _CURVE.items()}
