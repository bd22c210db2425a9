"""Serving the page until the terminal it was started in is done with it."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from whence.app.http_server import HttpGuard, Limits, http_server, listening_socket, url_of
from whence.app.server import run_until_exit
from whence.app.workspace import Workspace
from whence.ui.app import make_app, needs_no_token

HOST = "127.0.0.1"
#: A page stands open while its reader thinks; its index stays open with it for so long.
SECONDS_BEFORE_REST = 900.0


def run(
    folders: Sequence[Path], settings: Mapping[str, str], port: int, token: str, *, say: Callable[[str], None], browser: bool
) -> NoReturn:
    """Serve some folders on this machine, and open the page in a browser.

    The token is in the part of the link that no browser sends: it is in no log, and no other page is told of it.
    """
    workspace, limits = Workspace(folders, settings, rest=SECONDS_BEFORE_REST), Limits()
    with listening_socket(HOST, port) as bound:
        server = http_server(HttpGuard(make_app(workspace), token, limits, is_public=needs_no_token), limits)
        link = f"{url_of(HOST, bound)}/#token={token}"
        say(link)
        if browser:
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

        async def serve() -> None:
            await server.serve([bound])

        run_until_exit(serve)
