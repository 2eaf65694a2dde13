"""Whether results get BIDS names, and which."""

import logging

logger = logging.getLogger(__name__)


def bids_of_inputs(args, imgs, *, keep_desc=False):
    """Find the entities that name the results of some images.

    Parameters
    ----------
    args : argparse.Namespace
        With ``bids``: True, False, or None for "if the images have BIDS names".
    imgs : path or list of paths
        Images as they were given; patterns stand for the files they match.
    keep_desc : bool, default=False
        Keep what ``desc`` says of the images (a map of results) beside what it says of
        the results; otherwise ("preproc") it is dropped.

    Returns
    -------
    bids : dict of str to str, or None
        None for plain names.
    files : list of str
        The images.

    Raises
    ------
    ValueError
        When BIDS names are asked for and an image has none.
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
