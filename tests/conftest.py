"""Shared by all tests: golden files, a data directory of their own, and one browser."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from browsers import started

Golden = Callable[[Path, str], None]

# Started in the background, as by nohup, a process ignores Ctrl-C and all that it starts does too: those are tested with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# How long an example takes says more of the machine than of the code: what must be quick has a test of its own. The same
# examples every time, so that a change is what makes a test fail; new ones are looked for by `whence bench faults fuzz`.
settings.register_profile("any machine", deadline=None, derandomize=True)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare text with a golden file, or rewrite the file when asked to."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing; run pytest --update-golden and read it"
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture(autouse=True)
def own_data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the user's indexes or settings."""
    directory = tmp_path_factory.mktemp("whence-data")
    monkeypatch.setenv("WHENCE_DATA_DIR", str(directory))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory / "config"))
    return directory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium for the tests of one file: as long as playwright drives one, its thread can run no other event loop."""
    with started() as found:
        yield found
