"""Ways to stand in a program's way that hold for every user, root included."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sample_trees import SOURCES

_DROP_FROM_BOUNDING_SET = 24  # PR_CAPBSET_DROP
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: why a chmod does not hinder root


def obeying_permissions() -> Callable[[], None] | None:
    """For `preexec_fn`: a process of root that obeys the permissions of files as any other does.

    The capabilities that let root pass every check are dropped before the program
    starts. Skips where the kernel has none to drop and the test would prove nothing.
    """
    if os.geteuid() != 0:
        return None
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        pytest.skip("running as root, and this system cannot drop a capability")

    def drop() -> None:
        for capability in _OVERRIDES:
            prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)

    return drop


def environment(**variables: str) -> dict[str, str]:
    """The environment of a process that runs whence from this tree."""
    return {**os.environ, "PYTHONPATH": str(SOURCES), **variables}


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own with little space. Skips where mounting is not permitted."""
    place.mkdir(parents=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system to fill: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
