"""``neuroextrap encoding``: from images and stimulus features to identification."""

from math import nan

from neuroextrap.cli import _parser as parser

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


_OPTIONS = """
[input]
imgs: paths IMG required:
    images with one volume for each stimulus shown, or a .npy of volumes x neurons
stimuli: path TSV required: table with one row for each volume (see --help-all)
groups: text COLUMN:
    column of --stimuli, such as run, whose entries cross-validation of the encoder
    keeps together (default: stimuli)
bands: text kinds|FILE:
    give each band of features a penalty of its own (--encoder ridge): kinds, of
    features that --model computes, or a file with one line for each: its name and its
    band, or, without names, the bands in the order of the features (default: one band)
+ stimuli: -folds
~ features (default: other columns of --stimuli)
[regions]
+ encoding voxels regions
[analysis]
+ encoding analysis
+ stimuli
~ folds (default: train and test as the column set says)
extrapolate: set_size_or_names K first least=2:
    predict accuracy among these numbers of candidates, with intervals, in
    extrapolation.tsv: for the strongest regions, or all of an atlas
interval_level: real P above=0 below=1 = 0.9: confidence level of these intervals
[resources (without an effect on results)]
+ encoding resources
+ dask
+ dry_run
[output]
+ output
"""
COMMAND = parser.Command(
    "identify stimuli through an encoding model",
    "--imgs A [B ...] --stimuli TSV [options] OUT",
    "Fit an encoding model to training volumes and identify the\n"
    "stimuli of test volumes, region by region.",
    _EXAMPLES,
    parser.LAST,
    _OPTIONS,
    "groups excludes folds: it is of training volumes, and all stimuli are tested\n"
    "bands needs encoder=ridge: each band has a penalty of its own\n" + parser.PICTURES,
)


def run(args):
    """Read, fit, identify, and write maps and summary."""
    from neuroextrap.cli._results import Output, cost_of_regions
    from neuroextrap.cli._stimulus_tables import read_data
    from neuroextrap.encoding._cost import estimate_cost

    output = Output.of_images(args, args.imgs, parser.inputs_of(COMMAND))
    data = read_data(args)
    model = _model(args, data)
    if output.dry_run:
        cost = estimate_cost(model, data)
        return cost_of_regions(cost, args.shard, f"{len(data.tested)} stimuli, ")
    fitted = data.identify(model)
    set_sizes = sorted({*args.extrapolate}) if args.extrapolate else None
    predicted = extrapolation_table(fitted, set_sizes, args.interval_level)
    return output.write_analysis(fitted, {"extrapolation": predicted})


def _model(args, data):
    """Return the model that the options and the bands of the data describe."""
    from neuroextrap.encoding import EncodingIdentification
    from neuroextrap.maps._records import nested_parameters

    given = parser.parameters_of(args, "encoding") | {"mask": data.mask}
    if data.bands is not None:
        given["encoder"].set_params(bands=data.bands)
    return EncodingIdentification(**nested_parameters(EncodingIdentification, given))


def extrapolation_table(fitted, set_sizes, confidence_level):
    """Return predicted accuracies of regions, and the ends of intervals if known."""
    if set_sizes is None:
        return None
    import pandas as pd

    from neuroextrap.reporting import peak_table

    n_rows = 10 if fitted.table_ is None else len(fitted.wins_)
    peaks = peak_table(fitted, n_peaks=n_rows).filter(["region", "name", *"xyz"])
    parts = []
    for peak in peaks.to_dict("records"):
        model = fitted.extrapolator(int(peak["region"]))
        curve = {"set_size": set_sizes, "accuracy": model.predict(set_sizes)}
        ends = nan, nan
        if fitted.results_.marginal:
            ends = model.predict_interval(set_sizes, confidence_level)
        parts.append(pd.DataFrame(peak | curve).assign(lower=ends[0], upper=ends[1]))
    return pd.concat(parts, ignore_index=True)
