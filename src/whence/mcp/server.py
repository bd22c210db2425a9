"""The MCP server: tools, resources, and prompts that a user picks in an agent."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from whence.app.budget import fit_document
from whence.app.presenters.text import Document, freshness_json, sendable
from whence.app.workspace import BuildProgress, IndexSession, Report, Workspace, require_index
from whence.core.errors import UsageError, WhenceError
from whence.core.version import __version__
from whence.mcp.answers import context, recall
from whence.mcp.tools import BY_NAME, INSTRUCTIONS, TABLE, Tool
from whence.text.injection import escape_invisible, flags_of, warning_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from whence.app.index import Index
    from whence.memory.memory import Memory

    Context = ServerRequestContext[Any, Any]


PROMPTS = [types.Prompt(**one) for one in TABLE["prompts"]]
_RESUME = "handoff, state of work, what is next"


async def _unreported(_done: float, _total: float, _message: str) -> None:
    """Ignore progress."""


async def prompt_text(workspace: Workspace, name: str, given: Mapping[str, str]) -> str:
    """The text of a prompt."""
    if name == "task":
        task = given.get("task", "").strip()
        if not task:
            raise UsageError("task is missing", hint="say what is to be done")
        return f"Task: {task}\n\nNotes:\n{await _notes(workspace, task)}\nCode:\n{await context(workspace, {'task': task}, _unreported)}"
    if name == "resume":
        return f"Go on with the work on this branch. What was written down:\n{await _notes(workspace, _RESUME)}"
    if name == "handoff":
        return str(TABLE["handoff"])
    raise UsageError(f"there is no prompt {name[:80]!r}", hint=f"there are {', '.join(one.name for one in PROMPTS)}")


async def _notes(workspace: Workspace, question: str) -> str:
    try:
        return (await recall(workspace, {"query": question, "k": 3}, _unreported)).text
    except WhenceError as error:
        return f"{error}\n"


PLAIN, JSON, MARKDOWN = "text/plain", "application/json", "text/markdown"
RESOURCES = [types.Resource(**one) for one in TABLE["resources"]]
TEMPLATES = [types.ResourceTemplate(**one) for one in TABLE["templates"]]


async def read(workspace: Workspace, uri: str) -> tuple[str, str]:
    """The text of a resource, and its MIME type."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # malformed brackets
        parts = urlsplit("")
    key = unquote(parts.path.strip("/")) + (f"#{unquote(parts.fragment)}" if parts.fragment else "")
    if parts.scheme != "whence" or parts.netloc not in ("status", "unit", "note") or (parts.netloc != "status" and not key):
        raise UsageError(f"there is no resource {uri[:200]!r}", hint="whence://status, whence://unit/KEY or whence://note/KEY")
    if parts.netloc == "status":
        return json.dumps({"version": __version__, "roots": [await _status(session) for session in workspace.sessions()]}, indent=1), JSON
    if parts.netloc == "note":
        return await _note(workspace, key), MARKDOWN
    return await _unit(workspace, key), PLAIN


async def _status(session: IndexSession) -> dict[str, Any]:
    def facts(index: Index | None, progress: BuildProgress) -> dict[str, Any]:
        found: dict[str, Any] = {
            "root": str(session.root),
            "files": progress.indexed,
            "building": progress.building,
            "share_done": round(progress.share, 3),
        }
        if index is not None:
            found |= {"units": index.snapshot.live_units, "model": index.writer.model, "freshness": freshness_json(index.freshness)}
            found |= {"notes": list(index.notes), "left_out": len(index.tree.skipped), "now": time.time()}
        return found

    return await session.ask(facts)


async def _note(workspace: Workspace, key: str) -> str:
    def text(memory: Memory) -> str:
        return _with_flags(memory.get(key).text, 1, "this note")

    return await workspace.sessions()[0].ask_notes(text)


def _with_flags(text: str, begin: int, what: str) -> str:
    """A text with invisible characters shown, below a warning if it reads like an instruction (Z11)."""
    said = warning_of(flags_of([(begin, text)]), what)
    return (f"{said}\n" if said else "") + escape_invisible(text)


async def _unit(workspace: Workspace, key: str) -> str:
    """The source of a symbol, from the first root that defines it."""

    def source(index: Index | None, progress: BuildProgress) -> str:
        index = require_index(index, progress)
        symbol = index.questions().resolve_one(key)
        units = [unit for unit in symbol.nodes if unit < index.snapshot.units]
        if not units:
            raise UsageError(f"{key!r} has no source here")
        lines = (index.read_text(symbol.path) or "").split("\n")
        first, last = (index.snapshot.column(name) for name in ("units.first", "units.last"))
        parts = [(int(first[unit]), "\n".join(lines[int(first[unit]) - 1 : int(last[unit])])) for unit in units]
        return "".join(_with_flags(part, begin, "this file") + "\n" for begin, part in parts)

    first_error: UsageError | None = None
    for session in workspace.sessions():
        try:
            return await session.ask(source)
        except UsageError as error:
            first_error = first_error or error
    raise first_error or UsageError(f"there is no symbol {key!r}")


