"""What the caller of a search hands in, so that no generative model is needed.

A *query document* holds the same as the options, on lines: `query: …` (the question, then further
phrasings), `lex: …`, `vec: …`, `hyde: …`, `intent: …`; or it is one JSON object
`{"query": …, "searches": [{"type": "lex", "query": …}], "queries": […], "intent": …}`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from qmd_py.errors import UsageError
from qmd_py.expansion.lines import KINDS
from qmd_py.records.values import Value
from qmd_py.records.wordings import Variant

_LONGEST = 10_000  # characters, as for a question
_MOST = 32  # searches; each costs a run over the whole index
_SHORT = 3  # words; longer short queries found less than the feature's name alone

_KIND_OF = {
    **{kind: kind for kind in KINDS},
    "short_query": "lex",
    "rephrased_query": "vec",
    "expected_answer": "hyde",
}
_LABELED = re.compile(rf"\s*(query|intent|{'|'.join(_KIND_OF)})[:：](.*)", re.IGNORECASE)
_FIELDS = ("intent", "queries", "query", "searches")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Handed(Value):
    """The caller's own wording of a question."""

    variants: tuple[Variant, ...] = ()
    """Each for its own search: lex for BM25 alone, vec and hyde for the dense run alone."""
    queries: tuple[str, ...] = ()
    """Further phrasings, each searched like the question itself."""
    intent: str | None = None
    """What the question is about, in the caller's words."""
    warnings: tuple[str, ...] = ()
    """What will probably find less than it could, one sentence each."""


@dataclass(slots=True)
class _Draft:
    """What has been collected so far."""

    question: str | None = None
    variants: dict[Variant, None] = field(default_factory=dict)
    queries: dict[str, None] = field(default_factory=dict)
    intent: str | None = None
    warnings: list[str] = field(default_factory=list)

    def add(self, label: str, text: str) -> None:
        """Take one labelled text; one without content is passed over."""
        if not (text := _one_line(label, text)):
            return
        if label == "intent":
            self.intent = text
        elif label == "query" and self.question is None:
            self.question = text
        elif label == "query":
            self.queries[text] = None
        else:
            self.variants[Variant(_KIND_OF[label], text)] = None
        if label == "short_query":
            self.warnings += _warnings(text)

    def handed(self) -> Handed:
        """All of it, each wording once.

        Raises:
            UsageError: more searches than one question may have.
        """
        if (count := len(self.variants) + len(self.queries)) > _MOST:
            raise UsageError(f"{count} searches for one question: hand in at most {_MOST}")
        return Handed(tuple(self.variants), tuple(self.queries), self.intent, tuple(self.warnings))


def from_options(
    *,
    lex: Sequence[str] = (),
    vec: Sequence[str] = (),
    hyde: Sequence[str] = (),
    short_query: str | None = None,
    rephrased_query: str | None = None,
    expected_answer: str | None = None,
    queries: Sequence[str] = (),
    searches_json: str | None = None,
    intent: str | None = None,
) -> Handed:
    """What the options of a command say; all are optional, blank ones count as left out.

    Args:
        lex: Words for full text.
        vec: Paraphrases, for vectors.
        hyde: Invented answers, for vectors.
        short_query: The feature's name in two or three words, for full text.
        rephrased_query: The question in other words, for vectors.
        expected_answer: One or two sentences that could stand in the note, for vectors.
        queries: Further phrasings of the question.
        searches_json: The searches as JSON, an array or the object of a query document.
        intent: What the question is about; goes before one in the JSON.

    Raises:
        UsageError: the JSON is none or of another shape, or a text is too long.
    """
    draft = _Draft(question="")  # given apart, so every query here is a further phrasing
    if searches_json and searches_json.strip():
        _add_json(draft, _json(searches_json))
    named = {
        "lex": lex, "vec": vec, "hyde": hyde, "query": queries,
        "short_query": [short_query or ""], "rephrased_query": [rephrased_query or ""],
        "expected_answer": [expected_answer or ""], "intent": [intent or ""],
    }  # fmt: skip
    for label, texts in named.items():
        for text in texts:
            draft.add(label, text)
    return draft.handed()


