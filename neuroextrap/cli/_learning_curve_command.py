"""``neuroextrap learning-curve``: information against the number of subjects."""

from functools import partial

from neuroextrap.cli._console import logger
from neuroextrap.cli._parser import LAST, Command, read_groups

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
_OPTIONS = """
[input]
scans: path TSV required: table with one row for each scan (see --help-all)
mask: path IMG first: brain mask (default: computed from the images)
imgs: paths IMG first: 3-D or 4-D images of scans
array: path NPY first: .npy of scans x features
[samples]
labels: texts COLUMN first = ['trial_type']:
    columns of labels, one curve for each; 'agnostic' labels every scan of a subject by
    its position (default: trial_type)
groups: text COLUMN first = 'subject': column of subjects or runs
exclude: texts NAME = []: labels whose scans are left out (default: none)
[model]
n_components: whole P: number of principal components (default: scans per subject)
basis: one_of svd|generalizable = 'svd':
    use singular values as they are (svd), or re-estimate them with each group left out
    (generalizable)
significance_level: real P:
    keep only canonical directions that are significant at this level (default: keep
    all)
[curve]
center: one_of group|none = 'group': subtract each group's mean scan, or nothing
scale: one_of mean|none = 'none': divide each scan by its mean, or leave it
pattern: one_of sensitivity|log_sensitivity|canonical|none = 'sensitivity':
    map whose reproducibility is measured
prior_weight: number_or_name E = 'cross-validated':
    weight of the prior in predicted probabilities: a number, cross-validated, or none
    for no regularization
train_sizes: wholes N first:
    numbers of training subjects (default: all sizes that leave twice as many residual
    degrees of freedom as components)
n_splits: whole N first = 150: number of random splits at every size
[resources]
random_state: whole SEED = 0: seed of the splits
n_jobs: whole N = 1: number of workers
+ dry_run
[output]
+ output: overwrite bids report
"""
COMMAND = Command(
    "information about unseen subjects against training subjects",
    "(--imgs A [B ...] | --array X.npy) \n       --scans TSV [options] OUT",
    "Mutual information learning curves: what canonical variates\n"
    "trained on some subjects tell about the scans of others, in bits.",
    _EXAMPLES,
    LAST,
    _OPTIONS,
    "imgs excludes array: give the scans in one of these ways\n",
)
_HEADINGS = {
    "scheme": "labels",
    "train_size": "train size",
    "information": "bits",
    "information_spread": "spread",
    "error_rate": "error",
    "baseline_error_rate": "baseline",
    "reproducibility": "reproducibility",
}


def run(args):
    """Read the scans, compute the curves, write tables and maps."""
    from neuroextrap.cli._results import Output

    role = _role(args)
    output = Output.of_images(args, getattr(args, role), f"{role} scans mask", role)
    samples, data, labels = _read(args)
    curve = _curve(args, data)
    if output.dry_run:
        return _cost(curve, labels)
    curves = {name: curve(y=y) for name, y in labels.items()}
    maps: tuple[dict, dict] = {}, {}
    if samples.masker is not None:
        maps = _maps(output, samples, labels, curve.keywords)
    options = _given(args, "samples") | _given(args, "curve")
    options["classifier"] = curve.keywords["classifier"]
    about = {"parameters": options, "random_state": args.random_state}
    return _written(output, curves, maps, inputs=data | labels, **about)


def _role(args):
    """Return which option names the scans; ValueError if none does."""
    if args.imgs is None and args.array is None:
        raise ValueError("--imgs or --array is required: where are the scans?")
    return "imgs" if args.array is None else "array"


def _curve(args, data):
    """Return the function that computes the curve of labels."""
    from neuroextrap.learning_curves import (
        CanonicalVariates,
        information_learning_curve,
    )

    model = CanonicalVariates(**_given(args, "model"))
    how = _given(args, "curve") | _given(args, "resources")
    del how["dry_run"]
    return partial(information_learning_curve, classifier=model, **data, **how)


def _given(args, section):
    """Return the values of the options in a section of help, by name."""
    options = read_groups(_OPTIONS)[section].items()
    return {name: option.value(getattr(args, name)) for name, option in options}


def _cost(curve, labels):
    """Describe what the curves would take, by timing a few splits of each."""
    from joblib import effective_n_jobs

    from neuroextrap.cli._results import cost_line, seconds_of

    options, (n_scans, n_features) = curve.keywords, curve.keywords["X"].shape
    n_splits, n_groups = options["n_splits"], len(set(options["groups"]))
    n_workers = effective_n_jobs(options["n_jobs"])
    n_sizes, seconds = 0, 0.0
    for y in labels.values():
        few = partial(curve, y=y, n_jobs=1)
        n_sizes = len(few(n_splits=1).train_sizes)
        seconds += seconds_of(lambda n, f=few: f(n_splits=n), n_splits, few=(1, 4))
    what = (
        f"{len(labels)} curves of {n_sizes} training sizes, {n_splits} splits, "
        f"{n_scans} scans of {n_groups} groups, {n_features} features"
    )
    return cost_line(what, seconds / n_workers, (4 + n_workers) * options["X"].nbytes)


def _source(args):
    """Return images, or the array."""
    from neuroextrap.images._tables import load_array

    if args.array is None:
        return args.imgs if len(args.imgs) > 1 else args.imgs[0]
    array = load_array(args.array)
    if array.ndim != 2:
        raise ValueError(
            f"--array {args.array} has shape {array.shape}; give one row for each "
            "scan and one column for each feature"
        )
    return array


