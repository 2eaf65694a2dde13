"""The peaks on a page: those that survive, apart from those that do not."""

import base64

from markupsafe import Markup

from neuroextrap.reporting._finding import place_words, region_words
from neuroextrap.reporting._page import frame_table
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._rendering import (
    bits_at_least,
    format_number,
    format_p_value,
    format_percent,
    percent_at_least,
    render,
)

_COLUMNS = {
    "n_voxels": ("Voxels", format_number),
    "accuracy": ("Accuracy", format_percent),
    "implied_information": ("Implied information (bits)", lambda bits: f"{bits:.2f}"),
    "bayes_accuracy_bound_fwe": ("Best classifier gets at least", percent_at_least),
    "class_information_bound_fwe": (
        "Bits about these classes, at least",
        lambda bits: bits_at_least(bits, digits=3),
    ),
    "p_value_fwe": ("p (family-wise)", format_p_value),
}


def ranked_peaks(fitted, n_peaks, atlas=None):
    """Return the peak table, ordered by the statistic that the permutations tested."""
    statistic = fitted.statistic
    known = isinstance(statistic, str) and statistic in fitted.region_scores_
    order = statistic if known and fitted.n_permutations_ else "accuracy"
    return peak_table(fitted, n_peaks=n_peaks, statistic=order, atlas=atlas)


def peaks_section(fitted, finding, peaks, *, has_viewer):
    """Tabulate the peaks; their places move the viewer, if there is one."""
    one, many = region_words(fitted)
    return tables_of_peaks(
        peaks,
        finding.survives[peaks["region"].to_numpy()],
        _COLUMNS,
        captions=(
            f"Strongest {many} that survive correction",
            _trend_caption(finding, many),
        ),
        hint=_hint(peaks, one),
        has_viewer=has_viewer,
    )


def tables_of_peaks(
    peaks,
    survives,
    columns,
    *,
    captions,
    hint,
    has_viewer=False,
    file_name="peaks.tsv",
):
    """Tabulate rows that survive correction, and apart from them those that do not.

    `peaks` is a data frame with the places of regions; `columns` holds the heading of
    each column to show, by name, and how its values are written. `captions` title both
    tables, `hint` explains them; everything can be saved under `file_name`.
    """
    main, places = _main_columns(peaks, columns), _places(peaks, has_viewer)
    parts = {}
    for name, rows, kind, caption in (
        ("surviving", survives, "", captions[0]),
        ("trends", ~survives, "trend", captions[1]),
    ):
        here = [places[i] for i in rows.nonzero()[0]]
        part = _main_table(main[rows], here, columns, caption, kind) if here else ""
        parts[name] = part
    return render(
        "peaks",
        **parts,
        n_trends=int((~survives).sum()),
        hint=hint,
        tsv=tsv_uri(peaks),
        file_name=file_name,
        everything=frame_table(peaks, "All columns"),
    )


def peak_rows(peaks, caption):
    """Tabulate the peaks in short, surviving or not."""
    places = _places(peaks, has_viewer=False)
    return _main_table(_main_columns(peaks, _COLUMNS), places, _COLUMNS, caption, "")


def _trend_caption(finding, many):
    """Title the table of what does not survive."""
    if not finding.criterion:
        return f"Strongest {many}; nothing was tested"
    return f"Strongest {many} that do not survive correction: trends"


def _hint(peaks, one):
    """Explain the columns of the table."""
    places = "Places are in mm. " if "x" in peaks else ""
    if "atlas_label" in peaks:
        places += "The atlas names the center of a region, or what is within 5 mm. "
    return (
        f"{places}Accuracy is the share of test points whose class scored highest. "
        "The peaks were chosen by looking, so that their accuracies are too high on "
        "average; the lower bounds and p-values of this table allow for that: they "
        f"hold for every {one} at once."
    )


def _main_columns(peaks, columns):
    """Return the columns that a reader needs first, without the place."""
    names = [name for name in columns if name in peaks]
    table = peaks[names].astype(float)
    if "atlas_label" in peaks:
        table.insert(0, "atlas_label", peaks["atlas_label"])
    return table


def _places(peaks, has_viewer):
    """Return the places of peaks as cells, in a list: frames keep no ``Markup``."""
    return [_place(row, has_viewer) for _, row in peaks.iterrows()]


def _place(row, has_viewer):
    """Return the place of a peak, as a button where a viewer can show it."""
    words = place_words(row)
    if not has_viewer:
        return words
    return Markup(
        '<button type="button" class="nx-go" data-region="{}" '
        'title="Show in the viewer">{}</button>'
    ).format(int(row["region"]), words)


def _main_table(table, places, columns, caption, kind):
    """Return the short table as HTML."""
    heads = {name: head for name, (head, _) in columns.items()}
    formats = {name: write for name, (_, write) in columns.items()}
    return frame_table(
        table,
        caption,
        headings={"atlas_label": "Atlas", **heads},
        formats=formats,
        kinds=[kind] * len(table),
        places=places,
    )


def tsv_uri(frame):
    """Return a data frame as the address of a tab-separated file."""
    text = frame.to_csv(sep="\t", index=False).encode("utf-8")
    return Markup("data:text/tab-separated-values;base64,") + base64.b64encode(
        text
    ).decode("ascii")
