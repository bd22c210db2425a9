"""Language servers: which there are, finding an installed one, and talking to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.core.errors import WhenceError
from whence.core.settings import toml_reader

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class ServerKind:
    """Interchangeable servers for some languages, the best first."""

    name: str
    languages: Sequence[str]
    commands: Sequence[Sequence[str]] = ()
    install: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # for initialization


_TABLE = toml_reader().loads(Path(__file__).with_name("servers.toml").read_text("utf-8"))
SERVERS = tuple(ServerKind(**one) for one in _TABLE["server"])
_PACKAGE_FILES = ("/__init__.py", "/__init__.pyi")
_MOST_ROOTS = 50
_HEADER_FOLDERS = ("include", "src", "lib")
_PROTOCOL_NAMES = {"tsx": "typescriptreact", "bash": "shellscript"}


def server_kind(language: str) -> ServerKind:
    """The servers for a language; for one that is not in the table, a kind without commands."""
    return next((kind for kind in SERVERS if language == kind.name or language in kind.languages), ServerKind(language, (language,)))


def language_id(path: str, language: str) -> str:
    """What the protocol calls the language of a file."""
    return "javascriptreact" if path.endswith(".jsx") else _PROTOCOL_NAMES.get(language, language)


def find_server(kind: ServerKind, root: Path, chosen: str = "") -> list[str]:
    """The command line of a server: the chosen one, or the first that is installed."""
    if chosen:
        return _split(chosen)
    for name, *arguments in kind.commands:
        # Pip installs it next to the interpreter, if whence has its own environment.
        for place in (_search_path(), str(Path(sys.executable).parent)):
            found = shutil.which(name, path=place)
            if found is not None:
                return [found, *arguments]
    for name, *arguments in kind.commands:  # a program of the repository is only run if the user names it
        if brought := shutil.which(name, path=str(root / "node_modules" / ".bin")):
            hint = f"if you trust the one in the repository, name it: --server {shlex.quote(shlex.join([brought, *arguments]))}"
            raise ServerError(f"there is no language server for {kind.name} but the repository's own", hint=hint)
    hint = kind.install or f"give one with --server, and --lang {kind.name}"
    raise ServerError(f"there is no language server for {kind.name}", hint=hint)


def start_configuration(kind: ServerKind, paths: Iterable[str]) -> dict[str, Any]:
    """The configuration of a server; one for Python is told where packages are, which come before installed ones of their name."""
    if kind.name != "python":
        return dict(kind.configuration)
    packages = {path.rpartition("/")[0] for path in paths if path.endswith(_PACKAGE_FILES)}
    roots = sorted(
        {parent for one in packages if (parent := one.rpartition("/")[0]) and parent not in packages}, key=lambda one: (one.count("/"), one)
    )
    own = {"extraPaths": roots[:_MOST_ROOTS]}
    return {
        name: {**part, "analysis": {**part.get("analysis", {}), **own}} if isinstance(part, Mapping) else part
        for name, part in kind.configuration.items()
    }


def start_options(kind: ServerKind, root: Path) -> dict[str, Any]:
    """The options a server starts with; one for C is told where headers are, in case no compilation database says so."""
    if "c" not in kind.languages:
        return dict(kind.options)
    places = [root, *(place for name in _HEADER_FOLDERS if (place := root / name).is_dir())]
    return {**kind.options, "fallbackFlags": [f"-I{place}" for place in places]}


def _search_path() -> str:
    """The absolute folders of PATH: `.` would be a folder of the repository, which the user did not choose."""
    return os.pathsep.join(one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(one).is_absolute())


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ServerError(f"{command!r} is no command: {error}") from error
    if not words:
        raise ServerError("the command of the language server is empty")
    found = shutil.which(words[0], path=_search_path())
    if found is None:
        raise ServerError(f"{words[0]}: no such program")
    return [str(Path(found).absolute()), *words[1:]]  # absolute: it is started in the root, which may have another program of that name


#: Limits of a header and a message.
MOST_HEADER_BYTES = 4_096
MOST_MESSAGE_BYTES = 64_000_000
#: Requests at once: enough to keep a server busy.
IN_FLIGHT = 24
_CHUNK = 1 << 16
_LENGTH = re.compile(rb"(?:^|\r\n)content-length:[ \t]*(\d{1,12})[ \t]*(?:\r\n|$)", re.IGNORECASE)
_SHOWN = 60
_NO_SUCH_METHOD = -32601


class ServerError(WhenceError):
    """A language server cannot be started, ended, hangs, or does not speak the protocol."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait for the first answer, for each later one, and for the server to exit."""

    start: float = 120.0
    answer: float = 60.0
    shutdown: float = 2.0


@dataclass(slots=True)
class _PendingRequests:
    """Questions under way, each by its number, and what was answered."""

    waiting: dict[int, int] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)


