"""MCP over HTTP, for programs of this machine alone."""

import hmac
import logging
import socket
from collections.abc import MutableMapping, Sequence
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from qmd_py.server.protocol import MOST_BYTES, McpServer, refusal, unreadable

PATH = "/mcp"
PATIENCE = 20.0
"""Seconds in which a request has to arrive whole."""

_CONNECTIONS = 1000


class _Refused(Exception):  # noqa: N818 — reads as what happened
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def serve(server: McpServer, listener: socket.socket, token: str | None) -> None:
    """Serve until interrupted."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    port: int = listener.getsockname()[1]
    inner = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True
    )
    config = uvicorn.Config(
        Guard(inner, port, token),
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        ws="none",
        server_header=False,
        lifespan="on",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])


class Guard:
    """Lets in requests of this machine's programs, whole and of a reasonable size.

    A page in a browser can be made to send requests here, by DNS rebinding too; its Host or its
    Origin gives it away.
    """

    def __init__(
        self, app: ASGIApp, port: int, token: str | None, patience: float = PATIENCE
    ) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {b"http://" + host for host in self._hosts}
        self._token = token.encode() if token else None
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await self._body(scope, receive)
        except _Refused as refused:
            await _refuse(send, refused)
            return
        if body is None:
            return
        if reason := unreadable(body):
            await _answer(send, 400, refusal(reason), b"application/json")
        else:
            await self._app(scope, _replay(body, receive), send)

    def _check(self, scope: Scope) -> None:
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise _Refused(421, "this server answers to loopback addresses only")
        if any(origin not in self._origins for origin in origins):
            raise _Refused(403, "pages of other origins are not served")
        if self._token is not None and not self._knows(_headers(scope, b"authorization")):
            raise _Refused(401, "a bearer token is needed")
        if scope["path"] != PATH:
            raise _Refused(404, f"there is only {PATH}")
        if scope["method"] != "POST":
            raise _Refused(405, "only POST is served")

    def _knows(self, given: list[bytes]) -> bool:
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        # compared first, so that the time taken does not depend on what is wrong
        same = hmac.compare_digest(token.strip(), self._token or b"")
        return same and scheme.lower() == b"bearer"

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """All of a request; None when its sender left before the end."""
        declared = _headers(scope, b"content-length")
        if any(not each.isdigit() or int(each[:18]) > MOST_BYTES for each in declared):
            raise _Refused(413, f"requests have at most {MOST_BYTES} bytes")
        content = bytearray()
        with anyio.move_on_after(self._patience):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                content += message.get("body", b"")
                if len(content) > MOST_BYTES:
                    raise _Refused(413, f"requests have at most {MOST_BYTES} bytes")
                if not message.get("more_body", False):
                    return bytes(content)
        raise _Refused(408, "the request did not arrive whole")


def _headers(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _replay(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the whole body at once, then what comes after it."""
    first: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]

    async def replay() -> MutableMapping[str, Any]:
        return first.pop() if first else await receive()

    return replay


async def _refuse(send: Send, refused: _Refused) -> None:
    headers = {401: (b"www-authenticate", b"Bearer"), 405: (b"allow", b"POST")}
    more = [headers[refused.status]] if refused.status in headers else []
    await _answer(send, refused.status, refused.reason, b"text/plain; charset=utf-8", more)


async def _answer(
    send: Send, status: int, text: str, kind: bytes, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    content = (text + "\n").encode()
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
