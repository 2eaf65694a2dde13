"""The BIDS names of results, from those of the images."""

import logging

logger = logging.getLogger(__name__)


def bids_of_inputs(args, imgs, *, keep_desc=False):
    """Return the entities that name the results of images (or None), and their files.

    ``args.bids`` is True, False, or None for "if the images have BIDS names"; True
    raises where an image has none. Patterns in `imgs` stand for the files they match.
    With `keep_desc`, the ``desc`` of the images (maps of results) stays beside that of
    the results; otherwise ("preproc") it is dropped.
    """
    from neuroextrap.images._opening import image_files
    from neuroextrap.maps._bids import file_entities, shared_entities
    from neuroextrap.maps._result_files import ResultFiles

    files = image_files(imgs)
    bids = None if args.bids is False else shared_entities(files)
    if bids is None:
        if args.bids:
            odd = next(path for path in files if file_entities(path) is None)
            raise ValueError(
                f"--bids: {odd} has no BIDS name (sub-<label>_..._<suffix>.<extension>)"
                "; rename it, or use --no-bids"
            )
        return None, files
    if not keep_desc:
        bids.pop("desc", None)
    example = ResultFiles.below(args.out, bids).path("accuracy.nii.gz")
    logger.info("results are named like %s", example)
    return bids, files
