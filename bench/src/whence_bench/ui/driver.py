"""A running `whence ui` and a real Chromium in front of it, for `whence bench ui`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.core.errors import StorageError, UsageError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: As Debian, Ubuntu, Fedora and Google call it.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: A browser on a machine that nobody looks at, which calls nobody.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE, PHONE = (1280, 900), (390, 844)
MILLISECONDS_TO_WAIT = 30_000


@dataclass(frozen=True, slots=True)
class Site:
    """Where the page is served, and the token that it asks for."""

    base: str
    token: str

    @property
    def link(self) -> str:
        """What a person would open."""
        return f"{self.base}/#token={self.token}"

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask the API as a program does."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.base}/api/{path}", data, headers), timeout=60) as response:  # noqa: S310  -- our own server
            found: dict[str, Any] = json.loads(response.read())
        return found


@contextmanager
def serving(root: Path, environment: Mapping[str, str]) -> Iterator[Site]:
    """`whence ui` for a folder, in a process of its own."""
    command = [sys.executable, "-m", "whence", "ui", str(root), "--no-open"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=dict(environment), cwd=root) as process:
        line = process.stderr.readline() if process.stderr is not None else ""
        found = re.search(r"(http://\S+)/#token=([\w-]+)", line)
        try:
            if found is None:
                raise StorageError(f"the page is not served: {line.strip()}")
            yield Site(found[1], found[2])
        finally:
            process.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        raise UsageError("there is no Chromium to measure the page in", hint="install it (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  -- for this alone, and not installed with the package
    except ImportError as error:
        raise UsageError("playwright is not installed, which drives the browser", hint="pip install playwright") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(browser: Browser, size: tuple[int, int] = WIDE, *, dark: bool = False) -> Iterator[Page]:
    """A page in a profile that knows nothing: no cache, no token."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    context.set_default_timeout(MILLISECONDS_TO_WAIT)
    try:
        yield context.new_page()
    finally:
        context.close()


def show(page: Page, site: Site, address: str) -> None:
    """Open a view by its address, and wait until it is there."""
    page.goto(f"{site.base}{address}#token={site.token}")
    page.wait_for_selector("#content main:not(.wait)")
    page.wait_for_load_state("networkidle")
