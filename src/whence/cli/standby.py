"""A process on standby has loaded what answers need, and forks for each command: a command then waits for no imports.

The first command starts it, and it ends after some minutes without another (setting `shell.standby`). A command connects to a
private socket and hands over its arguments, environment, folder and open files; a fork of the process on standby runs it on
those, as the command would have done itself. Whatever goes wrong before that fork, the command does its own work. Only Linux
says enough about who asks: it must be the same user, in the same namespaces, with the same privileges.

Until it is asked, this module loads nothing that takes time.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from whence.core.version import __version__

if TYPE_CHECKING:
    import _socket
    import select
    import socket

#: Commands that only ask.
ASKING = frozenset("search context related why recall list show callers callees impact path tests".split())
#: Arguments that need the terminal, or what is typed on it.
_NEED_A_TERMINAL = frozenset({"-", "-i", "--interactive", "--open"})
#: What the interpreter was started with that a fork cannot change.
_INTERPRETER = ("PYTHONHASHSEED PYTHONHOME PYTHONPATH PYTHONUTF8 PYTHONWARNINGS LD_PRELOAD LD_LIBRARY_PATH").split()
#: What is loaded again for the next fork when a fork needed it.
_PACKAGES = ("whence", "numpy")
#: Seconds in which either side must answer; else it hangs, and the command does its own work.
ANSWER_SECONDS = 0.5
#: Between two looks at whether the socket is still ours.
LOOK_SECONDS = 30
#: The files that are handed over: standard input, output and error, and the current folder.
FILES = 4
_READY, _STARTED, _INTERRUPT = b"!", b"+", b"^"
#: Kinds of answer: an exit code, a text to page, or that the command must do it itself.
_CODE, _PAGE, _DECLINED = b"c", b"p", b"d"
_LENGTH_BYTES, _MAX_REQUEST = 4, 16 << 20
_answers: list[int] = []  # where a fork writes its answer; empty in any other process


class DeclinedError(BaseException):
    """A fork cannot go on: it needs the terminal, and nothing has been printed yet."""


# Asking.
def is_for_standby(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a command may be run by the process on standby."""
    if sys.platform != "linux" or not arguments or arguments[0] not in ASKING or not _NEED_A_TERMINAL.isdisjoint(arguments):
        return False
    return environment.get("WHENCE_SHELL_STANDBY") != "0"


def address(environment: Mapping[str, str]) -> str:
    """The socket of the process on standby for this interpreter and version; empty where no folder is private enough for it."""
    base = environment.get("XDG_RUNTIME_DIR", "")
    folder = f"{base}/whence" if base.startswith("/") else f"/tmp/whence-{os.geteuid()}"  # noqa: S108  -- if it is ours alone
    try:
        if not os.path.isdir(folder):  # noqa: PTH112  -- pathlib takes longer to load than a search may
            os.mkdir(folder, 0o700)  # noqa: PTH102
        found = os.lstat(folder)
    except OSError:
        return ""
    if found.st_uid != os.geteuid() or found.st_mode & 0o170777 != 0o040700:
        return ""
    loaded = [__file__, sys.executable, sys.version, __version__, repr(sys.flags), sys.getfilesystemencoding()]
    loaded += [environment.get(name, "") for name in _INTERPRETER]
    return f"{folder}/{zlib.crc32(chr(0).join(loaded).encode('utf-8', 'surrogateescape')):08x}"


