"""The analysis that ``neuroextrap bids`` gives to every participant."""

from neuroextrap.cli._encoding_options import (
    add_encoder_options,
    add_feature_options,
    add_folds,
)
from neuroextrap.cli._parser import parameters_of

_OF_PARTICIPANTS = ("checkpoint", "save_null", "shard")
_FEATURES = "features stimulus_images image_size model stimulus_column folds"


def add_encoding_options(parser):
    """Add the choice of the analysis, and the options of encoding models."""
    group = parser.add_argument_group("encoding")
    group.add_argument(
        "--analysis",
        choices=("searchlight", "encoding"),
        default="searchlight",
        help="what is done with every participant: conditions are identified from "
        "responses (in spheres, or regions of an atlas), or stimuli through an "
        "encoding model (default: %(default)s)",
    )
    add_feature_options(group, default="none, needed for encoding")
    group.add_argument(
        "--stimulus-column",
        default="trial_type",
        metavar="NAME",
        help="column of the events that names the stimulus of a trial, such as "
        "stim_file; a folder and a suffix that features lack do not count (default: "
        "%(default)s)",
    )
    add_encoder_options(group)
    add_folds(
        group, default="train and test stimuli as the column set of the events says"
    )


def make_analysis(args):
    """Return the analysis, not fitted, and what it knows of stimuli, by argument."""
    _check_given(args)
    if args.analysis == "encoding":
        from neuroextrap.encoding import EncodingIdentification as Analysis
    else:
        from neuroextrap.decoding import IdentificationSearchLight as Analysis
    given = parameters_of(args, Analysis, without=_OF_PARTICIPANTS)
    return Analysis(**given), _of_stimuli(args) if Analysis.kind == "encoding" else {}


def _check_given(args):
    """Raise where an option belongs to the other analysis."""
    from neuroextrap.analysis._parameters import parameters

    other = "encoding" if args.analysis == "searchlight" else "searchlight"
    own = {None, *(row.word for row in parameters(args.analysis))}
    others = [row.word for row in parameters(other) if row.word not in own]
    for word in [*others, *(_FEATURES.split() if other == "encoding" else [])]:
        option = f"--{word.replace('_', '-')}"
        if option in args.given:
            raise ValueError(f"{option} is for --analysis {other}; leave it out")


def _of_stimuli(args):
    """Return features, column and folds as ``analyze_participants`` takes them."""
    if args.features is not None and args.stimulus_images is not None:
        raise ValueError("--features and --stimulus-images were both given; give one")
    features = args.features
    if args.stimulus_images is not None:
        from neuroextrap.cohorts._stimuli import image_features

        features = image_features(
            args.stimulus_images, model=args.model, image_size=args.image_size
        )
    return {
        "features": features,
        "stimulus_column": args.stimulus_column,
        "n_folds": args.folds,
    }
