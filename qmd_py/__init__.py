"""Find the right section of the right Markdown note."""

__version__ = "0.1.0"
