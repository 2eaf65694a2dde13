"""Maps that analyses return: one container with files and a page; curves carried on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from neuroextrap import stats
from neuroextrap._parameter_table import taken_by
from neuroextrap.analysis._presentation import DiscoveryCounts, region_images
from neuroextrap.design._findings import Finding, findings_about, tell
from neuroextrap.maps._files import check_output_directory, describe_map, write_maps
from neuroextrap.maps._identification import DOUBTFUL, NO_INTERVAL, doubtful_beyond
from neuroextrap.maps._named_records import extrapolation_record
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import record_of
from neuroextrap.margins._resources import parse_memory
from neuroextrap.margins.running._execution import Progress
from neuroextrap.reporting._maps_section import features_as_regions
from neuroextrap.reporting._page import Report, frame_table
from neuroextrap.reporting._peaks import place_columns
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_level, check_set_sizes, warn

_SHOWN = 10
_TABLE = "table.tsv"


class RegionMaps(DiscoveryCounts, dict):
    """Maps by name (or set size), with their making, a table, files and a page.

    They are images, or arrays for plain arrays and for regions that have no place in an
    image; `region_scores` are then the same numbers by region, (n_regions,). The
    records of maps are those of ``MAPS`` unless given. Sidecars have the `parameters`,
    the `random_state` and hashes of `inputs`; `further` RegionMaps go to the same
    folder, `page` makes a report, and further `attributes` are set.
    """

    bg_img_: Any = None  # drawn under maps that do not lie in MNI space
    further: Sequence[RegionMaps] = ()

    def __init__(  # noqa: PLR0913 - each is one thing that is known of the maps
        self,
        maps: dict,
        *,
        records: dict | None = None,
        masker: Any = None,
        region_scores: dict[str, np.ndarray] | None = None,
        table: Any = None,
        parameters: dict | None = None,
        random_state: Any = None,
        inputs: dict[str, np.ndarray] | None = None,
        findings: Sequence[Finding] = (),
        page: Callable | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(maps)
        self.masker_, self.region_scores_, self.table_ = masker, region_scores, table
        self.parameters = parameters or {}
        self.random_state = random_state if isinstance(random_state, Integral) else None
        self.records, self._page = records, page
        self.inputs = region_scores if inputs is None else inputs
        self.findings_ = list(findings)
        self.notes_ = [finding.note for finding in findings]
        for name, value in attributes.items():
            setattr(self, name, value)

    def _repr_html_(self):
        """Return what notebooks show: the rows with the smallest p-values."""
        if self.table_ is None:
            return None
        table = self.table_
        order = [name for name in ("p_value_fwe", "p_value") if name in table]
        table = table.sort_values(order, kind="stable") if order else table
        n_shown = min(_SHOWN, len(table))
        what = getattr(self, "rows", "regions")
        caption = f"{n_shown} of {len(table)} {what}"
        return str(frame_table(table.head(n_shown), caption))

    def _discoveries(self) -> tuple[Any, Any, Any]:
        bounds = getattr(self, "discoveries", None)
        if bounds is None:
            raise ValueError(
                "no bound on the number of true discoveries was computed with these "
                "maps: tests over subjects with at least 37 permutations have one"
            )
        return bounds, features_as_regions(len(bounds.scores)), self.masker_

    def generate_report(self, title: str | None = None, **options: Any) -> Report:
        """Make a self-contained HTML page of the maps.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page. If None, what the maps are of.
        **options
            Of all maps ``bg_img``, the image drawn under them, as in reports of
            searchlights. Of a comparison ``names``,
            what to call the first and the second, and ``atlas``, a labels image that
            names places. Of maps over subjects ``labels_img``, the atlas whose regions
            name the clusters, ``names`` of its labels (list, dict or DataFrame; those
            of a fetched atlas are known), and ``left_out``, reasons by subject (a dict)
            of those who are not among these.

        Returns
        -------
        report : neuroextrap.reporting.Report
            The page; ``report.save_as_html(path)`` writes it.

        Raises
        ------
        ValueError
            If there is no page of such maps.
        """
        if self._page is None:
            raise ValueError(
                "no page is made of such maps; draw them with "
                "neuroextrap.plotting.plot_map, or write them with to_directory"
            )
        return self._page(self, title, **options)

    def to_directory(
        self,
        path: str | PathLike,
        *,
        overwrite: bool = False,
        bids: dict[str, str] | None = None,
        origin: Any = None,
        more: dict[str, Callable] | None = None,
        elsewhere: dict | None = None,
    ) -> None:
        """Write the maps with sidecars if they are images, and the table.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.
        bids : dict of str to str or None, default=None
            BIDS entities such as ``{"sub": "01", "task": "objects"}``: files are then
            named and placed as BIDS derivatives. If None, names are plain.
        origin : Origin or None, default=None
            Files and options that the maps were made of, for sidecars and provenance.
        more : dict of callable or None, default=None
            Functions that write further files to a path, by name.
        elsewhere : dict of path-like or None, default=None
            Paths in the same data set where some of these go, by name.

        Raises
        ------
        ValueError
            When the folder is not empty, or cannot be written, or there is neither an
            image nor a table to write.
        """
        check_output_directory(path, overwrite=overwrite, bids=bids)
        about = provenance(
            parameters=self.parameters,
            inputs=self.inputs,
            random_state=self.random_state,
        )
        record: dict = {}
        if origin is not None:
            about, record = origin.sidecar() | about, origin.record
        images, sidecars = {}, {}
        tables: dict[str, Callable] = {}
        for maps in (self, *self.further):
            for each, image in maps.described():
                seen = {"findings": findings_about(self.findings_, each.name)}
                images[each.name] = image
                sidecars[each.name] = describe_map(each, about | seen)
            if maps.table_ is not None:
                file = getattr(maps, "table_file", _TABLE)
                tables.setdefault(file, table_writer(maps.table_))
        more = (more or {}) | tables
        if not images and not more:
            raise ValueError(
                "plain arrays have no images to write; save the arrays themselves"
            )
        made = {"bids": bids, "provenance": about | record, "more": more}
        places = {"overwrite": overwrite, "elsewhere": elsewhere}
        write_maps(path, images, sidecars, **made, **places)

    def described(self) -> list:
        """Return pairs of a MapRecord and an image; none if maps are arrays."""
        if self.masker_ is None:
            return []
        records = self.records or {name: record_of(name) for name in self}
        return [(records[name], image) for name, image in self.items()]


def maps_of_regions(
    run: Any,
    scores: dict,
    *,
    table: Any = None,
    table_file: str = "regions.tsv",
    **about: Any,
) -> RegionMaps:
    """Return numbers (n_regions,) of the regions of a planned RegionRun as maps."""
    import pandas as pd

    choice, masker = run.choice, run.masker
    places = choice.places(masker)
    if table is None:
        columns = place_columns(np.arange(choice.n_regions), places, choice.names)
        table = pd.DataFrame(columns | scores)
    return RegionMaps(
        region_images(scores, choice, masker) or scores,
        masker=masker if choice.has_place else None,
        region_scores=scores,
        table=table,
        table_file=table_file,
        choice_=choice,
        places_=places,
        bg_img_=run.bg_img,
        **about,
    )


def stacked_tables(tables, *columns):
    """Return tables by name under one another, their names in the first columns."""
    import pandas as pd

    stacked = pd.concat(tables, names=[*columns, None])
    return stacked.reset_index(list(range(len(columns)))).reset_index(drop=True)


def table_writer(table):
    """Return a function that writes a DataFrame to a path."""
    return lambda path: table.to_csv(path, sep="\t", index=False, na_rep="n/a")


def exchange_test(
    analyzed,
    accuracies,
    outcomes,
    information,
    options,
    *,
    test=stats.paired_sign_flip_test,
    **how,
):
    """Compare two analyses by exchanging the outcomes of units (stimuli, runs).

    `accuracies` and `information` are pairs of arrays, `outcomes` (n_known, n_units) go
    to the `test`, which is also returned, by ComparisonOptions.
    """
    tested = test(
        outcomes, **taken_by(stats.paired_sign_flip_test, vars(options)), **how
    )
    first, second = (values[analyzed] for values in information)
    values = {
        "first_accuracy": accuracies[0],
        "second_accuracy": accuracies[1],
        "accuracy_difference": tested.score,
        "information_difference": np.subtract(first, second),
        "p_value": tested.p_value,
        "p_value_fwe": tested.p_value_fwe,
    }
    if tested.p_value_fwe_step_down is not None:
        values["p_value_fwe_step_down"] = tested.p_value_fwe_step_down
    return spread_known(analyzed, values), tested


_BATCHED = ("gaussian", "gaussian_mixture")
_COPIES = 8  # of one region's margins that a fit holds at once


def extrapolated_maps(fitted, set_sizes, *, method, confidence_level=None):
    """Predict every region's accuracy by set size, one at a time to save memory."""
    sizes = np.atleast_1d(check_set_sizes(set_sizes))
    stats.AccuracyExtrapolator(method)  # is it known?
    source, how = "wins", "win distributions, without scores"
    if fitted.test_codes_ is not None and method not in _BATCHED:
        source, how = "margins", "every region's margins"
    if source == "wins" and stats.EXTRAPOLATION_METHODS[method].needs_scores:
        raise ValueError(
            f"method={method!r} needs the scores, which results read from a folder do "
            "not hold; fit again, or use method='auto'"
        )
    if confidence_level is not None:
        _check_interval(method, confidence_level)
        if not fitted.results_.marginal:
            raise ValueError(NO_INTERVAL)
    _check_memory(fitted, len(sizes) * (1 if confidence_level is None else 3), source)
    analyzed = ~np.isnan(fitted.wins_[:, 0])
    at_once = method in _BATCHED or (method == "auto" and source == "wins")
    if at_once and confidence_level is None:
        predicted = stats.extrapolate_wins(
            fitted.wins_[analyzed], fitted.results_.n_test, sizes, method=method
        )[None]
        notes = ()
    else:
        regions = np.flatnonzero(analyzed)
        predicted, notes = _one_by_one(fitted, regions, sizes, method, confidence_level)
    doubtful = _of_not_marginal(fitted, analyzed, sizes, predicted)
    made = f"extrapolated by {method!r} from {how}"
    notes = *doubtful, *fitted.results_.notes, made, *notes
    if confidence_level is not None:
        notes = (*notes, f"intervals hold with confidence {confidence_level:g} each")
    ends = [
        _maps(fitted, analyzed, sizes, part, end=end)
        for end, part in zip(("lower", "upper"), predicted[1:], strict=False)
    ]
    about = {"method": method, "source": source}
    n_classes = len(fitted.classes_)
    return _maps(
        fitted,
        analyzed,
        sizes,
        predicted[0],
        parameters=about | {"n_classes": n_classes, "notes": list(notes)},
        inputs={"wins": fitted.wins_},
        further=ends,
        notes=notes,
        **dict(zip(("lower", "upper"), ends or (None, None), strict=True)),
        **about,
    )


