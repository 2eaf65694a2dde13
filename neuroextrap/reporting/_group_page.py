"""The page of a group: what survives, clusters, every subject at the peaks."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from neuroextrap.design._findings import doubts_about
from neuroextrap.images._loading import feature_values
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.plotting._axes import new_axes
from neuroextrap.plotting._information_plots import draw_subjects
from neuroextrap.regions._regions import peak_features
from neuroextrap.reporting._maps_section import (
    PageMaps,
    Pictures,
    choose_background,
    decide,
    features_as_regions,
    mm_words,
    words_of_features,
)
from neuroextrap.reporting._page import (
    answer,
    make_page,
    page_title,
    render,
    sections_of,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._peaks import (
    area_names,
    clusters_of,
    discoveries_section,
    tables_of_peaks,
)
from neuroextrap.reporting._pictures import embed_figure, null_figure
from neuroextrap.reporting._viewer import draw_viewer, rounded

_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}
_N_TRENDS = 5
_APART = 16.0
_P_VALUES = {  # columns: headings, and how values are written
    "p_value_fwe": ("p (family-wise)", "p"),
    "p_value_fwe_cluster_extent": ("p of the cluster's extent", "p"),
    "p_value_fwe_cluster_mass": ("p of the cluster's mass", "p"),
    "p_value_fwe_tfce": ("p (TFCE)", "p"),
    "p_value_prevalence": ("p (prevalence), uncorrected", "p"),
}
_NUMBERS = (
    "effect",
    "mean",
    "accuracy",
    "implied_information",
    "minimum",
    "prevalence_bound_fwe",
    "population_bayes_accuracy_bound_fwe",
)


@dataclass(frozen=True)
class GroupResult:
    """One analysis over subjects: its PageMaps, and what is known beside them.

    `main_map` says how strong features are, `labels` are their names in an atlas. The
    records of maps have the names under which several analyses share a page.
    """

    about: Any
    main_map: str
    view: PageMaps
    labels: np.ndarray | None

    @property
    def strength(self):
        """Numbers (n_features,) that are larger where there is more."""
        return self.view.strength(self.main_map)

    @property
    def has_clusters(self):
        """Whether p-values of clusters, or enhanced by them, are among the maps."""
        return any(map(_of_clusters, self.view.scores))

    def best(self, name):
        """Return the feature where one of its maps is largest."""
        return int(np.nanargmax(self.view.scores[name]))

    def place_words(self, feature):
        """Name the place of a feature: mm, and the atlas region if there is one."""
        words = mm_words(self.view.places[feature])
        name = "" if self.labels is None else self.labels[feature]
        return f"{words}, {name}" if name else words

    @property
    def value_words(self):
        """Name the subjects' values."""
        if self.about.options.get("paired"):
            return f"difference in {self.about.quantity or 'the two maps'}"
        return self.about.quantity or "value of the subject's map"

    @property
    def baseline(self):
        """What subjects' values are compared with, and its name; None for nothing."""
        options = self.about.options
        if self.about.test == "information":
            return 1 / options["n_classes"], "chance"
        if self.about.test == "second_level" and options["of_mean"]:
            return float(options["baseline"]), "baseline"
        return None, "baseline"

    @property
    def effects(self):
        """What the answer reads: where there are effects, and how strong they are."""
        about, view, strength = self.about, self.view, self.strength
        if view.finding.n_surviving:
            strength = np.where(view.finding.survives, strength, np.nan)
        best = int(np.nanargmax(strength))
        return {
            "result": self,
            "best": best,
            "doubt": doubts_about(about.findings_, view.scores),
        }

    @cached_property
    def clusters(self):
        """Table of the clusters of what survives, of one sign each, else of trends."""
        (scores, places), sizes = (self.view.scores, self.view.places), {}
        if self.view.finding.n_surviving:
            peaks, sizes = self._surviving_peaks()
        else:
            apart = {"n_peaks": _N_TRENDS, "min_distance": _APART}
            peaks = peak_features(self.strength, places, **apart)
        columns = {"feature": peaks} | dict(zip("xyz", places[peaks].T, strict=True))
        if self.labels is not None:
            columns["region"] = [self.labels[peak] or "-" for peak in peaks]
        names = dict.fromkeys((self.main_map, *_NUMBERS, *_P_VALUES))
        numbers = {name: scores[name][peaks] for name in names if name in scores}
        return pd.DataFrame(columns | sizes | numbers)

    def _surviving_peaks(self):
        """Return the peaks of clusters, strongest first, and columns with sizes."""
        view, strength, clusters = self.view, self.strength, {}
        sign = np.sign(view.scores[self.main_map]) if view.two_sided else 1
        for side in (1, -1):
            number = clusters_of(view, view.finding.survives & (sign == side))
            for members in (number == n for n in range(number.max() + 1)):
                clusters[int(np.argmax(np.where(members, strength, -np.inf)))] = members
        peaks = sorted(clusters, key=strength.__getitem__, reverse=True)
        extent = np.array([clusters[peak].sum() for peak in peaks], dtype=float)
        sizes = {"n_vertices": extent}
        if not view.on_surface:
            volume = float(abs(np.linalg.det(view.masker.mask_img_.affine[:3, :3])))
            sizes = {"size_mm3": extent * volume}
        if view.bounds is not None:
            n_true = [view.bounds.count(clusters[peak]) for peak in peaks]
            sizes["true_discoveries"] = np.array(n_true, dtype=float)
        return np.array(peaks), sizes


