"""Classifiers as batched margin functions, and the one loop over regions.

``MarginKernel`` is what a classifier of one's own has to be; ``use_executor`` gives
tasks to a Dask cluster.
"""

from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.running._execution import use_executor

__all__ = [
    "MarginKernel",
    "use_executor",
]