def _of_not_marginal(fitted, analyzed, sizes, predicted):
    """Put what was measured among predictions; return doubts, 0 or 1 texts."""
    n_classes, results = len(fitted.classes_), fitted.results_
    below = sizes < n_classes
    if len(results.measured_sizes) and below.any():
        predicted[0][:, below] = results.curve(analyzed, sizes[below])[1]
    if results.marginal or (sizes <= n_classes).all():
        return ()
    doubtful = doubtful_beyond(n_classes)
    tell([doubtful])
    return (doubtful.note,)


def _check_interval(method, confidence_level):
    """Check what an interval needs before any work."""
    check_level(confidence_level, "confidence_level")
    if method != "auto":
        raise ValueError(
            f"method={method!r} has no calibrated interval; use method='auto', or "
            "confidence_level=None"
        )


def _maps(fitted, analyzed, sizes, values, end="", **about):
    """Turn predictions (n_known, n_sizes), or an end of intervals, into RegionMaps."""
    results, records = fitted.results_, {}
    placed = spread_known(analyzed, dict(zip(sizes.tolist(), values.T, strict=True)))
    for size in placed:
        record = extrapolation_record(size, end)
        description = record.description + results.trained(size)  # or is it doubtful?
        records[size] = replace(record, description=description)
    images = region_images(placed, results.choice, fitted.masker_)
    return RegionMaps(images, records=records, masker=fitted.masker_, **about)