def ask(arguments: Sequence[str]) -> int | None:
    """Have the process on standby run a command: its exit code, or None where there is no such process, or it will not."""
    place = address(os.environ)
    if not place or None in (sys.stdin, sys.stdout, sys.stderr):  # closed
        return None
    from _socket import AF_UNIX, socket  # noqa: PLC0415  -- the module `socket` takes many times as long to load

    connection = socket(AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    try:
        connection.connect(place)
        if connection.recv(1) != _READY:
            return None
        _send_request(connection, arguments)
        if connection.recv(1) != _STARTED:
            return None
    except OSError:
        return None
    connection.settimeout(None)
    return _take_answer(connection)


def _send_request(connection: _socket.socket, arguments: Sequence[str]) -> None:
    from _socket import SCM_RIGHTS, SOL_SOCKET  # noqa: PLC0415  -- as above

    umask = os.umask(0)
    os.umask(umask)
    streams = [f"{one.encoding} {one.errors}" for one in (sys.stdin, sys.stdout, sys.stderr)]
    fields = [*streams, str(umask), str(len(arguments)), *arguments]
    fields += [f"{name}={value}" for name, value in os.environ.items()]
    text = "\0".join(fields).encode("utf-8", "surrogateescape")
    here = os.open(".", os.O_PATH)
    handles = b"".join(handle.to_bytes(4, sys.byteorder) for handle in (0, 1, 2, here))
    connection.sendmsg([len(text).to_bytes(_LENGTH_BYTES, "big")], [(SOL_SOCKET, SCM_RIGHTS, handles)])
    connection.sendall(text)
    os.close(here)


def _received(connection: _socket.socket, count: int) -> bytes:
    """So many bytes, or fewer if the other side ends. Ctrl-C is passed on once: whoever runs the command says what is to be said."""
    got, interrupted = b"", False
    while len(got) < count:
        try:
            piece = connection.recv(count - len(got))
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            connection.sendall(_INTERRUPT)
            continue
        if not piece:
            break
        got += piece
    return got


def _take_answer(connection: _socket.socket) -> int | None:
    while True:
        kind = _received(connection, 1)
        content = _received(connection, int.from_bytes(_received(connection, _LENGTH_BYTES), "big"))
        if kind == _DECLINED:
            return None
        if kind == _CODE:
            return int(content)
        if kind != _PAGE:
            sys.stderr.write("whence: the process that was answering was ended; run it again\n")
            return 2
        from whence.cli.terminal import page  # noqa: PLC0415  -- for long answers on a terminal

        page(content.decode("utf-8", "surrogateescape"))


def start(arguments: Sequence[str], minutes: int) -> None:
    """Start a process on standby for the next command, unless there is one, or none should be."""
    if not minutes or not is_for_standby(arguments, os.environ) or os.environ.get("CI"):
        return
    place = address(os.environ)
    if not place or _is_listening(place):
        return
    import subprocess  # noqa: PLC0415  -- only for the first command

    path = {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-c", "from whence.cli.standby import main; main()", place, str(minutes), *_loaded_modules()]
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, env={**os.environ, **path}, cwd="/", start_new_session=True)


def _is_listening(place: str) -> bool:
    from _socket import AF_UNIX, socket  # noqa: PLC0415  -- as above

    connection = socket(AF_UNIX)
    try:
        connection.connect(place)
    except OSError:
        return False
    finally:
        connection.close()
    return True


def _loaded_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]


# In a fork.
def is_answering() -> bool:
    """Whether this process runs the command of another."""
    return bool(_answers)


def page_elsewhere(text: str) -> None:
    """Have the process that asked page a text: it has the terminal."""
    _send(_PAGE, text.encode("utf-8", "surrogateescape"))


def _send(kind: bytes, content: bytes) -> None:
    data = kind + len(content).to_bytes(_LENGTH_BYTES, "big") + content
    while data:
        data = data[os.write(_answers[0], data) :]


def _answer(connection: socket.socket, files: list[int], fields: list[str], server: _Server) -> NoReturn:
    """Run a command on the files of the process that asked, and end."""
    from whence.cli.main import main as run_command  # noqa: PLC0415  -- loaded long ago

    _answers.append(connection.fileno())
    code, known = 2, set(sys.modules)
    try:
        _take_over(files, fields)
        code = run_command(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
        server.hear(set(_loaded_modules()) - known)
        _send(_CODE, str(code).encode())
    except DeclinedError:
        _send(_DECLINED, b"")
    finally:
        os._exit(code)
    raise AssertionError


def _take_over(files: list[int], fields: list[str]) -> None:
    """Become what the process that asked is: its files, folder, environment and arguments."""
    import io  # noqa: PLC0415  -- as above
    import time  # noqa: PLC0415

    os.fchdir(files[3])
    for handle in range(3):
        os.dup2(files[handle], handle)
    os.closerange(min(files), max(files) + 1)
    first, count = 5, int(fields[4])
    os.umask(int(fields[3]))
    os.environ.clear()
    os.environ.update(dict(field.partition("=")[::2] for field in fields[first + count :]))
    time.tzset()
    streams = []
    for handle, how in enumerate(fields[:3]):
        encoding, errors = how.split()
        binary = open(handle, "wb" if handle else "rb", closefd=False)  # noqa: SIM115  -- for as long as the process
        lines, unbuffered = handle == 2 or os.isatty(handle), bool(os.environ.get("PYTHONUNBUFFERED"))
        streams.append(io.TextIOWrapper(binary, encoding, errors, line_buffering=lines, write_through=unbuffered))
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.argv = ["whence", *fields[first : first + count]]


# On standby.
class _Server:
    """Waits for commands, and has a fork run each."""

    def __init__(self, place: str, seconds: float) -> None:
        import select  # noqa: PLC0415  -- as above
        import socket  # noqa: PLC0415

        self._place, self._seconds = place, seconds
        self._listener = socket.socket(socket.AF_UNIX)
        draft = f"{place}.{os.getpid()}"
        self._listener.bind(draft)
        self._inode = os.stat(draft).st_ino  # noqa: PTH116  -- as above
        self._listener.listen()
        os.rename(draft, place)  # noqa: PTH104  -- the last to come is asked; the one before notices and ends
        self._needs, self._heard = os.pipe()  # modules that forks had to load
        self._forks: dict[int, tuple[int, socket.socket]] = {}  # by connection, and by the handle that says when a fork ends
        self._poll: select.poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)
        self._poll.register(self._needs, select.POLLIN)
        self._stamps: dict[str, tuple[int, int]] = {}
        self._note_stamps()

    def hear(self, modules: set[str]) -> None:
        """Note what a fork had to load."""
        if text := "".join(f"{name}\n" for name in sorted(modules)).encode():
            os.write(self._heard, text)

    def serve(self) -> None:
        """Run commands until none has come for a while, or this process is out of date."""
        idle = 0.0
        while idle < self._seconds and self._is_ours():
            ready = [handle for handle, _ in self._poll.poll(LOOK_SECONDS * 1_000)]
            idle = 0.0 if ready or self._forks else idle + LOOK_SECONDS
            for handle in ready:
                if handle == self._needs:
                    load_modules(os.read(self._needs, 1 << 16).decode().split())
                    self._note_stamps()
                elif handle in self._forks:
                    self._attend(handle)
                elif handle == self._listener.fileno() and not self._accept():
                    idle = self._seconds
        if self._is_ours():
            os.unlink(self._place)  # noqa: PTH108  -- as above

    def _is_ours(self) -> bool:
        try:
            return os.stat(self._place).st_ino == self._inode  # noqa: PTH116  -- as above
        except OSError:
            return False

    def _note_stamps(self) -> None:
        files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name.partition(".")[0] == "whence"]
        self._stamps.update((path, _stamp(path)) for path in files if path and path not in self._stamps)

    def _accept(self) -> bool:
        """Have a fork run the next command; False if a new process would load other code than this one has."""
        connection, _ = self._listener.accept()
        is_current = all(_stamp(path) == stamp for path, stamp in self._stamps.items())
        request = _requested(connection) if is_current else None
        if request is None:
            connection.close()
        else:
            self._fork(connection, *request)
        return is_current

    def _fork(self, connection: socket.socket, files: list[int], fields: list[str]) -> None:
        import select  # noqa: PLC0415  -- as above

        pid = os.fork()
        if pid == 0:
            self._listener.close()
            _answer(connection, files, fields, self)
        for handle in files:
            os.close(handle)
        ended = os.pidfd_open(pid)
        self._forks[ended] = self._forks[connection.fileno()] = (pid, connection)
        self._poll.register(ended, select.POLLIN)
        self._poll.register(connection, select.POLLIN | select.POLLRDHUP)

    def _attend(self, handle: int) -> None:
        """A fork has ended, or the process that asked interrupts it or is gone."""
        import signal  # noqa: PLC0415  -- as above

        pid, connection = self._forks[handle]
        if handle == connection.fileno():
            interrupts = connection.recv(1) == _INTERRUPT
            os.kill(pid, signal.SIGINT if interrupts else signal.SIGTERM)
            if interrupts:
                return
            self._poll.unregister(handle)
            del self._forks[handle]
            return
        os.waitpid(pid, 0)
        os.close(handle)
        for one in (handle, connection.fileno()):
            if self._forks.pop(one, None):
                self._poll.unregister(one)
        connection.close()


