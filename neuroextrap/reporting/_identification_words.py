"""What is said of a fitted analysis: its values, parameters, methods and works."""

import re

import numpy as np
from markupsafe import Markup, escape

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._provenance import versions
from neuroextrap.maps._records import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.margins.running._described import WITHOUT_EFFECT
from neuroextrap.reporting._finding import (
    LEVEL,
    find,
    n_analyzed,
    named_place,
    region_words,
)
from neuroextrap.reporting._page import key_value_table
from neuroextrap.reporting._peaks import surviving_clusters
from neuroextrap.reporting._rendering import paragraphs, render, sentences

_LONGEST = 300

_WORKS = {
    "Abraham et al. 2014": "Abraham et al. (2014). Machine learning for neuroimaging "
    "with scikit-learn. Frontiers in Neuroinformatics 8, 14.",
    "Allefeld et al. 2016": "Allefeld, Görgen & Haynes (2016). Valid population "
    "inference for information-based imaging: from the second-level t-test to "
    "prevalence inference. NeuroImage 141, 378-392.",
    "Blanchard et al. 2020": "Blanchard, Neuvial & Roquain (2020). Post hoc confidence "
    "bounds on false positives using reference families. Annals of Statistics 48, "
    "1281-1303.",
    "Görgen et al. 2018": "Görgen, Hebart, Allefeld & Haynes (2018). The same analysis "
    "approach: practical protection against the pitfalls of novel neuroimaging "
    "analysis methods. NeuroImage 180, 19-30.",
    "Harris 2020": "Harris (2020). A shift test for independence in generic time "
    "series. arXiv:2012.06862.",
    "Hesterberg 2015": "Hesterberg (2015). What teachers should know about the "
    "bootstrap. The American Statistician 69, 371-386.",
    "Kjems et al. 2002": "Kjems et al. (2002). The quantitative evaluation of "
    "functional neuroimaging experiments: mutual information learning curves. "
    "NeuroImage 15, 772-786.",
    "Kriegeskorte et al. 2006": "Kriegeskorte, Goebel & Bandettini (2006). "
    "Information-based functional brain mapping. PNAS 103, 3863-3868.",
    "Lescroart et al. 2015": "Lescroart, Stansbury & Gallant (2015). Fourier power, "
    "subjective distance, and object categories all provide plausible models of BOLD "
    "responses in scene-selective visual areas. Frontiers in Computational "
    "Neuroscience 9, 135.",
    "Nadeau & Bengio 2003": "Nadeau & Bengio (2003). Inference for the generalization "
    "error. Machine Learning 52, 239-281.",
    "Nichols & Holmes 2002": "Nichols & Holmes (2002). Nonparametric permutation tests "
    "for functional neuroimaging: a primer with examples. Human Brain Mapping 15, "
    "1-25.",
    "Nichols et al. 2005": "Nichols et al. (2005). Valid conjunction inference with "
    "the minimum statistic. NeuroImage 25, 653-660.",
    "Nili et al. 2014": "Nili et al. (2014). A toolbox for representational similarity "
    "analysis. PLoS Computational Biology 10, e1003553.",
    "Nishimoto et al. 2011": "Nishimoto et al. (2011). Reconstructing visual "
    "experiences from brain activity evoked by natural movies. Current Biology 21, "
    "1641-1646.",
    "Smith & Nichols 2009": "Smith & Nichols (2009). Threshold-free cluster "
    "enhancement. NeuroImage 44, 83-98.",
    "Stelzer et al. 2013": "Stelzer, Chen & Turner (2013). Statistical inference and "
    "multiple testing correction in classification-based multi-voxel pattern "
    "analysis. NeuroImage 65, 69-82.",
    "Walther et al. 2016": "Walther et al. (2016). Reliability of dissimilarity "
    "measures for multi-voxel pattern analysis. NeuroImage 137, 188-200.",
    "Westfall & Young 1993": "Westfall & Young (1993). Resampling-based multiple "
    "testing. Wiley.",
    "Winkler et al. 2014": "Winkler et al. (2014). Permutation inference for the "
    "general linear model. NeuroImage 92, 381-397.",
    "Winkler et al. 2015": "Winkler et al. (2015). Multi-level block permutation. "
    "NeuroImage 123, 253-268.",
    "Zheng & Benjamini 2016": "Zheng & Benjamini (2016). Estimating mutual information "
    "in high dimensions via classification error. arXiv:1606.05229.",
    "Zheng et al. 2018": "Zheng, Achanta & Benjamini (2018). Extrapolating expected "
    "accuracies for large multi-class problems. Journal of Machine Learning Research "
    "19, 1-30.",
}
"""Works by how sentences cite them, in the order of their authors."""


def methods_section(words):
    """Return sentences to cite, and the works that they name, as HTML."""
    paragraph = Markup(" ").join(words)
    works = [work for name, work in _WORKS.items() if escape(name) in paragraph]
    bibtex = "\n\n".join(map(bibtex_entry, works))
    return render("methods", paragraph=paragraph, references=works, bibtex=bibtex)