def _one_by_one(fitted, regions, sizes, method, confidence_level):
    """Predict regions one after the other: (1 or 3, n_regions, n_sizes), and notes."""
    shape = 1 if confidence_level is None else 3, len(regions), len(sizes)
    predicted = np.empty(shape)
    progress, warned = Progress(fitted.verbose), {}
    for row, region in enumerate(regions):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message=DOUBTFUL)
            model = fitted.extrapolator(int(region), method)
            predicted[0, row] = model.predict(sizes)
            if confidence_level is not None:
                predicted[1:, row] = model.predict_interval(sizes, confidence_level)
        for text in (str(warning.message) for warning in caught):
            warned[text.split(":")[0]] = text
        progress(row + 1, len(regions))
    for text in warned.values():  # once, however many regions said so
        warn(text)
    return predicted, tuple(warned.values())


def _check_memory(fitted, n_sizes, source):
    """Refuse what would not fit: one region's margins, and every region's answer."""
    n_regions, n_classes = fitted.wins_.shape
    needed = 8 * n_regions * n_sizes * 2
    if source == "margins":
        needed += 8 * _COPIES * len(fitted.test_codes_) * n_classes
    if needed > parse_memory(fitted.max_memory):
        raise ValueError(
            f"max_memory={fitted.max_memory!r} is too little: about "
            f"{needed / 2**30:.1f} GiB are needed; raise it, or ask for fewer set "
            "sizes at a time"
        )
