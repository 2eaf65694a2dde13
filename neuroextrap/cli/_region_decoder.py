"""The decoder of one region for ``neuroextrap searchlight``: ``--decoder REGION``."""

from argparse import Namespace
from typing import Any, NamedTuple

from neuroextrap.analysis._options import paths, text

DECODER = {
    "decoder": text(
        "also write the decoder of this region, trained on all samples: the activation "
        "patterns and weights of its outputs; its index, name in the atlas, or place "
        "x,y,z in mm",
        None,
        "REGION",
        said="none",
    ),
    "new_imgs": paths("images of new samples that --decoder predicts", said="none"),
    "new_events": paths("tables of their events", "TSV", said="none"),
}


class RegionDecoder(NamedTuple):
    """Which region decodes, and new samples (LabeledSamples), None without."""

    region: int
    new: Any

    def results(self, light, args):
        """Return tables and images of the decoder of a fitted `light`, by file.

        Tables are data frames by name, images functions that write to a path.
        """
        import pandas as pd

        from neuroextrap.images import to_img
        from neuroextrap.images._loading import load_samples

        files = {}
        for of in ("activation", "weights"):
            patterns = light.patterns(self.region, of=of)
            values = load_samples([*patterns.values()], light.masker_)
            image = to_img(values, light.masker_)
            files[f"decoder_{of}.nii.gz"] = image.to_filename
        outputs = pd.DataFrame({"volume": range(len(patterns)), "output": [*patterns]})
        tables = {"decoder": outputs}
        if self.new is not None:
            tables["predictions"] = self._predictions(light, args)
        return tables, files

    def _predictions(self, light, args):
        """Return what is predicted of new samples, a row for each."""
        import pandas as pd

        from neuroextrap.images import to_img

        new = self.new
        imgs = to_img(new.data, light.masker_)
        predicted = light.predict(self.region, imgs, new.runs)
        table = pd.DataFrame({"run": new.runs, "trial_type": new.y})
        if args.targets is None:
            return table.assign(predicted=predicted)
        names = [f"decoded_{column}" for column in range(predicted.shape[1])]
        return pd.concat([table, pd.DataFrame(predicted, columns=names)], axis=1)


def check_decoder(args):
    """Raise ValueError if options do not go with the decoder of a region."""
    new = {word: getattr(args, word) for word in ("new_imgs", "new_events")}
    if args.decoder is None and any(new.values()):
        raise ValueError(
            "--new-imgs and --new-events are predicted by one region; give --decoder"
        )
    if sum(map(bool, new.values())) == 1:
        raise ValueError("--new-imgs and --new-events go together; give both")
    others = args.train, args.trial_confound, args.shard
    if args.decoder and (any(others) or args.dissimilarities is not False):
        raise ValueError(
            "--decoder does not go with --train, --trial-confound, --dissimilarities "
            "and --shard"
        )
    from neuroextrap.margins.classifiers._classifier_names import LINEAR

    if args.decoder and args.targets is None and args.estimator not in LINEAR:
        raise ValueError(
            f"--decoder: {args.estimator} has no weights of voxels; give --estimator "
            "nearest_centroid, ridge or lda"
        )


def decoder_of(args, light, samples, read):
    """Return the RegionDecoder that a command asks for, None for none.

    Before the work, so that a wrong region or new images are refused then. `read` makes
    samples (and more) of the images and events of a command.
    """
    if args.decoder is None:
        return None
    from neuroextrap.analysis._presentation import find_region
    from neuroextrap.analysis._region_run import RunParameters
    from neuroextrap.images._opening import image_files

    parameters = RunParameters.of(light)
    choice = parameters.choose_regions(samples.masker, samples.data.shape[1])
    radius = None if parameters.n_nearest is not None else light.radius
    region = find_region(_parsed(args.decoder), choice, samples.masker, radius)
    new = None
    if args.new_imgs:
        files = image_files(args.new_imgs)
        given = {"imgs": files, "events": args.new_events, "train": None}
        given |= {"mask": samples.masker.mask_img_, "trial_confound": None}
        new, _ = read(Namespace(**vars(args) | given), files)
    return RegionDecoder(region, new)


def _parsed(word):
    """Return a region as `find_region` takes it: an index, a name, or a place."""
    if word.isdecimal():
        return int(word)
    try:
        place = tuple(map(float, word.split(",")))
    except ValueError:
        return word
    return place if len(place) == 3 else word
