"""The pages of a comparison of two analyses and of a group of subjects."""

import numpy as np
from markupsafe import Markup

from neuroextrap.design._findings import doubts_about
from neuroextrap.plotting._brain_maps import COLORMAP, SIGNED_COLORMAP
from neuroextrap.reporting._finding import (
    discoveries_section,
    viewer_discoveries,
)
from neuroextrap.reporting._group_results import (
    found_in_group,
    group_methods,
    read_group,
)
from neuroextrap.reporting._group_sections import (
    clusters_section,
    group_clusters,
    null_figures,
    subjects_figure,
)
from neuroextrap.reporting._identification_words import methods_section
from neuroextrap.reporting._maps_section import Look, Pictures, choose_background
from neuroextrap.reporting._page import (
    answer,
    key_value_table,
    list_of,
    make_page,
    page_title,
)
from neuroextrap.reporting._peaks import tables_of_peaks
from neuroextrap.reporting._pictures import color_range, embed_figure, signed_range
from neuroextrap.reporting._region_page import region_page
from neuroextrap.reporting._rendering import (
    format_number,
    format_p_value,
    format_percent,
    percentage_points,
    render,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._viewer import draw_viewer, or_note
from neuroextrap.reporting._viewer_data import rounded, viewer_data
from neuroextrap.stats._pvalues import LEVEL

DIFFERENCE, P = "accuracy_difference", "p_value_fwe"
_TESTED = ("first_accuracy", "second_accuracy", DIFFERENCE, P)
_OTHERS = ("information_difference", "first_accuracy", "second_accuracy")


def comparison_page(maps, title=None, *, names=("first", "second"), **options):
    """Make the page of what ``compare_decoders`` returned (or of encoding models).

    It says where one of two identifies better than the other, corrected for looking at
    all regions, and how large the `n_peaks` (10) largest differences are. `names` are
    what to call them; `bg_img` and `atlas` are as in ``cross_page``. Returns a Report;
    ValueError if `names` are not two.
    """
    names = tuple(names)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"names={names!r} must be two texts; name the first and the second"
        )
    scores, given = maps.region_scores_, maps.parameters
    ahead = scores[DIFFERENCE][scores[P] <= LEVEL]
    about = {
        "first": names[0],
        "second": names[1],
        "capitalized": _capitalized,
        "n_better": int((ahead > 0).sum()),
        "n_worse": int((ahead < 0).sum()),
        "approximate": bool(given.get("approximate")),
        "doubt": doubts_about(maps.findings_, _TESTED),
        "unit": given.get("unit"),
        "n_units": getattr(maps, "n_units_", 0),
        "n_pairs": getattr(maps, "n_pairs_", 1),
        "two_sided": bool(given.get("two_sided", True)),
    }

    def more(view, peaks):
        yield "Both accuracies", _scatter(view, names)
        yield "Largest differences", _table(view, names, peaks)

    shown = {"by": DIFFERENCE, "tested": P, "drawn": _OTHERS, "more": more}
    shown |= {"table": False, "looks": _looks(scores, names)}
    title = page_title(title, f"{_capitalized(names[0])} against {names[1]}")
    return region_page(maps, title, "comparison", about, **shown, **options)


def _looks(scores, names):
    """Return how to draw the maps of a comparison of two with names, by map."""
    both = [scores["first_accuracy"], scores["second_accuracy"]]
    accuracies = color_range(np.concatenate(both)), COLORMAP
    colors = dict.fromkeys(("first_accuracy", "second_accuracy"), accuracies)
    for name in (DIFFERENCE, "information_difference"):
        if name in scores:
            colors[name] = signed_range(scores[name]), SIGNED_COLORMAP
    about = {"first": names[0], "second": names[1]}
    titles = {n: sentences("comparison_map", name=n, **about)[0] for n in colors}
    return {name: Look(titles[name], *look) for name, look in colors.items()}


def _capitalized(name):
    """Return a name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def _scatter(view, names):
    """Draw both accuracies of every region against each other."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting._axes import COLORS

    x, y = view.scores["second_accuracy"], view.scores["first_accuracy"]
    survives = view.finding.survives
    figure, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
    for rows, color, size, label in (
        (~survives & np.isfinite(x - y), "0.65", 6, "not shown to differ"),
        (survives, COLORS[1], 10, "survive correction"),
    ):
        if rows.any():
            dots = ax.scatter(x[rows], y[rows], s=size, color=color, lw=0, label=label)
            dots.set_rasterized(rows.sum() > 500)
    ends = np.nanmin([x, y]), np.nanmax([x, y])
    ax.plot(ends, ends, color="0.4", lw=0.8)
    ax.set(
        xlabel=f"accuracy of {names[1]}",
        ylabel=f"accuracy of {names[0]}",
        aspect="equal",
    )
    # above the axes: dots of a whole brain leave no free corner to search for
    look = {"frameon": False, "fontsize": "small", "borderaxespad": 0, "ncols": 2}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), **look)
    caption = f"Every dot is one {view.words[0]}; above the line {names[0]} is better."
    return embed_figure(figure, caption, "both_accuracies.svg")


