"""Options in files (TOML) that mean what words of the command line would."""

from neuroextrap.cli._parser import CommandParser, add_options, read_groups, word_of


class RaisingParser(CommandParser):
    """A parser of options in files, which raises instead of leaving."""

    def __init__(self, options, *, strict=False):
        super().__init__(is_command=False)
        self._strict = strict  # about quotes and brackets
        add_options(self, read_groups(options))
        self._due = [each for each in self._actions if each.required]
        for action in self._due:  # once a whole file is read
            action.required = False

    def error(self, message):
        """Raise ValueError."""
        raise ValueError(message)

    def read_file(self, where, options):
        """Return options of a file by name; ValueError if one is of another type."""
        values = {}
        for key, value in options.items():
            if isinstance(value, dict):
                raise ValueError(f"{where}: {key} is a table; give a value")
            name = key.replace("-", "_")
            try:
                values[name] = self._read(name, value)
            except ValueError as error:
                said = str(error)  # the option is named before
                said = said.partition(": ")[2] if said.startswith("argument ") else said
                raise ValueError(
                    f"{where}: {key} = {value!r} cannot be used: {said}; see --help"
                ) from error
        return values

    def _read(self, name, value):
        """Return the value that words of the command line would have."""
        default = self.get_default(name)
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise ValueError("write true or false, without quotes")
            return value
        values = value if isinstance(value, list) else [value]
        if not all(type(each) in (str, int, float) for each in values):
            raise ValueError("write a number, or text in quotes")
        if not values:
            if isinstance(default, list | None):
                return value
            raise ValueError("write one value")
        words = [word_of(name), *map(str, values)]
        given = words if len(values) > 1 else ["=".join(words)]
        read = getattr(self.parse_args(given), name)
        if self._strict:
            _check_written(value, read)
        return read

    def parse_file(self, where, options, words=()):
        """Parse words; options that they lack have their values from a file."""
        self.set_defaults(**self.read_file(where, options))
        args = self.parse_args(words)
        lacking = [a.option_strings[0] for a in self._due if not getattr(args, a.dest)]
        if lacking:
            text = ", ".join(lacking)
            raise ValueError(f"{where}: the following arguments are required: {text}")
        return args


def _check_written(value, read):
    """Raise ValueError if what was read of a value is of another kind."""
    if isinstance(value, list) and not isinstance(read, list):
        raise ValueError("write one value, without brackets")
    given, own = (x if isinstance(x, list) else [x] for x in (value, read))
    for each, typed in zip(given, own, strict=True):
        if isinstance(each, str) and not isinstance(typed, str):
            raise ValueError("write the number without quotes")
