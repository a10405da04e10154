"""Answers for people, as styled lines."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py.records.answers import Answer, Hit
from qmd_py.records.stored import Section, StoredNote
from qmd_py.render import excerpt, places, styled
from qmd_py.render.admitted import stop_lines
from qmd_py.render.styled import HANG, PROSE, Line
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.cache import CacheState
    from qmd_py.records.notes import Collection
    from qmd_py.reports import EmbedReport, IndexReport, IndexStatus

_REASONS = 5  # shown of what was passed over; the line stays readable


def answer_lines(
    answer: Answer, analyzer: Analyzer, *, explain: bool, editor: str | None = None
) -> list[Line]:
    """Place, score, pid, breadcrumb and snippet of each hit, then its further places.

    Args:
        answer: what was found.
        analyzer: finds the question's words in snippets.
        explain: whether to show how the order came about.
        editor: the address of a place, as in the settings.
    """
    if answer.mode == "list":
        return [line for hit in answer.hits for line in _listed(hit, editor)]
    lines = _pipeline(answer) if explain else []
    lines += [[(line, "title")] for line in stop_lines(answer)]
    for hit in answer.hits:
        if lines:
            lines.append([])
        lines += _hit(hit, answer, analyzer, explain=explain, editor=editor)
    return lines


def early_lines(answer: Answer, analyzer: Analyzer, editor: str | None = None) -> list[Line]:
    """The answer before it is reranked, under a line that says so."""
    lines = answer_lines(answer, analyzer, explain=False, editor=editor)
    return [[("reranking… this order is not final", "faint")], [], *lines]


def toc_lines(toc: Sequence[Section], note: StoredNote, editor: str | None = None) -> list[Line]:
    """The toc as a tree, each entry with its line number; a terminal shows `PID:LINE`, to copy."""
    width = max((len(str(section.line)) for section in toc), default=1)
    return [
        [
            (" " * (width - len(str(section.line))), ""),
            (f"{note.pid}:", "rest"),
            places.line(note, section.line, editor, "number"),
            ("  " * max(len(section.path), 1), ""),
            HANG,
            (section.path[-1], "title" if len(section.path) == 1 else ""),
        ]
        for section in toc
    ]


def notes_lines(notes: Sequence[StoredNote], editor: str | None = None) -> list[Line]:
    """pid, path and title of each note."""
    width = max((len(str(note.pid)) for note in notes), default=1)
    return [
        [
            (str(note.pid).rjust(width), "number"),
            ("  ", ""),
            places.note(note, editor),
            HANG,
            (f"  {note.title}" if note.title != Path(note.path).stem else "", ""),
        ]
        for note in notes
    ]


def collection_lines(collections: "Iterable[Collection]", editor: str | None = None) -> list[Line]:
    """Name, number of notes and folder of each collection."""
    shown = [(found.name, _count(found.notes, "note"), found.root) for found in collections]
    names = max((styled.width(name) for name, _, _ in shown), default=0)
    counts = max((len(count) for _, count, _ in shown), default=0)
    return [
        [
            (styled.filled(name, names), "title"),
            (f"  {count.ljust(counts)}  ", ""),
            HANG,
            places.folder(root, root, editor),
        ]
        for name, count, root in shown
    ]


def collection_details(collection: "Collection", editor: str | None = None) -> list[Line]:
    """Everything about one collection."""
    from qmd_py.formats.walking import NOTE_GLOBS

    return [
        [("name    ", "faint"), HANG, (collection.name, "title")],
        [("folder  ", "faint"), HANG, places.folder(collection.root, collection.root, editor)],
        [("notes   ", "faint"), HANG, (str(collection.notes), "")],
        [("glob    ", "faint"), HANG, (", ".join(collection.globs or NOTE_GLOBS), "")],
        [("ignore  ", "faint"), HANG, (", ".join(collection.ignores) or "none of its own", "")],
    ]


def status_lines(status: "IndexStatus", editor: str | None = None) -> list[Line]:
    """The state of the index."""
    counts = ", ".join(
        (
            _count(status.notes, "note"),
            _count(status.sections, "section"),
            _count(status.chunks, "chunk"),
        )
    )
    lines: list[Line] = [
        [("index      ", "faint"), HANG, (f"{status.file} ({status.bytes / 1e6:.1f} MB)", "place")],
        [("holds      ", "faint"), HANG, (counts, "")],
        [("languages  ", "faint"), HANG, (", ".join(status.languages) or "not set yet", "")],
        [("updated    ", "faint"), HANG, (status.last_indexed or "never", "")],
    ]
    for held in status.vectors or ():
        failed = f", {held.failed} failed" if held.failed else ""
        counts = f"{_count(held.vectors, 'vector')}, {held.pending} pending{failed}  "
        lines.append([("embedded   ", "faint"), HANG, (counts, ""), (held.fingerprint, "faint")])
    if not status.vectors:
        step = "qmd embed" if status.notes else "qmd index DIR"
        lines.append([("embedded   ", "faint"), HANG, (f"nothing yet: run '{step}'", "")])
    lines += [[("  ", ""), *line] for line in collection_lines(status.collections, editor)]
    lines += [[("problem    ", "faint"), HANG, (problem, "")] for problem in status.problems]
    return lines


def cache_lines(state: "CacheState") -> list[Line]:
    """What the cache of answers holds."""
    used = f"{state.bytes / 1e6:.1f} of {state.bound / 1e6:.0f} MB"
    between = f"{state.oldest_use} to {state.newest_use}" if state.oldest_use else "never"
    return [
        [("cache      ", "faint"), HANG, (f"{state.file} ({used})", "place")],
        [("holds      ", "faint"), HANG, (cache_contents(state), "")],
        [("last used  ", "faint"), HANG, (between, "")],
    ]


def cache_contents(state: "CacheState") -> str:
    """How much the cache of answers holds, in words."""
    return f"{_count(state.expansions, 'expansion')}, {_count(state.scores, 'rerank score')}"


def report_line(report: "IndexReport") -> str:
    """What an indexing run did, in one line."""
    counts = [
        f"{number} {what}"
        for what in ("new", "changed", "moved", "removed")
        if (number := getattr(report, what))
    ]
    quiet = report.unchanged or report.passed_over or report.problems
    done = ", ".join(counts) or ("nothing changed" if quiet else "no notes")
    tail = [f"{report.unchanged} unchanged"] if report.unchanged and counts else []
    if report.unchanged and not counts:
        tail = [_count(report.unchanged, "note")]
    if report.passed_over:
        more = "; …" if len(report.passed_over) > _REASONS else ""
        reasons = "; ".join(report.passed_over[:_REASONS]) + more
        tail.append(f"{len(report.passed_over)} passed over ({reasons})")
    if report.problems:
        tail.append(_count(len(report.problems), "problem"))
    return f"{report.collection}: {', '.join([done, *tail])}"


def embed_line(report: "EmbedReport") -> str:
    """What an embedding run did, in one line."""
    done = f"embedded {_count(report.embedded, 'passage')}"
    return f"{done}, {report.pending} pending: run 'qmd embed'" if report.pending else done


def _hit(
    hit: Hit, answer: Answer, analyzer: Analyzer, *, explain: bool, editor: str | None
) -> list[Line]:
    best, *others = hit.matches
    lines: list[Line] = [
        [
            places.place(
                f"{_shown_path(hit.file)}:{best.snippet_line}", hit.file, best.snippet_line, editor
            ),
            HANG,
            (f"  {hit.score:.2f}", "number"),
            *styled.bar(hit.score),
            (_linked(hit), "faint"),
            (f"  {hit.stale}" if hit.stale else "", "faint"),
        ],
        [(f"#{hit.pid} ", "faint"), HANG, (best.breadcrumb, "title")],
    ]
    lines += [[("about ", "faint"), HANG, (text, "")] for text in hit.contexts]
    lines += _snippet(hit, answer, analyzer)
    lines += [
        [
            ("also ", "faint"),
            HANG,
            (match.breadcrumb, ""),
            ("  ", ""),
            places.place(f"line {match.line}", hit.file, match.line, editor, "faint"),
        ]
        for match in others
    ]
    if answer.decision:
        stated = hit.source.revision if hit.source.proof == "front-matter" else None
        told = f"{hit.source.record_id}  " + (f"revision {stated}  " if stated else "")
        lines.append([(told, "faint"), (answer.decision.status, "")])
    if explain and hit.shares:
        lines += _shares(hit, answer)
    if hit.body is not None:
        lines += [[(line, "")] for line in re.split(r"\r\n|\r|\n", hit.body)]
    return lines


def _pipeline(answer: Answer) -> list[Line]:
    from qmd_py.render import explained

    return explained.pipeline(answer)


def _shares(hit: Hit, answer: Answer) -> list[Line]:
    from qmd_py.render import explained

    return explained.shares(hit, answer)


def _listed(hit: Hit, editor: str | None) -> list[Line]:
    """A note that was asked for by filters alone, on one line, and the whole of it if wanted."""
    line: Line = [
        places.place(_shown_path(hit.file), hit.file, 1, editor),
        HANG,
        (_linked(hit), "faint"),
        (f"  {hit.stale}" if hit.stale else "", "faint"),
        (f"  #{hit.pid} ", "faint"),
        (hit.title, "title"),
    ]
    body = hit.body.split("\n") if hit.body is not None else []
    return [line, *([(text, "")] for text in body)]


def _linked(hit: Hit) -> str:
    """How many notes a hit links to, and how many link to it; nothing where there are none."""
    out, into = hit.links or (0, 0)
    shown = [f"→{out}"] * bool(out) + [f"←{into}"] * bool(into)
    return "  " + " ".join(shown) if shown else ""


def _snippet(hit: Hit, answer: Answer, analyzer: Analyzer) -> list[Line]:
    best = hit.matches[0]
    if not best.snippet:
        return [[("(no text)", "faint")]]

    def is_marked(line: str) -> bool:
        return bool(analyzer.found_in(line, answer.terms))

    texts = excerpt.paragraphs(best, hit.path, is_marked)
    return [_wrapped(text, answer, analyzer) for text in texts]


def _wrapped(text: str, answer: Answer, analyzer: Analyzer) -> Line:
    """A line of a snippet: an item goes on below its first word, and code is as wide as it is."""
    if item := excerpt.ITEM.match(text):
        rest = _marked(text[item.end() :], answer, analyzer)
        return [PROSE, (item[0], ""), HANG, *rest]
    return [*([] if text.startswith(" ") else [PROSE]), *_marked(text, answer, analyzer)]


def _marked(text: str, answer: Answer, analyzer: Analyzer) -> Line:
    """The text with the question's words marked."""
    line: Line = []
    at = 0
    for span in analyzer.spans(text):
        if span.terms & answer.terms and span.end > at:
            line += [
                (text[at : max(at, span.start)], ""),
                (text[max(at, span.start) : span.end], "marked"),
            ]
            at = span.end
    return [*line, (text[at:], "")]


def _shown_path(file: str) -> str:
    """Relative to the working folder where that is shorter and stays below it."""
    try:
        relative = os.path.relpath(file)
    except OSError:  # the working folder has been deleted
        return file
    return relative if not relative.startswith("..") else file


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
