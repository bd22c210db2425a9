"""The server itself: the SDK's, with our tools, resources and prompts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from whence.errors import WhenceError
from whence.pack.cut import cut_text
from whence.serve.desks.desk import Report
from whence.serve.desks.house import House
from whence.serve.mcp.prompts import PROMPTS, told
from whence.serve.mcp.resources import RESOURCES, TEMPLATES, read
from whence.serve.mcp.tools import BY_NAME, INSTRUCTIONS, KEEPS_BUDGET, TOOLS, Tool
from whence.version import __version__

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

log = logging.getLogger(__name__)
_T = TypeVar("_T")
#: Characters of an error; of one that repeats what was given, the middle is left out.
MOST_OF_A_COMPLAINT = 1_000
#: The share of what is left by which progress rises at least from one report to the next.
LEAST_RISE = 0.001
#: Seconds for an answer. Agents give up after one or two minutes; what nobody waits for is not waited for here either.
CALL_SECONDS = 120.0
PAGE = types.PaginatedRequestParams


def make_server(house: House, seconds: float = CALL_SECONDS) -> Server[Any]:
    """The server of a house, ready to be run over any transport; every answer is given within some seconds."""

    async def list_tools(_: Context, __: PAGE | None) -> types.ListToolsResult:
        fleet = house.fleet.configured
        return types.ListToolsResult(tools=[_listed(tool, several=len(house.roots.folders) > 1, fleet=fleet) for tool in TOOLS])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _called(house, context, params, seconds)

    async def list_resources(_: Context, __: PAGE | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=list(RESOURCES))

    async def list_templates(_: Context, __: PAGE | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text, form = await _or_refused(read(house, uri), seconds)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=form, text=_sendable(text))])

    async def list_prompts(_: Context, __: PAGE | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(PROMPTS))

    async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await _or_refused(told(house, params.name, params.arguments or {}), seconds)
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=_sendable(text)))
        return types.GetPromptResult(messages=[message])

    return Server(
        "whence",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _listed(tool: Tool, *, several: bool, fleet: bool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.changes, destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.schema(several=several, fleet=fleet), annotations=hints
    )


async def _called(house: House, context: Context, params: types.CallToolRequestParams, seconds: float) -> types.CallToolResult:
    """A tool's answer within its budget, or one line that says what is wrong."""
    tool = BY_NAME.get(params.name)
    if tool is None:
        return _said(f"there is no tool {params.name[:80]!r} (there are {', '.join(BY_NAME)})", wrong=True)
    try:
        given = tool.checked(params.arguments or {})
        with anyio.move_on_after(seconds):
            text = await tool.answer(house, given, _rising(context.session.report_progress))
            return _said(text if tool.name in KEEPS_BUDGET else _within(house, given, text))
        return _said(f"{tool.name} took longer than {seconds:g} s and was given up; ask for less", wrong=True)
    except WhenceError as error:
        return _said(_short(str(error)), wrong=True)
    except OSError as error:
        return _said(_trouble(error), wrong=True)
    except Exception:
        log.exception("the tool %s failed", tool.name)
        return _said(f"{tool.name} failed; this is a fault of whence, its log says more", wrong=True)


def _within(house: House, given: Mapping[str, Any], text: str) -> str:
    from whence.pack.tokens import count  # noqa: PLC0415  -- numpy: loaded with the first question

    budget = given.get("budget") or house.desks()[0].settings().mcp.budget
    if "budget" not in given and count(text) <= budget:
        return text  # nobody asked for a budget, and none was needed
    return cut_text(text, budget, rest=lambda whole: f"budget {whole} gives all").text


def _said(text: str, *, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=_sendable(text))], is_error=wrong)


def _short(text: str) -> str:
    """A complaint without most of what it complains about, where that is long."""
    return text if len(text) <= MOST_OF_A_COMPLAINT else f"{text[: MOST_OF_A_COMPLAINT // 2]} ... {text[-MOST_OF_A_COMPLAINT // 2 :]}"


def _rising(report: Report) -> Report:
    """Progress that only ever rises, as the protocol wants it, whatever it is made of."""
    last = -1.0

    async def told(done: float, total: float, message: str) -> None:
        nonlocal last
        last = max(done, last + (total - last) * LEAST_RISE)
        await report(last, total, message)

    return told


def _sendable(text: str) -> str:
    """A text without halves of characters, as names of files may hold them: JSON has no place for those."""
    return text.encode("utf-8", "replace").decode("utf-8")


async def _or_refused(asked: Awaitable[_T], seconds: float) -> _T:
    """What was asked for, or an error of the protocol that says what is wrong."""
    try:
        with anyio.fail_after(seconds):
            return await asked
    except TimeoutError as error:
        raise MCPError(types.INTERNAL_ERROR, f"this took longer than {seconds:g} s and was given up") from error
    except WhenceError as error:
        raise MCPError(types.INVALID_PARAMS, _sendable(_short(str(error)))) from error
    except OSError as error:
        raise MCPError(types.INTERNAL_ERROR, _sendable(_trouble(error))) from error
    except Exception as error:
        log.exception("a resource or prompt failed")
        raise MCPError(types.INTERNAL_ERROR, "this is a fault of whence, its log says more") from error


def _trouble(error: OSError) -> str:
    return f"{error.filename or 'a file'}: {error.strerror or error}"
