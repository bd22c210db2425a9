"""A small project with an index, and servers that many tests share: each start of one costs a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_servers import Bare, Caller, Listening, over_stdio, surroundings
from sample_shop import make_project
from sample_trees import whence, write


@pytest.fixture(scope="session")
def shop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of the servers that are shared."""
    return tmp_path_factory.mktemp("mcp-home")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory, shop_home: Path) -> Path:
    """The project, indexed, for tests that change nothing in it."""
    root = make_project(tmp_path_factory.mktemp("mcp") / "shop-root")
    done = whence("index", str(root), cwd=root, **surroundings(shop_home))
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def bare(shop: Path, shop_home: Path) -> Iterator[Bare]:
    """One server over standard streams, spoken to in bare lines."""
    with Bare(shop_home, shop) as server:
        yield server


@pytest.fixture(scope="session")
def listening(shop: Path, shop_home: Path) -> Iterator[Listening]:
    """One server over HTTP."""
    with Listening(shop_home, shop) as server:
        yield server


@pytest.fixture(scope="session", params=["stdio", "http"])
def caller(request: pytest.FixtureRequest, shop: Path, shop_home: Path) -> Iterator[Caller]:
    """The SDK's client, over each transport."""
    if request.param == "stdio":
        with over_stdio(shop_home, shop) as calling:
            yield calling
    else:
        with request.getfixturevalue("listening").caller() as calling:
            yield calling


#: Files of a tree whose index takes some seconds.
MANY = 300


@pytest.fixture(scope="session")
def large_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose index takes some seconds; who wants to see it built brings a data folder of their own."""
    names = ["retry", "request", "connection", "limit", "walrus", "parse", "store"]
    text = "\n".join(f"def {names[i % 7]}_{i}(value):\n    return {names[(i + 3) % 7]}(value, {i})\n" for i in range(60))
    files = {f"lib/part_{number}.py": f"class Part_{number}: pass\n\n{text}" for number in range(MANY)}
    return write(tmp_path_factory.mktemp("mcp-large") / "large", files)
