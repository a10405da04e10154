"""Answers for programs: JSON, CSV, Markdown, lists of files."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from qmd_py.records.answers import Answer, Hit, Match
from qmd_py.records.stored import Section, StoredNote
from qmd_py.render import styled
from qmd_py.render.admitted import decision_fields, record_fields, stop_lines

if TYPE_CHECKING:
    from qmd_py.admission import Policy
    from qmd_py.cache import CacheState
    from qmd_py.evaluation.judging import Row
    from qmd_py.linking import Links
    from qmd_py.nearness import Related
    from qmd_py.records.evidence import Record
    from qmd_py.records.notes import Collection, SectionText
    from qmd_py.reports import IndexStatus
    from qmd_py.store.contexts import Context

CSV_COLUMNS = (
    "pid", "collection", "path", "file", "line", "last_line", "score", "title", "toc_path",
    "anchor", "breadcrumb", "snippet",
)  # fmt: skip


TRACE_KEYS = ("mode", "retrieved_at", "policy", "top_k", "status", "candidates")
"""What every trace has."""


def answer_json(answer: Answer, *, toc: bool = True, explain: bool = False) -> str:
    """The answer as one JSON object on one line."""
    shown: dict[str, object] = {
        "query": answer.query,
        "mode": answer.mode,
        "retrieved_at": answer.retrieved_at,
        "skipped": answer.skipped,
        **(decision_fields(answer.decision) if answer.decision else {}),
        "results": [_hit(hit, toc=toc, explain=explain) for hit in answer.hits],
        "gone": answer.gone,
    }
    if explain:
        shown["respelled"] = dict(answer.respelled)
        shown["stages"] = [asdict(stage) for stage in answer.stages]
        shown["widened_by"] = answer.widened_by
        shown["variants"] = [asdict(variant) for variant in answer.variants]
        shown["dropped"] = [asdict(v) | {"reason": reason} for v, reason in answer.dropped]
    return _json(shown)


def trace_json(
    answer: Answer, judged: "Iterable[tuple[Record, str | None]]", policy: "Policy", top_k: int
) -> str:
    """What a policy decided over each candidate, in their order; no text, title or path."""
    import hashlib

    decision = answer.decision
    told = {
        "mode": answer.mode,
        "question_digest": hashlib.sha256(answer.query.encode()).hexdigest(),
        "retrieved_at": answer.retrieved_at,
        "policy": {"version": policy.version, "owner": policy.owner, "digest": policy.digest},
        "top_k": top_k,
        "status": decision.status if decision else "",
        "reasons": decision.reasons if decision else (),
        "candidates": [
            {
                "rank": rank,
                **{key: told for key, told in record_fields(record).items() if key != "uri"},
                "decision": "refused" if reason else "admitted",
                "reason": reason,
            }
            for rank, (record, reason) in enumerate(judged, start=1)
        ],
    }
    return _json(told)


def failure_json(query: str, error: str) -> str:
    """What stands in place of an answer when a question cannot be understood."""
    return _json({"query": query, "error": error})


def answer_csv(answer: Answer) -> str:
    """One row a hit, its best place; always the same columns, under a header."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for hit in answer.hits:
        best = hit.matches[0]
        writer.writerow(
            (
                hit.pid, hit.collection, hit.path, hit.file, best.line, best.last_line, hit.score,
                hit.title, json.dumps(best.toc_path, ensure_ascii=False), best.anchor,
                best.breadcrumb, best.snippet,
            )
        )  # fmt: skip
    return out.getvalue()


def answer_markdown(answer: Answer) -> str:
    """A heading, the places and their snippets for each hit."""
    parts = [f"{line}\n" for line in stop_lines(answer)]
    for hit in answer.hits:
        parts.append(f"## [{_escaped(hit.title)}]({hit.source.uri})\n")
        parts.append(f"{hit.collection}/{hit.path} · pid {hit.pid} · score {hit.score:.2f}\n")
        parts += [f"{text}\n" for text in hit.contexts]
        for match in hit.matches:
            parts.append(f"- {_escaped(match.breadcrumb)}, line {match.line}\n")
            if match.snippet:
                quoted = match.snippet.replace("\n", "\n> ")
                parts.append(f"  > {quoted}\n")
        if hit.body is not None:
            parts.append(hit.body + "\n")
    return "\n".join(parts)


