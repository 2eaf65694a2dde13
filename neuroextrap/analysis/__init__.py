"""What every analysis of regions does: read, plan, run, publish, save and report.

``RegionAnalysis`` is the base of ``IdentificationSearchLight`` and
``EncodingIdentification``: their curves, extrapolations, files and reports are written
here once. A run itself is a ``RegionRun`` (``_region_run``), its numbers are
``RegionResults`` (``_results``).
"""

from neuroextrap.analysis._region_analysis import RegionAnalysis

__all__ = ["RegionAnalysis"]
