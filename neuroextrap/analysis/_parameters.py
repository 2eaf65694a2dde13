"""Every parameter of an analysis, declared once; lists of them are read from here.

A row has what the parser of the command line, configurations, sidecars, the identity of
runs and the comparison of subjects need to know. Nothing heavy is imported, so that the
command line starts fast.
"""

import re
from typing import NamedTuple

from neuroextrap.analysis._data_table import DATA
from neuroextrap.analysis._options import Option
from neuroextrap.analysis._parameter_table import ANALYSES

RESULT, IDENTITY, RESOURCE = "result", "identity", "resource"
KINDS = ("searchlight", "encoding")


class Parameter(NamedTuple):
    """A parameter of analyses, or an option by which their data are made.

    `role` is "result" (it changes what the numbers of a map mean), "identity" (which
    data or draws they are made of) or "resource". `option` is None if only Python has
    it or another row declares it. `own` values may be each subject's own, but are given
    for all or for none; `extra` ones ask for other than all maps of one labeling.
    """

    name: str
    role: str
    of: tuple[str, ...]
    option: Option | None = None
    section: str = "analysis"
    own: bool = False
    extra: bool = False

    @property
    def word(self):
        """The option's name on the command line, None if it has none."""
        return None if self.option is None else self.option.word or self.name


def _rows():
    """Yield the Parameters of both tables."""
    for (section, kinds, roles), options in (ANALYSES | DATA).items():
        role, *marks = roles.split()
        marked = {mark: mark in marks for mark in ("own", "extra")}
        for name, option in options.items():
            yield Parameter(name, role, tuple(kinds.split()), option, section, **marked)


PARAMETERS = tuple(_rows())


def parameters(*kinds):
    """Return the parameters of kinds of analysis, or those of "samples"."""
    return [row for row in PARAMETERS if set(kinds) & set(row.of)]


def shared_parameters():
    """Return the names of the parameters that every analysis of regions has."""
    first, second = ([row.name for row in parameters(kind)] for kind in KINDS)
    return [name for name in first if name in second]


def path_words():
    """Return the words of analyses and cohorts whose values are files that are read."""
    rows = parameters(*KINDS, "stimuli", "cohort")
    given = [row for row in rows if row.option is not None and row.role != RESOURCE]
    return {row.word for row in given if row.option.is_path}


def command_words(text):
    """Return text about parameters in words of the command line.

    Alternatives that only Python has are left out: those with ", or give NAME=...".
    """
    rows = parameters(*KINDS, "targets", "samples", "continuous")
    options = {row.name: row for row in rows if row.option is not None}

    def option(found):
        row = options.get(found["name"])
        if row is None:
            return found[0]
        word, value = row.word.replace("_", "-"), found["value"].strip("'\"")
        if row.option.kind is bool:
            return f"--{word}" if value == "True" else f"--no-{word}"
        return f"--{word} {'none' if value == 'None' else value}"

    text = _ALTERNATIVE.sub(lambda f: f[0] if f["name"] in options else "", text)
    text = _VALUE.sub(option, _OF_OBJECT.sub(option, text))
    return _DECODING.sub(lambda f: _BY_OPTION.get(f["name"], f[0]), text)


_ALTERNATIVE = re.compile(r", or give (?P<name>\w+)=\.\.\.[^;,]*")
_OF_OBJECT = re.compile(r"(\w+=)?[A-Za-z_]+\((?P<name>\w+)=(?P<value>[^()=,]+)\)")
_VALUE = re.compile(
    r"(?<![\w./-])(?P<name>\w+)=(?P<value>'[^']*'|\"[^\"]*\"|\.\.\.|[\w+-]+(\.\d+)?)(?![\w(])"
)
_DECODING = re.compile(r"neuroextrap\.decoding\.(?P<name>\w+)")
_BY_OPTION = {
    "TargetSearchLight": "--targets",
    "cross_identification": "--train and --test",
}


def region_options(analysis):
    """Return the parameters of an analysis that choose its regions, a dict."""
    rows = [row for row in PARAMETERS if row.section == "regions"]
    return {row.name: getattr(analysis, row.name) for row in rows}


def _defaults(analysis, names):
    """Return the default of parameters by name."""
    from neuroextrap.maps._records import flat_parameters

    known = flat_parameters(type(analysis)())
    return {name: known[name] for name in names}


def plain_maps(analysis):
    """Return the parameters that ask for more than plain maps, at their defaults."""
    return _defaults(analysis, [r.name for r in parameters(analysis.kind) if r.extra])


def of_no_places(analysis):
    """Return mask and regions, by name, as where features have no place."""
    names = [row.name for row in PARAMETERS if row.section == "regions"]
    names.remove("radius")
    return _defaults(analysis, ["mask", *names])


def of_arrays(analysis):
    """Return a copy for arrays of any few features, on one core, that keeps nothing."""
    rows = parameters(analysis.kind)
    names = [row.name for row in rows if row.role == RESOURCE]
    names.remove("max_memory")  # by which work is divided, whatever is analyzed
    reset = of_no_places(analysis) | _defaults(analysis, names)
    return with_parameters(analysis, noise_covariance=None, **reset | {"min_voxels": 1})


def with_parameters(analysis, **changed):
    """Return a copy with parameters changed, those inside of value objects too."""
    from sklearn.base import clone

    from neuroextrap.maps._records import flat_parameters, nested_parameters

    given = flat_parameters(analysis) | changed
    return clone(analysis).set_params(**nested_parameters(type(analysis), given))
