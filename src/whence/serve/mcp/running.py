"""Running the server over a transport until its caller is gone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from mcp.server.stdio import stdio_server

from whence.serve.desks.house import House, closing
from whence.serve.mcp.server import CALL_SECONDS, make_server
from whence.serve.mcp.stdio import Wire, end_with_parent
from whence.serve.process import run_to_the_end

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from whence.serve.http.guard import Limits


def run_stdio(
    wire: Wire, folders: Sequence[Path], settings: Mapping[str, str], session: str, *, call_seconds: float = CALL_SECONDS
) -> NoReturn:
    """Serve one caller over the streams that were standard input and output."""
    house = House(folders, settings, session)

    async def serve() -> None:
        server = make_server(house, call_seconds)
        streams = cast("Any", wire)
        async with closing(house), stdio_server(stdin=streams, stdout=streams) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    end_with_parent()
    run_to_the_end(serve)


def run_http(
    folders: Sequence[Path],
    settings: Mapping[str, str],
    session: str,
    address: tuple[str, int],
    token: str,
    *,
    limits: Limits | None = None,
    call_seconds: float = CALL_SECONDS,
) -> NoReturn:
    """Serve callers on this machine who show the token, within limits."""
    from whence.serve.http.guard import Guarded, Limits  # noqa: PLC0415  -- for HTTP only
    from whence.serve.http.serving import address_of, http_server, listening  # noqa: PLC0415  -- as above

    house, chosen = House(folders, settings, session), limits or Limits()
    with listening(*address) as bound:
        print(f"serving {address_of(address[0], bound)}/mcp", f"token {token}", sep="\n", file=sys.stderr, flush=True)  # noqa: T201
        server = http_server(Guarded(_application(house, chosen, call_seconds), token, chosen), chosen)

        async def serve() -> None:
            async with closing(house):
                await server.serve([bound])

        run_to_the_end(serve)


def _application(house: House, limits: Limits, call_seconds: float) -> ASGIApp:
    """The SDK's application, to stand behind our guard."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415  -- for HTTP only

    return make_server(house, call_seconds).streamable_http_app(
        max_request_body_size=limits.request_bytes,
        max_sessions=limits.sessions,
        session_idle_timeout=limits.session_seconds,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard is stricter
    )
