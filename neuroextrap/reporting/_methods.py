"""The works that pages cite, and the parameters of an analysis in tables."""

import re

from markupsafe import Markup, escape

from neuroextrap.maps._described_parameters import (
    changed_parameters,
    described_parameters,
)
from neuroextrap.maps._provenance import versions
from neuroextrap.margins.running._described import WITHOUT_EFFECT
from neuroextrap.reporting._page import key_value_table
from neuroextrap.reporting._rendering import paragraphs, render

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
