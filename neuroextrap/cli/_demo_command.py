"""``neuroextrap demo``: whole-brain maps of simulated data whose truth is known."""

from pathlib import Path

from neuroextrap.cli._parser import OUT, Command

_DESCRIPTION = """\
Simulate a brain in the MNI152 mask (3 mm, about 70,000 voxels) with three
spheres of known information, analyze it blindly, and print truth against
estimate. Act A: 8 categories in 12 runs, one run left out at a time, labels
permuted within runs. Act B: 96 stimuli in 4 runs, trained on three and tested
on the fourth, lower bounds, stimuli permuted against responses.
"""

_EXAMPLES = """\
examples:
  neuroextrap demo demo_output
  neuroextrap demo demo_output --quick --overwrite    (10 mm voxels, seconds)
"""
_OPTIONS = """
[]
+ output: overwrite
quick: flag: take voxels of 10 mm instead of 3 mm, and 99 permutations
n_permutations: whole N:
    number of permutations in each act (default: 1000, or 99 with --quick)
n_jobs: whole N = 2: number of workers
random_state: whole SEED = 0: seed of the simulation and the permutations
"""
COMMAND = Command(
    "maps of simulated data whose truth is known",
    "[options] OUT",
    _DESCRIPTION,
    _EXAMPLES,
    OUT,
    _OPTIONS,
)


def run(args):
    """Simulate and analyze both acts; write maps, tables and the report."""
    from neuroextrap.cli import _demo_acts as acts
    from neuroextrap.cli._results import command_record
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.maps._transaction import replaced_results

    how = {name: getattr(args, name) for name in ("n_permutations", "random_state")}
    how |= {"n_jobs": args.n_jobs, "verbose": int(not args.quiet)}
    how["size"] = acts.QUICK if args.quick else acts.WHOLE
    if args.n_permutations is None:
        how["n_permutations"] = 99 if args.quick else 1000
    out, record = Path(args.out), command_record(args)
    parts, given = [(ResultFiles.below(out), record)], {"overwrite": args.overwrite}
    with replaced_results(parts, **given) as [folder]:
        played = [acts.perform(act, folder, record, **how) for act in acts.ACTS]
        acts.demo_page(played).save_as_html(folder / "report.html")
    return f"maps, sidecars and truth.tsv of each act in {out}; open {out}/report.html"
