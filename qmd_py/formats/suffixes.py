"""The suffixes of files, and which of them are those of programs and documents."""

import os
from collections.abc import Mapping
from pathlib import PurePath

CODE: Mapping[str, tuple[str, str]] = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cc": ("tree_sitter_cpp", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "cs": ("tree_sitter_c_sharp", "language"),
    "cxx": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "h": ("tree_sitter_cpp", "language"),  # of C too, which C++ nearly contains
    "hh": ("tree_sitter_cpp", "language"),
    "hpp": ("tree_sitter_cpp", "language"),
    "java": ("tree_sitter_java", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "py": ("tree_sitter_python", "language"),
    "pyi": ("tree_sitter_python", "language"),
    "rb": ("tree_sitter_ruby", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "sh": ("tree_sitter_bash", "language"),
    "cts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""Suffix → module of its grammar, and the function in it that gives it."""

OFFICE = ("docx", "epub", "htm", "html", "pptx")
"""Those of documents that markitdown reads."""


def is_document(path: PurePath | str) -> bool:
    """Whether a file holds no text of its own, so that another process makes Markdown of it."""
    return suffix_of(path) in {"pdf", *OFFICE}


def is_code(path: PurePath | str) -> bool:
    """Whether a file holds a program, so that no sign in it is Markdown's."""
    return suffix_of(path) in CODE


def suffix_of(path: PurePath | str) -> str:
    """What follows the last dot of a name, in lower case."""
    # asked of every file of a walk, and a tenth of what a path object takes
    return os.path.splitext(path)[1][1:].lower()  # noqa: PTH122
