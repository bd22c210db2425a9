"""A real server and a real browser: `whence ui` in a process of its own, Chromium driven by playwright."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_servers import surroundings

SECONDS_TO_START = 30
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
#: axe's findings that count (its own words for how bad they are).
BAD = ("serious", "critical")


def looks(first: Any, *others: Any) -> list[Any]:
    """Ways to open a page: the first always, the others at night."""
    return [first, *(pytest.param(one, marks=pytest.mark.nightly) for one in others)]


@dataclass(frozen=True, slots=True)
class Served:
    """A running `whence ui`."""

    base: str  # http://127.0.0.1:PORT
    token: str
    process: subprocess.Popen[str]

    @property
    def link(self) -> str:
        return f"{self.base}/#token={self.token}"

    def ask(self, path: str, body: Any = None, *, headers: dict[str, str] | None = None, method: str | None = None) -> tuple[int, Any]:
        """Ask the API as a program does: the status, and what was said."""
        given = {"authorization": f"Bearer {self.token}", "content-type": "application/json"} | (headers or {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/api/{path}", data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


@contextmanager
def serving(*folders: Path, home: Path, more: tuple[str, ...] = ()) -> Iterator[Served]:
    """`whence ui` for some folders, with data, settings and notes below `home`."""
    command = [sys.executable, "-m", "whence", "ui", *map(str, folders), "--no-open", *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings(home), cwd=folders[0]) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"(http://\S+)/#token=([\w-]+)", line)
        assert found, line + process.stderr.read()
        try:
            yield Served(found[1], found[2], process)
        finally:
            process.kill()
            process.stderr.close()
