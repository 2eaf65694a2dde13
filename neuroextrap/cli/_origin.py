"""What the command line says of where results come from."""

_SAMPLE_OPTIONS = (
    "samples",
    "t_r",
    "exclude",
    "delay",
    "detrend",
    "standardize",
    "confounds",
    "smoothing_fwhm",
    "high_pass",
    "test_runs",
)


def origin_of_command(args, **sources):
    """Return the Origin of a command's results.

    `sources` are lists of paths by role, or one path, or None. Options by which samples
    are made are taken from `args`, those that the command has. Call it before files are
    read: one that is changed later is noticed.
    """
    from neuroextrap.maps._provenance import Origin, SourceFile

    files = {
        role: [SourceFile.of(path) for path in _listed(paths)]
        for role, paths in sources.items()
        if paths
    }
    options = {n: getattr(args, n) for n in _SAMPLE_OPTIONS if hasattr(args, n)}
    return Origin(files, options, command_record(args))


def command_record(args):
    """Return the command, without absolute paths, for the record of provenance."""
    from neuroextrap.maps._provenance import relative_words

    return {"command": ["neuroextrap", *relative_words(args.argv)]}


def _listed(paths):
    """Return one path or several as a list."""
    return list(paths) if isinstance(paths, (list, tuple)) else [paths]
