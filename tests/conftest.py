"""Shared by all tests: golden files, a data directory of their own, and one browser."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import campaigns
from browsers import started
from campaigns import examples

Golden = Callable[[Path, str], None]

# Started in the background, as by nohup, a process ignores Ctrl-C and all that it starts does too: those are tested with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# No deadline: how long an example takes says more about the machine than about the code. `make test` tries the same examples
# every time, so that a failure is due to a change; `make nightly` tries more of them, and new ones.
settings.register_profile("test", deadline=None, derandomize=True, max_examples=examples(100))
settings.register_profile("nightly", deadline=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing with them")
    parser.addoption("--nightly", action="store_true", help="run campaigns in full, and the tests marked `nightly`")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--nightly"):
        os.environ[campaigns.VARIABLE] = "1"
    settings.load_profile("nightly" if campaigns.is_nightly() else "test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `nightly` to the night."""
    if not campaigns.is_nightly():
        left_out = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


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


#: A process on standby would outlast the test that starts it: tests/cli/test_standby.py ends its own.
os.environ["WHENCE_SHELL_STANDBY"] = "0"
#: Grammars are unpacked once for all tests, not in the data folder of each.
os.environ.setdefault("SEMBLE_GRAMMARS_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"whence-test-grammars-{os.geteuid()}"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory for all tests of a file that is marked `shared_data`: each tree has an index of its own in it."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def own_data_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the user's indexes or settings."""
    if request.node.get_closest_marker("shared_data"):
        directory: Path = request.getfixturevalue("data")
    else:  # not mktemp, and not beside the tests' folders: it lists all that is there to count them
        place = tmp_path_factory.getbasetemp() / "data"
        place.mkdir(exist_ok=True)
        directory = Path(tempfile.mkdtemp(dir=place))
    monkeypatch.setenv("WHENCE_DATA_DIR", str(directory))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory / "config"))
    return directory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium for the tests of one file: as long as playwright drives one, its thread can run no other event loop."""
    with started() as found:
        yield found
