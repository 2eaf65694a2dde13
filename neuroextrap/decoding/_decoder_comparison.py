"""What a comparison of two decoders found, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.maps._files import check_maps, describe_map, stage_maps
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import record_of
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results
from neuroextrap.reporting._page import frame_table

_TABLE = "comparison.tsv"
_SHOWN = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class DecoderComparison(Mapping):
    """Differences of two decoders in every region, with p-values.

    :func:`compare_decoders` returns it. It is a mapping of the maps by name:
    ``comparison["p_value_fwe"]``.

    Parameters
    ----------
    region_scores_ : dict of ndarray of shape (n_regions,)
        Arrays first_accuracy, second_accuracy, accuracy_difference (proportions),
        information_difference (bits), p_value, p_value_fwe, and where asked for
        p_value_fwe_step_down; NaN where a region was not analyzed by both.
    pairs_ : ndarray of int of shape (n_regions, 2)
        Regions of the first and of the second that were compared.
    maps_ : dict of images (of ndarray for arrays and pairs of regions), default=None
        The same as maps; None where there are none.
    masker_ : NiftiMasker, SurfaceMasker or None, default=None
        Fitted masker of the images; None where maps are arrays.
    n_permutations_ : int, default=0
        Number of exchanges done.
    n_units_ : int, default=0
        Number of units whose outcomes were exchanged.
    parameters : dict or None, default=None
        What was asked for, for the sidecars.
    random_state : int or None, default=None
        Seed of the exchanges.
    names_ : list of str or None, default=None
        Names of the regions of an atlas; of pairs of regions both names.
    places_ : ndarray of shape (n_regions, 3) or None, default=None
        Centers of spheres or discs in mm; None for pairs of regions.

    Attributes
    ----------
    table_ : pandas.DataFrame
        The same numbers as a table, one row for every compared pair of regions.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import DecoderComparison
    >>> scores = {"accuracy_difference": np.array([0.2])}
    >>> DecoderComparison(region_scores_=scores, pairs_=np.array([[0, 1]])).table_
       first_region  second_region  accuracy_difference
    0             0              1                  0.2
    """

    region_scores_: dict
    pairs_: np.ndarray
    maps_: dict | None = None
    masker_: Any = None
    n_permutations_: int = 0
    n_units_: int = 0
    parameters: dict | None = None
    random_state: int | None = None
    names_: list | None = None
    places_: np.ndarray | None = None

    def __getitem__(self, name):
        """Return a map, or the numbers of all regions where there are no maps."""
        return self._by_name[name]

    def __iter__(self):
        """Iterate over the names of the maps."""
        return iter(self._by_name)

    def __len__(self):
        """Return the number of maps."""
        return len(self._by_name)

    @property
    def _by_name(self):
        """Maps where there are some, otherwise the numbers of the regions."""
        return self.region_scores_ if self.maps_ is None else self.maps_

    @property
    def table_(self):
        """Return the numbers as a table, one row for every compared pair of regions.

        Returns
        -------
        table : pandas.DataFrame
            Columns first_region, second_region, name (atlas) or x, y, z (mm; spheres
            and discs), and one for every number.
        """
        import pandas as pd

        first, second = self.pairs_.T
        regions = {"first_region": first, "second_region": second}
        if self.names_ is not None:
            regions["name"] = self.names_
        if self.places_ is not None:
            regions |= dict(zip("xyz", self.places_.T, strict=True))
        return pd.DataFrame(regions | self.region_scores_)

    def _repr_html_(self):
        """Return what notebooks show: the pairs with the smallest p-values."""
        n_shown = min(_SHOWN, len(self.pairs_))
        order = [name for name in ("p_value_fwe", "p_value") if name in self.table_]
        table = (
            self.table_.sort_values(order, kind="stable") if order else self.table_
        ).head(n_shown)
        caption = f"{n_shown} of {len(self.pairs_)} compared pairs of regions"
        return str(frame_table(table, caption))

    def generate_report(
        self, title=None, *, names=("first", "second"), bg_img=None, atlas=None
    ):
        """Make a self-contained HTML page of the comparison.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page. If None, the names of the decoders.
        names : (str, str), default=("first", "second")
            What to call the decoders.
        bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
            Image drawn under the maps.
        atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
            Labels image that names places.

        Returns
        -------
        report : neuroextrap.reporting.Report
            The page; ``report.save_as_html(path)`` writes it.
        """
        from neuroextrap.reporting import comparison_report

        return comparison_report(self, title, names=names, bg_img=bg_img, atlas=atlas)

    def to_directory(self, path, *, overwrite=False, bids=None):
        """Write the table, and maps with sidecars where regions lie in images.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.
        bids : dict of str to str or None, default=None
            BIDS entities such as ``{"sub": "01", "task": "objects"}``: files are then
            named and placed as BIDS derivatives. If None, names are plain.

        Raises
        ------
        ValueError
            When the folder is not empty, or cannot be written.
        """
        files = ResultFiles.below(path, bids)
        files.check(overwrite=overwrite)
        about = provenance(
            parameters={**(self.parameters or {}), "n_units": self.n_units_},
            inputs=self.region_scores_,
            random_state=self.random_state,
        )
        maps = self.maps_ if self.masker_ is not None and self.maps_ else {}
        sidecars = {name: describe_map(record_of(name), about) for name in maps}
        check_maps(maps, sidecars, files)
        with replaced_results(files, overwrite=overwrite, provenance=about) as folder:
            if maps:
                stage_maps(folder, maps, sidecars, files)
            self.table_.to_csv(folder / _TABLE, sep="\t", index=False, na_rep="n/a")
