"""Identification from brain to label: searchlights, atlases, ensembles."""
