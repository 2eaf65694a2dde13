"""Tab-separated tables that commands read."""


def read_tsv(path, **options):
    """Read a tab-separated table; `options` are those of ``pandas.read_csv``."""
    import pandas as pd

    try:
        return pd.read_csv(path, sep="\t", **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        raise ValueError(
            f"{path} is no tab-separated table; write one in UTF-8, its first row the "
            "names of the columns"
        ) from None
