"""The package that talks to Milvus: loaded late, silent, and bounded in time. Nobody else imports it.

It is slow to import, reads a file of variables that lies around, writes warnings and stack traces to the terminal, and
asks again for minutes. None of that is for people who search.
"""

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

from whence.errors import FleetError
from whence.knobs import FleetSettings

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


def library() -> ModuleType:
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


def connected(settings: FleetSettings, told: Callable[[Exception], FleetError]) -> tuple[Any, Callable[[], None]]:
    """A client that has been answered once, and how it is let go. `told` says what an exception means."""
    pymilvus = library()
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
