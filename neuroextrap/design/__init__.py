"""What an experiment was: labels, runs, blocks, their order, and how they are tested.

``Tests`` (``_tests``) is made once from labels: folds, permuted labelings, forward
tests, lower bounds and what is doubtful about them. Arrays only.
"""
