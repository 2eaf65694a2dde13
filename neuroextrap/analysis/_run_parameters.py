"""The parameters that every analysis of regions shares, and their checks."""

from os import PathLike
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from neuroextrap.analysis._parameters import (
    PARAMETERS,
    region_options,
    shared_parameters,
)
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.maps._described_parameters import flat_parameters
from neuroextrap.margins._resources import parse_memory, parse_shard
from neuroextrap.regions._membership import usable_regions
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._validation import (
    brief,
    check_flags,
    check_flags_of,
    check_n_jobs,
    check_set_sizes,
    random_generator,
)


class RunParameters(SimpleNamespace):
    """Parameters that every analysis of regions shares; checked when made.

    The attributes are those of the table that all kinds of analysis have.
    """

    @classmethod
    def of(cls, estimator):
        """Take them from an estimator, and check them before any data are read."""
        random_generator(estimator.random_state)
        check_flags_of(estimator)
        given = flat_parameters(estimator)
        check_flags(per_fold=given["per_fold"])
        if given["per_fold"] and estimator.kind != "searchlight":
            raise ValueError("per_fold=True is for a searchlight; leave it out of keep")
        parameters = cls(**{name: given[name] for name in shared_parameters()})
        parameters.check()
        return parameters

    def check(self):
        """Raise ValueError if a parameter is out of range or two exclude each other."""
        for row in PARAMETERS:
            if row.option is not None and hasattr(self, row.name):
                row.option.check(row.name, getattr(self, row.name))
        check_n_jobs(self.n_jobs)
        parse_shard(self.shard)
        parse_memory(self.max_memory)
        self._check_paths()
        if self.save_null is not None and self.n_permutations == 0:
            raise ValueError("save_null needs permutations; set n_permutations")
        if self.save_null is not None and self.shard is not None:
            raise ValueError("save_null and shard do not go together; save in one run")

    def _check_paths(self):
        """Raise if the null maps or the checkpoint cannot be where they should."""
        if self.save_null is not None:
            if not isinstance(self.save_null, (str, PathLike)):
                raise TypeError(
                    f"keep (save_null) is {brief(self.save_null)}; give the path of a "
                    ".npy file for the permuted maps, or neuroextrap.analysis.Keep(...)"
                )
            path = Path(self.save_null).expanduser()
            if path.is_dir() or not path.parent.is_dir():
                raise ValueError(
                    f"keep: save_null={str(path)!r} must be a file in a folder that "
                    "exists; make the folder, or name another file"
                )
        given = self.checkpoint
        named = given is None or isinstance(given, (str, PathLike))
        if not named or (given is not None and Path(given).is_file()):
            raise (ValueError if named else TypeError)(
                f"checkpoint={brief(given)} must be the path of a folder, which may be "
                "new; name another"
            )

    def choose_regions(self, masker, n_features):
        """Return the regions, and where their values go (RegionChoice)."""
        return choose_regions(masker, n_features, **region_options(self))

    def usable_regions(self, choice, usable):
        """Drop features that are not usable, then regions with too few left."""
        return usable_regions(choice.regions, usable, self.min_voxels)

    def resolve_set_sizes(self, n_classes):
        """Return the requested set sizes, or the defaults of `n_classes` classes."""
        if self.set_sizes is None:
            return np.asarray(default_set_sizes(n_classes))
        try:
            sizes = check_set_sizes(self.set_sizes, n_classes=n_classes)
        except (TypeError, ValueError):
            sizes = np.empty(0)
        if sizes.ndim != 1 or not len(sizes):
            raise ValueError(
                f"set_sizes={brief(self.set_sizes)} must be a list of whole numbers "
                f"from 2 to the {n_classes} classes; leave it None for the default"
            )
        return sizes
