"""Tables, figure and maps of ``neuroextrap learning-curve``."""

import importlib.util
import logging

logger = logging.getLogger(__name__)

_HEADINGS = {
    "scheme": "labels",
    "train_size": "train size",
    "information": "bits",
    "information_spread": "spread",
    "error_rate": "error",
    "baseline_error_rate": "baseline",
    "reproducibility": "reproducibility",
}


def write_curves(args, curves, labels, data, classifier, *, bids=None):
    """Write tables, figure and maps; return a summary in lines of text.

    `args` has ``out``, ``overwrite``, ``center``, ``scale`` and ``random_state``;
    `curves` and `labels` (dicts) have one entry for every label scheme; `data` has
    ``X``, ``groups`` and ``samples``; the classifier is not fitted; `bids` are
    entities of BIDS names or None.
    """
    import pandas as pd

    from neuroextrap.cli._results import text_table
    from neuroextrap.learning_curves import learning_curve_table
    from neuroextrap.maps._result_files import ResultFiles

    tables = []
    for name, curve in curves.items():
        table = learning_curve_table(curve)
        table.insert(0, "scheme", name)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    files = ResultFiles.below(args.out, bids)
    files.create()
    maps = _write_maps(args, labels, data, classifier, bids)
    written = files.path("learning_curve.tsv"), files.path("confusion.tsv")
    table.to_csv(written[0], sep="\t", index=False, na_rep="n/a")
    _confusion_table(curves).to_csv(written[1], sep="\t", index=False)
    figure = _write_figure(curves, files.path("learning_curve.png"))
    notes = [
        f"{row.scheme}, {row.train_size} subjects: {row.note}"
        for row in table.itertuples()
        if row.note
    ]
    lines = [text_table(table, _HEADINGS), *_remarks(args, curves), *notes[:3]]
    names = ", ".join(path.name for path in written)
    return "\n".join([*lines, f"{names}{figure}{maps} in {files.folder}"])


def _confusion_table(curves):
    """Mean predicted probabilities as a tidy table."""
    import pandas as pd

    rows = [
        {
            "scheme": name,
            "train_size": size,
            "true": true,
            "predicted": predicted,
            "probability": matrix[i, j],
        }
        for name, curve in curves.items()
        for size, matrix in zip(curve.train_sizes, curve.confusion, strict=True)
        for i, true in enumerate(curve.classes)
        for j, predicted in enumerate(curve.classes)
    ]
    return pd.DataFrame(rows)


def _remarks(args, curves):
    """Sentences about the known ceiling, what limits a curve, and crossings."""
    import numpy as np

    from neuroextrap.learning_curves import compare_learning_curves, limiting_factor

    remarks = []
    for name, curve in curves.items():
        text = f"{name}: at most {curve.label_entropy:.3f} bits (label entropy)"
        if len(curve.train_sizes) >= 3:
            text += f"; limited by {limiting_factor(curve)}"
        remarks.append(text)
    finite = all(np.isfinite(curve.information).all() for curve in curves.values())
    enough = all(len(curve.train_sizes) >= 3 for curve in curves.values())
    enough = enough and args.n_splits > 1
    if len(curves) > 1 and finite and enough:
        for crossing in compare_learning_curves(curves).crossings:
            first, second = crossing["between"]
            remarks.append(
                f"between {first} and {second} subjects {crossing['after']} overtakes "
                f"{crossing['before']}"
                + ("" if crossing["decided"] else " (within the noise)")
            )
    return remarks


def _write_figure(curves, path):
    """Write the three panels of the curves, where matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        logger.warning("matplotlib is not installed; no figure was written")
        return ""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from neuroextrap.plotting import plot_learning_curves

    figure = Figure(figsize=(11, 3.3), layout="constrained")
    FigureCanvasAgg(figure)
    panels = ("information", "error_rate", "reproducibility")
    for ax, panel in zip(figure.subplots(1, 3), panels, strict=True):
        plot_learning_curves(curves, panel=panel, ax=ax)
    figure.savefig(path, dpi=150)
    return f", {path.name}"


def _write_maps(args, labels, data, classifier, bids):
    """Write sensitivity and canonical maps of models trained on all subjects."""
    samples = data["samples"]
    if samples.masker is None:
        return ""
    from sklearn.base import clone

    from neuroextrap.images import to_img
    from neuroextrap.learning_curves import center_groups, scale_scans, sensitivity_map
    from neuroextrap.maps import MapRecord
    from neuroextrap.maps._files import describe_map, provenance, write_maps

    X = scale_scans(data["X"]) if args.scale == "mean" else data["X"]
    X = center_groups(X, data["groups"]) if args.center == "group" else X
    images, sidecars = {}, {}
    for name, y in labels.items():
        model = clone(classifier).fit(X, y, groups=data["groups"])
        origin = provenance(
            parameters={"labels": name, "n_components": model.n_components_},
            inputs={"X": X, "y": y},
            random_state=args.random_state,
        )
        values = {
            f"sensitivity_{name}": (
                sensitivity_map(model, X, y),
                "Sensitivity of the true label's posterior, all subjects.",
                "squared probability per squared unit of the scans",
            ),
            f"canonical_{name}": (
                model.canonical_maps_,
                "Canonical maps (eigenimages), all subjects, one volume a direction.",
                "within-class standard deviations per unit of the scans",
            ),
        }
        for key, (maps, text, unit) in values.items():
            if len(maps):
                images[key] = to_img(samples.expand(maps), samples.masker)
                record = MapRecord(name=key, description=text, unit=unit)
                sidecars[key] = describe_map(record, origin)
    write_maps(args.out, images, sidecars, overwrite=True, bids=bids)
    return ", maps"
