"""The fleet as agents and the page reach it: by real servers, of a real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.sample_fleet import BLUE, BOTH, RED, planted, sent
from mcp_servers import Bare, surroundings
from sample_trees import write
from small_cases import each
from ui.opened import opened, url_has
from ui.pages import Served, serving
from whence.core.settings import FleetSettings
from whence.fleet.engine import Engine
from whence.fleet.registry import token_hash


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def tree(place: Path) -> Path:
    """A folder that is served beside the fleet."""
    return write(place / "here", {"local.py": "def only_here():\n    return 1\n"})


@pytest.fixture(scope="module")
def tokens(place: Path) -> Path:
    file = place / "tokens.json"
    file.write_text(json.dumps({token_hash("of red"): ["red"]}))
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def environment(server: str, place: Path, tokens: Path) -> Iterator[dict[str, str]]:
    """What a server is started with, whose caller is of the group red."""
    settings = FleetSettings(backend="milvus", address=server, prefix="served", timeout=30.0)
    with Engine.open(settings) as engine:
        engine.ensure()
        sent(engine, planted(place), place / "data")
        yield {
            "WHENCE_FLEET_BACKEND": "milvus",
            "WHENCE_FLEET_ADDRESS": server,
            "WHENCE_FLEET_PREFIX": "served",
            "WHENCE_FLEET_TOKENS": str(tokens),
            "WHENCE_FLEET_CALLER": "of red",
        }
        engine.drop()


@pytest.fixture(scope="module")
def agent(place: Path, tree: Path, environment: dict[str, str]) -> Iterator[Bare]:
    home = place / "home"
    with Bare(home, tree, env=surroundings(home, **environment)) as server:
        yield server


def test_an_agent_is_offered_the_fleet_where_there_is_one(agent, place, tree):
    def offered(server: Bare) -> bool:
        (search,) = [tool for tool in server.ask("tools/list")["result"]["tools"] if tool["name"] == "search"]
        return "fleet" in search["inputSchema"]["properties"]

    assert offered(agent)
    with Bare(place / "other", tree, env=surroundings(place / "other")) as without:
        assert not offered(without)
        said = without.call("search", query="session", fleet=True)
        assert said.wrong
        assert "no fleet is set up" in said


def test_an_agent_searches_the_repositories_that_its_server_may_see(agent):
    said = agent.call("search", query="open a session", fleet=True, why=True)
    assert not said.wrong
    assert f"1. {RED}/store/session.py:" in said
    assert "umbra" not in said
    assert "fleet: 2 repositories, 5 files, the oldest indexed " in said.splitlines()[-1]
    chosen = agent.call("search", query="connection lost repo:kit", fleet=True, k=1)
    assert f"1. {BOTH}/kit/retry.py:" in chosen
    assert "fleet: 1 repository, " in chosen


def test_an_agent_is_told_the_same_of_a_foreign_repository_and_of_none(agent):
    foreign, unknown = (agent.call("search", query=f"session repo:{name}", fleet=True) for name in (BLUE, "un/known"))
    assert foreign == unknown
    assert "no repository that you may see matches" in foreign


@each("wrong", [{"path": "local.py"}, {"root": "here"}, {"query": "in:notes x"}, {"query": "lang:python"}])
def test_what_makes_no_sense_of_a_fleet_is_refused(agent, wrong):
    assert agent.call("search", **{"query": "session", "fleet": True, **wrong}).wrong


def test_a_plain_search_is_of_the_folder_alone(agent):
    assert "local.py" in agent.call("search", query="only_here")


def test_a_right_that_was_taken_away_is_gone_at_once(agent, tokens):
    before = tokens.read_text()
    assert not agent.call("search", query="session", fleet=True).wrong
    tokens.write_text(json.dumps({token_hash("of another"): ["red"]}))
    said = agent.call("search", query="session", fleet=True)
    tokens.write_text(before)
    assert said.wrong
    assert "does not know this caller" in said
    assert not agent.call("search", query="session", fleet=True).wrong


# The page.
@pytest.fixture(scope="module")
def served(place: Path, tree: Path, environment: dict[str, str]) -> Iterator[Served]:
    lines = [f'{name.removeprefix("WHENCE_FLEET_").lower()} = "{value}"' for name, value in environment.items()]
    write(place / "page", {"config/whence/config.toml": "\n".join(["[fleet]", *lines])})
    with serving(tree, home=place / "page") as one:
        yield one


def test_the_page_asks_the_fleet_as_whom_its_settings_name(served):
    assert served.ask("roots")[1]["fleet"] is True
    status, answer = served.ask("search", {"query": "open a session", "fleet": True})
    assert status == 200
    assert answer["results"][0]["root"] == RED
    assert answer["results"][0]["path"] == "store/session.py"
    assert answer["results"][0]["lines"]
    assert answer["facets"]["repositories"][RED] >= 1
    assert (answer["repositories"], answer["roots"]) == (2, [])
    assert served.ask("search", {"query": f"session repo:{BLUE}", "fleet": True})[1]["results"] == []


@each("wrong", [{"query": ""}, {"query": "lang:python"}, {"root": "here"}, {"query": "in:notes x"}])
def test_the_page_is_told_in_one_line_what_a_fleet_is_not_asked(served, wrong):
    status, answer = served.ask("search", {"query": "session", "fleet": True, **wrong})
    assert status == 400
    assert answer["error"]


def test_a_switch_searches_the_whole_fleet_and_a_facet_chooses_a_repository(browser, served):
    with opened(browser, served, "/?q=session") as page:
        page.get_by_label("the whole fleet").check()
        page.wait_for_selector(f".results li:has-text('{RED}/store/session.py')")
        assert "2 repositories searched" in page.inner_text(".fleet")
        assert page.locator(".results h3 a, .results button.why").count() == 0  # nothing leads where there is nothing
        page.get_by_role("button", name=RED).click()
        url_has(page, "fleet=1", "repo%3Aacme%2Fcrimson")
        page.wait_for_selector(".fleet:has-text('1 repository searched')")
        page.get_by_label("the whole fleet").uncheck()
        page.wait_for_selector(".empty, .results")
        assert "fleet=1" not in page.url


def test_without_a_fleet_there_is_no_switch(browser, place, tree):
    with serving(tree, home=place / "plain") as one:
        assert one.ask("roots")[1]["fleet"] is False
        with opened(browser, one, "/?q=only_here") as page:
            page.wait_for_selector(".results li")
            assert page.get_by_label("the whole fleet").count() == 0
