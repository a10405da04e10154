"""Language models on servers of OpenAI's shape, that word a question in other ways."""

from qmd_py.catalogue import Server
from qmd_py.expansion import lines, prompts
from qmd_py.records.wordings import Variant
from qmd_py.remote.server import Client

_MOST_TOKENS = 1024  # of thoughts and the answer; the lines themselves have about 200
_PROMPTS = {"chat": prompts.chat, "qmd": prompts.qmd}


class RemoteExpander:
    """An expander on `/chat/completions`; no grammar holds it, so its lines are picked out."""

    def __init__(self, server: Server, client: Client, prompt: str) -> None:
        """Take note of a server; it is not asked yet.

        Args:
            server: where it is.
            client: asks it.
            prompt: `chat` for instruct models, `qmd` for qmd's own.
        """
        self._server = server
        self._client = client
        self._prompt = prompt
        self._finished = False

    @property
    def fingerprint(self) -> str:
        """The address, the model's name there, and the prompt."""
        prompt = f"prompt {prompts.PROMPT_VERSION} {self._prompt}"
        return f"http {self._server.url} {self._server.model} {prompt}"

    @property
    def finished(self) -> bool:
        """Whether the last answer was written to its end."""
        return self._finished

    def expand(self, question: str) -> tuple[Variant, ...]:
        """Variants as the model wrote them.

        Raises:
            ModelFailed: the server does not answer as it should.
        """
        asked = _PROMPTS[self._prompt](question)
        system = [{"role": "system", "content": asked.system}] if asked.system else []
        body = {
            "messages": [*system, {"role": "user", "content": asked.user}],
            "temperature": 0,
            "max_tokens": _MOST_TOKENS,
            "stream": False,
        }
        answer = self._client.post("/chat/completions", body, "your question", patient=False)
        text, self._finished = self._read(answer)
        if not self._finished:
            text = text[: text.rfind("\n") + 1]  # the last line could end in half a word
        return lines.variants(text)

    def _read(self, answer: object) -> tuple[str, bool]:
        """What was written, and whether to its end."""
        try:
            choice = answer["choices"][0]  # type: ignore[index]  # whatever it is, it may raise
            text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise self._client.failed("answers no chat") from error
        if not isinstance(text, str):
            raise self._client.failed("answers no text")
        return text, reason == "stop"