log = logging.getLogger(__name__)
_T = TypeVar("_T")
#: Characters of an error; the middle of a longer one is left out.
MAX_ERROR = 1_000
#: The share of the rest by which progress rises at least between two reports.
MIN_RISE = 0.001
#: Seconds for an answer: agents give up after one or two minutes.
CALL_SECONDS = 120.0
PAGE = types.PaginatedRequestParams


def make_server(workspace: Workspace, seconds: float = CALL_SECONDS) -> Server[Any]:
    """The server of a workspace, for any transport; every call ends within some seconds."""

    async def list_tools(_: Context, __: PAGE | None) -> types.ListToolsResult:
        several, fleet = workspace.has_many_roots, workspace.fleet.configured
        return types.ListToolsResult(tools=[_listed(tool, several=several, fleet=fleet) for tool in BY_NAME.values()])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(workspace, context, params, seconds)

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text, form = await _or_refused(read(workspace, uri), seconds)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=form, text=sendable(text))])

    async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await _or_refused(prompt_text(workspace, params.name, params.arguments or {}), seconds)
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=sendable(text)))
        return types.GetPromptResult(messages=[message])

    return Server(
        "whence",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_always(types.ListResourcesResult(resources=RESOURCES)),
        on_list_resource_templates=_always(types.ListResourceTemplatesResult(resource_templates=TEMPLATES)),
        on_read_resource=read_resource,
        on_list_prompts=_always(types.ListPromptsResult(prompts=PROMPTS)),
        on_get_prompt=get_prompt,
    )


def _always(result: _T) -> Callable[[Context, PAGE | None], Awaitable[_T]]:
    """A handler with a fixed result."""

    async def handler(_: Context, __: PAGE | None) -> _T:
        return result

    return handler


def _listed(tool: Tool, *, several: bool, fleet: bool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.changes, destructive_hint=tool.destroys, open_world_hint=False)
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.schema(several=several, fleet=fleet), annotations=hints
    )


async def _call(workspace: Workspace, context: Context, params: types.CallToolRequestParams, seconds: float) -> types.CallToolResult:
    """Call a tool: its answer within the budget, or one line on what is wrong."""
    tool = BY_NAME.get(params.name)
    if tool is None:
        return _tool_result(f"there is no tool {params.name[:80]!r} (there are {', '.join(BY_NAME)})", wrong=True)
    try:
        given = tool.checked(params.arguments or {})
        with anyio.move_on_after(seconds):
            answer = await tool.answer(workspace, given, _rising(context.session.report_progress))
            return _tool_result(answer if isinstance(answer, str) else _within(workspace, given, answer))
        return _tool_result(f"{tool.name} took longer than {seconds:g} s and was given up; ask for less", wrong=True)
    except Exception as error:  # noqa: BLE001  -- agents get one line
        return _tool_result(_failure(error, f"{tool.name} failed")[1], wrong=True)


def _failure(error: Exception, what: str) -> tuple[int, str]:
    """The protocol's code for an error, and one line on it for the agent; errors of our own are logged."""
    if isinstance(error, WhenceError):
        text = str(error)
        half = MAX_ERROR // 2
        return types.INVALID_PARAMS, text if len(text) <= MAX_ERROR else f"{text[:half]} ... {text[-half:]}"
    if isinstance(error, OSError):
        return types.INTERNAL_ERROR, f"{error.filename or 'a file'}: {error.strerror or error}"
    log.error(what, exc_info=error)
    return types.INTERNAL_ERROR, f"{what}; this is a fault of whence, its log says more"


def _within(workspace: Workspace, given: Mapping[str, Any], answer: Document) -> str:
    from whence.text.token_estimate import count_tokens  # noqa: PLC0415  -- numpy: loaded with the first question

    budget = given.get("budget") or workspace.sessions()[0].settings().mcp.budget
    if "budget" not in given and count_tokens(answer.text) <= budget:
        return answer.text  # within the default budget
    return fit_document(answer, budget, rest=lambda whole: f"budget {whole} gives all").text


def _tool_result(text: str, *, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=sendable(text))], is_error=wrong)


def _rising(report: Report) -> Report:
    """Progress that always rises, as the protocol requires."""
    last = -1.0

    async def report_more(done: float, total: float, message: str) -> None:
        nonlocal last
        last = max(done, last + (total - last) * MIN_RISE)
        await report(last, total, message)

    return report_more


async def _or_refused(answer: Awaitable[_T], seconds: float) -> _T:
    """An answer, or an error of the protocol."""
    try:
        with anyio.move_on_after(seconds):
            return await answer
    except Exception as error:
        code, text = _failure(error, "a resource or prompt failed")
        raise MCPError(code, sendable(text)) from error
    raise MCPError(types.INTERNAL_ERROR, f"this took longer than {seconds:g} s and was given up")
