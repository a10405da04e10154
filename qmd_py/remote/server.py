"""A server with a model: asked with limits, believed only where its answer is of the right shape."""

import contextlib
import ipaddress
import json
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qmd_py.catalogue import Server
from qmd_py.errors import ModelFailed, ServerFailed

if TYPE_CHECKING:
    import httpx2

Tell = Callable[[str], None]
"""Called with what leaves this machine, once before it does."""

_LARGEST = 64_000_000  # bytes of an answer; the vectors of a batch have a tenth of that
_CONNECT = 10.0  # seconds
_TRIES = 3
_PAUSE = 1.0  # seconds before the second try, twice that before the third
_LONGEST_PAUSE = 10.0  # seconds, whatever the server asks for
_BUSY = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
# about what was sent, not about the server: other texts may fare better
_TEXTS_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Client:
    """Sends JSON to one server and gives the JSON that it answers."""

    def __init__(
        self, name: str, server: Server, key: str | None = None, tell: Tell = lambda _text: None
    ) -> None:
        """Take note of a server; nothing is sent, and no network library imported, before it is asked.

        Args:
            name: of the entry in the list of models, for messages.
            server: the entry.
            key: what it wants as a bearer token.
            tell: told what leaves this machine.
        """
        self._name = name
        self._server = server
        self._key = key
        self._tell = tell
        self._told: set[str] = set()
        self.host = urlsplit(server.url).netloc

    def post(self, path: str, body: Mapping[str, object], what: str, *, patient: bool) -> object:
        """The answer to one request.

        Args:
            path: below the server's address.
            body: what is sent, beside the name of the model.
            what: is sent, in words.
            patient: whether to try again when the server is busy or the line is cut; a person who
                waits for a search is better served by one that does without.

        Raises:
            ServerFailed: it cannot be reached, refuses, or answers something else than JSON.
            ModelFailed: it cannot do anything with what was sent.
        """
        import httpx2

        self._say(what)
        tries = _TRIES if patient else 1
        for left in reversed(range(tries)):
            try:
                status, content, wait = self._sent(path, {"model": self._server.model, **body})
            except httpx2.TimeoutException as error:
                raise ServerFailed(self._slow()) from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                if not left:
                    raise ServerFailed(
                        f"cannot reach {self.host} for {self._name} "
                        f"({str(error) or type(error).__name__}): is the server running?"
                    ) from error
                wait = None
            else:
                if status not in _BUSY or not left:
                    return self._json(status, content)
            time.sleep(_pause(wait, tries - left))
        raise AssertionError("the last try returns or raises")

    def failed(self, why: str) -> ServerFailed:
        """An error that names the server."""
        return ServerFailed(f"{self.host} {why}: is it the right model for {self._name}?")

    def _sent(self, path: str, body: Mapping[str, object]) -> tuple[int, bytes, str | None]:
        """Status, content and `Retry-After`; the content of a redirect is where it leads."""
        stop = time.monotonic() + self._server.seconds
        content = bytearray()
        # a file may hold what no UTF-8 can
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        with self._client.stream("POST", f"{self._server.url}{path}", content=sent) as answer:
            if answer.has_redirect_location:
                return answer.status_code, answer.headers["location"].encode(), None
            for piece in answer.iter_raw():
                content += piece
                if len(content) > _LARGEST:
                    raise self.failed(f"answers more than {_LARGEST} bytes")
                if time.monotonic() > stop:  # one that drips would keep each single read in time
                    raise ServerFailed(self._slow())
            return answer.status_code, bytes(content), answer.headers.get("retry-after")

    def _json(self, status: int, content: bytes) -> object:
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            raise ServerFailed(
                f"{self.host} sends on to {_host(content)}, which is not asked: if it is to be trusted, write "
                f"its address at {self._name}"
            )
        if status != HTTPStatus.OK:
            failure = ModelFailed if status in _TEXTS_FAULT else ServerFailed
            raise failure(f"{self.host} answers {status}{_reason(content)}: see {self._name}")
        with contextlib.suppress(ValueError, RecursionError):
            found: object = json.loads(content)
            return found
        raise self.failed("answers no JSON")

    def _slow(self) -> str:
        return (
            f"{self.host} did not answer within {self._server.seconds:g} seconds: raise 'seconds' or "
            f"lower 'batch' of {self._name}"
        )

    def _say(self, what: str) -> None:
        if what not in self._told and not is_here(self._server.url):
            self._told.add(what)
            secret = "" if self._server.url.startswith("https:") else ", unencrypted"
            self._tell(f"{self._name} sends {what} to {self.host}{secret}")

    @cached_property
    def _client(self) -> "httpx2.Client":
        import httpx2

        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        timeout = httpx2.Timeout(self._server.seconds, connect=min(_CONNECT, self._server.seconds))
        client = httpx2.Client(
            headers=headers,
            timeout=timeout,
            follow_redirects=False,  # an address that the user did not write gets nothing
            trust_env=not is_here(
                self._server.url
            ),  # no proxy stands between this machine and itself
        )
        weakref.finalize(self, client.close)
        return client


def is_here(url: str) -> bool:
    """Whether an address is this very machine's."""
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def in_order(found: object, count: int, field: str) -> Iterator[object]:
    """A field of each of some items, in the order of their `index`.

    Raises:
        ValueError: there are not just so many, or their indices are not those of what was sent.
    """
    items = found if isinstance(found, list) else []
    if len(items) != count:
        raise ValueError(f"answers {len(items)} results for {count} texts")
    by_index = {
        item["index"]: item.get(field)
        for item in items
        if isinstance(item, dict) and type(item.get("index")) is int
    }
    if sorted(by_index) != list(range(count)):
        raise ValueError("answers results whose indices are not those of the texts")
    for at in range(count):
        yield by_index[at]


def _pause(wanted: str | None, tried: int) -> float:
    if wanted and wanted.isdecimal():
        return min(float(wanted), _LONGEST_PAUSE)
    return _PAUSE * tried


def _host(location: bytes) -> str:
    """Where a redirect leads, without what may be secret in it."""
    with contextlib.suppress(ValueError):
        netloc = urlsplit(location.decode("utf-8", "replace")).netloc
        return netloc.rpartition("@")[2][:100] or "another path"
    return "another address"


def _reason(content: bytes) -> str:
    """What a server says of its refusal, in one short line; nothing of a page for people."""
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(content)
        for key in ("error", "message", "detail"):
            said = said.get(key, said) if isinstance(said, dict) else said
        if isinstance(said, str):
            return f" ({' '.join(said.split())[:200]})"
    return ""
