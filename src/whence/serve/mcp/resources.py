"""What can be read by address: the state of the server, a unit of code by its key, a note."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import mcp_types as types

from whence.errors import UsageError
from whence.pack.provenance import flags_of, warning_of
from whence.serve.cli.shared import freshness_json
from whence.serve.desks.desk import Desk, Standing, ready
from whence.serve.desks.house import House
from whence.source.hidden import made_visible
from whence.version import __version__

if TYPE_CHECKING:
    from whence.engine import Index
    from whence.memories import Memory

PLAIN, JSON, MARKDOWN = "text/plain", "application/json", "text/markdown"
RESOURCES = (types.Resource(name="status", uri="whence://status", description="What is indexed, how fresh it is.", mime_type=JSON),)
TEMPLATES = (
    types.ResourceTemplate(
        name="unit", uri_template="whence://unit/{+key}", description="A symbol's source by its key path#qualified.name.", mime_type=PLAIN
    ),
    types.ResourceTemplate(name="note", uri_template="whence://note/{+key}", description="A note by its key.", mime_type=MARKDOWN),
)


async def read(house: House, uri: str) -> tuple[str, str]:
    """The text of a resource, and of what form it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets that no address has
        parts = urlsplit("")
    key = unquote(parts.path.strip("/")) + (f"#{unquote(parts.fragment)}" if parts.fragment else "")
    if parts.scheme != "whence" or parts.netloc not in ("status", "unit", "note") or (parts.netloc != "status" and not key):
        raise UsageError(f"there is no resource {uri[:200]!r}", hint="whence://status, whence://unit/KEY or whence://note/KEY")
    if parts.netloc == "status":
        return json.dumps({"version": __version__, "roots": [await _status(desk) for desk in house.desks()]}, indent=1), JSON
    if parts.netloc == "note":
        return await _note(house, key), MARKDOWN
    return await _unit(house, key), PLAIN


async def _status(desk: Desk) -> dict[str, Any]:
    def facts(index: Index | None, standing: Standing) -> dict[str, Any]:
        found: dict[str, Any] = {
            "root": str(desk.root),
            "files": standing.indexed,
            "building": standing.building,
            "share_done": round(standing.share, 3),
        }
        if index is not None:
            found |= {"units": index.snapshot.live_units, "model": index.model, "freshness": freshness_json(index.freshness)}
            found |= {"notes": list(index.notes), "left_out": len(index.tree.skipped), "now": time.time()}
        return found

    return await desk.ask(facts)


async def _note(house: House, key: str) -> str:
    def text(memory: Memory) -> str:
        return _with_flags(memory.get(key).text, 1, "this note")

    return await house.desks()[0].ask_notes(text)


def _with_flags(text: str, begin: int, what: str) -> str:
    """A text in which nothing is hidden, after a line that says where it reads like an instruction, if it does (Z11)."""
    said = warning_of(flags_of([(begin, text)]), what)
    return (f"{said}\n" if said else "") + made_visible(text)


async def _unit(house: House, key: str) -> str:
    """The source of a symbol, from the first root that has it."""

    def source(index: Index | None, standing: Standing) -> str:
        index = ready(index, standing)
        symbol = index.questions.one(key)
        units = [unit for unit in symbol.nodes if unit < index.snapshot.units]
        if not units:
            raise UsageError(f"{key!r} has no source here")
        lines = (index.read_text(symbol.path) or "").split("\n")
        first, last = (index.snapshot.column(name) for name in ("units.first", "units.last"))
        parts = [(int(first[unit]), "\n".join(lines[int(first[unit]) - 1 : int(last[unit])])) for unit in units]
        return "".join(_with_flags(part, begin, "this file") + "\n" for begin, part in parts)

    trouble: UsageError | None = None
    for desk in house.desks():
        try:
            return await desk.ask(source)
        except UsageError as error:
            trouble = trouble or error
    raise trouble or UsageError(f"there is no symbol {key!r}")