def bibtex_entry(work):
    """Return a reference, "Authors (year). Title. Journal volume, pages.", as BibTeX.

    >>> print(bibtex_entry(_WORKS["Smith & Nichols 2009"]))
    @article{smith2009,
      author = {Smith and Nichols},
      title = {{Threshold-free cluster enhancement}},
      journal = {NeuroImage},
      volume = {44},
      pages = {83--98},
      year = {2009}
    }
    """
    ((authors, year, rest),) = re.findall(r"^(.+?) \((\d{4})\)\. (.+)\.$", work)
    title, where = rest.rsplit(". ", 1)
    names = re.split(r", | & | et al", authors)
    kind, fields = _where(where)
    about = {
        "author": " and ".join(name if name else "others" for name in names),
        "title": f"{{{title}}}",
        **fields,
        "year": year,
    }
    lines = (f"  {name} = {{{value}}}" for name, value in about.items())
    key = re.sub(r"\W", "", names[0]).lower() + year
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _where(where):
    """Return the kind of a work, and the fields that say where it appeared."""
    found = re.match(r"(.+?) (\d+), (\w+)(?:-(\d+))?$", where)
    if found is None:
        return (
            ("misc", {"howpublished": where})
            if "arXiv" in where
            else (
                "book",
                {"publisher": where},
            )
        )
    journal, volume, first, last = found.groups()
    pages = first if last is None else f"{first}--{last}"
    return "article", {"journal": journal, "volume": volume, "pages": pages}


def parameter_tables(fitted):
    """Show the parameters: those that differ from the default first, then the rest."""
    changed = {
        name: value
        for name, value in changed_parameters(fitted).items()
        if name not in WITHOUT_EFFECT
    }
    others = {
        name: value
        for name, value in described_parameters(fitted).items()
        if name not in changed
    }
    found = ", ".join(f"{name} {version}" for name, version in versions().items())
    first = (
        parameter_table(changed)
        if changed
        else paragraphs("All parameters have defaults.")
    )
    return render(
        "parameters",
        changed=changed,
        first=first,
        others=parameter_table({**others, "versions": found}),
    )


def parameter_table(parameters):
    """Tabulate parameters, long values cut."""
    return key_value_table(
        {name: short_words(v) for name, v in sorted(parameters.items())}, "Parameters"
    )


