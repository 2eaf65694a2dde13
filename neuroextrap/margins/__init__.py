"""Classifiers as batched margin functions, and the one loop over regions.

``use_executor`` gives tasks to a Dask cluster.
"""

from neuroextrap.margins.running._execution import use_executor

__all__ = [
    "use_executor",
]