class LanguageServer:
    """A running server. A context manager, which ends its process and all that it started."""

    def __init__(
        self,
        command: Sequence[str],
        root: Path,
        *,
        configuration: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        patience: Timeouts | None = None,
    ) -> None:
        self.name = Path(command[0]).name
        self._configuration = configuration or {}
        self._patience = patience or Timeouts()
        self._incoming, self._outgoing = bytearray(), bytearray()
        self._asked, self._number, self._broken = _PendingRequests(), 0, False
        try:
            self._process = subprocess.Popen(
                list(command), cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ServerError(f"{self.name} cannot be started: {reason}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        try:
            self._initialize(root, options or {})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _initialize(self, root: Path, options: Mapping[str, Any]) -> None:
        address = root.as_uri()
        welcome = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootPath": str(root),
                "rootUri": address,
                "workspaceFolders": [{"uri": address, "name": root.name}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "textDocument": {"definition": {"linkSupport": True}, "synchronization": {}},
                    "workspace": {"configuration": True, "workspaceFolders": True},
                },
                "initializationOptions": options,
            },
            within=self._patience.start,
        )
        if not isinstance(welcome, dict):
            raise self._failure("refused to start")
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": self._configuration})

    # Speaking.
    def notify(self, method: str, params: Any) -> None:
        """Send a notification, which has no answer."""
        self._say({"method": method, "params": params})

    def request(self, method: str, params: Any, *, within: float | None = None) -> Any:
        """Send a request; the answer, or None if the server refuses."""
        return self.request_all(method, [params], within=within)[0]

    def request_all(self, method: str, questions: Iterable[Any], *, within: float | None = None) -> list[Any]:
        """Send many requests, several at a time; the answers in order, None for those that the server refuses."""
        patience = self._patience.answer if within is None else within
        self._asked = asked = _PendingRequests()
        upcoming = enumerate(questions)
        count, heard, deadline = 0, 0, time.monotonic() + patience
        while True:
            while len(asked.waiting) < IN_FLIGHT and (following := next(upcoming, None)) is not None:
                self._number += 1
                asked.waiting[self._number] = following[0]
                self._say({"id": self._number, "method": method, "params": following[1]})
                count += 1
            if not asked.waiting:
                return [asked.answers.get(row) for row in range(count)]
            self._exchange(deadline, patience)
            if len(asked.answers) > heard:  # only an answer extends the deadline
                heard, deadline = len(asked.answers), time.monotonic() + patience

    def _say(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if len(self._outgoing) + len(body) > MOST_MESSAGE_BYTES:
            raise self._failure("does not read what it is told")
        if not self._outgoing:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        self._outgoing += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    # Listening.
    def _exchange(self, deadline: float, patience: float) -> None:
        """Write and read what is ready, waiting until the deadline at most."""
        ready = self._selector.select(max(0.0, deadline - time.monotonic()))
        if time.monotonic() >= deadline:
            raise self._failure(f"gave no answer within {patience:g} s")
        for key, _ in ready:
            if key.fd == self._in:
                self._write()
            else:
                self._read()

    def _write(self) -> None:
        try:
            written = os.write(self._in, bytes(self._outgoing[:_CHUNK]))
        except BlockingIOError:
            return
        except OSError as error:
            raise self._failure("ended") from error
        del self._outgoing[:written]
        if not self._outgoing:
            self._selector.unregister(self._in)

    def _read(self) -> None:
        try:
            data = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            raise self._failure("ended")
        self._incoming += data
        while (message := self._next_message()) is not None:
            self._take(message)

    def _next_message(self) -> dict[str, Any] | None:
        end = self._incoming.find(b"\r\n\r\n", 0, MOST_HEADER_BYTES)
        if end < 0:
            if len(self._incoming) >= MOST_HEADER_BYTES:
                raise self._nonsense()
            return None
        found = _LENGTH.search(bytes(self._incoming[:end]))
        if found is None or int(found[1]) > MOST_MESSAGE_BYTES:
            raise self._nonsense()
        start, stop = end + 4, end + 4 + int(found[1])
        if len(self._incoming) < stop:
            return None
        body = bytes(self._incoming[start:stop])
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._nonsense(body) from error
        if not isinstance(message, dict):
            raise self._nonsense(body)
        del self._incoming[:stop]
        return message

    def _take(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if "method" in message:
            if number is not None:
                self._serve(number, message["method"], message.get("params"))
        elif isinstance(number, int) and number in self._asked.waiting:
            self._asked.answers[self._asked.waiting.pop(number)] = message.get("result")

    def _serve(self, number: Any, method: Any, params: Any) -> None:
        """Answer a request of the server: its configuration, and yes to what it registers."""
        if method == "workspace/configuration":
            items = params.get("items") if isinstance(params, dict) else None
            sections = [item.get("section") if isinstance(item, dict) else None for item in items] if isinstance(items, list) else []
            self._say({"id": number, "result": [self._section(one) for one in sections]})
        elif method in ("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"):
            self._say({"id": number, "result": None})
        else:
            self._say({"id": number, "error": {"code": _NO_SUCH_METHOD, "message": "not supported"}})

    def _section(self, name: Any) -> Any:
        found: Any = self._configuration
        for step in name.split(".") if isinstance(name, str) and name else []:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    # Ending.
    def _failure(self, what: str) -> ServerError:
        self._broken = True
        return ServerError(f"the language server {self.name} {what}")

    def _nonsense(self, said: bytes = b"") -> ServerError:
        text = (said or bytes(self._incoming[:_SHOWN])).decode("utf-8", "replace")
        return self._failure(f"does not speak the protocol: it said {text[:_SHOWN]!a}")

    def close(self) -> None:
        """Ask the server to exit, then end it and all that it started."""
        try:
            if not self._broken:
                self._part()
        except ServerError:
            pass  # it is ended below, whatever it does
        finally:
            # Before waiting for the process: until then its number cannot belong to another.
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._broken = True
            self._selector.close()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _part(self) -> None:
        patience = self._patience.shutdown
        self.request("shutdown", None, within=patience)
        self.notify("exit", None)
        deadline = time.monotonic() + patience
        while True:  # until the end of its output, which is trouble in any other place
            self._exchange(deadline, patience)
