"""`qmd query`: everything there is, models included."""

import contextlib

from qmd_py.cache import AnswerCache, Cache
from qmd_py.cache import NoCache as Forgetful
from qmd_py.cli import batching, filtering
from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, configured, notice
from qmd_py.cli.choosing import (
    Budget,
    Device,
    Expander,
    NoCache,
    NoExpand,
    NoRerank,
    PassageTokens,
    Reranker,
)
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import (
    LIMIT,
    Admit,
    AsOf,
    Batch,
    Collections,
    Csv,
    Explain,
    Files,
    Format,
    Full,
    Json,
    Limit,
    Markdown,
    MinScore,
    NoToc,
    Nul,
    Paths,
    Policy,
    Recent,
    Refresh,
    Since,
    Snippet,
    Tags,
    Trace,
    Until,
    Where,
    Without,
    Words,
)
from qmd_py.cli.printing import Shown
from qmd_py.cli.searching import answer, bring_up_to_date, known_runs, list_notes, question
from qmd_py.cli.wording import (
    ExpectedAnswer,
    Hyde,
    Intent,
    Lex,
    Queries,
    RephrasedQuery,
    Searches,
    ShortQuery,
    Vec,
)
from qmd_py.config import Config
from qmd_py.expansion import callers
from qmd_py.expansion.callers import Handed
from qmd_py.search.asking import PASSAGE_TOKENS, Ask
from qmd_py.snippets import DEFAULT_LENGTH


def query(
    words: Words = None,
    limit: Limit = None,
    collections: Collections = None,
    paths: Paths = None,
    tags: Tags = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    recent: Recent = None,
    refresh: Refresh = False,
    as_json: Json = False,
    as_csv: Csv = False,
    as_markdown: Markdown = False,
    as_files: Files = False,
    null: Nul = False,
    template: Format = None,
    no_toc: NoToc = False,
    full: Full = False,
    explain: Explain = False,
    min_score: MinScore = 0.0,
    without: Without = None,
    snippet: Snippet = DEFAULT_LENGTH,
    lex: Lex = None,
    vec: Vec = None,
    hyde: Hyde = None,
    short_query: ShortQuery = None,
    rephrased_query: RephrasedQuery = None,
    expected_answer: ExpectedAnswer = None,
    queries: Queries = None,
    searches: Searches = None,
    intent: Intent = None,
    expander: Expander = None,
    reranker: Reranker = None,
    no_expand: NoExpand = False,
    no_rerank: NoRerank = False,
    no_cache: NoCache = False,
    budget: Budget = None,
    passage_tokens: PassageTokens = PASSAGE_TOKENS,
    device: Device = "auto",
    admit: Admit = False,
    policy: Policy = None,
    as_of: AsOf = None,
    trace: Trace = None,
    batch: Batch = False,
    index: IndexOption = None,
) -> None:
    """Search with everything there is, fused into one list.

    qmd query limit concurrency Go

    qmd query "how do I keep bread fresh" -n 3 --json

    Then read only what answers: take `pid` and `toc_path` of the best match, and print that section
    with 'qmd section PID HEADING…'. For what stands beside it, take another path from the same `toc`.
    """
    shown = Shown.chosen(
        json=as_json,
        csv=as_csv,
        md=as_markdown,
        files=as_files,
        null=null,
        toc=not no_toc,
        explain=explain,
        template=template,
    )
    options = callers.from_options(
        lex=lex or (),
        vec=vec or (),
        hyde=hyde or (),
        short_query=short_query,
        rephrased_query=rephrased_query,
        expected_answer=expected_answer,
        queries=queries or (),
        searches_json=searches,
        intent=intent,
    )
    typed, questions = batching.questions(words, batch=batch)
    if several := batch or bool(questions):
        shown = batching.check(shown, trace)
    config = configured(index)
    admission = Admission.chosen(config, admit=admit, policy=policy, as_of=as_of, trace=trace)
    wanted = filtering.typed(collections, paths, tags, where, since, until)
    if refresh:
        bring_up_to_date(config, wanted, embed=True)
    if wanted.given and not (several or words or options.variants or options.queries):
        ask = Ask(recent=recent, snippet=snippet, full=config.settings.max_bytes if full else 0)
        list_notes(ask, limit, wanted, shown, admission)
        return
    text, handed = ("", options) if several else _asked(typed, options)
    with contextlib.closing(_cache(config, no_cache)) as cache:
        ask = Ask(
            limit=limit or LIMIT,
            recent=recent,
            min_score=min_score,
            without=known_runs(without or ()),
            snippet=snippet,
            full=config.settings.max_bytes if full else 0,
            handed=handed,
            budget=budget,
            passage_tokens=passage_tokens,
            cache=cache,
        )
        own = bool(handed.variants or handed.queries)
        models = Loader(config, device=device, keeping=not no_cache).models(
            expander="none" if no_expand or own else expander,
            reranker="none" if no_rerank else reranker,
            passage_tokens=passage_tokens,
        )
        try:
            if several:
                batching.answer_each(questions, ask, models, shown, options, admission, wanted)
            else:
                answer("query", config, text, ask, models, shown, admission, wanted)
        finally:
            models.close()
            if cache.problem:
                notice(f"cache: {cache.problem}")


def _asked(words: list[str], options: Handed) -> tuple[str, Handed]:
    """The question, and what the caller hands in by options or in a query document.

    Raises:
        UsageError: there is nothing to ask.
    """
    alone = not words and (options.variants or options.queries)
    text, both = callers.asked(None if alone else question(words), options)
    for warning in both.warnings:
        notice(warning)
    return text, both


def _cache(config: Config, off: bool) -> AnswerCache:
    return Forgetful() if off else Cache(config.cache)
