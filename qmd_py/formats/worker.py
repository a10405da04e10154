"""The process that converts one document: bytes in on stdin, JSON with Markdown out on stdout.

What is in a document comes from anywhere, and the libraries that read it are large. So each is
read apart, with bounded memory, time and output, and may neither use the network, nor start
programs, nor write files.
"""

import contextlib
import io
import json
import os
import resource
import sys
import zipfile

_MEMORY = 2 << 30  # bytes of address space
_UNPACKED = 200_000_000  # bytes of all members of a zip file together
_FORBIDDEN = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen", "os.system",
    "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir",
)  # fmt: skip

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Unfit(Exception):  # noqa: N818 — reads as what happened
    """The document cannot be converted, for a reason worth telling."""


def main() -> None:
    """Convert what comes on stdin, as the arguments say: kind, suffix, longest text, seconds."""
    kind, suffix, limit, seconds = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    content = sys.stdin.buffer.read()
    _confine(int(seconds))
    text, problem = "", None
    try:
        # half a surrogate pair can stand in a document, but not in an index
        text = _convert(kind, suffix, content, int(limit)).encode("utf-8", "replace").decode()
    except MemoryError:
        problem = "cannot be converted: it needs too much memory"
    except Unfit as error:
        problem = f"cannot be converted: {error}"
    except Exception as error:  # noqa: BLE001 — a damaged document raises whatever it likes
        words = " ".join(str(error).split())[:200]
        problem = f"cannot be converted: {type(error).__name__}{words and f' ({words})'}"
    if not problem and not text.strip():
        problem = "holds no text: is it a scan?"
    answer.write(json.dumps({"text": text, "problem": problem}).encode())
    answer.close()


def _convert(kind: str, suffix: str, content: bytes, limit: int) -> str:
    if kind == "pdf":
        from qmd_py.formats import pdf

        text = pdf.to_markdown(content, limit)
    else:
        from qmd_py.formats import office

        if suffix in {".docx", ".pptx", ".epub"}:
            _check_archive(content)
        text = office.to_markdown(content, suffix)
    if len(text) > limit:
        raise Unfit(f"its text is longer than {limit} characters: raise max_bytes to read it")
    return text


def _check_archive(content: bytes) -> None:
    """Zip files say beforehand how much they unpack to, and no more than that is unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > _UNPACKED:
        raise Unfit(f"it unpacks to {size} bytes")


def _confine(seconds: int) -> None:
    limits = {
        resource.RLIMIT_AS: _MEMORY,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # macOS knows some of them by name only
            resource.setrlimit(what, (most, most))
    sys.addaudithook(_refuse)


def _refuse(event: str, about: tuple[object, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"a document may not cause {event}")
    if event == "open" and isinstance(about[2], int) and about[2] & _WRITING:
        raise PermissionError(f"a document may not cause the writing of {about[0]}")


if __name__ == "__main__":
    main()
