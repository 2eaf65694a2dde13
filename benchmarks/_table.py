"""One table of all benchmarks, with the machine and the date.

    python benchmarks/_table.py [--quick]

runs every script of this folder, one after the other, and writes their rows to
docs/developers/benchmarks_table.txt, which the documentation shows. A script that is
run by itself only prints. Scripts add a row once results have been found equal.
"""

import argparse
import csv
import datetime
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs" / "developers" / "benchmarks_table.txt"
ROWS = "NEUROEXTRAP_BENCHMARK_ROWS"  # file that the rows of a script go to
HEADER = ("What", "Size", "neuroextrap", "Other", "Its time", "Ratio", "Equality")
# parts of other programs, and one that compares with nothing else
NO_RATIOS = {"families", "populations", "further_populations", "estimates"}
NO_RATIOS |= {"unequal_classes", "encoding_defaults"}
TABLE = """\
{settings} on {date}: {machine}; CPU seconds of one thread.

.. list-table::
   :header-rows: 1
   :widths: 22 22 10 18 10 8 22

"""


def add_row(what, size, ours, other, theirs, equality):
    """Add a row: CPU seconds of both sides, and what was found equal before.

    ``other`` names the other side; it is "" and ``theirs`` None where there is none.
    """
    path = os.environ.get(ROWS)
    if path is None:
        return
    ratio = "" if theirs is None else _short(theirs / ours)
    theirs = "" if theirs is None else f"{_short(theirs)} s"
    row = [what, size, f"{_short(ours)} s", other, theirs, ratio, equality]
    with Path(path).open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(row)


def _short(number):
    """Write a number with two or three digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def machine():
    """Return what the numbers depend on, in one line."""
    processor = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        lines = cpus.read_text(encoding="utf-8").splitlines()
        names = [
            line.partition(":")[2].strip() for line in lines if "model name" in line
        ]
        processor = names[0] if names else processor
    versions = [f"Python {platform.python_version()}"]
    for package in ("numpy", "scipy", "scikit-learn", "nilearn", "numba", "himalaya"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"without {package}")
    return f"{processor}, {os.cpu_count()} cores, {', '.join(versions)}"


def write(rows, *, quick):
    """Write the table, in reStructuredText."""
    text = TABLE.format(
        settings="Quick settings" if quick else "Full settings",
        date=datetime.datetime.now(datetime.UTC).date(),
        machine=machine(),
    )
    for row in (HEADER, *rows):
        for position, cell in enumerate(row):
            text += f"   {'* -' if position == 0 else '  -'} {cell}".rstrip() + "\n"
    PAGE.write_text(text, encoding="utf-8")


def main():
    """Run every script, and write the rows of all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="some minutes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some scripts")
    args = parser.parse_args()
    names = [path.stem for path in sorted(FOLDER.glob("[!_]*.py"))]
    names = [name for name in names if name not in NO_RATIOS]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.touch()
        for name in args.only or names:
            print(f"\n{name}\n{'=' * len(name)}", flush=True)
            command = [sys.executable, str(FOLDER / f"{name}.py")]
            command += ["--quick"] if args.quick else []
            done = subprocess.run(command, env={**os.environ, ROWS: str(file)})
            failed += [name] if done.returncode else []
        with file.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.reader(lines))
    if failed:
        sys.exit(f"failed, so no table is written: {', '.join(failed)}")
    write(rows, quick=args.quick)
    print(f"\n{len(rows)} rows in {PAGE.relative_to(FOLDER.parent)}")


if __name__ == "__main__":
    main()
