"""Tables of peaks: those that survive correction, apart from those that do not."""

from markupsafe import Markup

from neuroextrap.reporting._finding import place_words
from neuroextrap.reporting._page import frame_table, tsv_uri
from neuroextrap.reporting._rendering import render


def tables_of_peaks(
    peaks,
    survives,
    columns,
    *,
    captions,
    hint,
    viewer_index="",
    file_name="peaks.tsv",
):
    """Tabulate rows that survive correction, and apart from them those that do not.

    `peaks` is a data frame with the places of regions; `columns` holds the heading of
    each column to show, by name, and how its values are written. `captions` title both
    tables, `hint` explains them; everything can be saved under `file_name`. Places are
    buttons that move the viewer to the region of the column `viewer_index`, if named.
    """
    parts = {
        name: _short_table(peaks[rows], columns, caption, kind, viewer_index)
        for name, rows, kind, caption in (
            ("surviving", survives, "", captions[0]),
            ("trends", ~survives, "trend", captions[1]),
        )
        if rows.any()
    }
    return render(
        "peaks",
        surviving=parts.get("surviving", ""),
        trends=parts.get("trends", ""),
        n_trends=int((~survives).sum()),
        hint=hint,
        tsv=tsv_uri(peaks),
        file_name=file_name,
        everything=frame_table(peaks, "All columns"),
    )


def peak_rows(peaks, columns, caption):
    """Tabulate the peaks in short, surviving or not."""
    return _short_table(peaks, columns, caption, "", "")


def _short_table(peaks, columns, caption, kind, index):
    """Return the columns that a reader needs first, as HTML.

    Places are kept in a list: data frames keep no ``Markup``.
    """
    table = peaks[[name for name in columns if name in peaks]].copy()
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].astype(float)
    return frame_table(
        table,
        caption,
        headings={name: head for name, (head, _) in columns.items()},
        formats={name: write for name, (_, write) in columns.items()},
        kinds=[kind] * len(table),
        places=[_place(row, index) for _, row in peaks.iterrows()],
    )


def _place(row, index):
    """Return the place of a peak; a button that moves the viewer, given an `index`."""
    words = place_words(row)
    if not index:
        return words
    return Markup(
        '<button type="button" class="nx-go" data-region="{}" '
        'title="Show in the viewer">{}</button>'
    ).format(int(row[index]), words)
