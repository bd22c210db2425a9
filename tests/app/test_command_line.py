"""Which root a path belongs to, and which roots are indexed only when that is confirmed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sample_trees import git, whence, write
from terminals import on_a_terminal
from whence.app.command_line import Target, targets_of
from whence.app.workspace import IndexSession
from whence.core.errors import RootError

#: How often a server is asked before its build process must have answered.
MOST_LOOKS = 50
FILES = {
    "shop/cart.py": "def pay_cart():\n    return 1\n",
    "shop/deep/tax.py": "def pay_tax():\n    return 2\n",
    "other/pay.py": "def pay(): ...\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write(tmp_path / "plain", FILES)
    monkeypatch.chdir(root)
    return root


def roots(path: Path) -> list[str]:
    return [one["root"] for one in json.loads(whence("search", "pay", "--json", cwd=path).stdout)["indexes"]]


def test_without_git_a_path_belongs_to_the_current_folder(folder: Path) -> None:
    assert targets_of(("shop/cart.py", "other")) == [Target(folder, ("shop/cart.py", "other"))]
    assert targets_of(()) == [Target(folder)]


def test_without_git_a_path_elsewhere_is_its_own_root(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", FILES)
    assert targets_of(("../elsewhere/shop/cart.py",)) == [Target(tmp_path / "elsewhere/shop", ("cart.py",))]


def test_without_git_an_index_above_is_used(folder: Path) -> None:
    assert roots(folder) == [str(folder)]
    assert roots(folder / "shop/deep") == [str(folder)]
    assert [one["path"] for one in json.loads(whence("search", "pay", "--json", cwd=folder / "shop/deep").stdout)["results"]] == ["tax.py"]


def test_with_git_the_repository_is_the_root(folder: Path) -> None:
    git("init", "-q", cwd=folder / "shop")
    assert targets_of(("shop/deep/tax.py", "other")) == [Target(folder / "shop", ("deep/tax.py",)), Target(folder, ("other",))]


def test_without_git_related_code_is_found_in_the_whole_folder(folder: Path) -> None:
    found = json.loads(whence("related", "shop/cart.py:1", "--json", cwd=folder).stdout)
    assert {one["path"] for one in found["results"]} >= {"shop/deep/tax.py"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = write(tmp_path / "people/ada", {"notes.py": "def pay(): ...\n", "code/a.py": "def pay(): ...\n"})
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize("place", ["", ".."])
def test_a_home_folder_or_one_around_it_is_indexed_only_when_confirmed(home: Path, place: str) -> None:
    root = (home / place).resolve()
    refused = whence("search", "pay", cwd=root)
    assert refused.returncode == 2
    assert refused.stderr == f"whence: {root} is no project (name a folder in it, or confirm with --set index.confirm_above=0)\n"
    assert whence("search", "pay", "--set", "index.confirm_above=0", cwd=root).returncode == 0
    assert whence("search", "pay", cwd=root).returncode == 0, "it was confirmed once"


def test_a_folder_at_home_is_a_project_of_its_own(home: Path) -> None:
    assert whence("search", "pay", "--set", "index.confirm_above=0", cwd=home).returncode == 0
    assert roots(home / "code") == [str(home / "code")]
    assert whence("search", "pay", "code", cwd=home).returncode == 0


def test_very_many_files_without_git_are_indexed_only_when_confirmed(folder: Path) -> None:
    write(folder, {f"node_modules/{number}.js": "" for number in range(5)})
    assert whence("index", "--set", "index.confirm_above=3", cwd=folder).returncode == 0
    whence("clear", cwd=folder)
    refused = whence("search", "pay", cwd=folder, WHENCE_INDEX_CONFIRM_ABOVE="2")
    assert (refused.returncode, refused.stderr.partition(" (")[0]) == (
        2,
        f"whence: {folder} has more than 2 files and is no git repository",
    )
    git("init", "-q", cwd=folder)
    assert whence("search", "pay", cwd=folder, WHENCE_INDEX_CONFIRM_ABOVE="2").returncode == 0


@pytest.mark.process
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 2)])
def test_on_a_terminal_the_user_is_asked(home: Path, typed: str, code: int) -> None:
    written, ended = on_a_terminal("search", "pay", "-l", cwd=home, typed=typed)
    assert f"{home} is no project. Index it all the same? [y/N]" in written
    assert (ended, "notes.py" in written) == (code, code == 0)


@pytest.mark.process
def test_a_server_answers_with_the_same_line(home: Path) -> None:
    async def ask() -> None:
        session = IndexSession(home, {"mcp.patience": "5"})
        try:
            for _ in range(MOST_LOOKS):
                await session.ask(lambda index, _: index)
        finally:
            await session.aclose()

    with pytest.raises(RootError, match="is no project"):
        asyncio.run(ask())
