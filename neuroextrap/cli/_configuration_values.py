"""Values of a configuration, read by the parser of the command's own options."""

from neuroextrap.cli._parser import CommandParser


class _Reader(CommandParser):
    """A parser that raises instead of leaving."""

    def error(self, message):
        """Raise ValueError; the option's name is said elsewhere."""
        named = message.startswith("argument ")
        raise ValueError(message.partition(": ")[2] if named else message)


def typed_values(path, options, add_options):
    """Return values by name, in a list where an option takes several.

    `options` are those of the file at `path`, by name; `add_options` adds the options
    of the command to a parser. ValueError, one line, if a value is not of the type of
    its option.
    """
    reader, values = _Reader(is_command=False), {}
    add_options(reader)
    for key, value in options.items():
        name = key.replace("-", "_")
        is_flag = isinstance(reader.get_default(name), bool)
        try:
            values[name] = (_flag if is_flag else _typed)(reader, name, value)
        except ValueError as error:
            raise ValueError(
                f"{path}: {key} = {value!r} cannot be used: {error}; see --help"
            ) from error
    return values


def _flag(_reader, _name, value):
    """Return a boolean."""
    if not isinstance(value, bool):
        raise ValueError("write true or false, without quotes")
    return value


def _typed(reader, name, value):
    """Parse a value like words of the command line, and compare what comes out."""
    values = value if isinstance(value, list) else [value]
    for each in values:
        if isinstance(each, bool) or not isinstance(each, (str, int, float)):
            raise ValueError("write a number, or text in quotes")
    if not values and isinstance(reader.get_default(name), (list, type(None))):
        return value
    if not values:
        raise ValueError("write one value")
    option = f"--{name.replace('_', '-')}"
    words = [f"{option}={values[0]}"] if len(values) == 1 else [option, *values]
    read = getattr(reader.parse_args(list(map(str, words))), name)
    if isinstance(value, list) and not isinstance(read, list):
        raise ValueError("write one value, without brackets")
    several = isinstance(read, list)
    for each, own in zip(values, read if several else [read], strict=True):
        if isinstance(each, str) and not isinstance(own, str):
            raise ValueError("write the number without quotes")
    return values if several else value
