"""Which features belong together, as sparse (n_regions, n_features) matrices."""
