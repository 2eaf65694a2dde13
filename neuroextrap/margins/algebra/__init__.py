"""What several classifiers share: sums, inner products, and fits that labels reuse."""