def answer_files(answer: Answer, separator: str = "\n") -> str:
    """Each file once, best first, every one followed by the separator."""
    return "".join(file + separator for file in dict.fromkeys(hit.file for hit in answer.hits))


def section_json(section: "SectionText") -> str:
    """A section with its place and its size beside the note's."""
    return _json(asdict(section))


def texts_json(texts: "Iterable[SectionText]") -> str:
    """A list of notes or parts of notes with their text."""
    return _json([asdict(text) for text in texts])


def toc_json(note: StoredNote, toc: Iterable[Section]) -> str:
    """A note's toc, as in an answer."""
    return _json(
        {
            "pid": note.pid,
            "collection": note.collection,
            "path": note.path,
            "title": note.title,
            "toc": [_section(section) for section in toc],
        }
    )


def notes_json(notes: Iterable[StoredNote]) -> str:
    """A list of notes."""
    return _json(
        [
            {"pid": n.pid, "collection": n.collection, "path": n.path, "title": n.title}
            for n in notes
        ]
    )


def links_json(note: StoredNote, links: "Links") -> str:
    """The links of a note."""
    shown = _place(note)
    shown["out"] = [_place(one.note) | {"lines": one.lines} for one in links.out]
    shown["in"] = [_place(one.note) | {"lines": one.lines} for one in links.into]
    shown["broken"] = [
        {"target": one.target, "anchor": one.anchor, "line": one.line} for one in links.broken
    ]
    return _json(shown)


def related_json(note: StoredNote, related: "Iterable[Related]") -> str:
    """The notes near a note."""
    shown = [
        _place(one.note) | {"score": one.score, "linked": one.linked or None, "hops": one.hops}
        for one in related
    ]
    return _json(_place(note) | {"related": shown})


def contexts_json(contexts: "Iterable[Context]") -> str:
    """What folders are about."""
    return _json([asdict(context) for context in contexts])


def _place(note: StoredNote) -> dict[str, object]:
    return {
        "pid": note.pid,
        "collection": note.collection,
        "path": note.path,
        "title": note.title,
    }


def collections_json(collections: "Sequence[Collection]") -> str:
    """A list of collections."""
    return _json([asdict(collection) for collection in collections])


def status_json(status: "IndexStatus") -> str:
    """The state of the index."""
    return _json(asdict(status))


def cache_json(state: "CacheState") -> str:
    """What the cache of answers holds."""
    return _json(asdict(state))


def rows_json(rows: "Sequence[Row]") -> str:
    """Measures, one object a set, category and measure."""
    return _json([asdict(row) for row in rows])


def _json(value: object) -> str:
    return styled.escaped(json.dumps(value, ensure_ascii=False, allow_nan=False)) + "\n"


def _hit(hit: Hit, *, toc: bool, explain: bool) -> Mapping[str, object]:
    shown: dict[str, object] = {
        "pid": hit.pid,
        "collection": hit.collection,
        "path": hit.path,
        "title": hit.title,
        "score": hit.score,
    }
    if toc:
        shown["toc"] = [_section(section) for section in hit.toc]
    shown["matches"] = [_match(match) for match in hit.matches]
    shown["source"] = asdict(hit.source)
    shown["stale"] = hit.stale
    shown["note_tokens"] = hit.note_tokens
    shown["context"] = hit.contexts
    shown["links"] = dict(zip(("out", "in"), hit.links, strict=True)) if hit.links else None
    if explain:
        shown["explain"] = [asdict(share) for share in hit.shares]
    if hit.body is not None:
        shown["body"] = hit.body
    return shown


def _section(section: Section) -> Mapping[str, object]:
    return {
        "title": section.title,
        "level": section.level,
        "path": section.path,
        "anchor": section.anchor,
        "line": section.line,
    }


def _match(match: Match) -> Mapping[str, object]:
    return {
        "toc_path": match.toc_path,
        "anchor": match.anchor,
        "breadcrumb": match.breadcrumb,
        "line": match.line,
        "last_line": match.last_line,
        "snippet_line": match.snippet_line,
        "snippet": match.snippet,
        "score": match.score,
        "evidence": dict(match.evidence),
        "section_tokens": match.section_tokens,
    }


def _escaped(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]")
