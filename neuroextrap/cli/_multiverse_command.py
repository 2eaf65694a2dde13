"""``neuroextrap multiverse``: several pipelines of one experiment, one p-value."""

from typing import Any

from neuroextrap.cli import _parser as parser
from neuroextrap.cli._option_files import RaisingParser
from neuroextrap.cli._searchlight_command import ANALYSIS, RESOURCES

_EXAMPLES = """\
CONFIG.toml has the options of neuroextrap searchlight, with _ for -, those that
all pipelines share first, and a table for each pipeline:

  imgs = ["run-1_bold.nii.gz", "run-2_bold.nii.gz"]
  events = ["run-1_events.tsv", "run-2_events.tsv"]
  t_r = 2.0
  samples = "lss"
  n_permutations = 1000

  [pipeline.small]
  radius = 6
  [pipeline.large]
  radius = 12
  [pipeline.smoothed]
  radius = 6
  smoothing_fwhm = 4

Every pipeline must have the same samples, in the same order. Paths are those
seen from where the command is run.

examples:
  neuroextrap multiverse pipelines.toml results
"""
_SHOWN = (
    "pipeline n_regions largest_standardized p_value_fwe_alone p_value_fwe "
    "n_surviving_alone n_surviving"
)
COMMAND = parser.Command(
    "several pipelines of one experiment, tested together",
    "CONFIG.toml [options] OUT",
    "Run several searchlights under the same permuted labels, and\n"
    "correct for all regions and all pipelines together.",
    _EXAMPLES,
    "config: path CONFIG.toml required: options and pipelines\n" + parser.OUT,
    "[]\n+ output: overwrite\n",
    intermixed=True,
)


def run(args):
    """Read every pipeline's samples, test all, write maps, table and page."""
    from neuroextrap.cli._results import text_table
    from neuroextrap.decoding import multiverse
    from neuroextrap.maps._files import check_output_directory

    check_output_directory(args.out, overwrite=args.overwrite)
    pipelines, first = _read(args.config)
    maps = multiverse(pipelines, None, first.y, first.runs, order=first.order)
    maps.bg_img_ = first.bg_img
    pages = {"report.html": maps.generate_report().save_as_html}
    maps.to_directory(args.out, overwrite=args.overwrite, more=pages)
    return (
        f"p_value_fwe holds for all voxels and pipelines together:\n"
        f"{text_table(maps.table_, _SHOWN.split())}\n"
        f"maps and pipelines.tsv in {args.out}; open {args.out}/report.html"
    )


def _read(path):
    """Return searchlight and data of every pipeline, by name, and the first samples."""
    import numpy as np

    pipelines: dict = {}
    first: Any = None
    for name, (light, samples, (data, *_)) in planned_pipelines(path):
        pipelines[name], first = (light, data), first or samples
        alike = [np.array_equal(samples.y, first.y)]
        alike += [np.array_equal(samples.runs, first.runs)]
        if not all(alike):
            raise ValueError(
                f"{path}: pipeline {name!r} has other samples than the first; give all "
                "the same events, samples and exclude"
            )
    return pipelines, first


def planned_pipelines(path, most=None):
    """Yield the name and Planned searchlight of every pipeline, `most` at the most."""
    from neuroextrap.cli._planned_searchlight import Request

    parsed = {}
    for name, given in _pipelines(path, most).items():
        reader = RaisingParser(ANALYSIS + RESOURCES)
        parsed[name] = reader.parse_file(f"{path}: pipeline {name!r}", given)
    for name, own in parsed.items():
        yield name, Request(own).plan()


def _pipelines(path, most):
    """Return the options of every pipeline in a TOML file, a dict by name."""
    from neuroextrap.cohorts._cohort_records import read_toml

    shared = read_toml(path)
    tables = shared.pop("pipeline", {})
    n = len(tables) if isinstance(tables, dict) else 0
    if not 2 <= n <= (most or n):
        wanted = "two" if most else "at least two"
        raise ValueError(
            f"{path} must have {wanted} tables [pipeline.NAME]; see --help"
        )
    for name, table in (tables | shared).items():
        if isinstance(table, dict) != (name in tables):
            raise ValueError(f"{path}: {name} is no option, nor a [pipeline.NAME]")
    return {name: shared | own for name, own in tables.items()}
