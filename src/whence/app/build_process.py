"""Building an index beside the server, in a process of its own that ends with it.

A first build can take longer than any agent waits. It goes on whoever gives up
waiting, what is finished can be searched, and what is cut off is continued by the next.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

#: Seconds that a process has to end by itself when the server does.
GRACE = 1.0


class BuildProcess:
    """One run of the builder."""

    def __init__(self, root: Path, settings: Mapping[str, str], *, anew: bool = False) -> None:
        ours = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps([str(root), dict(settings), anew])],
            stdin=subprocess.PIPE,  # the process ends when this closes, however the server ended
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            env={**os.environ, **ours},
        )
        self.done = self.total = 0
        self.trouble, self._indexed = "", False
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it is still at work on the index; what it does after that is for later questions, and hinders nobody."""
        return not self._indexed and self._process.poll() is None

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return self.done / self.total if self.total else 0.0

    def _listen(self) -> None:
        for line in cast("IO[str]", self._process.stdout):
            with suppress(ValueError):
                said = json.loads(line)
                self.done, self.total = said.get("done", self.done), said.get("total", self.total)
                self.trouble, self._indexed = said.get("trouble", self.trouble), said.get("indexed", False)
        self._process.wait()  # so that nothing is left of it while nobody asks

    def end(self) -> None:
        """Stop it; what it finished is kept."""
        with suppress(OSError):
            cast("IO[str]", self._process.stdin).close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _end_with_parent() -> None:
    """Wait until standard input closes, and go."""
    while sys.stdin.buffer.read(1 << 10):
        pass
    os._exit(1)  # batches are committed as they are finished: nothing is lost


def main() -> None:
    """Build or refresh the index of a root, or make it anew, and say how far it is in lines of JSON."""
    root, settings, anew = json.loads(sys.argv[1])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from whence.app.index import Index  # noqa: PLC0415  -- after the thread that ends this process
    from whence.core.errors import WhenceError  # noqa: PLC0415  -- as above

    def say(**said: object) -> None:
        print(json.dumps(said), flush=True)  # noqa: T201  -- to the server

    try:
        if anew:
            from whence.cli.index import remove_index  # noqa: PLC0415  -- seldom

            remove_index(Path(root))
            settings["index.adopt"] = "false"
        with Index.open(root, command_line=settings, progress=lambda done, total: say(done=done, total=total)) as index:
            say(indexed=True)
            _ = index.open_graph()  # made here, so that the first question about symbols does not wait for it
    except WhenceError as error:
        say(trouble=str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
