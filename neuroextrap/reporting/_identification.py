"""The report of an identification analysis."""

import numpy as np

from neuroextrap.maps._registry import record_of
from neuroextrap.reporting._anatomy import fitted_background
from neuroextrap.reporting._curves import EXTRAPOLATION, INTERVAL_LEVEL, curve_axes
from neuroextrap.reporting._methods import methods_paragraph, parameter_tables
from neuroextrap.reporting._page import (
    escape,
    figure_tag,
    frame_table,
    key_value_table,
    make_page,
    paragraphs,
)
from neuroextrap.reporting._peaks import peak_table, region_places
from neuroextrap.reporting._pictures import embed_figure, map_pictures, null_picture
from neuroextrap.reporting._validity import vacuity_notes, validity_notes
from neuroextrap.reporting._viewer import background_note, report_section

_N_CURVES = 4


def identification_report(fitted, title=None, *, bg_img=None):
    """Make a self-contained HTML page of a fitted identification analysis.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        A fitted analysis, or one read from a folder (then the curves have no standard
        errors). See Notes for what is read of it.
    title : str or None, default=None
        Title of the page; None is "Identification report".
    bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
        Image drawn under the maps, as in :func:`interactive_viewer`.

    Returns
    -------
    report : nilearn.reporting.HTMLReport
        The page needs no network. ``report.get_standalone()`` is its HTML.

    Raises
    ------
    ValueError
        If no region was analyzed.

    Notes
    -----
    Any object will do that has the attributes ``region_scores_``, ``maps_``,
    ``masker_``, ``classes_``, ``wins_``, ``set_sizes_``, ``n_elements_``, ``notes_``,
    ``null_maxima_``, ``n_permutations_``, ``statistic``, ``radius`` (spheres only), if
    it has one ``bg_img_``, and ``results_`` (with ``choice``, ``scores.score``,
    ``n_voxels``, ``n_test``, ``set_sizes``, ``n_repeats``, ``confidence_level``,
    ``curve``, ``bound_curve`` and ``best_bound``), and the methods
    ``accuracy_curve``, ``bound_curve``, ``standard_error``, ``find_region`` and
    ``get_params``. All are public.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", JMLR 19 (the curves).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import identification_report
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    >>> X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> report = identification_report(fitted, title="First <look>")
    >>> "First &lt;look&gt;" in report.get_standalone()
    True
    """
    sections = identification_sections(fitted, bg_img=bg_img)
    return make_page(title or "Identification report", sections)


def identification_sections(fitted, *, n_peaks=10, bg_img=None):
    """Make the parts of a report, to be put on a page with others.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        A fitted analysis, as in :func:`identification_report`.
    n_peaks : int, default=10
        Largest number of rows of the peak table.
    bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
        Image drawn under the maps, as in :func:`interactive_viewer`.

    Returns
    -------
    sections : list of (str, str)
        Heading and HTML of each part: summary, peaks, maps, viewer, curves,
        permutation test, validity, parameters. Parts that do not apply are left out.

    Raises
    ------
    ValueError
        If no region was analyzed.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, JMLR 19 (the curves).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import identification_sections
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    >>> X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> [heading for heading, _ in identification_sections(fitted)][:2]
    ['Summary', 'Peaks']
    """
    if not np.isfinite(fitted.region_scores_["accuracy"]).any():
        raise ValueError(
            "fitted has no analyzed region; merge its shards or lower min_voxels"
        )
    peaks = peak_table(fitted, n_peaks=n_peaks)
    background = fitted_background(fitted, bg_img)
    sections = [
        ("Summary", _summary(fitted)),
        ("Peaks", _peaks(peaks)),
        ("Maps", _maps(fitted, peaks, background, bg_img)),
        ("Explore the maps", report_section(fitted, background, bg_img)),
        ("Accuracy curves of the peaks", _curves(fitted, peaks)),
        ("Permutation test", _permutations(fitted)),
        ("What holds when", _validity(fitted)),
        ("Methods", paragraphs(methods_paragraph(fitted))),
        ("Parameters", parameter_tables(fitted)),
    ]
    return [(heading, content) for heading, content in sections if content]


