"""Building an index in a process of its own beside the server, and removing one.

A first build can take longer than an agent waits. It continues when callers give up, finished batches can be
searched at once, and a build that was interrupted is resumed by the next.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

#: Seconds the process may take to exit when the server does.
GRACE = 1.0


class BuildProcess:
    """A running build; it ends with the server."""

    def __init__(self, root: Path, settings: Mapping[str, str], *, rebuild: bool = False) -> None:
        environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps([str(root), dict(settings), rebuild])],
            stdin=subprocess.PIPE,  # the process exits when this closes, however the server ended
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            env={**os.environ, **environment},
        )
        self.done = self.total = 0
        self.error, self._indexed = "", False
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the index is still being built. Work after that (the graph) blocks nobody and does not count."""
        return not self._indexed and self._process.poll() is None

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return self.done / self.total if self.total else 0.0

    def _listen(self) -> None:
        for line in cast("IO[str]", self._process.stdout):
            with suppress(ValueError):
                message = json.loads(line)
                self.done, self.total = message.get("done", self.done), message.get("total", self.total)
                self.error, self._indexed = message.get("error", self.error), message.get("indexed", False)
        self._process.wait()  # leaves no zombie while the server is idle

    def end(self) -> None:
        """Stop the build; finished batches are kept."""
        with suppress(OSError):
            cast("IO[str]", self._process.stdin).close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def remove_index(root: Path, *, learned: bool = False) -> Path | None:
    """Remove the index of a root and return its folder. Learned feedback stays unless `learned`. Fails while another process writes."""
    from whence.core.settings import default_data_dir  # noqa: PLC0415
    from whence.index.layout import Layout  # noqa: PLC0415  -- the server loads the engine with the first question

    layout = Layout(default_data_dir(dict(os.environ), Path.home()), root)
    if not layout.directory.is_dir():
        return None
    with layout.write_lock(wait=0):
        return layout.directory if remove_index_folder(layout.directory, learned=learned) else None


def remove_index_folder(folder: Path, *, learned: bool) -> bool:
    """Remove an index folder, except learned feedback unless `learned`; whether it held an index."""
    from whence.context.feedback.store import FILE_NAME  # noqa: PLC0415  -- as above

    if learned or not (folder / FILE_NAME).exists():
        shutil.rmtree(folder)
        return True
    held_index = False
    for one in sorted(folder.iterdir()):
        if one.name.startswith(FILE_NAME):
            continue
        held_index = held_index or one.name.startswith("truth.db")
        shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    return held_index


def _exit_with_parent() -> None:
    """Exit as soon as standard input closes."""
    while sys.stdin.buffer.read(1 << 10):
        pass
    os._exit(1)  # finished batches are committed: nothing is lost


def main() -> None:
    """The build process: build, refresh or rebuild the index of a root, and report progress in lines of JSON."""
    root, settings, rebuild = json.loads(sys.argv[1])
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    from whence.app.command_line import require_project  # noqa: PLC0415  -- after the thread that ends this process
    from whence.app.index import Index  # noqa: PLC0415  -- as above
    from whence.core.errors import WhenceError  # noqa: PLC0415  -- as above

    def report(**message: object) -> None:
        print(json.dumps(message), flush=True)  # noqa: T201  -- to the server

    try:
        if rebuild:
            remove_index(Path(root))
            settings["index.adopt"] = "false"
        else:
            require_project(Path(root), settings)
        with Index.open(root, command_line=settings, progress=lambda done, total: report(done=done, total=total)) as index:
            report(indexed=True)
            _ = index.open_graph()  # so that the first question about symbols need not wait for it
    except WhenceError as error:
        report(error=str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
