"""What a local model is asked, and the grammar its answer is held to."""

from dataclasses import dataclass

from qmd_py.expansion.languages import language
from qmd_py.records.values import Value

PROMPT_VERSION = 1
"""Raised with every change of a prompt or of the grammar: kept expansions are then made anew."""

SYSTEM = """\
You turn a question into searches for the note that answers it. Write typed lines only:
lex: two or three keywords of such a note, other than those asked with
vec: the same request, worded differently
hyde: one statement as that note itself would put it
At most three lex lines, two vec lines and one hyde line of at most 40 words. \
Stay in the language of the question. Repeat its names, numbers and code unchanged. \
No comments, no quotes, no formatting."""
"""For general instruct models. Without an example: small models copy it for every question."""

GRAMMAR = r"""
root ::= searches hyde? | hyde searches
searches ::= lex{1,3} vec{1,2}
lex ::= "lex: " word (" " word){0,3} "\n"
vec ::= "vec: " [^ \t\r\n] [^\t\r\n]{3,119} "\n"
hyde ::= "hyde: " [^ \t\r\n] [^\t\r\n]{11,279} "\n"
word ::= [^ \t\r\n]{1,24}
"""
"""GBNF of the answer; every repetition is bounded, so no run of a model can be endless.

Sentences are bounded in characters, 280 being about 40 words, since a grammar of spaced words would
put spaces into Chinese. The hyde line may come first: qmd's own model was trained to write it so.
"""

_LANGUAGE_NAMES = {
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fr": "French",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pt": "Portuguese",
    "ru": "Russian", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prompt(Value):
    """What a model is asked, before its chat template."""

    system: str
    """The same for every question, so that its evaluated state can be kept; may be empty."""
    user: str


def chat(question: str) -> Prompt:
    """The prompt for a general instruct model; it names the language where that is sure."""
    name = _LANGUAGE_NAMES.get(language(question) or "")
    # small models hold to a language that is named better than to "the same"
    last = f"\nAll lines in {name}." if name else ""
    return Prompt(SYSTEM, f"Question: {_one_line(question)}{last}")


def qmd(question: str) -> Prompt:
    """The prompt on which qmd's query expansion models were trained, word for word."""
    return Prompt("", f"/no_think Expand this search query: {_one_line(question)}")


def _one_line(question: str) -> str:
    return " ".join(question.split())


INSTRUCTIONS = "\n".join((SYSTEM, qmd("").user))
"""All that a model may copy instead of answering."""
