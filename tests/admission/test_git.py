"""What git proves, and that nobody waits for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qmd_py.git import Repositories
from tests.conftest import Qmd

Git = Callable[..., str]
PROVEN = 'version = "1"\nlabels = ["eng"]\nunlabelled = "closed"\nproofs = ["git"]\n'


def blob(root: Path, file: str) -> str | None:
    with Repositories() as repositories:
        return repositories.blob(str(root), file, (root / file).read_bytes())


def test_the_innermost_repository_is_asked(folder: Path, git: Git) -> None:
    inner = folder / "sub" / "inner"
    inner.mkdir(parents=True)
    (folder / "a.md").write_text("outer\n")
    (inner / "b.md").write_text("inner\n")
    git("init", "-q")
    git("-C", "sub/inner", "init", "-q")
    for where in ("sub/inner", "."):
        git("-C", where, "add", "-A")
        git("-C", where, "commit", "-qm", "x")
    assert blob(folder, "a.md") == git("rev-parse", "HEAD:a.md").strip()
    assert (
        blob(folder, "sub/inner/b.md") == git("-C", "sub/inner", "rev-parse", "HEAD:b.md").strip()
    )
    assert blob(folder / "sub", "inner/b.md") == blob(inner, "b.md")
    (inner / "b.md").write_text("edited\n")
    assert blob(folder, "sub/inner/b.md") is None


@pytest.mark.parametrize(
    "program",
    [
        "",
        "no program at all",
        "#!/no/such/interpreter\n",
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\nwhile read line; do echo x; done\n",
        "#!/bin/sh\nexec sleep 60\n",
        "#!/bin/sh\nexec yes | tr -d '\\n'\n",
    ],
)
def test_a_git_that_does_not_answer_proves_nothing(
    program: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(program)
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=":")
    monkeypatch.setattr("qmd_py.git._PATIENCE", 0.1)
    (folder / ".git").mkdir()
    (folder / "sub" / ".git").mkdir(parents=True)
    for name in ("a.md", "b.md", "sub/c.md"):
        (folder / name).write_text("x\n")
    with Repositories() as repositories:
        found = [repositories.blob(str(folder), n, b"x\n") for n in ("a.md", "b.md", "sub/c.md")]
    assert found == [None, None, None]


def test_git_proves_a_note_that_also_states_a_version(
    folder: Path, git: Git, qmd: Qmd, tmp_path: Path
) -> None:
    policy = tmp_path / "git.toml"
    policy.write_text(PROVEN)
    note = folder / "a.md"
    note.write_text("---\nversion: 2\naccess: eng\n---\n# Gnu\n\ngnu words\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    qmd("index", folder, "--no-embed")
    assert qmd("search", "gnu", "--policy", policy).exit_code == 0
    file = tmp_path / "claims.md"
    made = qmd("cite", "a.md", "Gnu", "--claim", "x", "--policy", policy)
    assert "(git)" in made.stdout
    file.write_text(made.stdout)
    assert qmd("cite", "--check", file).exit_code == 0
    assert qmd("cite", "--check", file, "--policy", policy).exit_code == 0
    note.write_text(note.read_text() + "more\n")
    assert "revision-changed" in qmd("cite", "--check", file).stdout


def test_only_so_many_are_asked_at_a_time(folder: Path, git: Git) -> None:
    with Repositories() as repositories:
        for at in range(20):
            (folder / str(at) / ".git").mkdir(parents=True)
            assert repositories.blob(str(folder), f"{at}/a.md", b"") is None
            assert len(repositories._open) <= 16
