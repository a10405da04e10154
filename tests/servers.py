"""A server with models of OpenAI's shape, and all that can be wrong with one."""

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes import FakeEmbedder

Body = dict[str, Any]


class TinyServer(ThreadingHTTPServer):
    """Embeds as the fake embedder does, writes one line, and scores by shared words."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.asked: list[tuple[str, Body, dict[str, str]]] = []
        """Path, body and headers of each request."""
        self.spoil: Callable[[Any], Any] = lambda answer: answer
        """What is done to every answer before it is sent."""
        self.statuses: list[int] = []
        """Of the next answers; 200 afterwards."""
        self.raw: bytes | None = None
        """Sent in place of JSON."""
        self.headers: dict[str, str] = {}
        self.drip: float | None = None
        """Seconds between single bytes."""
        self.written = "lex: purchase automobile\nvec: how to purchase an automobile\n"
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may hang up in the midst of an answer; a traceback would be taken for its words."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def answer(self, path: str, body: Body) -> Any:
        if path.endswith("/embeddings"):
            rows = FakeEmbedder().queries(body["input"])
            found = [{"index": at, "embedding": row.tolist()} for at, row in enumerate(rows)]
            return {"object": "list", "data": found}
        if path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": self.written}
            return {"choices": [{"message": message, "finish_reason": "stop"}]}
        texts = body.get("documents") or body["texts"]
        field = "score" if "texts" in body else "relevance_score"
        wanted = set(body["query"].lower().split())
        scores = [len(wanted & set(text.lower().split())) / len(wanted) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: -scores[at])
        found = [{"index": at, field: scores[at]} for at in order]
        return found if "texts" in body else {"results": found}


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TinyServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append((self.path, body, dict(self.headers)))
        status = server.statuses.pop(0) if server.statuses else 200
        content = server.raw
        if content is None:
            found = server.spoil(server.answer(self.path, body))
            content = json.dumps(found).encode()
        self.send_response(status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            if server.drip is None:
                self.wfile.write(content)
                return
            for at in range(len(content)):
                if server.stopping.wait(server.drip):
                    break
                self.wfile.write(content[at : at + 1])
            self.close_connection = True
        except OSError:
            self.close_connection = True  # the other side has had enough
