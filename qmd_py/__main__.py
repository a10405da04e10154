"""`python -m qmd_py` is `qmd`."""

from qmd_py.cli import main

main()
