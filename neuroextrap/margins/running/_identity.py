"""What makes a run what it is: by it checkpoints and parts of runs are told apart."""

import hashlib
import json
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap import __version__
from neuroextrap.margins._plan import Plan
from neuroextrap.margins.running._described import array_hash, without_addresses

VERSIONS = {"neuroextrap": __version__, "numpy": np.__version__}


def run_identity(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> dict[str, Any]:
    """Return what makes a run what it is: name of a part to its hash or its text."""
    weightings = [] if plan.weightings is None else [plan.weightings]
    forward, tests = plan.forward, []
    if forward is not None:
        sums = forward.sums
        tests = [sums.data, sums.indices, sums.indptr, forward.weighting]
        tests += forward.design.arrays
    subsets = [array for each in plan.subsets for array in each.arrays]
    return {
        "data": array_hash(X),
        "regions": _hash_of_all(regions.indptr, regions.indices),
        "labels": array_hash(plan.codes),
        "folds": _hash_of_all(*plan.design.arrays, *weightings),
        "forward tests": _hash_of_all(*tests),
        "classifier": without_addresses(repr(plan.kernel)),
        "whitening": without_addresses(repr(plan.whitener)),
        "statistic": without_addresses(repr(plan.statistic)),
        "pairing": plan.pairing,
        "versions": VERSIONS,
        **({"class subsets": _hash_of_all(*subsets)} if subsets else {}),
    }


def identity_hash(identity: dict[str, Any]) -> str:
    """Return one hash of an identity, the name of its run."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the parts in which two identities differ."""
    keys = sorted(set(one) | set(other))
    return [key for key in keys if one.get(key) != other.get(key)]


def _hash_of_all(*arrays: np.ndarray) -> str:
    """Fingerprint several arrays together."""
    return array_hash([array_hash(array) for array in arrays])
