"""`qmd mcp`: the search as tools for agents."""

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from qmd_py.cli.app import IndexOption, Status, configured, notice
from qmd_py.cli.choosing import Device
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import Policy as PolicyOption
from qmd_py.config import Config
from qmd_py.errors import ConfigError, UsageError
from qmd_py.models import Embedder, Models
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.server.desk import Desk
    from qmd_py.server.protocol import McpServer

_PORT = 8181
_ADDRESS = "127.0.0.1"


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP on this machine, not stdin and stdout.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, show_default=str(_PORT), help="The port for --http; 0: any free one."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Ask for the bearer token in this file (or QMD_MCP_TOKEN).",
        ),
    ] = None,
    device: Device = "auto",
    policy: PolicyOption = None,
    index: IndexOption = None,
) -> None:
    """Serve the search to agents as tools, over the Model Context Protocol.

    qmd mcp

    qmd mcp --http --port 8181
    """
    # A question is one vector times a matrix: more threads than one only get in each other's way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if token_file and not http:
        raise UsageError("--token-file is for --http: a pipe has only one client")
    if port is not None and not http:
        raise UsageError("--port is for --http: add it, or leave the port out")
    token = _token(token_file)
    listener = _listening(_PORT if port is None else port) if http else None
    server = _server(_desk(configured(index), device, policy))
    if listener:
        _over_http(server, listener, token)
    else:
        _over_stdio(server)


def _over_stdio(server: "McpServer") -> NoReturn:
    from qmd_py.server import stdio

    if sys.stdin.isatty():
        notice("speaking MCP on stdin and stdout, for an agent's program; Ctrl-D ends it")
    try:
        stdio.serve(server)
    except KeyboardInterrupt:
        _leave(Status.INTERRUPTED)
    _leave(Status.FOUND)


def _over_http(server: "McpServer", listener: socket.socket, token: str | None) -> NoReturn:
    from qmd_py.server import web

    notice(f"serving MCP at http://{_ADDRESS}:{listener.getsockname()[1]}{web.PATH}")
    try:
        web.serve(server, listener, token)
    except KeyboardInterrupt:
        _leave(Status.INTERRUPTED)
    _leave(Status.FOUND)


def _leave(status: Status) -> NoReturn:
    """End now: searches that nobody waits for any more are not waited for."""
    sys.stderr.flush()
    os._exit(status)


def _server(desk: "Desk") -> "McpServer":
    try:
        from qmd_py.server import protocol
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("qmd_py"):
            raise
        raise ConfigError(
            f"the server for agents needs {error.name}: run pip install 'qmd-py[mcp]'"
        ) from error
    return protocol.made(desk)


def _desk(config: Config, device: str, policy: Path | None) -> "Desk":
    """Everything that is fixed while the server runs."""
    from qmd_py import contexts, policies
    from qmd_py.server import tongues
    from qmd_py.server.desk import Desk
    from qmd_py.server.freshness import Refresher
    from qmd_py.server.warm import WarmModels

    def load() -> Models:
        return Loader(config, device=device).models(expander=None, reranker=None)

    def embedder() -> Embedder | None:
        return Loader(config, device=device).embedder(questions_only=True)

    file = policies.deciding(config.policy, policy)
    admitted = policies.load(file) if file else None
    with Reader.open(config.index) as store:
        spoken = tongues.detected(store)
        about = contexts.told(store, gated=admitted is not None)
    Loader(config, device=device)  # a wrong device is told now, not at the first call
    return Desk(config, WarmModels(load), Refresher(config, embedder), spoken, about, admitted)


def _token(file: Path | None) -> str | None:
    """The token that clients have to show, read once.

    Raises:
        UsageError: the file cannot be read, or there is no token in it.
    """
    if file is None:
        return os.environ.get("QMD_MCP_TOKEN", "").strip() or None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"cannot read the token in {file}: {why}") from error
    if not token:
        raise UsageError(f"{file} holds no token: write one word into it")
    return token


def _listening(port: int) -> socket.socket:
    """A socket on the loopback address.

    Raises:
        UsageError: the port cannot be had.
    """
    try:
        listener = socket.create_server((_ADDRESS, port), backlog=512)
        # else an answer's second part waits for the client to confirm the first: 40 ms
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "ports end at 65535"
        raise UsageError(f"cannot listen on port {port}: {why}: choose another --port") from error
    return listener
