"""Features of images that need not fit into memory at once."""

import numpy as np

from neuroextrap.margins.running._progress import Progress
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._retinotopic import RetinotopicFeatures

IMAGE_MODELS = {"gabor": GaborPyramid, "retinotopic": RetinotopicFeatures}
"""Transformers of images into features, their options the defaults."""
_PART = 2**24  # numbers (pixels and colors) in a part, which takes 24 bytes of each


def image_feature_kinds(images, model="gabor"):
    """Return the kind of each feature of images, such as "gabor"; (n_features,)."""
    blank = np.zeros((1, *images.shape[1:]), dtype=np.float32)
    return IMAGE_MODELS[model]().fit(blank).feature_kinds_


def image_features(images, model="gabor", train=None, *, verbose=0, part=_PART):
    """Compute features of images, part by part; (n_images, n_features).

    `images` are an array, perhaps of a file, or Photographs. Scales are learned from
    those at the rows `train` (None: all). Parts have at most `part` numbers.
    """
    transformer = IMAGE_MODELS[model]()
    train = np.arange(len(images)) if train is None else train
    progress = Progress(verbose, unit="images")
    step = max(1, int(part // np.prod(images.shape[1:])))
    n_train = len(train) if len(images) > step else 0
    total = n_train + len(images)
    if n_train:  # read twice: first for the scales
        for start in range(0, n_train, step):
            transformer.partial_fit(images[train[start : start + step]])
            progress(min(start + step, n_train), total)
    else:
        images = images[:]
        if len(train) == len(images):
            return transformer.fit_transform(images)
        transformer.fit(images[train])
    features = None
    for start in range(0, len(images), step):
        found = transformer.transform(images[start : start + step])
        if features is None:
            features = np.empty((len(images), found.shape[1]), found.dtype)
        features[start : start + step] = found
        progress(min(n_train + start + step, total), total)
    return features
