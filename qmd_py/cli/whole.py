"""The command line with all its commands, for tests and tools that look at it whole."""

from qmd_py.cli.commands import application

app = application()
