"""``neuroextrap continuous``: encoding models of films and stories, from a table."""

from typing import Any

from neuroextrap.cli._console import say
from neuroextrap.cli._parser import (
    DRY_RUN,
    add_options,
    add_output_options,
    options_of,
    parameters_of,
)

_EXAMPLES = """\
RUNS: tab-separated, one row for each run, with the columns
  set         train or test
  imgs        4-D image of the run, or a .npy of volumes x neurons
  confounds   if they are regressed out: a table of numbers, a row per volume
  sample_mask if volumes are left out: a .npy of those that are kept
  and one for each band of features (motion, words, ...), which has a name of
  its own and a penalty of its own: files with one row for each volume (.npy,
  .tsv, ...); or tables at any rate with columns onset and, perhaps, duration
  (seconds); or BIDS events, a feature for each trial_type.
Files lie beside the table, or below its folder. Runs of the set test that have
the same features are repeats: they are averaged, and give the noise ceiling.

Of several bands maps say what each explains: r2_product_of_BAND, parts that add
up to r2; r2_unique_of_BAND, which is lost without it; and r2_shared. Maps
segment_... say how well segments of --segments seconds are identified.

examples:
  neuroextrap continuous runs.tsv results --n-permutations 1000 --report
  neuroextrap continuous runs.tsv results --delays 2 3 4 5 --segments 20
"""
_PRINTED = ("correlation", "noise_ceiling", "p_value_fwe", "r2_unique")
_NAMES = (
    "confounds of images of fMRIPrep that are regressed out, by nilearn's names: "
    "motion, wm_csf, global_signal, high_pass, compcor, scrub, ica_aroma, tedana"
)


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "continuous",
        help="predict responses to films and stories",
        usage="neuroextrap continuous RUNS OUT [options]",
        description="Fit an encoding model of features in time to some runs, and map\n"
        "how well it predicts others.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("runs", metavar="RUNS", help="table of runs (.tsv)")
    parser.add_argument("out", metavar="OUT", help="folder for the results")
    rows = options_of("continuous", "voxels", "regions")
    add_options(parser, "voxels and regions of segments", rows)
    add_options(parser, "analysis", options_of("continuous", "analysis"))
    segments = options_of("cohort", "films", test_runs=None)
    add_options(parser, None, segments | {"dry_run": DRY_RUN})
    cleaning = {"confounds": options_of("samples")["confounds"]._replace(help=_NAMES)}
    add_options(parser, "cleaning", options_of("continuous", "samples") | cleaning)
    add_output_options(parser)


def run(args):
    """Read, fit, score, and write maps, tables and page."""
    from neuroextrap.cli._results import (
        bids_of_inputs,
        check_pictures,
        cost_of_regions,
        origin_of_command,
        write_region_maps,
    )
    from neuroextrap.encoding import ContinuousEncoding
    from neuroextrap.encoding._continuous_runs import read_table_of_runs
    from neuroextrap.encoding._cost import estimate_cost_of_runs
    from neuroextrap.maps._files import check_output_directory

    check_pictures(args)
    table = read_table_of_runs(args.runs)
    bids, files = bids_of_inputs(args, table.imgs)
    if not args.dry_run:
        check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    origin = origin_of_command(
        args,
        runs=args.runs,
        mask=args.mask,
        labels_img=args.labels_img,
        process_mask=args.process_mask,
        **table.files | {"imgs": files},
    )
    if args.confounds is not None:
        table = table.cleaned_by(args.confounds)
    model = ContinuousEncoding(**parameters_of(args, "continuous"))
    if args.dry_run:
        cost = estimate_cost_of_runs(model, table, args.segments)
        say(cost_of_regions(cost, None, f"{len(table.sets)} runs, "))
        return
    maps: Any = model.fit_runs(table, seconds=args.segments)
    shown = [name for name in maps.region_scores_ if name.startswith(_PRINTED)]
    shown = [name for name in shown if "normalized" not in name]
    shown.sort(key=lambda name: name != "correlation")
    say(write_region_maps(maps, maps, args, shown, bids=bids, origin=origin))
