"""``neuroextrap encoding``: from images and stimulus features to identification."""

from neuroextrap.analysis._options import path, paths, real, text, texts
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import (
    add_options,
    add_output_options,
    add_resource_options,
    options_of,
    parameters_of,
    take_last_as_output,
)
from neuroextrap.cli._results import (
    bids_of_inputs,
    cost_of_regions,
    origin_of_command,
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
--stimulus-images: a folder or .zip of images, named like the stimuli or in the
  column stim_file; or .npy (n_volumes x height x width, or x 3 for color).
  They are turned into --model features.
Maps voxel_r2 and voxel_correlation say how well test responses are predicted;
if test stimuli are repeated, also as proportions of the noise ceiling.
Results of images with BIDS names are BIDS derivatives, as of searchlight.

examples:
  neuroextrap encoding --imgs betas.nii.gz --stimuli volumes.tsv \\
      --features gabor.npy --radius 9 --n-permutations 1000 --report results
  neuroextrap encoding --imgs neurons.npy --stimuli volumes.tsv \\
      --stimulus-images photographs --folds 5 --extrapolate 1000 10000 results
  neuroextrap compare results_gabor results_layer5 comparison
"""
_INPUT = {
    "imgs": paths(
        "images with one volume for each stimulus shown, or a .npy of volumes x "
        "neurons",
        required=True,
    ),
    "stimuli": path(
        "table with one row for each volume (see --help-all)", "TSV", required=True
    ),
    "groups": text(
        "column of --stimuli, such as run, whose entries cross-validation of the "
        "encoder keeps together",
        None,
        "COLUMN",
        said="stimuli",
    ),
    "bands": text(
        "give each band of features a penalty of its own (--encoder ridge): kinds, of "
        "features that --model computes, or a file with one line for each: its name "
        "and its band, or, without names, the bands in the order of the features",
        None,
        "kinds|FILE",
        said="one band",
    ),
}
_EXTRAPOLATION = {
    "extrapolate": texts(
        "predict accuracy among these numbers of candidates, with intervals, in "
        "extrapolation.tsv: for the strongest regions, or all of an atlas",
        None,
        "K",
        first=True,
    ),
    "interval_level": real("confidence level of these intervals", 0.9, "P"),
}


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
    features = options_of("stimuli")
    folds = {"folds": features.pop("folds")}
    defaults = {"features": "other columns of --stimuli"}
    add_options(parser, "input", _INPUT | features, **defaults)
    add_options(parser, "regions", options_of("encoding", "voxels", "regions"))
    analysis = options_of("encoding", "analysis") | folds | _EXTRAPOLATION
    defaults = {"folds": "train and test as the column set says"}
    add_options(parser, "analysis", analysis, **defaults)
    add_resource_options(parser, "encoding")
    add_output_options(parser)


def run(args):
    """Read, fit, identify, and write maps and summary."""
    take_last_as_output(args)
    from neuroextrap.cli._results import check_pictures, write_results
    from neuroextrap.cli._stimulus_tables import read_data
    from neuroextrap.maps._files import check_output_directory

    bids, files = bids_of_inputs(args, args.imgs)
    check_pictures(args)
    check_extrapolation(args)
    _check_options(args)
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
        from neuroextrap.encoding._cost import estimate_cost

        stimuli = f"{len(data.tested)} stimuli, "
        cost = estimate_cost(_model(args, data), data)
        say(cost_of_regions(cost, args.shard, stimuli))
        return
    model = data.identify(_model(args, data))
    predicted = extrapolation_table(model, args.extrapolate, args.interval_level)
    say(write_results(model, args, bids, origin, tables={"extrapolation": predicted}))


def _check_options(args):
    """Raise before any work if options do not go together."""
    if args.folds is not None and args.folds < 2:
        raise ValueError(f"--folds {args.folds} must be at least 2")
    if args.folds is not None and args.groups is not None:
        raise ValueError(
            f"--groups {args.groups} is of training volumes, and with --folds all "
            "stimuli are tested; give one"
        )
    if args.bands is not None and args.encoder != "ridge":
        raise ValueError(f"--bands {args.bands} needs --encoder ridge")


def _one_file(path):
    """Return a path unless it is a folder, or None."""
    from pathlib import Path

    return None if path is None or Path(path).is_dir() else path


def _model(args, data):
    """Return the model that the options and the bands of the data describe."""
    from neuroextrap.encoding import EncodingIdentification
    from neuroextrap.maps._records import nested_parameters

    given = parameters_of(args, "encoding") | {"mask": data.mask}
    if data.bands is not None:
        given["encoder"].set_params(bands=data.bands)
    return EncodingIdentification(**nested_parameters(EncodingIdentification, given))


def check_extrapolation(args):
    """Turn the set sizes of --extrapolate into numbers; ValueError if they are none."""
    if args.extrapolate is None:
        return
    for size in args.extrapolate:
        if not (size.isascii() and size.isdecimal() and int(size) >= 2):
            raise ValueError(
                f"--extrapolate {size} must be a whole number of at least 2 candidates"
            )
    args.extrapolate = [int(size) for size in args.extrapolate]
    if not 0 < args.interval_level < 1:
        raise ValueError(
            f"--interval-level {args.interval_level} must lie between 0 and 1"
        )


def extrapolation_table(fitted, set_sizes, confidence_level):
    """Return predicted accuracies and the ends of their intervals as a DataFrame.

    One row for every set size of the strongest regions, or of all if a fitted
    analysis has a table. Of classifiers that see all classes in training the ends are
    unknown (NaN). None if no set sizes are requested.
    """
    if set_sizes is None:
        return None
    import numpy as np
    import pandas as pd

    from neuroextrap.reporting import peak_table

    n_rows = 10 if fitted.table_ is None else len(fitted.wins_)
    peaks = peak_table(fitted, n_peaks=n_rows)
    placed = [name for name in ("region", "name", "x", "y", "z") if name in peaks]
    rows = []
    for peak in peaks[placed].to_dict("records"):
        model = fitted.extrapolator(int(peak["region"]))
        sizes = np.asarray(sorted(set(set_sizes)))
        ends = np.full((2, len(sizes)), np.nan)
        if fitted.results_.marginal:
            ends = model.predict_interval(sizes, confidence_level)
        predicted = zip(sizes, model.predict(sizes), *ends, strict=True)
        for size, accuracy, lower, upper in predicted:
            row = {"set_size": size, "accuracy": accuracy}
            rows.append({**peak, **row, "lower": lower, "upper": upper})
    return pd.DataFrame(rows)
