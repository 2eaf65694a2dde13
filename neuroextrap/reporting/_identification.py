"""The report of an identification analysis."""

import numpy as np
from markupsafe import Markup

from neuroextrap.maps._registry import record_of
from neuroextrap.reporting._anatomy import fitted_background
from neuroextrap.reporting._curves import curves_section
from neuroextrap.reporting._finding import find, findings, verdict
from neuroextrap.reporting._limits import limits
from neuroextrap.reporting._map_data import overview_maps
from neuroextrap.reporting._map_pictures import MapPictures
from neuroextrap.reporting._methods import methods_section, parameter_tables
from neuroextrap.reporting._page import figure_tag, key_value_table, make_page
from neuroextrap.reporting._peaks_section import peaks_section, ranked_peaks
from neuroextrap.reporting._pictures import null_picture
from neuroextrap.reporting._rendering import paragraphs, render
from neuroextrap.reporting._validity import vacuity_notes, validity_notes
from neuroextrap.reporting._viewer import background_note, report_section


def identification_report(fitted, title=None, *, bg_img=None, atlas=None):
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
    atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
        Labels image that names the places of peaks, as in :func:`peak_table`.

    Returns
    -------
    report : Report
        The page needs no network; ``report.save_as_html(path)`` writes it.

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
    sections = identification_sections(fitted, bg_img=bg_img, atlas=atlas)
    return make_page(title or "Identification report", sections)


def identification_sections(fitted, *, n_peaks=10, bg_img=None, atlas=None):
    """Make the parts of a report, to be put on a page with others.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        A fitted analysis, as in :func:`identification_report`.
    n_peaks : int, default=10
        Largest number of rows of the peak table.
    bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
        Image drawn under the maps, as in :func:`interactive_viewer`.
    atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
        Labels image that names the places of peaks, as in :func:`peak_table`.

    Returns
    -------
    sections : list of (str, str)
        Heading and HTML of each part: what was found, curves, peaks, viewer, maps,
        limits, permutation test, what was analyzed, validity, methods, parameters.
        Parts that do not apply are left out.

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
    ['What was found', 'Accuracy curves']
    """
    if not np.isfinite(fitted.region_scores_["accuracy"]).any():
        raise ValueError(
            "fitted has no analyzed region; merge its shards or lower min_voxels"
        )
    finding = find(fitted)
    peaks = ranked_peaks(fitted, n_peaks, atlas)
    background = fitted_background(fitted, bg_img)
    draw = MapPictures(fitted, finding, peaks, background.img, bg_img)
    viewer = report_section(fitted, background, bg_img, peaks["region"])
    sections = [
        ("What was found", _answer(fitted, finding, peaks, draw)),
        ("Accuracy curves", curves_section(fitted, finding, peaks)),
        (
            "Peaks",
            peaks_section(fitted, finding, peaks, has_viewer="nx-viewer" in viewer),
        ),
        ("Explore the maps", viewer),
        ("Maps", _maps(fitted, draw, background)),
        ("What this does not show", _limits(fitted, finding)),
        ("Permutation test", _permutations(fitted)),
        ("What was analyzed", _summary(fitted)),
        ("What holds when", _validity(fitted)),
        ("Methods", methods_section(fitted)),
        ("Parameters", parameter_tables(fitted)),
    ]
    return [(heading, content) for heading, content in sections if content]


def _answer(fitted, finding, peaks, draw):
    """Say what was found, and show where."""
    return render(
        "answer",
        verdict=verdict(fitted, finding),
        sentences=findings(fitted, finding, peaks),
        picture=draw.figure("accuracy"),
    )


def _maps(fitted, draw, background):
    """Show the other maps of the overview."""
    if fitted.masker_ is None:
        return ""
    names = [name for name in overview_maps(fitted.maps_) if name != "accuracy"]
    figures = [draw.figure(name) for name in names]
    n_classes = len(fitted.classes_)
    empty = [
        _nothing_to_draw(record_of(name), n_classes)
        for name, figure in zip(names, figures, strict=True)
        if not figure
    ]
    parts = [background_note(background), *figures]
    if empty:
        parts.append(paragraphs(f"Nothing to draw: {'; '.join(empty)}."))
    return Markup("\n").join(part for part in parts if part)


def _limits(fitted, finding):
    """List what a reader might take from the page that it does not show."""
    return render("list", items=limits(fitted, finding))


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
    return key_value_table(items, "What was analyzed")


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


def _nothing_to_draw(record, n_classes):
    """Return the words for a map that is nowhere above its first threshold."""
    if record.threshold_meaning:
        return f"no region has {record.threshold_meaning}"
    limit = "chance" if record.chance_level(n_classes) else "zero"
    return f"{record.label} is nowhere above {limit}"


def _permutations(fitted):
    """Show the distribution of the permuted maximum."""
    if not fitted.n_permutations_:
        return ""
    caption = (
        f"Largest statistic over regions in each of {fitted.n_permutations_} "
        "permutations of the labels; the family-wise p-values refer to it. The "
        f"smallest possible p-value is {1 / (fitted.n_permutations_ + 1):.2g}."
    )
    return figure_tag(null_picture(fitted), caption, "permutation_test.svg")


def _validity(fitted):
    """List when the numbers hold."""
    vacuous = paragraphs(*vacuity_notes(fitted), note=True)
    return vacuous + render("list", items=validity_notes(fitted))
