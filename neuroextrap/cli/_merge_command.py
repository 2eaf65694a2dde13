"""``neuroextrap merge``: join the parts of a run that was split by ``--shard``."""

from dataclasses import replace
from pathlib import Path

from neuroextrap.cli._parser import OUT, PICTURES, Command

_EXAMPLES = """\
examples:
  neuroextrap searchlight ... --shard 1/2 part1    (on one machine)
  neuroextrap searchlight ... --shard 2/2 part2    (on another)
  neuroextrap merge part1 part2 results --report

Parts of another run (other data, labels, regions, options or versions) are
refused, and so are missing parts, unless --allow-missing is given.

Parts of neuroextrap encoding are joined in the same way. A part is a folder, or
its file analysis.json (under BIDS names sub-.._desc-analysis_stat.json) where
a folder holds several.
"""
_OPTIONS = """
[]
allow_missing: flag:
    join the parts that are there although others are missing, and mark the results as
    partial
[output]
+ output
"""
COMMAND = Command(
    "join the parts of a run that was split by --shard",
    "PART [PART ...] [options] OUT",
    "Join the parts of a run that was split by --shard.",
    _EXAMPLES,
    "parts: paths PART required: folders of the parts\n" + OUT,
    _OPTIONS,
    PICTURES,
    intermixed=True,
)


def run(args):
    """Join the parts and write the whole."""
    from neuroextrap.cli._results import Output

    for part in args.parts:
        if not Path(part).exists():
            raise FileNotFoundError(
                f"PART {part} is not a folder; name the folders that "
                "'neuroextrap searchlight --shard' wrote"
            )
    kind, bids = _kind_and_bids(args)
    output = Output(args, bids)
    first, *others = [kind.from_directory(part) for part in args.parts]
    whole = first.merge(*others, allow_missing=args.allow_missing)
    output.origin = replace(whole.origin_, record=output.origin.record)
    return output.write_analysis(whole)


def _kind_and_bids(args):
    """Return what the parts are, and entities that name them if they are wanted."""
    from neuroextrap.analysis._analysis_files import find_analysis
    from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight
    from neuroextrap.encoding import EncodingIdentification

    classes = IdentificationSearchLight, TargetSearchLight, EncodingIdentification
    analyses = [find_analysis(part) for part in args.parts]
    kind = {each.kind: each for each in classes}[analyses[0][0]]
    named = [files.bids for _, files in analyses]
    alike = None not in named and all(bids == named[0] for bids in named)
    if args.bids and not alike:
        raise ValueError(
            "--bids: the parts have no BIDS names, or different ones; use --no-bids"
        )
    return kind, named[0] if alike and args.bids is not False else None