def short_words(value):
    """Return a described value as text: its class, file or hash before all else."""
    text = " ".join(str(_plain(value)).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _plain(value):
    """Return the most telling part of a described value."""
    if not isinstance(value, dict):
        return value
    if "class" in value and value.get("parameters"):
        listed = ", ".join(f"{n}={_plain(v)}" for n, v in value["parameters"].items())
        return f"{value['class']}({listed})"
    kind = next(
        (value[key] for key in ("file", "class", "image") if key in value), None
    )
    shape = value.get("shape")
    if kind is None and shape is not None:
        kind = f"array of {' x '.join(map(str, shape))}"
    sha256 = value.get("sha256")
    first = next(iter(sha256.values())) if isinstance(sha256, dict) else sha256
    first = first[0] if isinstance(first, list) else first
    known = f"{kind}, SHA-256 {str(first)[:12]}..." if first else str(kind)
    return value if kind is None else known


_QUOTED = (
    "accuracy",
    "bayes_accuracy_bound_fwe",
    "class_information_bound_fwe",
    "average_bayes_accuracy_bound_fwe",
    "information_bound_fwe",
)


def found(fitted, peaks):
    """Say how many regions are above chance, and what is known of the strongest.

    The first sentence is the answer, with what is doubtful about it.
    """
    finding, peak = find(fitted), peaks.iloc[0]
    clusters = surviving_clusters(fitted)
    one, many = region_words(fitted)
    lower, upper = known_interval(fitted, int(peak["region"]))
    return sentences(
        "identification_found",
        fitted=fitted,
        results=fitted.results_,
        finding=finding,
        one=one,
        many=many,
        classes=_class_words(fitted),
        n_regions=n_analyzed(fitted),
        n_places=None if clusters is None else int(clusters.max()) + 1,
        level=LEVEL,
        peak={name: peak.get(name, np.nan) for name in _QUOTED},
        doubt=doubts_about(fitted.results_.findings, fitted.region_scores_),
        place=named_place(peak),
        in_space="x" in peak,
        interval=None if np.isnan(lower[-1]) else (lower[-1], upper[-1]),
    )


def _class_words(fitted):
    """Say what is identified: classes of a classifier, or targets, or stimuli."""
    if fitted.results_.scores.correlation is not None:
        return "targets"
    return "classes" if described_parameters(fitted).get("estimator") else "stimuli"


def known_interval(fitted, region):
    """Return a region's 95% interval of the accuracy at every set size.

    The one interval of sentences, figures and tables: both ends, shape (n_set_sizes,),
    NaN where it is not known: results read from a folder have no margins.
    """
    unknown = np.isnan(fitted.standard_error(region))
    if unknown.all():
        return np.full((2, len(unknown)), np.nan)
    return fitted.accuracy_interval(region)


def _is_searchlight(fitted):
    """Return whether regions have centers in an image."""
    return fitted.results_.choice.centers is not None and fitted.masker_ is not None


def limits(fitted):
    """Say what must not be concluded from the page."""
    one, many = region_words(fitted)
    return sentences(
        "identification_limits",
        finding=find(fitted),
        one=one,
        many=many,
        is_searchlight=_is_searchlight(fitted),
    )


def validity_notes(fitted):
    """List when the numbers of a fitted analysis hold, its own notes first.

    Then come the notes of the maps it has, those of single regions before those of all
    regions at once.
    """
    records = [MAPS[name] for name in MAPS if name in fitted.region_scores_]
    records.sort(key=lambda record: record.simultaneous)
    notes = [record.note for record in records if record.note]
    return [*fitted.notes_, *dict.fromkeys(notes)]


def vacuity_notes(fitted):
    """List which bounds on average Bayes accuracy could not exceed chance, or 1/2.

    They say so of the design: even accuracy 1 would not lift them. Empty when the
    bounds can say something.
    """
    results = fitted.results_
    if results.n_repeats is None:
        return []
    numbers = {"pointwise": 1, "simultaneous": n_analyzed(fitted)}
    bounds = [(k, n, results.test_design(n).best_bound()) for k, n in numbers.items()]
    return sentences(
        "identification_vacuity", bounds=bounds, n_classes=len(fitted.classes_)
    )


def methods(fitted, samples=None):
    """Describe a fitted analysis for the methods section of a paper, in sentences.

    `samples` are options by which samples were made of images; if None, those that the
    analysis knows. What is not known is for the reader to add, and said so.
    """
    estimator = described_parameters(fitted).get("estimator")
    labels = _permuted_labels(fitted)
    n_voxels = fitted.results_.n_voxels[fitted.results_.scores.done]
    return sentences(
        "identification_methods",
        version=neuroextrap.__version__,
        fitted=fitted,
        results=fitted.results_,
        is_searchlight=_is_searchlight(fitted),
        many=region_words(fitted)[1],
        voxels=_voxels(fitted),
        statistic=statistic_words(fitted),
        seed=described_parameters(fitted).get("random_state"),
        n_nearest=flat_parameters(fitted).get("n_nearest"),
        estimator="" if estimator is None else short_words(estimator),
        labels=labels,
        counts=None if labels is None else np.bincount(labels.codes),
        n_runs=_n_runs(labels),
        folds=_folds(fitted, labels),
        samples=fitted.origin_.samples if samples is None else samples,
        n_voxels=(int(n_voxels.min()), int(n_voxels.max())),
        versions=versions(),
        in_folds=any("test folds" in f.note for f in fitted.findings_),
        units=_independent_units(fitted, labels),
    )


def statistic_words(fitted):
    """Name the statistic of the permutation test, with its unit."""
    statistic = fitted.statistic
    if isinstance(statistic, str):
        return record_of(statistic).label_with_unit
    return f"accuracy among {statistic}"


def _voxels(fitted):
    """Return how many voxels a mask has, and their sizes in mm; () if it has none."""
    from neuroextrap.images._loading import is_surface_masker, mask_lattice

    if fitted.masker_ is None or is_surface_masker(fitted.masker_):
        return ()
    mask, affine = mask_lattice(fitted.masker_)
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    return int(np.count_nonzero(mask)), [f"{size:.3g}" for size in sizes]


def _n_runs(labels):
    """Return the number of runs, 0 where they are not known."""
    known = labels is not None and labels.groups is not None
    return len(np.unique(labels.groups)) if known else 0


def _folds(fitted, labels):
    """Return the number of folds, and whether each tests one run that does not train.

    (0, False) where folds are not known.
    """
    folds = () if labels is None else getattr(fitted.run_.plan.design, "folds", ())
    groups = None if labels is None else labels.groups
    if groups is None or len(folds) != _n_runs(labels):
        return len(folds), False
    tested = [np.unique(groups[test]) for _, test in folds]
    trained = [np.unique(groups[train]) for train, _ in folds]
    one_out = all(
        len(runs) == 1 and runs[0] not in others and len(others) == len(folds) - 1
        for runs, others in zip(tested, trained, strict=True)
    )
    return len(folds), one_out


def _independent_units(fitted, labels):
    """Return what bounds take to be independent: test samples, blocks or runs."""
    options = flat_parameters(fitted)
    if options.get("test_units") == "runs" or options.get("within_runs") is not None:
        return "runs"
    return "samples" if labels is None or labels.blocks is None else "blocks"


def _permuted_labels(fitted):
    """Return the labels that moved, None if the analysis does not know them."""
    try:
        return fitted.run_.labels
    except (AttributeError, ValueError):  # read from a folder, or no labels
        return None