def from_document(text: str) -> tuple[str | None, Handed]:
    """The question and what goes with it; None where a document has searches but no question.

    A text is a document when each of its lines begins with a label and a colon, or when it is a
    JSON object with searches. Any other is a plain question and comes back unchanged.

    Raises:
        UsageError: JSON with `"searches"` that is none or of another shape, or too long a text.
    """
    draft = _Draft()
    if _is_json(text):
        _add_json(draft, _json(text))
        if draft.question is None and not draft.variants:
            raise UsageError('the searches are empty: add {"type": "lex", "query": "two words"}')
    else:
        for match in _labeled_lines(text):
            draft.add(match[1].lower(), match[2])
    if draft.question is None and not draft.variants:
        return text, Handed()
    return draft.question, draft.handed()


def asked(text: str | None, options: Handed) -> tuple[str, Handed]:
    """The question, and all that goes with it.

    Args:
        text: what was typed, a query document perhaps; None where only variants are handed in, of
            which the first then stands for the question.
        options: what was handed in beside it.

    Raises:
        UsageError: the document cannot be understood, or there is nothing to ask.
    """
    question, document = from_document(text) if text is not None else (None, Handed())
    both = united(document, options)
    texts = [question, *both.queries, *(variant.text for variant in both.variants)]
    found = next((each for each in texts if each), None)
    if found is None:
        raise UsageError("no question: type some words")
    return found, both


def united(one: Handed, other: Handed) -> Handed:
    """What two hand in together, each wording once; the intent of the second goes first."""
    return Handed(
        tuple(dict.fromkeys([*one.variants, *other.variants])),
        tuple(dict.fromkeys([*one.queries, *other.queries])),
        other.intent or one.intent,
        (*one.warnings, *other.warnings),
    )


def _labeled_lines(text: str) -> list[re.Match[str]]:
    """The lines of a document; none when a single one has no label."""
    matches = [_LABELED.fullmatch(line) for line in text.splitlines() if line.strip()]
    found = [match for match in matches if match]
    return found if len(found) == len(matches) else []


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") and '"searches"' in text


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(
            f"the searches are no valid JSON{where}: write "
            '[{"type": "lex", "query": "two words"}]'
        ) from error
    return value


def _add_json(draft: _Draft, value: object) -> None:
    if isinstance(value, list):
        value = {"searches": value}
    if not isinstance(value, dict):
        raise UsageError('the searches must be a JSON array or an object with "searches"')
    if unknown := sorted(set(value) - {*_FIELDS, *_KIND_OF}):
        raise UsageError(f"unknown field {unknown[0]!r} beside the searches: {_known(_FIELDS)}")
    for label in ("query", "intent", *_KIND_OF):
        draft.add(label, _text(value.get(label), f'"{label}"'))
    for query in _list(value.get("queries"), '"queries"'):
        draft.add("query", _text(query, 'each of "queries"'))
    for search in _list(value.get("searches"), '"searches"'):
        _add_search(draft, search)


def _add_search(draft: _Draft, search: object) -> None:
    if not isinstance(search, dict) or set(search) != {"type", "query"}:
        raise UsageError('each search must have just "type" and "query"')
    kind = search["type"]
    if kind not in KINDS:
        raise UsageError(f"unknown search type {kind!r}: {_known(KINDS)}")
    draft.add(str(kind), _text(search["query"], '"query"'))


def _text(value: object, name: str) -> str:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} must be a text")
    return value or ""


def _list(value: object, name: str) -> list[object]:
    if value is not None and not isinstance(value, list):
        raise UsageError(f"{name} must be a JSON array")
    return value or []


def _known(names: Sequence[str]) -> str:
    return f"use {', '.join(names[:-1])} or {names[-1]}"


def _one_line(label: str, text: str) -> str:
    if len(text) > _LONGEST:
        raise UsageError(f"the {label} text has {len(text)} characters: hand in at most {_LONGEST}")
    return " ".join(text.split())


def _warnings(short_query: str) -> list[str]:
    words = len(short_query.split())
    found = []
    if words > _SHORT:
        found.append(
            f"short_query has {words} words: the feature's name in two or three finds more"
        )
    if "," in short_query or "，" in short_query:
        found.append("short_query has commas: one name finds more than a list of keywords")
    return found