def _of_clusters(name):
    """Return whether a map is of clusters, or enhanced by them."""
    return "cluster" in name or "tfce" in name


def read_group(analyses, atlas=None):
    """Return GroupResults of analyses; a taken name gets its test's in front.

    `atlas` is a labels image and the names of its labels, or None.
    """
    masker = analyses[0].masker_
    if masker is None:
        raise ValueError(
            "maps of arrays have no images to show on a page; give images instead of "
            "arrays, or read the p-values"
        )
    labels = None if atlas is None else area_names(atlas[0], masker, atlas[1])
    results, taken = [], set[str]()
    for maps in analyses:
        test = maps.test
        names = {name: f"{test}_{name}" if name in taken else name for name in maps}
        taken.update(names.values())
        records = {n: replace(GROUP_MAPS[n], name=new) for n, new in names.items()}
        results.append(_result(maps, records, masker, labels))
    return results


def joined_view(results):
    """Return the PageMaps of all maps of several analyses, the finding of the first."""
    view, *_ = views = [result.view for result in results]
    named = [(r.name, n, each) for each in views for n, r in each.records.items()]
    return replace(
        view,
        maps={new: each.maps[name] for new, name, each in named},
        scores={new: each.scores[name] for new, name, each in named},
        records={new: each.records[name] for new, name, each in named},
    )


def _result(maps, records, masker, labels):
    """Decide what survives in one analysis."""
    options = maps.options
    scores = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in maps.items()
    }
    main_map = _SHOWN.get(maps.test) or options["statistic"]
    if main_map not in scores:  # sign flips call the effect a mean
        main_map = "mean"
    if maps.test == "prevalence" and not np.nanmax(scores[main_map]) > 0:
        main_map = "minimum"
    n_classes, level = options.get("n_classes"), options.get("confidence_level")
    view = PageMaps(
        maps=dict(maps),
        records=records,
        masker=masker,
        choice=features_as_regions(len(scores[main_map])),
        words=words_of_features(masker),
        scores=scores,
        finding=decide(scores, n_classes=n_classes, confidence_level=level),
        two_sided=bool(options.get("two_sided")),
        bounds=maps.discoveries,
        n_permutations=options.get("n_permutations", 0),
        claim="have an effect" if maps.test == "second_level" else "are informative",
    )
    return GroupResult(maps, main_map, view, labels)


_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_MOST_NUMBERS = 120_000
_MOST_PLACES = 3000


def make_group_page(
    analyses,
    title=None,
    *,
    labels_img=None,
    names=None,
    bg_img=None,
    left_out=None,
    links=None,
):
    """Make a page of analyses of one group, of which the first decides what survives.

    `names` are those of the labels of `labels_img`, `left_out` reasons and `links`
    addresses of own pages by subject.
    """
    results = read_group(analyses, None if labels_img is None else (labels_img, names))
    first, *others = results
    title = page_title(title, f"Group of {len(first.about.subjects)} subjects")
    view, drawn = joined_view(results), first.main_map
    peak = int(first.clusters["feature"].iloc[0])
    background = choose_background(view.masker, bg_img)
    pictures = Pictures(view, view.places[peak], background)
    further = [
        (_HEADINGS[each.about.test], answer(sentences("group_found", **each.effects)))
        for each in others
    ]
    many = f"How many {view.words[1]}"
    figures = [
        *further,
        ("Clusters", _clusters_section(first)),
        *((many, discoveries_section(each.view, each.labels)) for each in results),
        ("Subjects at the peaks", _subjects_figure(first)),
        ("Explore the maps", _viewer(view, first, background)),
        ("Maps", pictures.section([n for n in view.overview() if n != drawn])),
    ]
    nulls = [figure for each in results for figure in _null_figures(each)]
    who = {"left_out": left_out or {}, "links": links or {}}
    who |= {"result": first, "peak": peak}
    details = [
        ("Null distributions", Markup("\n").join(nulls)),
        ("Who was analyzed", render("subjects", **who)),
    ]
    about = first.effects | {"results": results}
    options = render("group_options", results=results, headings=_HEADINGS)
    how = {"details": details, "requested": [("Options", options)]}
    picture = pictures.figure(drawn)
    return make_page(title, sections_of("group", about, picture, figures, **how))


