"""Features of images, by the words for them."""

from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._retinotopic import RetinotopicFeatures

IMAGE_MODELS = {"gabor": GaborPyramid, "retinotopic": RetinotopicFeatures}
"""Transformers of images into features, their options the defaults."""
