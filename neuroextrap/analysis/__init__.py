"""What every analysis of regions does: read, plan, run, publish, save and report.

``RegionAnalysis`` (``_region_analysis``) is the base of ``IdentificationSearchLight``
and ``EncodingIdentification``: their curves, extrapolations, files and reports are
written here once. A run itself is a ``RegionRun`` (``_region_run``), its numbers are
``RegionResults`` (``_results``). ``Regions``, ``Curves``, ``Bounds`` and ``Keep`` are
values of parameters.
"""

from neuroextrap.analysis._parameters import Bounds, Curves, Keep, Regions

__all__ = ["Bounds", "Curves", "Keep", "Regions"]
