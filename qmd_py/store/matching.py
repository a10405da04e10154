"""Questions and scopes → FTS5 expressions and SQL conditions."""

import json
import unicodedata
from collections.abc import Iterable, Sequence

from qmd_py.errors import UsageError
from qmd_py.query import Phrase, Query
from qmd_py.records.answers import Scope


def any_of(query: Query) -> str:
    """FTS5 expression: any word or phrase of the question."""
    alternatives = [
        _quoted(term) + (" *" if word.prefix else "") for word in query.words for term in word.terms
    ]
    return " OR ".join(dict.fromkeys(alternatives + [_phrase(p) for p in query.phrases]))


def any_term(terms: Iterable[str]) -> str:
    """FTS5 expression: any of these terms."""
    return " OR ".join(map(_quoted, terms))


def conditions(query: Query, scope: Scope) -> tuple[str, list[str]]:
    """SQL conditions on `notes n` and `collections k`, each after an AND, and their parameters.

    Phrases and exclusions concern the whole note, wherever in it they occur.
    """
    clauses: list[str] = []
    values: list[str] = []
    if needed := (*query.phrases, *query.required):
        clauses.append(_WHOLE_NOTE.format("IN"))
        values.append(" AND ".join(map(_phrase, needed)))
    if query.excluded:
        clauses.append(_WHOLE_NOTE.format("NOT IN"))
        values.append(" OR ".join(map(_phrase, query.excluded)))
    for clause, parameters in (
        _names(scope.collections),
        _globs(scope.paths),
        _pids(scope.pids),
    ):
        clauses.append(clause)
        values += parameters
    return "".join(clauses), values


def is_everything(query: Query, scope: Scope) -> bool:
    """Whether a question may find any note at all."""
    limited = scope.collections or scope.paths or scope.pids is not None
    return not (query.phrases or query.required or query.excluded or limited)


_MOST_GLOBS = 400  # SQLite takes expressions of 1,000 levels, and each glob is one
_LONGEST_GLOB = 4096  # characters; as long as a path can be on common systems
_WHOLE_NOTE = " AND n.pid {} (SELECT rowid FROM note_terms WHERE note_terms MATCH ?)"


def _names(names: Sequence[str]) -> tuple[str, list[str]]:
    if not names:
        return "", []
    return f" AND k.name IN ({', '.join('?' * len(names))})", list(names)


def _globs(globs: Iterable[str]) -> tuple[str, list[str]]:
    """A glob, or, without a wildcard, the very path or folder; also behind the collection's name."""
    clauses: list[str] = []
    values: list[str] = []
    wanted = list(globs)
    if len(wanted) > _MOST_GLOBS:
        raise UsageError(f"{len(wanted)} paths: name at most {_MOST_GLOBS}, or folders of them")
    for typed in wanted:
        glob = unicodedata.normalize("NFC", typed).removeprefix("./")
        if len(glob) > _LONGEST_GLOB:
            raise UsageError(f"a path of {len(glob)} characters: no note's is that long")
        name, _, below = glob.partition("/")
        matches, parameters = _glob(glob)
        inner, further = _glob(below) if below else ("1", [])
        clauses.append(f"({matches} OR k.name = ? AND ({inner}))")
        values += [*parameters, name, *further]
    return (f" AND ({' OR '.join(clauses)})", values) if clauses else ("", [])


def _glob(glob: str) -> tuple[str, list[str]]:
    if any(character in glob for character in "*?"):
        pattern = glob.replace("[", "[[]").replace("**", "*")
        # `**/x` means x at any depth, the top included
        top = pattern.removeprefix("*/") if glob.startswith("**/") else pattern
        return "n.path GLOB ? OR n.path GLOB ?", [pattern, top]
    folder = glob.rstrip("/") + "/"
    return "n.path = ? OR substr(n.path, 1, length(?)) = ?", [glob, folder, folder]


def _pids(pids: frozenset[int] | None) -> tuple[str, list[str]]:
    if pids is None:
        return "", []
    # `+` keeps SQLite from going through the pids and asking for the words once for each
    return " AND +n.pid IN (SELECT value FROM json_each(?))", [json.dumps(sorted(pids))]


def _phrase(phrase: Phrase) -> str:
    return _quoted(" ".join(phrase.terms)) + (" *" if phrase.prefix else "")


def _quoted(terms: str) -> str:
    return '"' + terms.replace('"', '""') + '"'
