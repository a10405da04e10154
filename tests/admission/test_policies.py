"""Which policy decides, and what is kept of that."""

import json
import os
import stat
from pathlib import Path

import pytest

from qmd_py.cli import tracing
from qmd_py.errors import PolicyUnknown, QmdError
from qmd_py.policies import load
from tests.admission.notes import ASKED, POLICY
from tests.conftest import Qmd


@pytest.fixture
def configured(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = tmp_path / "config.toml"
    settings.write_text(f'policy = "{policy.name}"\n')
    monkeypatch.setenv("QMD_CONFIG", str(settings))
    return settings


@pytest.fixture
def open_policy(tmp_path: Path) -> Path:
    file = tmp_path / "open.toml"
    file.write_text(POLICY.replace('"closed"', '"open"').replace("engineering-read", "hr"))
    return file


@pytest.mark.parametrize("value", ['""', '" "', "[]", "false", "3", "{}"])
def test_a_setting_that_names_no_policy_does_not_mean_none(
    value: str, indexed: Path, configured: Path, qmd: Qmd
) -> None:
    configured.write_text(f"policy = {value}\n")
    for command in (("search", *ASKED), ("get", "closed.md"), ("ls",), ("cite", "closed.md")):
        result = qmd(*command)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("value", ["", " "])
def test_nor_does_an_empty_variable(
    value: str, indexed: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_POLICY", value)
    result = qmd("search", *ASKED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "QMD_POLICY is empty" in result.stderr


def test_no_option_and_no_variable_overrides_the_settings(
    indexed: Path, configured: Path, policy: Path, open_policy: Path, qmd: Qmd,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    for command in (("search", *ASKED), ("get", "closed.md"), ("ls",), ("cite", "closed.md", "x")):
        result = qmd(*command, "--policy", open_policy)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "another policy" in result.stderr
    assert qmd("mcp", "--policy", open_policy).exit_code == 2
    link = tmp_path / "link.toml"
    link.symlink_to(policy)
    assert qmd("search", *ASKED, "--policy", link).exit_code == 0
    monkeypatch.setenv("QMD_POLICY", str(policy))
    assert qmd("search", *ASKED, "--policy", policy).exit_code == 0
    monkeypatch.setenv("QMD_POLICY", str(open_policy))
    assert qmd("search", *ASKED).exit_code == 2


def test_the_variable_decides_before_the_option(
    indexed: Path, policy: Path, open_policy: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_POLICY", str(policy))
    assert qmd("get", "closed.md", "--policy", open_policy).exit_code == 2
    assert qmd("get", "adapter-v3.md", "--policy", policy).exit_code == 0


def test_labels_of_reader_and_note_are_compared_by_what_they_look_like(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('version = "1"\nlabels = [" cafe\u0301  au lait "]\nunlabelled = "open"\n')
    assert load(file).labels == frozenset({"café au lait"})
    file.write_text('version = "1"\nlabels = [" "]\nunlabelled = "open"\n')
    with pytest.raises(PolicyUnknown, match="empty label"):
        load(file)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(PolicyUnknown):
        load(tmp_path / "loop")


def test_a_trace_takes_the_place_of_nothing_but_a_trace(
    indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path, isolated: Path
) -> None:
    asked = ("search", *ASKED, "--policy", policy, "--trace")
    link, pipe, other = (tmp_path / name for name in ("link", "pipe", "other.json"))
    link.symlink_to(indexed / "closed.md")
    os.mkfifo(pipe)
    other.write_text('{"mode": "search"}\n')
    empty = [indexed / "empty.md", isolated / "index.sqlite-journal", tmp_path / "config.toml"]
    for path in empty:
        path.touch()
    files = (indexed / "closed.md", policy, isolated / "index.sqlite", other)
    taken = (*files, *empty, link, pipe, tmp_path)
    held = [path.read_bytes() for path in files]
    for path in taken:
        result = qmd(*asked, path)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), path
    assert [path.read_bytes() for path in files] == held
    assert link.is_symlink()
    assert not any(path.stat().st_size for path in empty)


@pytest.mark.parametrize("before", [None, ""])
def test_a_trace_is_for_the_user_alone(
    before: str | None, indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "trace.json"
    if before is not None:
        file.write_text(before)
        file.chmod(0o644)
    for _ in range(2):
        assert qmd("search", *ASKED, "--policy", policy, "--trace", file).exit_code == 0
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o644)
    assert [path.name for path in tmp_path.glob("*trace*")] == ["trace.json"]


def test_that_no_policy_is_known_is_traced_too(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("labels = 3")
    file = tmp_path / "trace.json"
    for named, digits in ((wrong, 64), (tmp_path / "none.toml", 0)):
        assert qmd("search", *ASKED, "--policy", named, "--trace", file).exit_code == 2
        told = json.loads(file.read_text())
        assert (told["status"], told["reasons"]) == ("stop", ["unknown-policy"])
        assert len(told["policy"]["digest"]) == digits


def test_no_trace_without_room(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "trace", tmp_path / ("x" * 300), Path("a\0b")):
        with pytest.raises(QmdError, match="trace"):
            tracing.write(path, "{}")
    assert not list(tmp_path.glob(".*"))
