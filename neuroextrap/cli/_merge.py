"""``neuroextrap merge``: join the parts of a run that was split by ``--shard``."""

from neuroextrap.cli._console import say
from neuroextrap.cli._parser import add_output_options

_EXAMPLES = """\
examples:
  neuroextrap searchlight ... --shard 1/2 part1    (on one machine)
  neuroextrap searchlight ... --shard 2/2 part2    (on another)
  neuroextrap merge part1 part2 results --report
"""


def add_parser(subparsers):
    """Add the command to the parser.

    Parameters
    ----------
    subparsers : object
        What ``ArgumentParser.add_subparsers`` returned.
    """
    parser = subparsers.add_parser(
        "merge",
        help="join the parts of a run that was split by --shard",
        description="Join the parts of a run that was split by --shard.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("parts", nargs="+", metavar="PART", help="folders of the parts")
    parser.add_argument("out", metavar="OUT", help="folder for the results")
    add_output_options(parser)


def run(args):
    """Join the parts and write the whole.

    Parameters
    ----------
    args : argparse.Namespace
    """
    from pathlib import Path

    from neuroextrap.maps import check_output_directory

    check_output_directory(args.out, overwrite=args.overwrite)
    for part in args.parts:
        if not Path(part).is_dir():
            raise FileNotFoundError(
                f"PART {part} is not a folder; name the folders that "
                "'neuroextrap searchlight --shard' wrote"
            )
    from neuroextrap.cli._results import write_results
    from neuroextrap.decoding import IdentificationSearchLight

    first, *others = [IdentificationSearchLight.from_directory(p) for p in args.parts]
    fitted = first.merge(*others)
    say(write_results(fitted, args.out, overwrite=args.overwrite, report=args.report))
