"""A small project with notes, served once for many tests, and pages in a browser that must not complain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sample_histories import commit
from sample_shop import FILES
from sample_trees import git, whence, write
from ui.opened import opened
from ui.pages import BAD, Served, serving


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the data, the settings and the notes of the served project are."""
    return tmp_path_factory.mktemp("ui-home")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    """A repository with an index."""
    root = write(tmp_path_factory.mktemp("ui") / "shop", FILES)
    git("init", "-q", cwd=root)
    commit(root, "The shop opens")
    done = whence("index", str(root), cwd=root, WHENCE_DATA_DIR=str(home / "data"), XDG_DATA_HOME=str(home / "share"))
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def served(project: Path, home: Path) -> Iterator[Served]:
    """The project, served."""
    with serving(project, home=home) as one:
        yield one


@pytest.fixture
def page(browser: Any, served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page, opened by its link. Whatever it complains about in its console fails the test.

    `@pytest.mark.parametrize("page", [{"color_scheme": "dark", "viewport": PHONE}], indirect=True)` opens it otherwise.
    """
    with opened(browser, served, **getattr(request, "param", {})) as one:
        yield one


@pytest.fixture
def show(page: Any, served: Served) -> Callable[[str], Any]:
    """Go to a view by its address: `show("/graph?symbol=Cart.total")`."""

    def go(address: str) -> Any:
        page.goto(f"{served.base}{address}")
        page.wait_for_selector("#content main:not(.wait)")
        return page

    return go


@pytest.fixture
def accessible() -> Callable[[Any], None]:
    """Have axe look at a page: nothing serious or critical."""

    def check(page: Any) -> None:
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page).response["violations"]
        told = [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found if one["impact"] in BAD for node in one["nodes"]
        ]
        assert told == []

    return check
