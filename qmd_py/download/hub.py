"""A file from the model hub, whole or not at all; an interrupted transfer goes on where it stopped.

The client's own download begins anew in each process, so the bytes are moved here.
"""

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from qmd_py.catalogue import Hub, ModelSpec
from qmd_py.errors import DownloadFailed

_TRIES = 5  # in a row without a single new byte
_PAUSE = 1.0  # seconds between them; a line that was cut is often back by then
_TIMEOUT = 30.0  # seconds without an answer
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(
    spec: ModelSpec, source: Hub, file: Path, hub: str | None, progress: Callable[[int, int], None]
) -> tuple[Path, str | None]:
    """Fetch what is missing of a file; gives the whole, unchecked, and the checksum the hub names.

    Raises:
        DownloadFailed: the hub cannot be reached, or has no such file.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url

    # else the client asks the hub for a list of agents, and tells it which of them runs this
    constants.HF_HUB_DISABLE_TELEMETRY = True
    with _explained(spec, hub or constants.ENDPOINT):
        url = hf_hub_url(source.repo, source.file, revision=source.revision, endpoint=hub)
        about = get_hf_file_metadata(url, endpoint=hub, timeout=_TIMEOUT)
        if not about.commit_hash or not about.etag:
            raise DownloadFailed(
                f"{hub or constants.ENDPOINT} does not answer as a model hub does: is a proxy or "
                "a login page in between?"
            )
        # what is appended to must be of one commit, even when a branch moves on between two runs
        version = hashlib.sha256(f"{about.commit_hash} {about.etag}".encode()).hexdigest()[:16]
        part = file.with_name(f"{file.name}.{version}.part")
        for other in parts(file):
            if other != part:
                other.unlink()
        url = hf_hub_url(source.repo, source.file, revision=about.commit_hash, endpoint=hub)
        _stream(url, part, about.size, progress)
    return part, about.etag if _SHA256.fullmatch(about.etag) else None


def parts(file: Path) -> list[Path]:
    """What interrupted pulls of a file have left."""
    return list(file.parent.glob(f"{file.name}.*part"))


def _stream(url: str, part: Path, size: int | None, progress: Callable[[int, int], None]) -> None:
    """Append to a part file until it is whole; a line that is cut is taken up again."""
    import httpx2

    part.touch()
    failures = 0
    while size is None or _length(part) != size:
        before = _length(part)
        try:
            _append(url, part, size, progress)
        except httpx2.TransportError:
            failures = 0 if _length(part) > before else failures + 1
            if failures == _TRIES:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _append(url: str, part: Path, size: int | None, progress: Callable[[int, int], None]) -> None:
    from huggingface_hub import get_session
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # loaded when asked for
        build_hf_headers,
        hf_raise_for_status,
    )

    begun = _length(part)
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if begun:
        headers["Range"] = f"bytes={begun}-"
    with get_session().stream("GET", url, headers=headers, timeout=_TIMEOUT) as answer:
        if answer.status_code == 416:  # longer than the file is: of no use
            part.unlink()
        hf_raise_for_status(answer)
        with part.open("ab" if answer.status_code == 206 else "wb") as out:
            for piece in answer.iter_bytes():
                out.write(piece)
                progress(out.tell(), size or 0)


def _length(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextlib.contextmanager
def _explained(spec: ModelSpec, hub: str) -> Iterator[None]:
    """Turn what the hub's client raises into words.

    Raises:
        DownloadFailed: always when the hub's client raised.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    host = hub.partition("://")[2].partition("/")[0].rpartition("@")[2] or hub
    try:
        yield
    except HfHubHTTPError as error:
        raise DownloadFailed(_refusal(spec, host, error.response.status_code, error)) from error
    except OfflineModeIsEnabled as error:
        raise DownloadFailed(
            f"cannot fetch {spec.name}, HF_HUB_OFFLINE is set: unset it for this command"
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise DownloadFailed(
            f"cannot reach {host} for {spec.name} ({str(error) or type(error).__name__}): go online "
            "and pull again, it goes on where it stopped; a file from elsewhere works by its path"
        ) from error


def _refusal(spec: ModelSpec, host: str, status: int, error: Exception) -> str:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError) or (
        status in {401, 403} and not isinstance(error, RepositoryNotFoundError)
    ):
        return (
            f"{host} does not give {spec.name} to everybody: agree to its terms there, set HF_TOKEN"
        )
    if status == 404 or isinstance(error, RepositoryNotFoundError):
        return f"{host} has no {spec.name} where it should be: correct its source in a models.toml"
    return f"{host} answered {status} for {spec.name}: try again later"
