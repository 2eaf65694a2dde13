"""Compare several encoding models, every pair of them, on the same test responses."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroextrap.analysis._presentation import region_images
from neuroextrap.encoding._comparison import (
    check_pair,
    exchange_test,
    stimulus_outcomes,
)
from neuroextrap.maps._files import check_maps, describe_map, stage_maps
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import record_of
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results
from neuroextrap.margins._statistic import accuracy_set_size
from neuroextrap.stats._validation import check_flags

_TABLE = "comparison.tsv"


def compare_encoding_models_pairwise(
    models,
    *,
    statistic="accuracy",
    n_permutations=1000,
    two_sided=True,
    n_jobs=1,
    random_state=0,
):
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
    statistic : {"accuracy", "pairwise_accuracy"} or int, default="accuracy"
        Statistic that is compared; an integer k is accuracy among k candidates.
    n_permutations : int, default=1000
        Number of random sign flips of each pair; all of them when there are no more.
    two_sided : bool, default=True
        Whether a difference in either direction counts; False asks whether the model
        that was named first is better.
    n_jobs : int, default=1
        Number of joblib threads over regions. Does not affect results.
    random_state : None or int, default=0
        Seed of the sign flips.

    Returns
    -------
    comparison : EncodingComparison
        Maps by pair of names, a table, and ``to_directory``.

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

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from neuroextrap.encoding import EncodingIdentification
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(120, 6)), rng.normal(size=(6, 20))
    >>> Y = X @ W + 3 * rng.normal(size=(120, 20))
    >>> models = {
    ...     name: EncodingIdentification(encoder=Ridge())
    ...     .fit(X[:80, :n], Y[:80])
    ...     .identify(X[80:, :n], Y[80:])
    ...     for name, n in {"six": 6, "four": 4, "two": 2}.items()
    ... }
    >>> found = compare_encoding_models_pairwise(models, n_permutations=99)
    >>> list(found)
    [('six', 'four'), ('six', 'two'), ('four', 'two')]
    >>> float(found["six", "two"]["p_value_fwe"][0])  # three pairs
    0.03
    """
    check_flags(two_sided=two_sided)
    _check_models(models)
    pairs = list(itertools.combinations(models, 2))
    first = next(iter(models.values()))
    size = accuracy_set_size(statistic, first.wins_.shape[1])
    outcomes = {n: stimulus_outcomes(m, size, n_jobs) for n, m in models.items()}
    scores = {}
    for pair in pairs:
        values = exchange_test(
            [outcomes[name] for name in pair],
            [models[name].region_scores_["implied_information"] for name in pair],
            n_permutations=n_permutations,
            two_sided=two_sided,
            random_state=random_state,
        )
        corrected = np.minimum(values["p_value_fwe"] * len(pairs), 1)
        scores[pair] = values | {"p_value_fwe": corrected}
    choice, masker = first.results_.choice, first.masker_
    return EncodingComparison(
        region_scores_=scores,
        maps_={pair: region_images(v, choice, masker) for pair, v in scores.items()},
        names_=choice.names,
        masker_=masker,
        parameters={
            "models": list(models),
            "statistic": statistic,
            "n_permutations": n_permutations,
            "two_sided": two_sided,
        },
        random_state=random_state,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodingComparison(Mapping):
    """Differences of every pair of encoding models in every region, with p-values.

    :func:`compare_encoding_models_pairwise` returns it. It is a mapping of maps by pair
    of names: ``comparison["gabor", "retinotopic"]["p_value_fwe"]``.

    Parameters
    ----------
    region_scores_ : dict of (str, str) to dict of ndarray of shape (n_regions,)
        Arrays first_accuracy, second_accuracy, accuracy_difference (proportions),
        information_difference (bits), p_value, and p_value_fwe, which holds for all
        regions and pairs at once; NaN where a region was not analyzed.
    maps_ : dict of (str, str) to dict of images (of ndarray for arrays)
        The same as maps.
    names_ : sequence of str or None, default=None
        Names of the regions.
    masker_ : NiftiMasker, SurfaceMasker or None, default=None
        Fitted masker of the images; None where maps are arrays.
    parameters : dict or None, default=None
        What was asked for, for the sidecars.
    random_state : int or None, default=None
        Seed of the exchanges.

    Attributes
    ----------
    table_ : pandas.DataFrame
        The same numbers as a table, one row for every pair and region.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding._pairwise_comparison import EncodingComparison
    >>> scores = {("a", "b"): {"accuracy_difference": np.array([0.2])}}
    >>> EncodingComparison(region_scores_=scores, maps_=scores).table_
      first second region  accuracy_difference
    0     a      b      0                  0.2
    """

    region_scores_: dict
    maps_: dict
    names_: Any = None
    masker_: Any = None
    parameters: dict | None = None
    random_state: int | None = None

    def __getitem__(self, pair):
        """Return the maps of a pair."""
        return self.maps_[pair]

    def __iter__(self):
        """Iterate over the pairs."""
        return iter(self.maps_)

    def __len__(self):
        """Return the number of pairs."""
        return len(self.maps_)

    @property
    def table_(self):
        """Return the numbers as a table, one row for every pair and region.

        Returns
        -------
        table : pandas.DataFrame
            Columns first, second, region, and one for every number.
        """
        import pandas as pd

        frames = []
        for (first, second), values in self.region_scores_.items():
            n_regions = len(next(iter(values.values())))
            regions = self.names_ or [str(i) for i in range(n_regions)]
            named = {"first": first, "second": second, "region": regions}
            frames.append(pd.DataFrame(named | values))
        return pd.concat(frames, ignore_index=True)

    def generate_report(self, pair=None, title=None, *, bg_img=None, atlas=None):
        """Make a self-contained HTML page of the comparison of two models.

        Parameters
        ----------
        pair : (str, str) or None, default=None
            Names of the two models. If None, the only pair.
        title : str or None, default=None
            Title of the page. If None, the names of the two.
        bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
            Image drawn under the maps.
        atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
            Labels image that names places.

        Returns
        -------
        report : neuroextrap.reporting.Report
            The page; ``report.save_as_html(path)`` writes it.

        Raises
        ------
        ValueError
            When ``pair`` was not compared, or is None where there are several.
        """
        from neuroextrap.reporting import comparison_report

        pair = self._pair(pair)
        found = _ComparedPair(self, pair)
        return comparison_report(found, title, names=pair, bg_img=bg_img, atlas=atlas)

    def _pair(self, pair):
        """Return a pair that was compared, the only one for None."""
        pairs = ", ".join(f"({first!r}, {second!r})" for first, second in self)
        if pair is None:
            if len(self) != 1:
                raise ValueError(
                    f"pair=None must name one of {len(self)} pairs; choose {pairs}"
                )
            (pair,) = self
        if tuple(pair) not in self.maps_:
            raise ValueError(f"pair={pair!r} was not compared; choose {pairs}")
        return tuple(pair)

    def to_directory(self, path, *, overwrite=False, report=False):
        """Write the table, and maps with sidecars where there are images.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.
        report : bool, default=False
            Whether to write a page too: ``report.html`` of two models, and
            ``report_FIRST_SECOND.html`` of every pair of several.

        Raises
        ------
        ValueError
            When the folder is not empty, or cannot be written, or the names of models
            are the same but for signs.
        """
        check_flags(report=report)
        files = ResultFiles.below(path, None)
        files.check(overwrite=overwrite)
        arrays = {
            f"{first} {second} {name}": array
            for (first, second), values in self.region_scores_.items()
            for name, array in values.items()
        }
        about = provenance(
            parameters=self.parameters or {},
            inputs=arrays,
            random_state=self.random_state,
        )
        maps, sidecars = (
            self._named_maps(about) if self.masker_ is not None else ({}, {})
        )
        if maps:
            check_maps(maps, sidecars, files)
        pages = self._pages() if report else {}
        with replaced_results(files, overwrite=overwrite, provenance=about) as folder:
            if maps:
                stage_maps(folder, maps, sidecars, files)
            self.table_.to_csv(folder / _TABLE, sep="\t", index=False, na_rep="n/a")
            for name, page in pages.items():
                (folder / name).write_text(page, encoding="utf-8")

    def _pages(self):
        """Return the page of every pair by file name."""
        return {
            _page_name(self, pair): self.generate_report(pair).get_standalone()
            for pair in self
        }

    def _named_maps(self, about):
        """Return maps and sidecars by file name."""
        maps, sidecars = {}, {}
        for (first, second), images in self.maps_.items():
            for name, image in images.items():
                file = _plain(f"{first}_{second}_{name}")
                if file in maps:
                    raise ValueError(
                        f"models: {first!r} and {second!r} give a file name that is "
                        "taken; choose names that differ in letters or digits"
                    )
                record = record_of(name)
                text = f"{record.description}; {first} (first) and {second} (second)"
                record = replace(record, name=file, description=text)
                maps[file], sidecars[file] = image, describe_map(record, about)
        return maps, sidecars


class _ComparedPair(dict):
    """Maps of one pair, with what a report wants to know of the comparison."""

    def __init__(self, comparison, pair):
        super().__init__(comparison[pair])
        self.parameters = comparison.parameters or {}
        self.n_permutations_ = self.parameters.get("n_permutations", 0)
        self.n_pairs_ = len(comparison)
        self.names_, self.masker_ = comparison.names_, comparison.masker_
        if self.names_ is not None:  # otherwise maps tell where spheres are
            self.region_scores_ = comparison.region_scores_[pair]


def _page_name(comparison, pair):
    """Return the file name of a pair's page."""
    return (
        "report.html"
        if len(comparison) == 1
        else f"report_{_plain('_'.join(pair))}.html"
    )


def _plain(name):
    """Return a name of letters, digits and underscores."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return plain if plain[0].isalpha() else f"model_{plain}"


def _check_models(models):
    """Raise unless all models judged the same things."""
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models={type(models).__name__} must be a dict of models by name; give "
            "{'gabor': first, 'retinotopic': second}"
        )
    if len(models) < 2:
        raise ValueError(
            f"models holds {len(models)} models; give at least two to compare"
        )
    first, *others = models
    for other in others:
        check_pair(models[first], models[other], (f"{first!r}", f"{other!r}"))
