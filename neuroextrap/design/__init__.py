"""What an experiment was: labels, runs, blocks, their order, and how they are tested.

``Tests`` (``_tests``) is made once from labels: folds, permuted labelings, forward
tests, lower bounds. ``examine`` says what is doubtful about them, as Findings. Arrays
only.
"""

from neuroextrap.design._examination import examine

__all__ = ["examine"]