def _summary(fitted):
    """Tabulate what was analyzed and what was left out."""
    scores = fitted.region_scores_
    analyzed = np.isfinite(scores["accuracy"])
    n_voxels = scores["n_voxels"][analyzed]
    items = {
        "classes": f"{len(fitted.classes_)}: {_listed(fitted.classes_)}",
        "voxels or features": fitted.n_elements_,
        "regions analyzed": f"{analyzed.sum()} of {len(analyzed)}",
        "voxels per region": (
            f"{np.nanmin(n_voxels):.0f} to {np.nanmax(n_voxels):.0f}, "
            f"median {np.nanmedian(n_voxels):.0f}"
        ),
        "dropped voxels": _dropped(fitted),
        "test points": fitted.results_.n_test,
        "permutations": fitted.n_permutations_,
        "confidence level": fitted.results_.confidence_level,
        "chance accuracy": f"{1 / len(fitted.classes_):.4g}",
    }
    if "p_value_fwe" in scores:
        significant = int(np.sum(scores["p_value_fwe"] <= 0.05))
        items["regions with family-wise p ≤ .05"] = significant
    return key_value_table(items) + paragraphs(*vacuity_notes(fitted), note=True)


def _dropped(fitted):
    """Describe how many voxels of the regions could not be used."""
    results = fitted.results_
    members = np.diff(results.choice.regions.indptr)
    missing = members - results.n_voxels
    if not (missing > 0).any():
        return "none"
    return (
        f"{int((missing > 0).sum())} regions lost voxels that are NaN or constant, at "
        f"most {int(missing.max())}"
    )


def _listed(classes):
    """Return the names of the first classes."""
    names = ", ".join(str(name) for name in classes[:12])
    return names + (", ..." if len(classes) > 12 else "")


def _peaks(peaks):
    """Tabulate the strongest regions."""
    hint = (
        "Strongest regions by accuracy. Coordinates in mm; accuracies and their bounds "
        "are proportions, information is in bits; fwe: for all regions at once."
    )
    return paragraphs(hint) + frame_table(peaks)


def _maps(fitted, peaks, background, bg_img):
    """Show the maps, cut at the strongest region."""
    if fitted.masker_ is None:
        return ""
    places = region_places(fitted)
    place = None if places is None else places[peaks["region"].iloc[0]]
    pictures = map_pictures(fitted, place, background.img, bg_img)
    n_classes = len(fitted.classes_)
    parts, empty = [background_note(background)], []
    for name, picture in pictures.items():
        record = record_of(name)
        if picture is None:
            empty.append(_nothing_to_draw(record, n_classes))
        else:
            parts.append(figure_tag(picture, _map_caption(record, n_classes)))
    if empty:
        parts.append(paragraphs(f"Nothing to draw: {'; '.join(empty)}."))
    return "\n".join(parts)


def _nothing_to_draw(record, n_classes):
    """Return the words for a map that is nowhere above its first threshold."""
    if record.threshold_meaning:
        return f"no region has {record.threshold_meaning}"
    limit = "chance" if record.chance_level(n_classes) else "zero"
    return f"{record.label} is nowhere above {limit}"


def _map_caption(record, n_classes):
    """Describe a map, its unit, and what is drawn of it."""
    meaning = f" ({record.threshold_meaning})" if record.threshold_meaning else ""
    return (
        f"{record.label}: {record.description} ({record.unit}). Drawn above "
        f"{record.first_threshold(n_classes):.4g}{meaning}."
    )


def _curves(fitted, peaks):
    """Show the accuracy curves of the first peaks."""
    if len(fitted.classes_) < 3:
        return ""
    hint = (
        "The lower bound on average Bayes accuracy holds for each set size and region "
        f"by itself; dotted beyond the data: extrapolation ({EXTRAPOLATION}) "
        f"with its {INTERVAL_LEVEL:.0%} interval, for classes of which those of the "
        "data are an exchangeable sample."
    )
    return paragraphs(hint) + "\n".join(
        embed_figure(curve_axes(fitted, int(row["region"])).figure, _name_of(row))
        for _, row in peaks.head(_N_CURVES).iterrows()
    )


def _name_of(row):
    """Name one row of the peak table."""
    if "name" in row:
        return f"{row['name']}"
    if "x" in row:
        return f"({row['x']:.0f}, {row['y']:.0f}, {row['z']:.0f}) mm"
    return f"region {row['region']:.0f}"


def _permutations(fitted):
    """Show the distribution of the permuted maximum."""
    if not fitted.n_permutations_:
        return ""
    caption = (
        f"Largest statistic over regions in each of {fitted.n_permutations_} "
        "permutations of the labels; the family-wise p-values refer to it. The "
        f"smallest possible p-value is {1 / (fitted.n_permutations_ + 1):.2g}."
    )
    return figure_tag(null_picture(fitted), caption)


def _validity(fitted):
    """List when the numbers hold."""
    items = "\n".join(f"<li>{escape(note)}</li>" for note in validity_notes(fitted))
    return f"<ul>\n{items}\n</ul>"
