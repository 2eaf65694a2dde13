"""The classifiers as batched margins; ``margins/_registry.py`` has their names."""
