"""Matrices of scores and vectors from files, and the tables of results."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.images._tables import load_array, numbers, read_text_table
from neuroextrap.maps._json import json_text
from neuroextrap.maps._provenance import Origin, provenance
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results
from neuroextrap.scores._report import scores_report

_TARGET = ("target", "name")
"""First columns of tables that name rows: targets of trials, or candidates."""


def read_matrix(path: str, name: str) -> tuple[Any, np.ndarray | None]:
    """Read a matrix from a file; return it and the targets that an archive holds.

    Tables (.tsv, .csv, .parquet) become data frames: the first row names candidates,
    and a first column ``target`` (or ``name``) rows. Archives (.npz) hold one array, or
    ``scores`` and perhaps ``targets``. ValueError names a file that is none of these.
    """
    lowered = os.fspath(path).lower()
    if lowered.endswith(".npy"):
        return load_array(path, mmap_mode="r"), None
    if lowered.endswith(".npz"):
        return _read_archive(path, name)
    if lowered.endswith(".parquet"):
        try:
            return _named_rows(pd.read_parquet(path), path), None
        except ImportError as error:
            raise ValueError(
                f"{path} needs pyarrow to be read; install it, or save a .npy array"
            ) from error
    if lowered.endswith((".tsv", ".csv", ".tsv.gz", ".csv.gz")):
        table = _named_rows(read_text_table(path, name), path)
        first = pd.to_numeric(table.columns, errors="coerce")
        if table.columns.str.contains(".", regex=False).all() and not first.hasnans:
            raise ValueError(
                f"{path} has numbers in its first row, which must name the candidates; "
                "add a row of names, or write an array with numpy.save"
            )
        return table, None
    raise ValueError(f"{name} {path} must be a .npy, .npz, .tsv, .csv or .parquet file")


def read_labels(path: str, name: str) -> np.ndarray:
    """Read targets or names: an array, or the only (or target) column of a table."""
    if os.fspath(path).lower().endswith(".npy"):
        return load_array(path)
    table = read_text_table(path, name)
    column = "target" if "target" in table else table.columns[0]
    if len(table.columns) > 1 and column != "target":
        raise ValueError(
            f"{name} {path} has {len(table.columns)} columns; give one, or call "
            "the one to be read target"
        )
    return table[column].to_numpy(dtype=str)


def _read_archive(path: str, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Read an archive of numpy without pickles."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            keys = archive.files
            key = keys[0] if len(keys) == 1 else "scores"
            found = {key: archive[key] for key in (key, "targets") if key in keys}
    except FileNotFoundError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{name} {path} holds no arrays of numbers; write them with numpy.savez"
        ) from error
    if key not in found:
        raise ValueError(
            f"{name} {path} holds {', '.join(keys)}; name the array of scores so"
        )
    return found[key], found.get("targets")


def _named_rows(table: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return numbers under names, with the rows named by a column if there is one."""
    table.columns = table.columns.astype(str)
    if table.columns[0] in _TARGET:
        table = table.set_index(table.columns[0])
    return pd.DataFrame(
        numbers(table, path), columns=pd.Index(table.columns), index=table.index
    )


def write_results(
    found: dict[str, Any],
    comparisons: dict[tuple[str, str], Any],
    out: Any,
    *,
    overwrite: bool = False,
    report: bool = False,
    origin: Origin | None = None,
) -> tuple[dict[str, pd.DataFrame], str]:
    """Write the tables of several decoders, all files or none.

    Returns the tables by name, and the names of the files in words.
    """
    pairs = {" and ".join(key): each for key, each in comparisons.items()}
    tables = {
        name: joined({key: getattr(each, name) for key, each in found.items()})
        for name in ("summary", "curve", "stimuli")
    }
    if pairs:
        tables["comparison"] = joined({key: p.table for key, p in pairs.items()})
    about = {
        name: {"findings": [finding._asdict() for finding in each.findings]}
        for name, each in [*found.items(), *pairs.items()]
    }
    for name, pair in pairs.items():
        about[name]["p_value"] = pair.p_value
    options = vars(next(iter(found.values())).options)
    record = provenance(parameters=options, random_state=options["random_state"])
    if origin is not None:
        record |= origin.record | origin.sidecar()
    page = scores_report(found, comparisons) if report else None
    with replaced_results(
        ResultFiles.below(out), overwrite=overwrite, provenance=record
    ) as folder:
        for name, table in tables.items():
            table.to_csv(folder / f"{name}.tsv", sep="\t", index=False, na_rep="n/a")
        text = json_text("scores.json", {"parameters": options, "scores": about})
        (folder / "scores.json").write_text(text, encoding="utf-8")
        if page is not None:
            page.save_as_html(folder / "report.html")
    files = [*(f"{name}.tsv" for name in tables), "scores.json"]
    return tables, ", ".join([*files, *(["report.html"] if page is not None else [])])


def joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Put tables under one another, each with its name in the first column."""
    named = []
    for name, table in tables.items():
        table = table.copy()
        table.insert(0, "scores", name)
        named.append(table)
    return pd.concat(named, ignore_index=True)
