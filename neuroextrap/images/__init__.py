"""The only door to nilearn and nibabel."""
