"""The tools as an MCP server of the official SDK."""

import contextlib
import threading
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

import qmd_py
from qmd_py.server import teaching, tools
from qmd_py.server.arguments import MOST_NOTES
from qmd_py.server.desk import Desk
from qmd_py.server.teaching import FORMATS, Kind
from qmd_py.server.tools import Reply

McpServer: TypeAlias = Server[None]

MOST_BYTES = 1_000_000
"""Longest message; a question is a thousandth of that."""

_PARSE_ERROR = -32700
_THREADS = 16  # calls at a time; more would only share the processors
_LOOK = 15.0  # seconds between two looks at whether the models are idle

_SCHEMAS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.TEXT: {"type": "string"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.PATH: {"type": "array", "items": {"type": "string"}},
    Kind.NUMBER: {"type": "integer", "minimum": 1},
    Kind.DAYS: {"type": "number", "exclusiveMinimum": 0},
    Kind.FLAG: {"type": "boolean"},
    Kind.FORMAT: {"type": "string", "enum": list(FORMATS)},
    Kind.SEARCHES: {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["lex", "vec", "hyde"]},
                "query": {"type": "string"},
            },
            "required": ["type", "query"],
            "additionalProperties": False,
        },
    },
}


def made(desk: Desk) -> McpServer:
    """The server; its tools and their descriptions are those of its start."""
    listed = [_tool(tool) for tool in teaching.tools(desk.tongues)]
    limiter = anyio.CapacityLimiter(_THREADS)

    async def list_tools(
        _context: ServerRequestContext[None], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        _context: ServerRequestContext[None], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        gone = threading.Event()
        run = partial(tools.call, desk, params.name, params.arguments or {}, gone.is_set)
        try:
            reply = await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
        finally:
            gone.set()  # a request may be cancelled; its thread cannot be
        return _result(reply)

    @contextlib.asynccontextmanager
    async def lifespan(_server: McpServer) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, desk)
            yield
            tasks.cancel_scope.cancel()

    return Server(
        "qmd",
        version=qmd_py.__version__,
        title="Notes",
        instructions=teaching.instructions(desk.tongues, desk.contexts),
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _watch(desk: Desk) -> None:
    while True:
        await anyio.sleep(_LOOK)
        desk.models.release_idle()


def _tool(tool: teaching.Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema={
            "type": "object",
            "properties": {field.name: _property(field) for field in tool.fields},
            "required": [field.name for field in tool.fields if field.required],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _property(field: teaching.Field) -> dict[str, Any]:
    most = {"maximum": MOST_NOTES} if field.name == "limit" else {}
    return {**_SCHEMAS[field.kind], **most, "description": field.about}


def _result(reply: Reply) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=text) for text in reply.texts]
    return types.CallToolResult(content=content, is_error=reply.failed)


def unreadable(message: bytes) -> str | None:
    """Why something is no message; None when it is one. The SDK tells this in a page of its own."""
    if len(message) > MOST_BYTES:
        return f"the message is larger than {MOST_BYTES} bytes"
    try:
        types.jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValueError:
        return "the message is no JSON-RPC"
    return None


def refusal(reason: str) -> str:
    """The answer to a message that has no readable id."""
    error = types.ErrorData(code=_PARSE_ERROR, message=reason)
    answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    return answer.model_dump_json(by_alias=True, exclude_unset=True)
