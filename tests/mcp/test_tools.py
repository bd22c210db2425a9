"""Every tool, resource and prompt, asked by the SDK's own client over both transports."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from mcp_servers import Caller
from whence.mcp.tools import INSTRUCTIONS
from whence.text.token_estimate import count_tokens

TOOLS = ["search", "context", "related", "graph", "remember", "edit_note", "recall", "feedback"]
READING: dict[str, dict[str, Any]] = {
    "search": {"query": "sum of all prices", "why": True},
    "context": {"task": "take a discount off the total of the cart"},
    "related": {"place": "shop/checkout.py:7"},
    "graph": {"question": "impact", "symbol": "discount"},
    "recall": {"query": "discounts"},
}


def test_the_server_says_what_it_is_for_and_lists_eight_tools_in_few_tokens(caller: Caller) -> None:
    listed = caller.run(caller.client.list_tools).tools
    assert [tool.name for tool in listed] == TOOLS
    assert {tool.name for tool in listed if not tool.annotations.read_only_hint} == {"remember", "edit_note", "feedback"}
    assert [tool.name for tool in listed if tool.annotations.destructive_hint] == ["edit_note"]
    assert all(set(tool.input_schema["required"]) <= set(tool.input_schema["properties"]) for tool in listed)
    assert caller.client.server_info.name == "whence"
    assert caller.client.instructions == INSTRUCTIONS
    as_sent = json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in listed], separators=(",", ":"))
    assert count_tokens(as_sent) < 1700
    assert count_tokens(INSTRUCTIONS) < 120


def test_a_note_can_be_corrected_superseded_and_forgotten(caller: Caller) -> None:
    key = caller.call("remember", text="The ferret cache holds ten entries.", topic="ferret cache").split()[1]
    assert caller.call("edit_note", key=key, action="correct", text="The ferret cache holds twelve entries.").startswith(f"corrected {key}")
    assert "twelve" in caller.call("recall", query="ferret cache")
    assert "takes its new text" in caller.call("edit_note", key=key, action="supersede")
    new = caller.call("edit_note", key=key, action="supersede", text="Now the ferret cache holds forty entries.").split()[1].strip(";")
    found = caller.call("recall", query="ferret cache")
    assert "forty" in found
    assert "twelve" not in found
    for one in (key, new):
        assert caller.call("edit_note", key=one, action="forget") == f"forgotten {one}, with its history\n"
    assert "ferret" not in caller.call("recall", query="ferret cache")


def test_search_gives_ranked_places_with_the_lines_that_matter(caller: Caller) -> None:
    said = caller.call("search", query="sum of all prices")
    assert not said.wrong
    assert said.startswith("1. shop/cart.py:")
    assert "method Cart.total" in said
    assert "The sum of all prices, discounts taken off." in said
    assert "index: 5 files, commit " in said.splitlines()[-1]
    narrowed = caller.call("search", query="cart", path="tests", k=3)
    assert "tests/test_cart.py" in narrowed
    assert "shop/cart.py" not in narrowed
    assert caller.call("search", query="cart", k=1).count("\n1. ") + caller.call("search", query="cart", k=1).count("\n2. ") <= 1
    assert "words" in caller.call("search", query="cart", why="true", k="1")


def test_context_gives_source_for_a_task_for_files_and_for_a_change(caller: Caller) -> None:
    said = caller.call("context", task="take a discount off the total of the cart")
    assert "def total(self):" in said
    assert "def discount(price, count):" in said
    of_files = caller.call("context", files=["shop/price.py"])
    assert "Cart.total" in of_files
    assert caller.call("context", files="shop/price.py") == of_files
    assert not caller.call("context", diff="HEAD").wrong
    hostile = caller.call("context", diff="--output=stolen")
    assert hostile.wrong
    assert "\n" not in hostile


def test_related_and_graph_answer_about_symbols(caller: Caller) -> None:
    assert "checkout.py" in caller.call("related", place="shop/checkout.py:7")
    callers = caller.call("graph", question="callers", symbol="Cart.total")
    assert callers.startswith("callers of Cart.total (method shop/cart.py:")
    assert "pay shop/checkout.py:8" in callers
    assert "discount" in caller.call("graph", question="callees", symbol="Cart.total")
    assert "pay" in caller.call("graph", question="impact", symbol="discount", depth=3)
    assert "test_the_total_is_the_sum" in caller.call("graph", question="tests", symbol="Cart.total")
    way = caller.call("graph", question="path", symbol="pay", to="discount")
    assert way.splitlines()[0] == "pay"
    assert "-calls-> discount" in way
    unknown = caller.call("graph", question="callers", symbol="Cart.totl")
    assert unknown.wrong
    assert "Cart.total" in unknown


def test_what_is_remembered_is_recalled_hinted_at_and_read(caller: Caller) -> None:
    stored = caller.call(
        "remember", text="Discounts start at eleven pieces.", topic="discounts", about="shop/price.py#discount", tags=["price"]
    )
    assert not stored.wrong
    key = stored.split()[1]
    recalled = caller.call("recall", query="when do discounts start", tags="price")
    assert "Discounts start at eleven pieces." in recalled
    assert key in recalled
    assert caller.read(f"whence://note/{key}").strip() == "Discounts start at eleven pieces."
    for said in (caller.call("search", query="discount"), caller.call("context", task="change the discount")):
        assert f"note: {key} speaks of shop/price.py#discount" in said
    assert not caller.call("remember", text="Half done; the receipt is next.", handoff=True).wrong
    assert "the receipt is next" in caller.prompt("resume")


def test_feedback_is_taken_for_symbols_that_exist(caller: Caller) -> None:
    assert "useful: shop/cart.py#Cart.total" in caller.call("feedback", useful="Cart.total", useless=["receipt"], task="sum up")
    assert caller.call("feedback", useful=["nowhere"]).wrong
    assert "no symbol was named" in caller.call("feedback", task="sum up")


def test_resources_are_listed_and_read(caller: Caller) -> None:
    assert [one.uri for one in caller.run(caller.client.list_resources).resources] == ["whence://status"]
    templates = caller.run(caller.client.list_resource_templates).resource_templates
    assert [one.uri_template for one in templates] == ["whence://unit/{+key}", "whence://note/{+key}"]
    status = json.loads(caller.read("whence://status"))
    assert status["roots"][0]["files"] == 5
    assert status["roots"][0]["freshness"]["fresh"] is True
    for uri in ("whence://unit/shop/price.py%23discount", "whence://unit/shop/price.py#discount"):
        assert "return price * count" in caller.read(uri)
    for uri in ("whence://unit/shop/price.py%23nope", "whence://note/nope", "whence://nope", "file:///etc/passwd", "whence://unit/", "x"):
        with pytest.raises(MCPError) as refused:
            caller.read(uri)
        assert refused.value.code == -32602
        assert "\n" not in refused.value.message


def test_prompts_are_listed_and_told(caller: Caller) -> None:
    listed = caller.run(caller.client.list_prompts).prompts
    assert [one.name for one in listed] == ["task", "resume", "handoff"]
    task = caller.prompt("task", task="take a discount off the total")
    assert task.startswith("Task: take a discount off the total\n")
    assert "def discount(price, count):" in task
    assert "`remember`" in caller.prompt("handoff")
    for name, arguments in (("nope", {}), ("task", {}), ("task", {"task": " "})):
        with pytest.raises(MCPError, match=r"no prompt 'nope'|task is missing"):
            caller.prompt(name, **arguments)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("serach", {"query": "x"}, "there is no tool 'serach'"),
    ("search", {}, "query is missing"),
    ("search", {"query": ""}, "query is missing"),
    ("search", {"query": None}, "query is missing"),
    ("search", {"quer": "x"}, "did you mean query?"),
    ("search", {"query": "x", "": 1}, "there is no argument ''"),
    ("search", {"query": 7}, "query must be of type string, not int"),
    ("search", {"query": ["x"]}, "query must be of type string, not list"),
    ("search", {"query": "x", "k": "many"}, "k must be of type integer, not str"),
    ("search", {"query": "x", "k": 1.5}, "k must be of type integer, not float"),
    ("search", {"query": "x", "k": True}, "k must be of type integer, not bool"),
    ("search", {"query": "x", "k": 0}, "at least 1"),
    ("search", {"query": "x", "k": 10**30}, "k must be of type integer"),
    ("search", {"query": "x", "why": "perhaps"}, "why must be of type boolean"),
    ("search", {"query": "x", "budget": 1}, "at least 50"),
    ("search", {"query": "x" * 1_000_000}, "query is longer than"),
    ("search", {"query": "x", "root": "elsewhere"}, "no root is called 'elsewhere'"),
    ("context", {}, "task"),
    ("context", {"files": [1]}, "files must be of type array"),
    ("context", {"files": {"a": 1}}, "files must be of type array"),
    ("context", {"task": "cart", "diff": "HEAD"}, "exclude each other"),
    ("context", {"diff": "nope"}, "nope"),
    ("related", {"place": "shop/cart.py"}, "names no line"),
    ("related", {"place": "shop/cart.py:x"}, "names no line"),
    ("related", {"place": "shop/cart.py:99999"}, "99999"),
    ("related", {"place": ":3"}, "names no line"),
    ("graph", {"question": "callers"}, "symbol is missing"),
    ("graph", {"symbol": "pay"}, "question is missing (callers, callees, impact, tests, path)"),
    ("graph", {"question": "who", "symbol": "pay"}, "allowed: callers"),
    ("graph", {"question": "path", "symbol": "pay"}, "`to`"),
    ("graph", {"question": "callers", "symbol": "pay", "depth": -1}, "at least 1"),
    ("graph", {"question": "callers", "symbol": "y" * 100_000}, "no such symbol"),
    ("remember", {"text": "x" * 1_000_000}, "text is longer than"),
    ("remember", {"text": "x", "about": "nowhere.py#f"}, "no such file"),
    ("recall", {"query": "x", "since": "neverday"}, "neverday"),
    ("feedback", {"useful": []}, "no symbol was named"),
]


@pytest.mark.parametrize("caller", ["stdio"], indirect=True)
def test_a_wrong_call_is_told_in_one_line_what_is_wrong_and_the_server_goes_on(caller: Caller) -> None:
    for tool, arguments, expected in WRONG:
        said = caller.call(tool, **arguments)
        assert said.wrong, (tool, said)
        assert expected in said, (tool, said)
        assert "\n" not in said.strip(), said
        assert len(said) < 1100
    assert not caller.call("search", query="cart").wrong


def test_no_answer_costs_more_than_its_budget_and_it_says_what_was_left_out(caller: Caller) -> None:
    for tool, arguments in READING.items():
        for budget in (60, 200):
            said = caller.call(tool, **arguments, budget=budget)
            assert count_tokens(said) <= budget, (tool, budget, said)
            assert "left out" in said or (said.wrong and "the least is" in said and budget == 60), (tool, said)
    everything = caller.call("search", query="sum of all prices", budget=5000)
    assert "nothing left out" in everything
    assert f" {count_tokens(everything)} given" in everything


def test_an_older_and_a_newer_protocol_are_both_spoken(listening: Any) -> None:
    with listening.caller(mode="2026-07-28") as modern:
        assert modern.call("search", query="sum of all prices").startswith("1. shop/cart.py")
    with listening.caller(mode="auto") as chosen:
        assert chosen.client.protocol_version == "2026-07-28"
        assert chosen.run(chosen.client.list_tools).tools


def test_two_sessions_at_once_get_their_own_answers(listening: Any) -> None:
    asked = {"sum of all prices": "shop/cart.py", "less for many": "shop/price.py", "charge the card": "shop/checkout.py"}
    with listening.caller() as one, listening.caller() as other:

        async def many(client: Any) -> list[str]:
            found: dict[str, str] = {}

            async def ask(query: str) -> None:
                found[query] = (await client.call_tool("search", {"query": query, "k": 1})).content[0].text

            async with anyio.create_task_group() as group:
                for query in list(asked) * 3:
                    group.start_soon(ask, query)
            return [found[query] for query, place in asked.items() if not found[query].startswith(f"1. {place}")]

        begun = [calling.portal.start_task_soon(many, calling.client) for calling in (one, other)]
        assert [work.result() for work in begun] == [[], []]
