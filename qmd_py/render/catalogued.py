"""The models, as an aligned list and as JSON."""

import json
from collections.abc import Sequence

from qmd_py.catalogue import BuiltIn, Hub, Listed, Local, Package, Server, Source, human_size
from qmd_py.render import styled
from qmd_py.render.styled import HANG, Line


def lines(rows: Sequence[Listed]) -> list[Line]:
    """Role, mark of the chosen one, name, size, whether it is here, and what it is."""
    name_width = max((len(row.spec.name) for row in rows), default=0)
    return [
        [
            (f"{row.spec.role:<7}", "faint"),
            ("* " if row.chosen else "  ", "marked"),
            (f"{row.spec.name:<{name_width}}", "title"),
            HANG,
            (f"{human_size(row.spec.size):>8}", "number"),
            (f"  {_state(row):<10}", "" if row.here else "faint"),
            HANG,
            (row.spec.about, "faint"),
        ]
        for row in rows
    ]


def as_json(rows: Sequence[Listed]) -> str:
    """The same, one object a model."""
    shown = [
        {
            "role": row.spec.role,
            "name": row.spec.name,
            "chosen": row.chosen,
            "here": row.here,
            "file": None if row.file is None else str(row.file),
            "source": _source(row.spec.source),
            "size": row.spec.size,
            "sha256": row.spec.sha256,
            "license": row.spec.license or None,
            "about": row.spec.about or None,
        }
        for row in rows
    ]
    return styled.escaped(json.dumps(shown, ensure_ascii=False)) + "\n"


def _state(row: Listed) -> str:
    match row.spec.source:
        case BuiltIn():
            return "built in"
        case Server():
            return "server"
        case Local():
            return "file" if row.here else "no file"
        case _:
            return "pulled" if row.here else "-"


def _source(source: Source) -> str:
    match source:
        case BuiltIn():
            return "builtin"
        case Server(url=url):
            return url
        case Local(path):
            return str(path)
        case Hub(repo, file, revision):
            return f"hf:{repo}/{file}@{revision}"
        case Package(dist, version, member):
            return f"pypi:{dist}=={version}/{member}"
