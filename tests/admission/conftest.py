"""A folder of such notes, indexed, and a policy."""

from pathlib import Path

import pytest

from tests.admission.notes import NOTES, POLICY
from tests.conftest import Qmd


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY + 'proofs = ["front-matter"]\n')
    return file


@pytest.fixture
def indexed(folder: Path, qmd: Qmd) -> Path:
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert qmd("index", folder, "--no-embed").exit_code == 0
    return folder
