"""Inference over subjects: what holds in how many, and what holds on average."""

from neuroextrap.group._group_information import group_information
from neuroextrap.group._mean_tests import group_permutation_test, sign_flip_test
from neuroextrap.group._prevalence import prevalence_test
from neuroextrap.group._second_level import second_level_test

__all__ = [
    "group_information",
    "group_permutation_test",
    "prevalence_test",
    "second_level_test",
    "sign_flip_test",
]
