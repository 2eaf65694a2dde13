"""Compare several encoding models, every pair of them, on the same test responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neuroextrap.analysis._parameters import ComparisonOptions
from neuroextrap.analysis._region_maps import RegionMaps, stacked_tables
from neuroextrap.encoding._encoder_comparison import compare_pairs
from neuroextrap.maps._files import check_output_directory
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._validation import check_flags


@takes_options(ComparisonOptions)
def compare_encoding_models_pairwise(models: dict, **options: Any) -> ComparedPairs:
    """Test every pair of several fitted models, corrected over regions and pairs.

    Each pair is compared as by :func:`compare_encoding_models`, by exchanging the
    outcomes of stimuli. Its family-wise p-values are multiplied by the number of pairs
    (Bonferroni), so that they hold for all regions and pairs at once, whichever models
    are equal.

    Parameters
    ----------
    models : dict of str to EncodingIdentification
        Two or more models by name, which have identified the same responses among the
        same candidates in the same regions, or were read from their folders.

    Returns
    -------
    comparison : dict of (str, str) to dict of images
        Maps by pair of names, ``comparison["gabor", "retinotopic"]["p_value_fwe"]``,
        with ``table_`` (one row for every pair and region),
        ``to_directory(path, overwrite=False, report=False)``, and
        ``generate_report(pair)``, the page of one pair.

    Raises
    ------
    TypeError
        When ``models`` is no dict, or a model no `EncodingIdentification`.
    ValueError
        When there are fewer than two models, they differ in test points, candidates or
        regions, or the statistic is not an accuracy.

    See Also
    --------
    compare_encoding_models : Two models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from neuroextrap.encoding import EncodingIdentification
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(120, 6)), rng.normal(size=(6, 20))
    >>> Y = X @ W + 3 * rng.normal(size=(120, 20))
    >>> models = {}
    >>> for name, n in {"six": 6, "four": 4, "two": 2}.items():
    ...     model = EncodingIdentification(encoder=Ridge()).fit(X[:80, :n], Y[:80])
    ...     models[name] = model.identify(X[80:, :n], Y[80:])
    >>> found = compare_encoding_models_pairwise(models, n_permutations=99)
    >>> list(found)
    [('six', 'four'), ('six', 'two'), ('four', 'two')]
    >>> float(found["six", "two"]["p_value_fwe"][0])  # three pairs
    0.03
    """
    given = as_options(ComparisonOptions, compare_encoding_models_pairwise, options)
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models={type(models).__name__} must be a dict of models by name; give "
            "{'gabor': first, 'retinotopic': second}"
        )
    if len(models) < 2:
        raise ValueError(
            f"models holds {len(models)} models; give at least two to compare"
        )
    names = [repr(name) for name in models]
    return ComparedPairs(compare_pairs(models, names, given, {"models": list(models)}))


class ComparedPairs(dict):
    """Comparisons of every pair of encoding models, RegionMaps by pair of names."""

    @property
    def table_(self):
        """The numbers as a table, one row for every pair and region (DataFrame)."""
        tables = {pair: maps.table_ for pair, maps in self.items()}
        return stacked_tables(tables, "first", "second")

    def generate_report(self, pair=None, title=None, **options):
        """Make the page of two models, with ``bg_img`` and ``atlas`` if given."""
        pairs = ", ".join(f"({first!r}, {second!r})" for first, second in self)
        pair = next(iter(self)) if pair is None and len(self) == 1 else pair
        if pair is None or tuple(pair) not in self:
            raise ValueError(
                f"pair={pair!r} must name one of {len(self)} pairs; choose {pairs}"
            )
        pair = tuple(pair)
        return self[pair].generate_report(title, names=pair, **options)

    def to_directory(self, path, *, overwrite=False, report=False):
        """Write the table, maps with sidecars, and with `report` a page a pair."""
        check_flags(report=report)
        check_output_directory(path, overwrite=overwrite)  # before pages are made
        more = {}
        for pair in self if report else ():
            name = "" if len(self) == 1 else f"_{_plain('_'.join(pair))}"
            more[f"report{name}.html"] = self.generate_report(pair).save_as_html
        self._joined().to_directory(path, overwrite=overwrite, more=more)

    def _joined(self):
        """Return all maps together, under names that have those of the models."""
        inputs: dict[str, Any] = {}
        maps, records, findings = {}, {}, []
        for (first, second), own in self.items():
            before = _plain(f"{first}_{second}_")
            for record, image in own.described():
                file = before + record.name
                if file in maps:
                    raise ValueError(
                        f"models: {first!r} and {second!r} give a file name that is "
                        "taken; choose names that differ in letters or digits"
                    )
                text = f"{record.description}; {first} (first) and {second} (second)"
                records[file] = replace(record, name=file, description=text)
                maps[file] = image
            for finding in own.findings_:
                named = tuple(before + name for name in finding.maps)
                findings.append(finding._replace(maps=named))
            inputs |= {f"{first} {second} {n}": each for n, each in own.inputs.items()}
        one = next(iter(self.values()))
        shared = ("parameters", "random_state", "table_file")
        return RegionMaps(
            maps,
            records=records,
            masker=one.masker_,
            table=self.table_,
            inputs=inputs,
            findings=findings,
            **{name: getattr(one, name) for name in shared},
        )


def _plain(name):
    """Return a name of letters, digits and underscores."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return plain if plain[0].isalpha() else f"model_{plain}"
