"""Options of encoding models, which several commands have."""


def add_feature_options(group, *, default):
    """Add the options of what is known of stimuli; `default` are words for help."""
    group.add_argument(
        "--features",
        metavar="FILE",
        help="features of the stimuli, .tsv, .csv, .parquet, .npz or .npy (default: "
        f"{default})",
    )
    group.add_argument(
        "--stimulus-images",
        metavar="PATH",
        help="gray or color images of the stimuli, of which --model computes "
        "features: a folder, or a .npy",
    )
    group.add_argument(
        "--image-size",
        type=int,
        default=128,
        metavar="PIXELS",
        help="image files are reduced until no side is longer (default: %(default)s)",
    )
    group.add_argument(
        "--model",
        choices=("gabor", "retinotopic"),
        default="gabor",
        help="features computed of --stimulus-images (default: %(default)s)",
    )


def add_encoder_options(group):
    """Add the options of the encoding model and of how responses are compared."""
    group.add_argument(
        "--encoder",
        choices=("elastic-net", "ridge"),
        default="elastic-net",
        help="encoding model; each voxel has its own cross-validated penalty, and "
        "repeats of a stimulus stay together (default: %(default)s)",
    )
    group.add_argument(
        "--covariance",
        default="shrunk",
        metavar="NAME",
        help="covariance of the noise: shrunk, ledoit_wolf, oas, diagonal or identity "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--repeats",
        choices=("average", "keep"),
        default="average",
        help="average the repeats of a test stimulus, or keep each as a sample "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--rule",
        choices=("mahalanobis", "correlation", "auto"),
        default="mahalanobis",
        help="how a response is compared with predictions; correlation needs no "
        "covariance, auto lets the training data choose (default: %(default)s)",
    )


def add_folds(group, *, default):
    """Add the number of folds; `default` are words for help."""
    group.add_argument(
        "--folds",
        type=int,
        metavar="N",
        help="test every stimulus once, in N folds, by models trained on the others "
        f"(default: {default})",
    )


def encoder_of(args):
    """Return the encoder that the options describe, not fitted."""
    from neuroextrap.encoding import ElasticNetEncoder, RidgeEncoder

    if args.encoder == "ridge":
        return RidgeEncoder()
    return ElasticNetEncoder(n_jobs=args.n_jobs)
