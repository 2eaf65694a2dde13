"""``neuroextrap continuous``: encoding models of films and stories, from a table."""

from typing import Any

from neuroextrap.cli import _parser as parser

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


_OPTIONS = """
[voxels and regions of segments]
+ continuous voxels regions
[analysis]
+ continuous analysis
[]
+ cohort films: segments
+ dry_run
[cleaning]
+ continuous samples
confounds: texts NAME:
    confounds of images of fMRIPrep that are regressed out, by nilearn's names: motion,
    wm_csf, global_signal, high_pass, compcor, scrub, ica_aroma, tedana (default: none)
[output]
+ output
"""
COMMAND = parser.Command(
    "predict responses to films and stories",
    "RUNS OUT [options]",
    "Fit an encoding model of features in time to some runs, and map\n"
    "how well it predicts others.",
    _EXAMPLES,
    "runs: path RUNS required: table of runs (.tsv)\n" + parser.OUT,
    _OPTIONS,
    parser.PICTURES,
)


def run(args):
    """Read, fit, score, and write maps, tables and page."""
    from neuroextrap.cli._results import Output, cost_of_regions
    from neuroextrap.encoding import ContinuousEncoding
    from neuroextrap.encoding._continuous_runs import read_table_of_runs
    from neuroextrap.encoding._cost import estimate_cost_of_runs

    table = read_table_of_runs(args.runs)
    files = {"runs": args.runs} | table.files
    output = Output.of_images(args, table.imgs, parser.inputs_of(COMMAND), **files)
    if args.confounds is not None:
        table = table.cleaned_by(args.confounds)
    model = ContinuousEncoding(**parser.parameters_of(args, "continuous"))
    if output.dry_run:
        cost = estimate_cost_of_runs(model, table, args.segments)
        return cost_of_regions(cost, what=f"{len(table.sets)} runs, ")
    maps: Any = model.fit_runs(table, seconds=args.segments)
    return output.write_maps(maps, _printed_names(maps.region_scores_))


def _printed_names(names):
    """Return the names of maps that are printed, correlation first."""
    printed = [name for name in names if name.startswith(_PRINTED)]
    printed.sort(key="correlation".__ne__)
    return [name for name in printed if "normalized" not in name]
