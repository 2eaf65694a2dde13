"""Maps that analyses return: one container, with a table, files and a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._presentation import region_images
from neuroextrap.analysis._region_discoveries import DiscoveryCounts
from neuroextrap.design._findings import Finding, findings_about
from neuroextrap.maps._files import (
    check_output_directory,
    describe_map,
    write_maps,
)
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import record_of
from neuroextrap.reporting._maps_section import features_as_regions
from neuroextrap.reporting._page import Report, frame_table
from neuroextrap.reporting._peaks import place_columns
from neuroextrap.stats._null_counts import spread_known

_SHOWN = 10
_TABLE = "table.tsv"


class RegionMaps(DiscoveryCounts, dict):
    """Maps by name, with what they were made of, a table, files and a page.

    Comparisons, lesions, extrapolations and analyses over subjects return it. It is a
    dict of maps, ``maps["p_value_fwe"]``: images, or arrays for plain arrays and for
    regions that have no place in an image.

    Parameters
    ----------
    maps : dict of images, or of ndarray
        Maps by name (by set size, of extrapolations).
    records : dict of MapRecord or None, default=None
        What each map is, and the name of its file. If None, those of
        ``MAPS`` (``maps/_registry.py``).
    masker : NiftiMasker, SurfaceMasker or None, default=None
        Fitted masker of the images; None if maps are arrays.
    region_scores : dict of ndarray of shape (n_regions,) or None, default=None
        The same numbers by region, if maps are images.
    table : pandas.DataFrame or None, default=None
        The same numbers, a row for every region.
    parameters : dict or None, default=None
        What was requested, for the sidecars.
    random_state : int or None, default=None
        Seed, for the sidecars.
    inputs : dict of ndarray or None, default=None
        Arrays whose hashes the sidecars hold. If None, those of ``region_scores``.
    further : sequence of RegionMaps, default=()
        Maps that go to the same folder, such as ends of intervals.
    findings : sequence of Finding, default=()
        What makes numbers doubtful or approximate, for sidecars and the page.
    page : callable or None, default=None
        Makes a report of these maps, a title and further options.
    **found
        What else is known of the maps; each becomes an attribute.

    Attributes
    ----------
    masker_, region_scores_, table_, parameters, random_state, findings_
        As given.
    notes_ : list of str
        The findings as sentences.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from neuroextrap.analysis._region_maps import RegionMaps
    >>> scores = {"accuracy_difference": np.array([0.2])}
    >>> maps = RegionMaps(scores, table=pd.DataFrame(scores), n_units_=6)
    >>> maps["accuracy_difference"], maps.n_units_
    (array([0.2]), 6)
    """

    bg_img_: Any = None  # drawn under maps that do not lie in MNI space

    def __init__(  # noqa: PLR0913 - each is one thing that is known of the maps
        self,
        maps: dict,
        *,
        records: dict | None = None,
        masker: Any = None,
        region_scores: dict[str, np.ndarray] | None = None,
        table: Any = None,
        parameters: dict | None = None,
        random_state: int | None = None,
        inputs: dict[str, np.ndarray] | None = None,
        further: Sequence[RegionMaps] = (),
        findings: Sequence[Finding] = (),
        page: Callable | None = None,
        **found: Any,
    ) -> None:
        super().__init__(maps)
        self.masker_, self.region_scores_, self.table_ = masker, region_scores, table
        self.parameters, self.random_state = parameters or {}, random_state
        self.records, self._further, self._page = records, further, page
        self.inputs = region_scores if inputs is None else inputs
        self.findings_ = list(findings)
        self.notes_ = [finding.note for finding in findings]
        for name, value in found.items():
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

    def _discoveries(self) -> Any:
        bounds = getattr(self, "discoveries", None)
        if bounds is None:
            raise ValueError(
                "no bound on the number of true discoveries was computed with these "
                "maps: tests over subjects with at least 37 permutations have one"
            )
        return bounds

    def _places(self) -> tuple[Any, Any]:
        n_features = len(self._discoveries().scores)
        return features_as_regions(n_features), self.masker_

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
        described, more = [], dict(more or {})
        for maps in (self, *self._further):
            described += maps.described()
        for maps in (*self._further, self):
            if maps.table_ is not None:
                more[getattr(maps, "table_file", _TABLE)] = table_writer(maps.table_)
        about = provenance(
            parameters=self.parameters,
            inputs=self.inputs,
            random_state=self.random_state,
        )
        write_described(
            path,
            described,
            about if origin is None else origin.sidecar() | about,
            more,
            findings=self.findings_,
            overwrite=overwrite,
            bids=bids,
            record={} if origin is None else origin.record,
            elsewhere=elsewhere,
        )

    def described(self) -> list:
        """Return the images with their records.

        Returns
        -------
        described : list of (MapRecord, image)
            Empty if maps are arrays.
        """
        if self.masker_ is None:
            return []
        records = self.records or {name: record_of(name) for name in self}
        return [(records[name], image) for name, image in self.items()]


def maps_of_regions(
    run: Any, scores: dict, *, table_file: str = "regions.tsv", **about: Any
) -> RegionMaps:
    """Return numbers of the regions of a planned run (RegionRun) as maps.

    `scores` (n_regions,) go to images where these have places, and to a table;
    `about` are further arguments of RegionMaps.
    """
    import pandas as pd

    choice, masker = run.choice, run.masker
    places = choice.places(masker)
    columns = place_columns(np.arange(choice.n_regions), places, choice.names)
    return RegionMaps(
        region_images(scores, choice, masker) or scores,
        masker=masker if choice.has_place else None,
        region_scores=scores,
        table=pd.DataFrame(columns | scores),
        table_file=table_file,
        choice_=choice,
        places_=places,
        bg_img_=run.bg_img,
        **about,
    )


def write_described(
    path, described, about, more, *, findings=(), bids=None, record=None, **places
):
    """Write maps, pairs of a record and an image, and further files.

    `about` is the provenance, `more` a dict of functions that write to a path by name;
    `record` stands in the file of the provenance only; `places` are overwrite and
    elsewhere of ``write_maps``.
    """
    if not described and not more:
        raise ValueError(
            "plain arrays have no images to write; save the arrays themselves"
        )
    write_maps(
        path,
        {record.name: image for record, image in described},
        {
            record.name: describe_map(
                record, about | {"findings": findings_about(findings, record.name)}
            )
            for record, _ in described
        },
        bids=bids,
        provenance=about | (record or {}),
        more=more,
        **places,
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
    known,
    accuracies,
    outcomes,
    information,
    *,
    test=stats.paired_sign_flip_test,
    **options,
):
    """Compare two analyses by exchanging the outcomes of units (stimuli, runs).

    Of the `known` regions (n_known of n_regions) are `accuracies`, two arrays
    (n_known,), and `outcomes` (n_known, n_units): the differences that add up to that
    in accuracy, or what the `test` takes first; `information` is two arrays
    (n_regions,) in bits. `options` are those of the test. Returns a dict of
    (n_regions,), NaN where a region is not known, and the test.
    """
    tested = test(outcomes, **options)
    first, second = (values[known] for values in information)
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
    return spread_known(known, values), tested