def _table(view, names, peaks):
    """Tabulate the largest differences, those that survive apart."""
    many = view.words[1]
    columns = {
        "atlas_label": ("Atlas", str),
        "first_accuracy": (f"Accuracy of {names[0]}", format_percent),
        "second_accuracy": (f"Accuracy of {names[1]}", format_percent),
        DIFFERENCE: ("Difference (percentage points)", percentage_points),
        "information_difference": (
            "Difference of implied information (bits)",
            lambda bits: f"{bits:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ),
        "p_value_fwe_step_down": ("p (step-down)", format_p_value),
        P: ("p (family-wise)", format_p_value),
    }
    return tables_of_peaks(
        peaks,
        view.finding.survives[peaks["region"].to_numpy()],
        columns,
        captions=(
            f"Largest differences of {many} that survive correction",
            f"Largest differences of {many} that do not survive correction: trends",
        ),
        hint="The largest differences were found by looking, so that they are too "
        "large on average; the family-wise p-values allow for that.",
        file_name="differences.tsv",
    )


_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_KNOWN_OTHERWISE = ("of_mean", "tested", "flips", "all", "n_first_level")
_MOST_NUMBERS = 120_000
_MOST_PLACES = 3000


def make_group_page(analyses, records, *, title, atlas, bg_img, left_out, links):
    """Put several analyses (GroupMaps) of one group on a page, a Report.

    The first analysis decides what survives. `records` say what the maps mean; `atlas`
    is a labels image and names, or None; `left_out` are reasons and `links` addresses
    of own pages by subject.
    """
    results = read_group(analyses, records, atlas)
    first = results[0]
    view, drawn = first.view, first.names[first.shown]
    clusters = group_clusters(first)
    peak = int(clusters["feature"].iloc[0])
    background = choose_background(view.masker, bg_img)
    pictures = Pictures(view, first.places[peak], background, bg_img)
    words = found_in_group(first, len(clusters))
    sections = [
        ("What was found", answer(words, pictures.figure(drawn))),
        *((_HEADINGS[each.about.test], _answer(each)) for each in results[1:]),
        ("Clusters", clusters_section(first, clusters)),
        *(
            (f"How many {each.view.words[1]}", _how_many(each))
            for each in results
            if each.bounds is not None
        ),
        ("Subjects at the peaks", subjects_figure(first, clusters)),
        (
            "Explore the maps",
            or_note(viewer_of_subjects, first, clusters, background, bg_img),
        ),
        ("Maps", pictures.section([n for n in view.overview() if n != drawn])),
        (
            "What this does not show",
            list_of(sentences("group_limits", results=results)),
        ),
        ("Null distributions", Markup("\n").join(map(null_figures, results)).strip()),
        ("Who was analyzed", _who(first, peak, left_out, links)),
        ("Methods", methods_section(group_methods(results))),
        ("Options", _options(result.about for result in results)),
    ]
    return make_page(
        page_title(title, f"Group of {len(first.about.subjects)} subjects"), sections
    )


def _answer(result):
    """Say what a further analysis of the group found."""
    return answer(found_in_group(result, len(group_clusters(result))))


def _how_many(result):
    """Say how many features of sets have an effect, or are informative."""
    return discoveries_section(result.counted, result.labels)


def viewer_of_subjects(result, clusters, background, bg_img):
    """Return a viewer whose click shows the value of every subject, as HTML.

    The page keeps these at the strongest features, the peaks of `clusters` first.
    """
    view, about = result.view, result.about
    kept = _kept_features(result, clusters["feature"].to_numpy())
    names = None
    if result.labels is not None:
        names = [result.labels[feature] or "no region" for feature in kept]
    trends = bool(view.finding.criterion and not view.finding.n_surviving)
    shown = result.names[result.shown]
    data = viewer_data(view, shown, kept, names=names, trends=trends)
    baseline, baseline_words = result.baseline
    data |= {
        "set_sizes": [],
        "discoveries": viewer_discoveries(result.counted),
        "subjects": {
            "names": list(about.subjects),
            "label": result.value_words,
            "values": rounded(about.values[:, kept].T),
            "baseline": baseline,
            "baseline_label": baseline_words,
        },
    }
    return draw_viewer(view, shown, data, background, bg_img)


def _kept_features(result, peaks):
    """Return the features whose subjects' values are kept, the first peak first."""
    strength = np.nan_to_num(result.strength, nan=-np.inf)
    strength = np.where(result.view.finding.survives, np.inf, strength)
    n_subjects = len(result.about.subjects)
    most = min(_MOST_PLACES, max(1, _MOST_NUMBERS // n_subjects))
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.inf][:most]
    return np.append(peaks, np.setdiff1d(order, peaks)).astype(int)


def _who(result, peak, left_out, links):
    """Tabulate the subjects, with links to their own pages, and who was left out."""
    about = result.about
    rows = [
        {
            "name": name,
            "value": format_number(float(value)),
            "link": links.get(name, ""),
        }
        for name, value in zip(about.subjects, about.values[:, peak], strict=True)
    ]
    heading = f"{sentence_case(result.value_words)} at {result.place_words(peak)}"
    return render(
        "subjects", rows=rows, heading=heading, linked=bool(links), left_out=left_out
    )


def _options(abouts):
    """Tabulate what was requested."""
    tables = []
    for about in abouts:
        items = {
            name.replace("n_", "number of ").replace("_", " "): _plain(value)
            for name, value in about.options.items()
            if name not in _KNOWN_OTHERWISE
        }
        heading = _HEADINGS[about.test]
        tables.append(Markup("<h3>{}</h3>").format(heading))
        tables.append(key_value_table(items, heading))
    return Markup("\n").join(tables)


def _plain(value):
    """Return an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray):
        return value.tolist()
    return "-" if value is None else value