def load_modules(names: Sequence[str]) -> None:
    """Load modules before they are needed; those of another version are left out."""
    import gc  # noqa: PLC0415  -- as above
    from contextlib import suppress  # noqa: PLC0415
    from importlib import import_module  # noqa: PLC0415

    for name in names:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()  # what is loaded is never garbage, and a fork need not touch it


def _requested(connection: socket.socket) -> tuple[list[int], list[str]] | None:
    """The files and fields of a request, if who asks may ask."""
    import socket  # noqa: PLC0415  -- as above

    connection.settimeout(ANSWER_SECONDS)
    try:
        if not _is_equal(connection):
            return None
        connection.sendall(_READY)
        first, files, _, _ = socket.recv_fds(connection, _LENGTH_BYTES, FILES)
        length = int.from_bytes(first, "big")
        text = _received(connection, length) if length <= _MAX_REQUEST else b""
        if len(files) == FILES and len(text) == length:
            connection.sendall(_STARTED)
            connection.settimeout(None)
            return files, text.decode("utf-8", "surrogateescape").split("\0")
    except OSError:  # it is gone, or hangs
        pass
    return None


def _is_equal(connection: socket.socket) -> bool:
    """Whether who asks may do just what we may: the same user, namespaces and privileges. One in a sandbox may less."""
    import socket  # noqa: PLC0415  -- as above
    import struct  # noqa: PLC0415

    peer, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII")))
    return user == os.geteuid() and list(_rights("self")) == list(_rights(str(peer)))


def _rights(process: str) -> Iterator[str]:
    for name in ("cgroup", "ipc", "mnt", "net", "pid", "user"):
        yield os.readlink(f"/proc/{process}/ns/{name}")  # noqa: PTH115  -- as above
    yield os.readlink(f"/proc/{process}/root")  # noqa: PTH115
    with open(f"/proc/{process}/status", encoding="utf-8") as stream:
        yield from (line for line in stream if line.startswith(("Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp:")))
    try:
        with open(f"/proc/{process}/attr/current", encoding="utf-8") as stream:
            yield stream.read()
    except OSError:  # there is no security module
        yield ""


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116  -- as above
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def main() -> None:
    """Load what the first command needed, and wait for the next."""
    place, minutes, *modules = sys.argv[1:]
    sys.argv = ["whence"]
    load_modules(["whence.cli.main", *modules])
    _Server(place, 60 * int(minutes)).serve()
