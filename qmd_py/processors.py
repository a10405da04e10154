"""How much of the machine this process may keep busy."""

import os
from pathlib import Path


def threads() -> int:
    """How many threads this process may keep busy: processors allowed, within its CPU quota.

    More threads than the quota allows are stopped by turns, and each waits for the others.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(allowed or 1, _quota()))


def _quota() -> int:
    """Whole processors that the control group grants; a large number when it sets no limit."""
    for file, separator in (
        (Path("/sys/fs/cgroup/cpu.max"), " "),
        (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), None),
    ):
        try:
            text = file.read_text()
            period = (
                text.split(separator)[1]
                if separator
                else file.with_name("cpu.cfs_period_us").read_text()
            )
            quota = text.split(separator)[0] if separator else text
            if quota.strip() not in {"max", "-1"}:
                return max(1, int(quota) // int(period))
        except (OSError, ValueError, IndexError):
            continue  # another kind of system, or one without control groups
    return 1 << 20
