"""A process on standby runs commands for others: as they would have run them themselves, and only for their equals."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sample_trees import SOURCES, write
from terminals import on_a_terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says enough about who asks")

#: What a new process says of `search`, after the process on standby has loaded what it says.
NEW_WORDS = ("best files first", "BEST FILES FIRST")
_AGE = re.compile(r"\d+ s ago|\"age\w*\": [\d.]+")


@dataclass
class Place:
    """A copy of the package with a process on standby, and a small project."""

    package: Path
    project: Path
    runtime: Path

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ("WHENCE_SHELL_STANDBY", "CI", "NO_COLOR")}
        ours = {"PYTHONPATH": str(self.package), "XDG_RUNTIME_DIR": str(self.runtime), "PYTHONDONTWRITEBYTECODE": "1"}
        return {**inherited, **ours}

    def run(
        self, *arguments: str, before: Sequence[str] = (), cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = [*before, sys.executable, "-m", "whence", *arguments]
        where = cwd or self.project
        return subprocess.run(
            command, cwd=where, env={**self.environment, **variables}, capture_output=True, text=True, errors="replace", check=False
        )

    def answers(self, before: Sequence[str] = (), **variables: str) -> bool:
        """Whether the process on standby runs a command: only that has the old words."""
        return NEW_WORDS[0] in self.run("search", "--help", before=before, **variables).stdout

    @property
    def sockets(self) -> list[Path]:
        return [*self.runtime.glob("whence/*")]

    @property
    def processes(self) -> list[int]:
        """The process on standby and its forks."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    command = (entry / "cmdline").read_bytes()
                except OSError:  # it has ended
                    continue
                if b"standby" in command and str(self.runtime).encode() in command:
                    found.append(int(entry.name))
        return sorted(found)


