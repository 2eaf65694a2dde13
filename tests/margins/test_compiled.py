"""Loops are compiled once a precision, whatever the layout of what is analyzed."""

import subprocess
import sys

# samples and labels as users bring them: columns first, single precision, short codes
ANALYSES = """
import numpy as np
from numba.core.dispatcher import Dispatcher
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.margins.compiled import (
    _class_sums,
    _counting,
    _features,
    _growing_folds,
    _lda_labelings,
    _lda_moments,
)

y, runs = np.tile([0, 0, 1, 1, 2, 2], 5).astype(np.int16), np.repeat(range(5), 6)
x = np.random.default_rng(0).normal(size=(30, 40))
for estimator in ("nearest_centroid", "ridge", "lda", "gaussian_nb"):
    for samples, n_regions in ((x, 1), (x, 4), (np.asfortranarray(x), 1)):
        regions = np.ones((n_regions, 40), bool)
        regions[2:, 3:] = False  # few features, whose operators are of another form
        light = IdentificationSearchLight(
            regions=regions,
            estimator=estimator,
            n_permutations=20,
        )
        light.fit(samples, y, groups=runs)
compiled = {
    name: {str(each).replace("float32", "float64") for each in kernel.signatures}
    for room in (
        *(_class_sums, _counting, _features),
        *(_growing_folds, _lda_labelings, _lda_moments),
    )
    for name, kernel in vars(room).items()
    if isinstance(kernel, Dispatcher) and kernel.signatures
}
needed = {"fill_margins", "count_margins", "fill_member_sums", "count_beaten"}
assert needed <= set(compiled), compiled
for name, signatures in compiled.items():
    assert len(signatures) == 1, (name, signatures)
"""


def test_every_loop_is_compiled_once():
    command = [sys.executable, "-W", "ignore", "-c", ANALYSES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
