"""What the command line says of where results come from."""


def origin_of_command(args, **sources):
    """Return the Origin of a command's results.

    `sources` are lists of paths by role, or one path, or None. Options by which samples
    are made are taken from `args`, those that the command has. Call it before files are
    read: one that is changed later is noticed.
    """
    from neuroextrap.analysis._parameters import parameters
    from neuroextrap.maps._provenance import Origin, SourceFile

    files = {
        role: [SourceFile.of(path) for path in _listed(paths)]
        for role, paths in sources.items()
        if paths
    }
    words = [*(row.word for row in parameters("samples") if row.word), "test_runs"]
    options = {word: getattr(args, word) for word in words if hasattr(args, word)}
    return Origin(files, options, command_record(args))


def command_record(args):
    """Return the command, without absolute paths, for the record of provenance."""
    from neuroextrap.maps._provenance import relative_words

    return {"command": ["neuroextrap", *relative_words(args.argv)]}


def _listed(paths):
    """Return one path or several as a list."""
    return list(paths) if isinstance(paths, (list, tuple)) else [paths]