def _read(args):
    """Return samples (masker and scans), the data that are analyzed, and labels."""
    from neuroextrap.learning_curves._curve_run import read_scans
    from neuroextrap.learning_curves._protocol import agnostic_labels

    columns, rows = _columns(args)
    samples = read_scans(_source(args), args.mask)
    if len(samples.X) != len(rows):
        raise ValueError(
            f"{args.scans} has {len(rows)} rows, but there are {len(samples.X)} scans; "
            "give one row for each scan"
        )
    X, groups = samples.X[rows], columns[args.groups][rows]
    size = len(X), len(set(groups)), X.shape[1]
    logger.info("%d scans of %d groups, %d features", *size)
    labels = {
        name: agnostic_labels(groups) if name == "agnostic" else columns[name][rows]
        for name in args.labels
    }
    return samples, {"X": X, "groups": groups}, labels


def _columns(args):
    """Return groups and labels of the table of scans, and which rows are analyzed."""
    import numpy as np

    from neuroextrap.images._tables import read_text_table, text_column

    table = read_text_table(args.scans, "--scans")
    labels = [name for name in args.labels if name != "agnostic"]
    missing = [name for name in (args.groups, *labels) if name not in table.columns]
    if missing:
        raise ValueError(
            f"{args.scans} has no column {', '.join(missing)}; it has "
            f"{', '.join(table.columns)}; name others with --labels and --groups"
        )
    names = dict.fromkeys([args.groups, *labels])
    columns = {name: text_column(table, name, args.scans) for name in names}
    lacking = np.any([values == "" for values in columns.values()], axis=0)
    if lacking.any():
        rows = f"{lacking.sum()} of {len(lacking)} rows of {args.scans}"
        lack = "%s lack a label or a group (n/a or empty) and are left out"
        logger.warning(lack, rows)
    excluded = [np.isin(columns[name], args.exclude) for name in labels]
    rows = ~np.any([lacking, *excluded], axis=0)
    if not rows.any():
        raise ValueError(f"{args.scans} has no row left to analyze; exclude fewer")
    return columns, rows


def _maps(output, samples, labels, options):
    """Return images and sidecars of models trained on all subjects, dicts by name."""
    from sklearn.base import clone

    from neuroextrap.images import to_img
    from neuroextrap.learning_curves import sensitivity_map
    from neuroextrap.learning_curves._curve_run import center_groups, scale_scans
    from neuroextrap.maps._files import describe_map
    from neuroextrap.maps._named_records import curve_record
    from neuroextrap.maps._provenance import provenance

    X, groups = options["X"], options["groups"]
    X = scale_scans(X) if options["scale"] == "mean" else X
    X = center_groups(X, groups) if options["center"] == "group" else X
    images, sidecars, about = {}, {}, output.origin.sidecar()
    for name, y in labels.items():
        model = clone(options["classifier"]).fit(X, y, groups=groups)
        made = about | provenance(
            parameters={"labels": name, "n_components": model.n_components_},
            inputs={"X": X, "y": y},
            random_state=options["random_state"],
        )
        maps = {"sensitivity": sensitivity_map(model, X, y)}
        for kind, values in (maps | {"canonical": model.canonical_maps_}).items():
            if len(values):
                key = f"{kind}_{name}"
                images[key] = to_img(samples.expand(values), samples.masker)
                sidecars[key] = describe_map(curve_record(kind, name), made)
    return images, sidecars


def _written(output, curves, maps, **about):
    """Write tables, images and sidecars, and the page; return a summary."""
    from neuroextrap.analysis._region_maps import table_writer
    from neuroextrap.learning_curves import learning_curve_report
    from neuroextrap.learning_curves._comparison import table_of_curves
    from neuroextrap.maps._files import write_maps
    from neuroextrap.maps._provenance import provenance

    table = table_of_curves(curves, "scheme")
    more = {"learning_curve.tsv": table_writer(table)}
    more["confusion.tsv"] = partial(_confusions(curves).to_csv, sep="\t", index=False)
    if output.report:
        more["report.html"] = learning_curve_report(curves).save_as_html
    record = output.origin.record | output.origin.sidecar() | provenance(**about)
    how = {"bids": output.bids, "overwrite": output.overwrite, "more": more}
    how |= {"provenance": record, "sources": output.origin.paths}
    write_maps(output.folder, *maps, **how)
    names = ", ".join(map(output.places.name, ("learning_curve.tsv", "confusion.tsv")))
    names += ", maps" if maps[0] else ""
    return f"{_summary(curves, table)}\n{output.where_written(names)}"


def _summary(curves, table):
    """Describe curves in lines of text."""
    from html import unescape

    from neuroextrap.cli._results import text_table
    from neuroextrap.learning_curves._report import words_found

    notes = [
        f"{row.scheme}, {row.train_size} subjects: {row.note}"
        for row in table.itertuples()
        if row.note
    ]
    said = map(unescape, map(str, words_found(curves)))
    return "\n".join([text_table(table, _HEADINGS), *said, *notes[:3]])


def _confusions(curves):
    """Return mean predicted probabilities as a tidy table."""
    import pandas as pd

    # columns, then rows: those of the transpose are true and predicted classes
    rows = {
        (name, size): pd.DataFrame(matrix.T, curve.classes, curve.classes).unstack()
        for name, curve in curves.items()
        for size, matrix in zip(curve.train_sizes, curve.confusion, strict=True)
    }
    heads = ["scheme", "train_size", "true", "predicted"]
    return pd.concat(rows, names=heads).rename("probability").reset_index()
