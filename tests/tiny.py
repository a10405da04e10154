"""Tiny GGUF files, and a model hub on this machine."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import gguf
import numpy as np

COMMIT = "c0ffee" * 6 + "beef"
TENSORS = ("token_embd.weight", "blk.0.attn_q.weight")


def write_gguf(
    path: Path,
    tensors: Sequence[str] = TENSORS,
    *,
    architecture: str = "qwen3",
    pooling: int | None = None,
    weights: int = 64,
) -> Path:
    """Write a file with tensors of a few weights each and a small vocabulary."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_token_list([f"token{number}" for number in range(300)])
    writer.add_token_scores([0.5] * 300)
    writer.add_chat_template("{{ message }}" * 500)
    if pooling is not None:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    for name in tensors:
        writer.add_tensor(name, np.full((2, weights), 0.5, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class TinyHub(ThreadingHTTPServer):
    """Answers as the model hub does, and fails as lines, proxies and hubs do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []
        """The next answers end after so many bytes, without a word."""
        self.page: bytes | None = None
        """A proxy's answer to every GET."""
        self.status: int | None = None
        """A refusal of everything."""
        self.error: str | None = None
        """The hub's own word for it."""
        self.commit: str | None = COMMIT
        self.etag: str | None = None
        self.ranges = True
        self.asked: list[tuple[str, str, str | None]] = []
        """Method, path and range of each request."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    @property
    def gets(self) -> list[str | None]:
        """The ranges of all GETs."""
        return [wanted for method, _, wanted in self.asked if method == "GET"]


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TinyHub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        if self.server.page is not None:
            self._note()
            self._send(200, self.server.page)
        else:
            self._answer()

    def _answer(self) -> None:
        hub, wanted = self.server, self._note()
        data = hub.files.get(self.path.rpartition("/")[2])
        if hub.status or data is None:
            self._send(hub.status or 404, b"", {"X-Error-Code": hub.error})
            return
        begun = int(wanted[6:-1]) if wanted and hub.ranges else 0
        headers = {
            "ETag": f'"{hub.etag or hashlib.sha256(data).hexdigest()}"',
            "X-Repo-Commit": hub.commit,
            "Content-Range": f"bytes {begun}-{len(data) - 1}/{len(data)}" if begun else None,
        }
        self._send(206 if begun else 200, data[begun:], headers)

    def _note(self) -> str | None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.command, self.path, wanted))
        return wanted

    def _send(
        self, status: int, data: bytes, headers: Mapping[str, str | None] = MappingProxyType({})
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            if self.server.cuts:
                data = data[: self.server.cuts.pop(0)]
                self.close_connection = True
            self.wfile.write(data)
