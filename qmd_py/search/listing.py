"""Notes that meet filters, without a question."""

import datetime

from qmd_py import citing, filters
from qmd_py.query import Query
from qmd_py.records.answers import Answer
from qmd_py.retrieval import Asked
from qmd_py.search.answering import Answerer
from qmd_py.search.asking import Ask
from qmd_py.stages import Stages
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer


def listed(store: Reader, ask: Ask, now: datetime.datetime, *, by_date: bool) -> Answer:
    """All notes in scope, by collection and path; or the newest first."""
    notes = store.notes_of(ask.scope)
    if by_date:
        notes.sort(key=filters.written, reverse=True)
    ranking = citing.Ranking({note.pid: 1.0 for note in notes}, {}, {}, {})
    asked = Asked(Query(""), None, 1.0)
    answerer = Answerer(store, Analyzer(store.languages), asked, "", "list", ask, now)
    return answerer.answer(ranking, Stages())
