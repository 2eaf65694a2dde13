"""Results of the checks as a file, and the page of the documentation made of it."""

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.validity.registry import CHECKS, CONFIDENCE

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "validity.rst"
MARK = ".. The tables below are written by ``make validity``.\n"
PACKAGES = ("neuroextrap", "numpy", "scipy", "scikit-learn")


def provenance():
    """Return the date and the versions behind a run."""
    versions = {name: version(name) for name in PACKAGES}
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        **versions,
    }


def as_record(row):
    """Return a row as what a file can hold."""
    low, high = row.interval()
    return {
        "guarantee": row.guarantee,
        "design": row.design,
        "nominal": row.nominal,
        "measured": float(f"{row.measured:.6g}"),
        "low": float(f"{low:.6g}"),
        "high": float(f"{high:.6g}"),
        "n_sets": len(row.values),
        "verdict": row.verdict(),
    }


def read():
    """Return the results by check."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def write(results):
    """Write results in the order of the checks; those of former checks are dropped."""
    kept = {name: results[name] for name in CHECKS if name in results}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.index(MARK) + len(MARK)]
    PAGE.write_text(head + "\n" + tables(kept), encoding="utf-8")


def tables(results):
    """Return the tables of all families as reStructuredText, and their origin."""
    families = {}
    for name, result in results.items():
        families.setdefault(CHECKS[name].family, []).extend(result["rows"])
    parts = [_summary(results)]
    for family, rows in families.items():
        parts.append(f"{family}\n{'-' * len(family)}\n")
        parts.append(_table(rows))
    return "\n".join(parts)


def _summary(results):
    rows = [row for result in results.values() for row in result["rows"]]
    verdicts = [row["verdict"] for row in rows]
    n_out = verdicts.count("out of scope")
    failing = verdicts.count("fails")
    runs = {}
    for name, result in results.items():
        runs.setdefault(_sentence(result["run"]), []).append(name)
    latest = max(runs, key=lambda run: len(runs[run]))
    lines = [
        f"{len(rows)} rows: {len(rows) - n_out - failing} hold, {failing} fail, "
        f"{n_out} are out of scope. Intervals have {CONFIDENCE:.0%} confidence.",
        latest,
    ]
    lines += [
        f"{', '.join(f'``{name}``' for name in names)}: {run}"
        for run, names in runs.items()
        if run != latest
    ]
    return "\n\n".join(lines) + "\n"


def _sentence(run):
    """Say when and with what a check was run."""
    what = ", ".join(f"{key} {run[key]}" for key in ("python", *PACKAGES))
    return f"Run on {run['date']} with {what}, seed {run['seed']}."


def _table(rows):
    lines = [
        ".. csv-table::",
        "   :header: guarantee, design, nominal, measured, interval, sets, verdict",
        "   :widths: 24 30 8 9 15 8 9",
        "",
    ]
    for row in rows:
        cells = (
            row["guarantee"],
            row["design"],
            f"{row['nominal']:g}",
            _number(row["measured"]),
            f"{_number(row['low'])} to {_number(row['high'])}",
            f"{row['n_sets']:,}",
            row["verdict"],
        )
        lines.append("   " + ", ".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


def _number(value):
    """Return a rate with as many digits as it needs."""
    return f"{value:.3f}" if abs(value) >= 0.01 or value == 0 else f"{value:.1g}"
