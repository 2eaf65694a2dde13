"""The model of the subjects, from a table."""

_ID = "participant_id"


def read_design(path, imgs):
    """Return the design of a table as numbers, rows in the order of the images.

    With a column participant_id, rows are matched to the subject of each image's name;
    ValueError where one is missing or twice. Without, rows are in the order of `imgs`.
    """
    from neuroextrap.images._opening import image_files
    from neuroextrap.images._tables import numbers, read_text_table

    table = read_text_table(path, "--design")
    files = image_files(imgs)
    if _ID in table.columns:
        table = _in_order(table, files, path)
    elif len(table) != len(files):
        raise ValueError(
            f"{path} has {len(table)} rows and --imgs {len(files)} maps; give a column "
            f"{_ID}, or one row for each map in their order"
        )
    values = numbers(table, path)
    return type(table)(values, columns=table.columns)


def _in_order(table, files, path):
    """Return the rows of the images' subjects, without the column of names."""
    from neuroextrap.images._bids_names import loose_entities

    labels = [name.removeprefix("sub-") for name in table[_ID]]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(f"{path} has sub-{twice[0]} in two rows; leave one")
    rows = []
    for file in files:
        label = loose_entities(file).get("sub")
        if label is None:
            raise ValueError(
                f"{file} has no sub-<label> in its name, so no row of {path} can be "
                f"matched to it; rename it, or drop the column {_ID}"
            )
        if label not in labels:
            raise ValueError(f"{path} has no row for sub-{label} ({file}); add it")
        rows.append(labels.index(label))
    if len(set(rows)) < len(rows):
        raise ValueError(
            "--imgs hold several maps of one subject; give one map of each"
        )
    return table.iloc[rows].drop(columns=_ID).reset_index(drop=True)
