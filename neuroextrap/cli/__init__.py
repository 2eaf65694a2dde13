"""The command line: ``neuroextrap COMMAND``."""

from neuroextrap.cli._main import main as main

__all__: list[str] = []