def _viewer(view, result, background):
    """Return a viewer of all maps, whose click shows the value of every subject."""
    values, labels = result.about.subject_values, result.labels
    kept = _kept_features(result, result.clusters["feature"].to_numpy())
    names = None if labels is None else [labels[each] or "no region" for each in kept]
    baseline, baseline_label = result.baseline
    subjects = {
        "names": list(result.about.subjects),
        "label": result.value_words,
        "values": rounded(values[:, kept].T),
        "baseline": baseline,
        "baseline_label": baseline_label,
    }
    details = {"set_sizes": [], "subjects": subjects}
    return draw_viewer(view, result.main_map, kept, details, background, names=names)


def _kept_features(result, peaks):
    """Return the features whose subjects' values are kept, the first peak first."""
    strength = np.nan_to_num(result.strength, nan=-np.inf)
    strength = np.where(result.view.finding.survives, np.inf, strength)
    n_subjects = len(result.about.subjects)
    most = min(_MOST_PLACES, max(1, _MOST_NUMBERS // n_subjects))
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.inf][:most]
    return np.append(peaks, np.setdiff1d(order, peaks)).astype(int)


_T_LIKE = ("t", "v", "pseudo_t", "f")
_COLUMNS = {
    "place": "Peak",
    "region": "Region",
    "size_mm3": "Size (mm³)",
    "n_vertices": "Vertices",
    "true_discoveries": "True discoveries, at least",
}


def _clusters_section(result):
    """Show the table of clusters, or of trends; places move the viewer."""
    clusters, view = result.clusters, result.view
    columns: dict = dict(_COLUMNS)
    for name in clusters.columns.intersection(list(view.scores), sort=False):
        label = view.record(name).label.removesuffix(" (all regions at once)")
        how = "bits" if name in _T_LIKE else "bound" if "_bound" in name else "number"
        columns[name] = sentence_case(label), how
    return tables_of_peaks(
        clusters,
        np.full(len(clusters), view.finding.n_surviving > 0),
        columns | _P_VALUES,
        captions=(
            f"Clusters of what survives ({view.finding.words})",
            "The strongest places; none survives correction",
        ),
        hint=Markup(" ").join(sentences("group_clusters", result=result)),
        viewer_index="feature",
        file_name="clusters.tsv",
    )


_N_PEAKS = 4


def _subjects_figure(result):
    """Draw every subject's value at the first peaks, with mean and interval."""
    about, peaks = result.about, result.clusters["feature"].to_numpy()[:_N_PEAKS]
    ax = new_axes(3.4 + 1.1 * len(peaks), 3.4)
    baseline, name = result.baseline
    if baseline is not None:
        ax.axhline(baseline, ls="--", color="0.4", lw=1, label=name)
    of_mean = about.options.get("of_mean", True)
    tested = None if of_mean else about.options["tested"]
    for column, peak in enumerate(peaks):
        draw_subjects(ax, about.subject_values[:, peak], column, tested)
    words = [re.sub(" mm(, )?", " mm\n", result.place_words(peak)) for peak in peaks]
    words = [each.replace(", ", ",\N{NO-BREAK SPACE}", 2) for each in words]
    ax.set_xticks(range(len(peaks)), words, fontsize="x-small")
    ax.set_ylabel(result.value_words)
    ax.set_xlim(-0.6, len(peaks) - 0.2)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
    (caption,) = sentences("group_caption", options=about.options)
    return embed_figure(ax.figure, caption, "subjects.svg")


def _null_figures(result):
    """Yield figures of the largest statistic of every permutation, and the observed."""
    maxima, view = result.about.null_maxima, result.view
    for name in sorted(maxima, key=_of_clusters):  # the statistic itself comes first
        drawn = name if name in view.scores else "mean"
        finite = maxima[name][np.isfinite(maxima[name])]
        if drawn not in view.scores or not len(finite):
            continue
        label = view.record(drawn).label
        where = "" if "cluster" in name else f" over {view.words[1]}"
        yield null_figure(
            finite,
            float(np.nanmax(view.strength(drawn))),
            f"largest {label}{where}",
            f"Largest {label} in each of {len(maxima[name]):,} rearrangements of the "
            "subjects' maps; the family-wise p-values refer to it.",
            f"null_{name}.svg",
            label="rearranged",
        )
