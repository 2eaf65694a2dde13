"""What the maps over subjects are called, and what is said of them."""

_ALL_VOXELS = "all voxels at once"
_TEXTS = {
    "effect": ("Estimate of the contrast over subjects", "as the maps"),
    "median": ("Median over subjects, minus the baseline", "as the maps"),
    "v": ("Aspin-Welch v of the contrast, groups of unequal variance", "v"),
    "pseudo_t": ("t of the contrast, its variance smoothed in space", "pseudo-t"),
    "n_subjects": ("Number of subjects that have the voxel", "count"),
    "cluster_extent": ("Voxels of the cluster that the voxel is in", "count"),
    "cluster_mass": ("Sum of t above the threshold over the cluster", "t"),
    "tfce": ("Threshold-free cluster enhancement of t", "t"),
    "accuracy": ("Mean identification accuracy over subjects", "proportion"),
    "accuracy_heterogeneity": (
        "Share of the variance of accuracies between subjects that is not the chance "
        "of single trials",
        "proportion",
    ),
    "implied_information": ("Mean implied information over subjects", "bits"),
    "implied_information_lower": (
        "Lower end of the bootstrap interval of the mean implied information",
        "bits",
    ),
    "implied_information_upper": (
        "Upper end of the bootstrap interval of the mean implied information",
        "bits",
    ),
    "implied_information_sd": (
        "Standard deviation of the implied information between subjects",
        "bits",
    ),
    "mean": ("Mean over subjects, minus the baseline", "as the maps"),
    "t": ("One-sample t over subjects, against the baseline", "t"),
    "minimum": ("Smallest score over subjects", "as the maps"),
    "prevalence_bound": (
        "Lower confidence bound on the prevalence, every voxel by itself",
        "proportion",
    ),
    "prevalence_bound_fwe": (
        f"Lower confidence bound on the prevalence, {_ALL_VOXELS}",
        "proportion",
    ),
}
_OVERVIEW = (
    "t",
    "v",
    "pseudo_t",
    "effect",
    "mean",
    "median",
    "tfce",
    "cluster_extent",
    "minimum",
    "prevalence_bound",
    "prevalence_bound_fwe",
    "accuracy",
    "accuracy_heterogeneity",
    "implied_information",
    "implied_information_sd",
)
"""Maps that pages draw."""
_WHOSE = {
    "population": "the population that the subjects were drawn from at random",
    "subjects": "exactly these subjects",
}
_BOUNDS = (
    ("bayes_accuracy", "Bayes accuracy", "proportion"),
    ("class_information", "information (bits)", "bits"),
)
_P_VALUES = {
    "p_value_fwe_tail": f"p of the null hypothesis, {_ALL_VOXELS}; small ones from the "
    "upper 95% limit of a generalized Pareto tail",
    "p_value_fwe_step_down": f"p of the null hypothesis, {_ALL_VOXELS}, step-down",
    "p_value_fwe_cluster_extent": f"p of the cluster, by its extent, {_ALL_VOXELS}",
    "p_value_fwe_cluster_mass": f"p of the cluster, by its mass, {_ALL_VOXELS}",
    "p_value_fwe_tfce": f"p by threshold-free cluster enhancement, {_ALL_VOXELS}",
    "p_value": "p of the null hypothesis, every voxel by itself",
    "p_value_fwe": f"p of the null hypothesis, {_ALL_VOXELS}",
    "p_value_prevalence": "p of a prevalence of at most gamma, every voxel by itself",
    "p_value_prevalence_fwe": f"p of a prevalence of at most gamma, {_ALL_VOXELS}",
}


def records():
    """Return the records of the maps over subjects, by name."""
    from neuroextrap.maps import MapRecord

    records = [
        MapRecord(
            name=name, description=description, unit=unit, overview=name in _OVERVIEW
        )
        for name, (description, unit) in _TEXTS.items()
    ]
    records += [
        MapRecord(name=name, description=description, unit="p", tail="lower")
        for name, description in _P_VALUES.items()
    ]
    for whose, words in _WHOSE.items():
        for bound, unit in (
            ("bayes_accuracy", "proportion"),
            ("class_information", "bits"),
        ):
            what = "Bayes accuracy" if unit == "proportion" else "information (bits)"
            for suffix, where in (("", "every voxel by itself"), ("_fwe", _ALL_VOXELS)):
                text = (
                    f"Lower confidence bound on the mean {what} for the given classes "
                    f"over {words}; {where}"
                )
                name = f"{whose}_{bound}_bound{suffix}"
                overview = bool(suffix)
                records.append(
                    MapRecord(name=name, description=text, unit=unit, overview=overview)
                )
    return {record.name: record for record in records}


def summary(maps, n_subjects):
    """Describe the results in one or two lines."""
    import numpy as np

    if "p_value_fwe" not in maps:
        return _information_summary(maps, n_subjects)
    p = maps["p_value_fwe"].get_fdata()
    tested = np.isfinite(p)
    n_significant = int((p[tested] <= 0.05).sum())
    lines = [
        f"{n_subjects} subjects, {int(tested.sum())} voxels; smallest family-wise p "
        f"{p[tested].min():.4g}, {n_significant} voxels at or below 0.05"
    ]
    for name in ("step_down", "cluster_extent", "cluster_mass", "tfce"):
        if f"p_value_fwe_{name}" in maps:
            p = maps[f"p_value_fwe_{name}"].get_fdata()[tested]
            what = name.replace("_", " ").replace("tfce", "TFCE")
            n_significant = int((p <= 0.05).sum())
            lines.append(f"by {what}: {n_significant} voxels at or below 0.05")
    if "prevalence_bound_fwe" in maps:
        bound = maps["prevalence_bound_fwe"].get_fdata()[tested]
        lines.append(
            f"largest prevalence shown, corrected over voxels: {bound.max():.3f}; "
            f"{int((bound >= 0.5).sum())} voxels in a majority of the population"
        )
    return "\n".join(lines)


def _information_summary(maps, n_subjects):
    """Describe information over subjects: where it is highest, what is certain."""
    import numpy as np

    data = {name: img.get_fdata().ravel() for name, img in maps.items()}
    known = np.isfinite(data["accuracy"])
    best = int(np.nanargmax(data["implied_information"]))
    lines = [
        f"{n_subjects} subjects, {int(known.sum())} voxels; mean implied information "
        f"at most {data['implied_information'][best]:.2f} bits, interval "
        f"{data['implied_information_lower'][best]:.2f} to "
        f"{data['implied_information_upper'][best]:.2f} (of one voxel, chosen by "
        "looking)"
    ]
    for whose in _WHOSE:
        name = f"{whose}_bayes_accuracy_bound_fwe"
        if name in data:
            bits = np.nanmax(data[f"{whose}_class_information_bound_fwe"])
            lines.append(
                f"mean Bayes accuracy over {_WHOSE[whose]}, all voxels at once: at "
                f"least {np.nanmax(data[name]):.3f}, {bits:.2f} bits"
            )
    return "\n".join(lines)
