"""The command `whence`, also as `python -m whence`."""

from __future__ import annotations

import os
import sys

from whence.cli.standby import ask, is_for_standby, start


def run() -> None:
    """The entry point of the installed command: what a process on standby can answer, it answers."""
    arguments = sys.argv[1:]
    asks = is_for_standby(arguments, os.environ)
    if asks and (code := ask(arguments)) is not None:
        sys.exit(code)
    from whence.cli.main import main  # noqa: PLC0415  -- loads all that a command needs

    code = main()
    if asks:
        from whence.core.settings import load_settings  # noqa: PLC0415  -- loaded by now

        start(arguments, load_settings(None)[0].shell.standby)
    sys.exit(code)


if __name__ == "__main__":
    run()
