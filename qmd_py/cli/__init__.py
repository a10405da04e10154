"""Read arguments, call one function, print what it returns."""


def main() -> None:
    """Run `qmd`."""
    from qmd_py.cli.commands import app

    app()
