"""The tools: read arguments, call one function, give what it returns."""

import contextlib
import json
import traceback
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from qmd_py import filters, sections, sizes
from qmd_py.cache import Cache
from qmd_py.errors import QmdError, UsageError
from qmd_py.expansion import callers
from qmd_py.expansion.callers import Handed
from qmd_py.models import Models
from qmd_py.records.answers import Filters
from qmd_py.records.notes import SectionText
from qmd_py.records.stored import breadcrumb
from qmd_py.render import machine
from qmd_py.search import listing
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.search.scoping import check_collections
from qmd_py.server import teaching
from qmd_py.server.arguments import MOST_NOTES, Given, checked
from qmd_py.server.desk import Desk
from qmd_py.store import embeddings, overview
from qmd_py.store.reader import Reader


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool gives back."""

    texts: tuple[str, ...]
    """The answer; then remarks, one line each."""
    failed: bool = False


def call(
    desk: Desk, name: str, arguments: Mapping[str, object], unwanted: Callable[[], bool] = bool
) -> Reply:
    """Run a tool; whatever goes wrong is a reply of one line, never an exception."""
    try:
        tool = next((tool for tool in teaching.tools(()) if tool.name == name), None)
        if tool is None:
            raise UsageError(f"no such tool: there are {', '.join(_TOOLS)}")
        return _TOOLS[name](desk, replace(checked(tool, arguments), unwanted=unwanted))
    except QmdError as error:
        return Reply((_one_line(str(error)),), failed=True)
    except Exception:  # noqa: BLE001 — a bug: the agent gets a line, whoever runs the server the rest
        traceback.print_exc()
        return Reply((f"this is a bug in qmd: {name} broke down",), failed=True)


def search(desk: Desk, given: Given) -> Reply:
    """Everything there is; the very JSON of `qmd query --json`. Filters alone list notes."""
    wanted = _filters(given)
    text, handed = _asked(given, alone=wanted.given)
    own = bool(handed.variants or handed.queries)
    ask = Ask(limit=_limit(given), handed=handed, recent=given.days("recent"))
    desk.fresh.look()
    with contextlib.ExitStack() as stack:
        models = Models()
        if text:
            slow = given.flag("rerank", True)
            lent = desk.models.lent(
                expander=slow and not own, reranker=slow, unwanted=given.unwanted
            )
            models = stack.enter_context(lent)
        reading, gate = stack.enter_context(desk.admission())
        if models.expander or models.reranker:
            cache = stack.enter_context(contextlib.closing(Cache(desk.config.cache)))
            ask = replace(ask, cache=cache)
        store = stack.enter_context(Reader.open(desk.config.index))
        stack.enter_context(store.snapshot())
        check_collections(store, wanted.collections)
        scope = filters.narrowed(store, wanted, gated=gate is not None)
        ask = replace(ask, scope=scope, reading=reading, gate=gate)
        now = gate.retrieved_at if gate else desk.now()
        if text:
            found = hybrid(store, text, ask, models, now)
        else:
            by_date = wanted.by_date or ask.recent is not None
            found = listing.listed(store, ask, now, by_date=by_date)
        astray = filters.astray(store, wanted, gated=gate is not None)
        remarks = [*handed.warnings, *(filters.unread(store) if wanted.tags else ()), *astray]
    counted = sizes.counted(found, desk.config.settings.max_bytes)
    return Reply((machine.answer_json(counted), *remarks))


def section(desk: Desk, given: Given) -> Reply:
    """One section, from the file as it is now."""
    found = _read(desk, given, given.texts("toc_path"))
    form = given.text("format") or "markdown"
    if form == "json":
        return Reply((machine.section_json(found),))
    if form == "html":
        from qmd_py.markdown.html import to_html

        return Reply((to_html(found.text), _citation(found)))
    return Reply((found.text, _citation(found)))


def toc(desk: Desk, given: Given) -> Reply:
    """All headings of a note, from the file as it is now."""
    with desk.admission() as (_, gate), Reader.open(desk.config.index) as store:
        reference = str(given.number("pid", 0))
        note = sections.find_note(store, reference, gate.admitted if gate else list)
        document = sections.live(note, desk.config.settings.max_bytes, gate)
    entries = [spot.section for spot in document.spots]
    return Reply((machine.toc_json(replace(note, title=document.title), entries),))


def get(desk: Desk, given: Given) -> Reply:
    """A whole note, from the file as it is now."""
    found = _read(desk, given, ())
    return Reply((found.text, _citation(found)))


def status(desk: Desk, given: Given) -> Reply:
    """What the index holds, and in which languages."""
    del given
    with Reader.open(desk.config.index) as store:
        held = replace(overview.status(store), vectors=embeddings.overview(store))
    shown = asdict(held) | {
        "spoken": {tongue.collection: tongue.codes for tongue in desk.tongues},
        "tools_version": teaching.VERSION,
        "models_loaded": desk.models.loaded,
        "refresh_problem": desk.fresh.problem,
    }
    if desk.policy:  # problems name notes that this reader may not know of
        shown |= {"problems": (), "refresh_problem": None, "policy": desk.policy.version}
    return Reply((json.dumps(shown, ensure_ascii=False) + "\n",))


_TOOLS: Mapping[str, Callable[[Desk, Given], Reply]] = {
    "search": search,
    "section": section,
    "toc": toc,
    "get": get,
    "status": status,
}


def _filters(given: Given) -> Filters:
    # the index has names in NFC, however an agent spells them
    names = tuple(unicodedata.normalize("NFC", name) for name in given.texts("collections"))
    return Filters(
        names, given.texts("paths"), given.texts("tags"), given.texts("where"),
        given.text("since"), given.text("until"),
    )  # fmt: skip


def _limit(given: Given) -> int:
    limit = given.number("limit", Ask().limit)
    if limit > MOST_NOTES:
        raise UsageError(f"limit is {limit}: ask for at most {MOST_NOTES} notes")
    return limit


def _asked(given: Given, *, alone: bool) -> tuple[str, Handed]:
    """The question and what goes with it, as `qmd query` would understand them.

    Args:
        given: the arguments.
        alone: whether filters are given, which can do without a question.
    """
    searches = given.raw("searches")
    options = callers.from_options(
        short_query=given.text("short_query"),
        rephrased_query=given.text("rephrased_query"),
        expected_answer=given.text("expected_answer"),
        queries=given.texts("queries"),
        searches_json=json.dumps(searches) if searches else None,
        intent=given.text("intent"),
    )
    text = (given.text("query") or "").strip()
    if not text and alone and not (options.variants or options.queries):
        return "", options
    if not text:
        raise UsageError("query is empty: pass the user's question, or a filter to list notes")
    return callers.asked(text, options)


def _read(desk: Desk, given: Given, path: tuple[str, ...]) -> SectionText:
    with desk.admission() as (_, gate), Reader.open(desk.config.index) as store:
        most = desk.config.settings.max_bytes
        return sections.section(store, str(given.number("pid", 0)), path, most, gate)


def _citation(found: SectionText) -> str:
    """Where a text is from, and what it cost beside the whole note."""
    place = breadcrumb(found.title, found.toc_path)
    return _one_line(
        f"from {place} ({found.collection}/{found.path}, line {found.line}, pid {found.pid}); "
        f"about {found.section_tokens} of the note's {found.note_tokens} tokens"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
