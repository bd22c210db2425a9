"""A real Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: As Debian, Ubuntu, Fedora and Google call it; the one without a window first, for it takes a third of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: A browser on a machine that nobody looks at, which calls nobody.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)


def chromium() -> str | None:
    """The browser of this machine."""
    return os.environ.get("TEST_BROWSER") or next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def started() -> Iterator[Any]:
    """A browser; without one the tests that need it are skipped and say so, unless one is required."""
    path = chromium()
    if path is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("there is no Chromium, and REQUIRE_BROWSER asks for one")
        pytest.skip("there is no Chromium on this machine (make browser installs Debian's)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()
