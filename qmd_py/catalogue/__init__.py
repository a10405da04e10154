"""Which models there are, where each comes from, and where its file lies on this machine."""

from qmd_py.catalogue.reading import load
from qmd_py.catalogue.specs import (
    NONE,
    ROLES,
    BuiltIn,
    Catalogue,
    Hub,
    Listed,
    Local,
    ModelSpec,
    Package,
    Role,
    Server,
    Source,
    absent,
    file_of,
    human_size,
    is_path,
    listed,
)

__all__ = [
    "NONE",
    "ROLES",
    "BuiltIn",
    "Catalogue",
    "Hub",
    "Listed",
    "Local",
    "ModelSpec",
    "Package",
    "Role",
    "Server",
    "Source",
    "absent",
    "file_of",
    "human_size",
    "is_path",
    "listed",
    "load",
]
