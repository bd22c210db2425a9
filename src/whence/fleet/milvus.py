"""Connecting to Milvus, and turning its exceptions into one line that says what to do."""

from __future__ import annotations

import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from whence.core.errors import FleetError
from whence.core.settings import FleetSettings, toml_reader

#: Milvus's own error code.
_RATE_LIMIT = 8
#: Characters of the engine's message that an error repeats.
_MAX_QUOTED = 160
_TABLE = toml_reader().loads(Path(__file__).with_name("errors.toml").read_text("utf-8"))


def fleet_error(error: BaseException, settings: FleetSettings) -> FleetError:
    """The error to show for an exception of pymilvus."""
    if isinstance(error, FleetError):
        return error
    messages, status, code = list(_messages(error)), _status(error), _code(error)
    found = next(one for one in _TABLE["error"] if _fits(one, status, code, " ".join(messages).lower()))
    cause = _shortened(messages[-1])
    cause = cause.replace(settings.token, "(token)") if settings.token else cause
    text = found["message"].format(cause=cause, seconds=settings.timeout, prefix=settings.prefix)
    return FleetError(f"the fleet engine at {settings.address} {text}", hint=found["hint"])


def _fits(one: dict[str, Any], status: str, code: int, messages: str) -> bool:
    by_status, by_words = status in one.get("status", ()), any(word in messages for word in one.get("words", ()))
    return by_status and by_words if one.get("both") else by_status or by_words or code in one.get("codes", ())


def is_rate_limited(error: BaseException) -> bool:
    """Whether the call may be repeated a little later."""
    return any(_code(one) == _RATE_LIMIT for one in _chain(error)) or "rate limit" in " ".join(_messages(error)).lower()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and its causes."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _status(error: BaseException) -> str:
    """The name of gRPC's status, if the call failed there."""
    for one in _chain(error):
        code = getattr(one, "code", None)
        code = code() if callable(code) else code
        if (name := getattr(code, "name", "")) and name != "UNEXPECTED_ERROR":
            return str(name)
    return ""


def _code(error: BaseException) -> int:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else -1


def _messages(error: BaseException) -> Iterator[str]:
    for one in _chain(error):
        details = getattr(one, "details", None)
        yield str(details() if callable(details) else getattr(one, "message", "") or one)


def _shortened(message: str) -> str:
    """A message on one line, in plain words where we have them."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in message).split())
    cause = next((plain for words, plain in _TABLE["plainly"].items() if words in line), line)
    return cause if len(cause) <= _MAX_QUOTED else f"{cause[:_MAX_QUOTED]}..."


#: What to install.
INSTALL = "pip install 'whence[fleet]'"
INSTALL_EMBEDDED = "pip install milvus-lite==2.5.1 'setuptools<81'"
#: Environment during the import: no .env file is read, and gRPC is silent.
_WHILE_IMPORTED = {"PYTHON_DOTENV_DISABLED": "1", "GRPC_VERBOSITY": "NONE"}
#: No keep-alive pings: pymilvus would ping every ten seconds, and servers close such connections after half a minute.
_NO_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
#: File names that milvus-lite accepts.
_DATABASE = re.compile(r"[A-Za-z0-9._-]{1,36}")
#: Starts a program with its output discarded.
_SILENTLY = ("/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh")


def import_pymilvus() -> ModuleType:
    """Import pymilvus, without its noise."""
    with _quiet_import():
        try:
            import pymilvus  # noqa: PLC0415  -- takes most of a second
        except ModuleNotFoundError as error:
            raise FleetError(f"the fleet needs the package {error.name}", hint=INSTALL) from error
    for name in ("pymilvus", "pymilvus.milvus_client"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    found: ModuleType = pymilvus
    return found


@contextmanager
def _quiet_import() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _WHILE_IMPORTED}
    os.environ.update(_WHILE_IMPORTED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def connect(settings: FleetSettings) -> tuple[Any, Callable[[], None]]:
    """A connected client, and the function that closes it."""
    pymilvus = import_pymilvus()
    address = settings.address
    release: Callable[[], None] = lambda: None  # noqa: E731  -- a server needs none
    if address.endswith(".db"):
        address, release = _open_database(Path(address))
    options: dict[str, Any] = {"grpc_options": _NO_PINGS}
    if settings.ca:
        options["server_pem_path"] = _certificates(settings.ca)
    try:
        # dedicated: pymilvus shares connections by address and token, whatever their certificates
        client = pymilvus.MilvusClient(uri=address, token=settings.token, timeout=settings.timeout, dedicated=True, **options)
    except Exception as error:
        release()
        raise fleet_error(error, settings) from error
    client._get_connection()._on_rpc_error = _raise  # noqa: SLF001  -- it would retry beyond the time-out

    def close() -> None:
        client.close()
        release()

    return client, close


def _raise(error: Exception) -> NoReturn:
    raise error


def _certificates(ca: str) -> str:
    path = Path(ca).expanduser()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FleetError(f"{path}: cannot read the certificates of fleet.ca: {error.strerror}") from error
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise FleetError(f"{path}: no certificate in the file of fleet.ca", hint="expected a PEM file")
    return str(path)


class _Databases:
    """Database files that this process has open: one milvus-lite process each, stopped when its last user is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, tuple[Any, int]] = {}

    def acquire(self, path: Path) -> str:
        """Start the process of a file if needed; returns its socket."""
        with self._lock:
            server, users = self._open.get(path) or (_start(path), 0)
            self._open[path] = (server, users + 1)
            return str(server.uds_path)

    def release(self, path: Path) -> None:
        """Drop one user."""
        with self._lock:
            server, users = self._open.pop(path)
            if users > 1:
                self._open[path] = (server, users - 1)
            else:
                server.stop()


_databases = _Databases()


def _open_database(path: Path) -> tuple[str, Callable[[], None]]:
    path = path.expanduser().resolve()
    if not _DATABASE.fullmatch(path.name):
        raise FleetError(
            f"{path.name} is not a valid name for a milvus-lite file", hint="at most 36 letters, digits, dots, dashes and underscores"
        )
    if not path.parent.is_dir():
        raise FleetError(f"no such folder: {path.parent}", hint="fleet.address must name a file in an existing folder")
    return _databases.acquire(path), lambda: _databases.release(path)


def _start(path: Path) -> Any:
    with _quiet_import():
        try:
            from milvus_lite import server as lite  # noqa: PLC0415  -- only for database files
        except ModuleNotFoundError as error:
            hint = f"{INSTALL_EMBEDDED}, or name a server in fleet.address"
            raise FleetError(f"a fleet in a file needs the package {error.name}", hint=hint) from error
    lite.logger = logging.getLogger("whence.milvus_lite")  # it logs to the root logger
    lite.logger.disabled = True

    class Silent(lite.Server):  # type: ignore[misc]
        @property
        def args(self) -> list[Any]:
            return [*_SILENTLY, *super().args]

    server = Silent(str(path))
    if not server.init() or not server.start():
        if server._p is not None:  # noqa: SLF001  -- it started and ended at once
            raise FleetError(f"{path} is not a milvus-lite database", hint="name another file in fleet.address")
        server._lock_path = server._uds_path  # noqa: SLF001  -- else its end removes the other process's lock
        raise FleetError(f"another process has {path} open", hint="only one process may open a file; run a Milvus server for more")
    return server
