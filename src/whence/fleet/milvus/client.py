"""What went wrong with the engine, in one line that says what to do."""

from __future__ import annotations

import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from whence.core.errors import FleetError
from whence.core.settings_schema import FleetSettings

#: The numbers that Milvus gives its refusals, which its own clients know by heart.
_RATE_LIMIT = 8
_NO_COLLECTION = (100, 4)
_SLOW = ("timeout", "timed out", "deadline")
_SECURE = ("ssl", "tls", "certificate", "handshake", "tsi_", "hostname verification", "peer name")
_REFUSED = ("auth check failure", "permission deny", "permission denied", "privilege", "unauthenticated", "credential")
_FULL = ("quota", "disk", "no space", "memory limit", "resource exhausted", "out of memory", "insufficient")
_MISSING = ("collection not found", "can't find collection")
_OTHER = ("not implemented", "unimplemented", "unsupported", "not supported", "field not found", "fieldnotexist", "schema")
#: What the network's library means, in fewer words.
_PLAINLY = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS there",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is signed by nobody we know",
    "Hostname Verification Check failed": "its certificate is for another name",
    "Socket closed": "it hung up, as servers do that speak TLS",
    "Connection refused": "nothing listens there",
    "Domain name not found": "there is no such host",
}
#: Letters of the engine's own words that a line repeats.
_MOST = 160


@dataclass(frozen=True, slots=True)
class EngineError:
    """What is known of a failure: the network's status, the engine's number, and all words that came with it."""

    status: str
    number: int
    words: str
    nearest: str

    def says(self, *words: str) -> bool:
        """Whether any of these stands in what came with it."""
        return any(word in self.words for word in words)


#: What failed, the line for it and what to do, the first that fits. A line begins with where the engine is.
_LINES: tuple[tuple[Callable[[EngineError], bool], str, str], ...] = (
    (
        lambda it: it.status in ("UNAVAILABLE", "UNAUTHENTICATED") and it.says(*_SECURE),  # the latter: of a name that is another's
        "and we do not agree on TLS: {nearest}",
        "see fleet.address (http or https) and fleet.ca",
    ),
    (
        lambda it: it.status in ("UNAUTHENTICATED", "PERMISSION_DENIED") or it.says(*_REFUSED),
        "refuses the token",
        "set fleet.token to one that it knows and that may do this",
    ),
    (lambda it: it.status == "UNAVAILABLE", "cannot be reached: {nearest}", "is it running, and is fleet.address right?"),
    (
        lambda it: it.status == "DEADLINE_EXCEEDED" or it.says(*_SLOW),
        "did not answer within {seconds:g} s",
        "is it running, and is it busy? fleet.timeout gives it longer",
    ),
    (lambda it: it.number == _RATE_LIMIT or it.says("rate limit"), "takes no more requests for now", "wait, or raise its limits"),
    (
        lambda it: it.status == "RESOURCE_EXHAUSTED" or it.says(*_FULL),
        "is full: {nearest}",
        "make room there, or whence fleet remove what nobody needs",
    ),
    (
        lambda it: it.status == "UNIMPLEMENTED",
        "does not know what was asked: another version of Milvus, or none",
        "Milvus 2.5 or later is needed",
    ),
    (
        lambda it: it.number in _NO_COLLECTION or it.says(*_MISSING),
        "holds no fleet named {prefix}",
        "whence fleet add begins one; fleet.prefix names it",
    ),
    (lambda it: it.says(*_OTHER), "cannot do what was asked: {nearest}", "another version of Milvus? 2.5 or later is needed"),
    (lambda _: True, "failed: {nearest}", ""),
)


def fleet_error(error: BaseException, settings: FleetSettings) -> FleetError:
    """The line for an exception of the engine's package."""
    if isinstance(error, FleetError):
        return error
    failed = EngineError(_status(error), _number(error), " ".join(_words(error)).lower(), _nearest(error))
    line, hint = next((line, hint) for fits, line, hint in _LINES if fits(failed))
    nearest = failed.nearest.replace(settings.token, "(token)") if settings.token else failed.nearest
    said = line.format(nearest=nearest, seconds=settings.timeout, prefix=settings.prefix)
    return FleetError(f"the engine of the fleet at {settings.address} {said}", hint=hint)


