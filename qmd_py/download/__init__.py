"""Fetches and verifies model files; the only network."""

from qmd_py.download.models import Progress, pull, recorded, remove, verify

__all__ = ["Progress", "pull", "recorded", "remove", "verify"]