def until(condition, seconds: float = 20.0) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Start a process on standby, then change what new processes say."""
    folder = tmp_path_factory.mktemp("standby")
    found = Place(folder / "package", folder / "shop", folder / "run")
    found.runtime.mkdir()
    shutil.copytree(SOURCES / "whence", found.package / "whence", ignore=shutil.ignore_patterns("__pycache__"))
    write(
        found.project, {"src/cart.py": "def total(cart):\n    '''The sum of a cart.'''\n    return sum(cart)\n", "a b/notes.md": "# Zäh\n"}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHENCE_DATA_DIR", str(folder / "data"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        assert found.run("search", "sum of a cart").returncode == 0
        until(lambda: found.sockets)
        changed = found.package / "whence/cli/search.py"
        before = changed.stat()
        changed.write_text(changed.read_text().replace(*NEW_WORDS))
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
        yield found
        for process in found.processes:
            os.kill(process, signal.SIGKILL)


@pytest.fixture(autouse=True)
def own_data_dir() -> None:
    """The data directory is that of the place."""


def test_the_next_command_is_run_by_the_process_on_standby(place):
    assert place.answers()
    assert len(place.processes) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "sum of a cart"),
        ("search", "sum of a cart", "--json", "--set", "shell.links=none"),
        ("search", "zzz qqq xxx", "."),
        ("search", "-e", "[", "."),
        ("search", "x", "--no-such-option"),
        ("search", "x", "nowhere"),
        ("context", "add up a cart", "--budget", "500"),
        ("callers", "total"),
        ("recall", "what did we decide"),
        ("list",),
    ],
    ids=" ".join,
)
def test_an_answer_is_the_same_byte_for_byte(place, arguments):
    theirs, own = place.run(*arguments), place.run(*arguments, WHENCE_SHELL_STANDBY="0")
    assert (theirs.returncode, _AGE.sub("", theirs.stdout), theirs.stderr) == (own.returncode, _AGE.sub("", own.stdout), own.stderr)


def test_it_works_in_the_folder_and_with_the_environment_of_who_asks(place, tmp_path):
    other = write(tmp_path / "other", {"ship.py": "def ship(parcel):\n    return parcel\n"})
    assert "ship.py" in place.run("search", "ship a parcel", cwd=other).stdout
    assert "../src/cart.py" in place.run("search", "sum of a cart", "..", cwd=place.project / "a b").stdout
    assert '"path": "src/cart.py"' in place.run("search", "sum of a cart", "--json", "-k", "1").stdout
    written = place.run("search", "sum of a cart", WHENCE_INDEX_WORKERS="few")
    assert (written.returncode, "index.workers = 'few'" in written.stderr) == (2, True)


def test_text_in_any_encoding_arrives_as_it_was_typed(place):
    for word, encoding in (("Zäh", "utf-8"), ("Z\udce4h", "utf-8:surrogateescape"), ("Zäh", "latin-1:replace")):
        question = ("search", word, "--content", "all")
        theirs, own = (place.run(*question, PYTHONIOENCODING=encoding, WHENCE_SHELL_STANDBY=how) for how in ("10", "0"))
        assert (theirs.returncode, _AGE.sub("", theirs.stdout)) == (own.returncode, _AGE.sub("", own.stdout))


def test_a_pipe_that_closes_early_is_no_error(place):
    command = f"{sys.executable} -m whence search 'sum of a cart' | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=place.project, env=place.environment, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b" ", b"")


def test_a_long_answer_is_paged_on_the_terminal_of_who_asks(place):
    write(place.project, {f"many/cart{number}.py": "def total(cart):\n    return sum(cart)\n" for number in range(12)})
    environment = {**place.environment, "PAGER": "sed s/^/@/", "WHENCE_SHELL_STANDBY": "10"}
    written, code = on_a_terminal("search", "sum of a cart", "-k", "12", cwd=place.project, **environment)
    assert (code, written[:1]) == (0, "@"), written


def test_one_in_a_sandbox_does_its_own_work(place):
    assert not place.answers(before=["setpriv", "--no-new-privs"])
    assert place.answers()


def test_another_environment_of_the_interpreter_has_a_process_of_its_own(place):
    assert not place.answers(PYTHONHASHSEED="7", CI="1")


def test_the_setting_switches_it_off(place):
    assert not place.answers(WHENCE_SHELL_STANDBY="0")


def test_a_folder_that_others_can_enter_is_not_used(place):
    folder = place.runtime / "whence"
    folder.chmod(0o755)
    try:
        assert not place.answers()
    finally:
        folder.chmod(0o700)


def test_one_that_hangs_delays_a_command_and_no_more(place):
    process = place.processes[0]
    os.kill(process, signal.SIGSTOP)
    try:
        assert not place.answers()
    finally:
        os.kill(process, signal.SIGCONT)
    assert place.answers()


def test_half_a_request_and_noise_do_it_no_harm(place):
    for sent in (b"", b"\0\0\0\x05", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place.sockets[0]))
            connection.settimeout(5)
            assert connection.recv(1) == b"!"
            connection.sendall(sent)
    assert place.answers()


def test_ctrl_c_reaches_the_command_and_leaves_nothing_behind(place, tmp_path):
    files = {f"m{number}.py": "".join(f"def f{at}(a, b):\n    return a + b\n" for at in range(400)) for number in range(120)}
    large = write(tmp_path / "large", files)
    command = [sys.executable, "-m", "whence", "search", "add"]
    process = subprocess.Popen(command, cwd=large, env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(place.processes) > 1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=30)[1]
    assert process.returncode == 130
    until(lambda: len(place.processes) == 1)


def test_a_command_that_is_killed_takes_its_fork_with_it(place, tmp_path):
    files = {f"m{number}.py": "".join(f"def f{at}(a, b):\n    return a + b\n" for at in range(400)) for number in range(120)}
    large = write(tmp_path / "large", files)
    command = [sys.executable, "-m", "whence", "search", "add"]
    process = subprocess.Popen(command, cwd=large, env=place.environment, stdout=subprocess.DEVNULL)
    until(lambda: len(place.processes) > 1)
    process.kill()
    process.wait()
    until(lambda: len(place.processes) == 1)


def test_many_ask_at_once(place):
    command = [sys.executable, "-m", "whence", "search", "sum of a cart", "-l"]
    asking = [subprocess.Popen(command, cwd=place.project, env=place.environment, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    assert len({one.communicate(timeout=60)[0] for one in asking}) == 1
    assert {one.returncode for one in asking} == {0}


def test_it_ends_when_the_package_changes(place):
    """The last test: after it there is another process on standby."""
    old = place.processes
    changed = place.package / "whence/cli/search.py"
    changed.write_text(changed.read_text().replace(*reversed(NEW_WORDS)).replace(NEW_WORDS[0], "the best files"))
    assert "the best files" in place.run("search", "--help").stdout
    until(lambda: not set(old) & set(place.processes))