def is_rate_limited(error: BaseException) -> bool:
    """Whether the engine only asks for patience."""
    return any(_number(one) == _RATE_LIMIT or "rate limit" in " ".join(_words(one)).lower() for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _status(error: BaseException) -> str:
    """The name of the status that the network's library gave, if it was that which failed."""
    for one in _chain(error):
        code = getattr(one, "code", None)
        code = code() if callable(code) else code
        if (name := getattr(code, "name", "")) and name != "UNEXPECTED_ERROR":
            return str(name)
    return ""


def _number(error: BaseException) -> int:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else -1


def _words(error: BaseException) -> Iterator[str]:
    for one in _chain(error):
        details = getattr(one, "details", None)
        yield str(details() if callable(details) else getattr(one, "message", "") or one)


def _nearest(error: BaseException) -> str:
    """The engine's own words nearest to the cause, on one line and not without end."""
    last = " ".join("".join(letter if letter.isprintable() else " " for letter in list(_words(error))[-1]).split())
    cause = next((plainly for said, plainly in _PLAINLY.items() if said in last), last)
    return cause if len(cause) <= _MOST else f"{cause[:_MOST]}..."


#: How the extra is installed.
INSTALL = "pip install 'whence[fleet]'"
INSTALL_EMBEDDED = "pip install milvus-lite==2.5.1 'setuptools<81'"
#: What libraries read when they are imported: no file of variables is looked for, and the network's library is silent.
_WHILE_IMPORTED = {"PYTHON_DOTENV_DISABLED": "1", "GRPC_VERBOSITY": "NONE"}
#: Nobody is asked every ten seconds whether they are still there: after half a minute servers take it for an attack and hang up.
_UNPINGED = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
#: milvus-lite takes no other names.
_DATABASE = re.compile(r"[A-Za-z0-9._-]{1,36}")
#: Everything that a shell prints of the program it becomes goes nowhere.
_SILENTLY = ("/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh")


def import_pymilvus() -> ModuleType:
    """The package pymilvus."""
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


def connect(settings: FleetSettings, told: Callable[[Exception], FleetError]) -> tuple[Any, Callable[[], None]]:
    """A client that has been answered once, and how it is let go. `told` says what an exception means."""
    pymilvus = import_pymilvus()
    address, release = settings.address, _nothing
    if address.endswith(".db"):
        address, release = _database(Path(address))
    options: dict[str, Any] = {"grpc_options": _UNPINGED}
    if settings.ca:
        options["server_pem_path"] = _certificates(settings.ca)
    try:
        # A connection of its own: shared ones are told apart by address and token only, not by certificates.
        client = pymilvus.MilvusClient(uri=address, token=settings.token, timeout=settings.timeout, dedicated=True, **options)
    except Exception as error:
        release()
        raise told(error) from error
    client._get_connection()._on_rpc_error = _once  # noqa: SLF001  -- it would ask again until after the time is over

    def close() -> None:
        client.close()
        release()

    return client, close


def _nothing() -> None:
    """There is nothing to let go."""


def _once(error: Exception) -> NoReturn:
    raise error


def _certificates(ca: str) -> str:
    path = Path(ca).expanduser()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FleetError(f"{path}: the certificates of fleet.ca cannot be read: {error.strerror}") from error
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise FleetError(f"{path}: there is no certificate in the file of fleet.ca", hint="a file in the form PEM")
    return str(path)


class _Databases:
    """The files that this process has open. Each has one process of milvus-lite, which ends with the last who uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, tuple[Any, int]] = {}

    def take(self, path: Path) -> str:
        """Where the process of a file listens."""
        with self._lock:
            server, users = self._open.get(path) or (_started(path), 0)
            self._open[path] = (server, users + 1)
            return str(server.uds_path)

    def release(self, path: Path) -> None:
        """One user less."""
        with self._lock:
            server, users = self._open.pop(path)
            if users > 1:
                self._open[path] = (server, users - 1)
            else:
                server.stop()


_databases = _Databases()


def _database(path: Path) -> tuple[str, Callable[[], None]]:
    path = path.expanduser().resolve()
    if not _DATABASE.fullmatch(path.name):
        raise FleetError(
            f"{path.name} is no name for a file of milvus-lite", hint="at most 36 letters, digits, dots, dashes and underscores"
        )
    if not path.parent.is_dir():
        raise FleetError(f"there is no folder {path.parent}", hint="fleet.address names a file in a folder that exists")
    return _databases.take(path), lambda: _databases.release(path)


def _started(path: Path) -> Any:
    with _quiet_import():
        try:
            from milvus_lite import server as lite  # noqa: PLC0415  -- only for files
        except ModuleNotFoundError as error:
            hint = f"{INSTALL_EMBEDDED}, or name a server in fleet.address"
            raise FleetError(f"a fleet in a file needs the package {error.name}", hint=hint) from error
    lite.logger = logging.getLogger("whence.milvus_lite")  # it writes to the logger of all
    lite.logger.disabled = True

    class Silent(lite.Server):  # type: ignore[misc]
        @property
        def args(self) -> list[Any]:
            return [*_SILENTLY, *super().args]

    server = Silent(str(path))
    if not server.init() or not server.start():
        if server._p is not None:  # noqa: SLF001  -- it was started, and ended at once
            raise FleetError(f"{path} is no database of milvus-lite", hint="name another file in fleet.address")
        server._lock_path = server._uds_path  # noqa: SLF001  -- its end would remove the lock of whoever has the file open
        raise FleetError(f"another process has {path} open", hint="one at a time may; for several, run a server")
    return server
