"""Tables and maps of ``neuroextrap learning-curve``."""

from html import unescape

_REPORT = "report.html"
_HEADINGS = {
    "scheme": "labels",
    "train_size": "train size",
    "information": "bits",
    "information_spread": "spread",
    "error_rate": "error",
    "baseline_error_rate": "baseline",
    "reproducibility": "reproducibility",
}


def write_curves(args, curves, labels, data, classifier, *, bids, origin):
    """Write tables and maps; return a summary in lines of text.

    All files take their places together, or none does. `args` has ``out``,
    ``overwrite``, ``report``, ``center``, ``scale`` and ``random_state``; `curves` and
    `labels` (dicts) have one entry for every label scheme; `data` has ``X``, ``groups``
    and ``samples``; the classifier is not fitted; `bids` are entities of BIDS names or
    None; `origin` (Origin) says what was analyzed.
    """
    from neuroextrap.cli._results import text_table
    from neuroextrap.learning_curves import learning_curve_report
    from neuroextrap.learning_curves._comparison import table_of_curves
    from neuroextrap.learning_curves._report import words_found
    from neuroextrap.maps._provenance import provenance
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.maps._transaction import replaced_results

    table = table_of_curves(curves, "scheme")
    files = ResultFiles.below(args.out, bids)
    about = origin.sidecar()
    record = (
        origin.record
        | about
        | provenance(
            parameters={**_parameters(args), "classifier": classifier},
            inputs={"X": data["X"], "groups": data["groups"], **labels},
            random_state=args.random_state,
        )
    )
    with replaced_results(
        files, overwrite=args.overwrite, provenance=record, sources=origin.paths
    ) as folder:
        maps = _stage_maps(folder, files, args, labels, data, classifier, about)
        table.to_csv(folder / "learning_curve.tsv", sep="\t", index=False, na_rep="n/a")
        _confusion_table(curves).to_csv(folder / "confusion.tsv", sep="\t", index=False)
        if args.report:
            learning_curve_report(curves).save_as_html(folder / _REPORT)
    notes = [
        f"{row.scheme}, {row.train_size} subjects: {row.note}"
        for row in table.itertuples()
        if row.note
    ]
    said = map(unescape, map(str, words_found(curves)))
    lines = [text_table(table, _HEADINGS), *said, *notes[:3]]
    names = ", ".join(files.name(n) for n in ("learning_curve.tsv", "confusion.tsv"))
    page = f"; open {files.path(_REPORT)}" if args.report else ""
    return "\n".join([*lines, f"{names}{maps} in {files.folder}{page}"])


def _parameters(args):
    """Return the options that curves depend on, by name."""
    names = (
        "center scale pattern prior_weight train_sizes n_splits labels groups exclude"
    )
    return {name: getattr(args, name) for name in names.split()}


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


def _stage_maps(folder, files, args, labels, data, classifier, about):
    """Write sensitivity and canonical maps of models trained on all subjects."""
    samples = data["samples"]
    if samples.masker is None:
        return ""
    from sklearn.base import clone

    from neuroextrap.images import to_img
    from neuroextrap.learning_curves import sensitivity_map
    from neuroextrap.learning_curves._curve_run import center_groups, scale_scans
    from neuroextrap.maps._files import check_maps, describe_map, stage_maps
    from neuroextrap.maps._provenance import provenance
    from neuroextrap.maps._records import MapRecord

    X = scale_scans(data["X"]) if args.scale == "mean" else data["X"]
    X = center_groups(X, data["groups"]) if args.center == "group" else X
    images, sidecars = {}, {}
    for name, y in labels.items():
        model = clone(classifier).fit(X, y, groups=data["groups"])
        origin = about | provenance(
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
    check_maps(images, sidecars, files)
    stage_maps(folder, images, sidecars, files)
    return ", maps"
