"""How `whence ui` begins and ends: one link on standard error, progress while there is no index, and no word on standard output."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_servers import alive, children, surroundings, until
from sample_shop import FILES
from sample_trees import whence, whence_process, write
from ui.opened import opened
from ui.pages import Served, serving

MANY = 200
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#token=([\w-]{32,})")


def started(*words: str, home: Path, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "whence", "ui", "--no-open", *words]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings(home), cwd=cwd
    )


def served_by(process: subprocess.Popen[str]) -> Served:
    assert process.stderr is not None
    line = process.stderr.readline()
    found = LINK.search(line)
    assert found, line + process.stderr.read()
    assert process.stderr.readline() == "whence: Ctrl-C ends it\n"
    return Served(found[1], found[2], process)


@pytest.fixture(scope="module")
def many_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose index takes some seconds."""
    text = "\n".join(f"def retry_{number}(value):\n    return request(value, {number})\n" for number in range(60))
    return write(
        tmp_path_factory.mktemp("many") / "many", {f"lib/part_{number}.py": f"class Part{number}: pass\n\n{text}" for number in range(MANY)}
    )


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_with_all_it_started(asked: signal.Signals, many_files: Path, tmp_path: Path):
    """In the middle of a build, with a page that waits for an answer."""
    process = started(str(many_files), home=tmp_path, cwd=tmp_path)
    one = served_by(process)
    assert one.ask("search", {"query": "retry"})[1]["roots"][0]["progress"]["building"]
    below = until(lambda: children(process.pid))
    with socket.create_connection(("127.0.0.1", int(one.base.rpartition(":")[2]))) as raw:
        raw.sendall(b"POST /api/search HTTP/1.1\r\n")
        began = time.monotonic()
        process.send_signal(asked)
        said, rest = process.communicate(timeout=10)
    assert time.monotonic() - began < 4
    assert process.returncode == 0
    assert (said, rest) == ("", "")
    until(lambda: not [pid for pid in below if alive(pid)], 5)


def test_a_port_that_is_taken_is_told_in_a_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = whence_process("ui", "--no-open", "--port", str(port), str(tmp_path), cwd=tmp_path, **surroundings(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"127.0.0.1:{port}" in done.stderr
    assert "in use" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("words", [["no/such/folder"], ["--port", "99999"], ["--set", "no.such=1"], ["--set", "index.workers=many"]])
def test_what_is_wrong_with_the_command_is_told_before_anything_is_served(words: list[str], tmp_path: Path):
    done = whence("ui", "--no-open", *words, cwd=tmp_path, **surroundings(tmp_path / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "#token" not in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4


def test_every_start_has_a_token_of_its_own(served: Served, project: Path, home: Path):
    with serving(project, home=home) as other:
        assert served.token != other.token
        assert Served(served.base, other.token, served.process).ask("roots")[0] == 401


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two roots, one of them in a folder whose name is odd."""
    place = tmp_path_factory.mktemp("both")
    shop = write(place / "shop", FILES)
    bank = write(place / "bank & <b>", {"vault.py": "def open_vault(total):\n    '''The total of the vault.'''\n    return total\n"})
    with serving(shop, bank, home=place / "home") as one:
        until(lambda: not any(root["progress"]["building"] for root in one.ask("search", {"query": "total"})[1]["roots"]))
        yield one


def test_several_folders_are_searched_together_and_one_by_one(both: Served):
    names = [root["name"] for root in both.ask("roots")[1]["roots"]]
    assert names == ["shop", "bank & <b>"]
    found = both.ask("search", {"query": "total"})[1]
    assert {hit["root"] for hit in found["results"]} == set(names)
    only = both.ask("search", {"query": "total", "root": names[1]})[1]
    assert {(hit["root"], hit["path"]) for hit in only["results"]} == {(names[1], "vault.py")}
    assert both.ask("search", {"query": "total", "root": "nobody"})[0] == 400


def test_one_of_several_that_is_gone_does_not_silence_the_others(both: Served):
    bank = Path(both.ask("roots")[1]["roots"][1]["path"])
    bank.rename(bank.parent / "elsewhere")
    try:
        answer = both.ask("search", {"query": "total"})[1]
        assert answer["results"]
        assert "gone" in answer["roots"][1]["trouble"]
    finally:
        (bank.parent / "elsewhere").rename(bank)
    assert both.ask("search", {"query": "vault"})[1]["roots"][1]["trouble"] == ""


def test_a_repository_without_an_index_is_built_while_the_page_shows_how_far_it_is(browser: Any, many_files: Path, tmp_path: Path):
    with serving(many_files, home=tmp_path) as one, opened(browser, one, "/?q=retry") as page:
        page.wait_for_selector("progress")
        page.wait_for_selector(".results li", timeout=60_000)
        page.wait_for_selector("progress", state="detached", timeout=60_000)
        assert f"{MANY} files" in page.inner_text(".states")
