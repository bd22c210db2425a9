"""Nothing outside the roots is read, or named as existing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from mcp_servers import Caller, over_stdio, surroundings
from sample_trees import git, whence, write

SECRET = "the_password_is_herring"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two roots, one inside the other's neighbour, and what is none of anybody's business."""
    place = tmp_path_factory.mktemp("roots").resolve()
    secret = f"def {SECRET}():\n    return 'walrus'\n"
    write(place, {"outside/secret.py": secret, "app-evil/secret.py": secret, "secret.py": secret})
    write(place, {"app/main.py": "def walrus_main():\n    return 1\n", "app/inner/deep.py": "def walrus_deep():\n    return 2\n"})
    write(place, {"lib/tool.py": "def walrus_tool():\n    return 3\n", "other/lib/tool.py": "def walrus_other():\n    return 4\n"})
    app = place / "app"
    (app / "file_link.py").symlink_to(place / "outside" / "secret.py")
    (app / "folder_link").symlink_to(place / "outside")
    (app / "dangling.py").symlink_to(place / "nowhere.py")
    (app / "loop.py").symlink_to(app / "loop.py")
    (app / "inside_link.py").symlink_to(app / "main.py")
    return place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Caller]:
    with over_stdio(place / "home", place / "app", place / "lib", place / "app" / "inner") as calling:
        yield calling


OUTSIDE = [
    "../outside/secret.py",
    "../outside",
    "../..",
    "../app-evil/secret.py",
    "inner/../../secret.py",
    "file_link.py",
    "folder_link",
    "folder_link/secret.py",
    "dangling.py",
    "loop.py",
    "nul\0.py",
    "/etc/passwd",
    "/",
    "~/secret.py",
    "app/../../secret.py",
    "lib/../../outside/secret.py",
    "{place}/outside/secret.py",
    "{place}/app-evil/secret.py",
    "{place}/app/../outside/secret.py",
    "{place}/app/folder_link/secret.py",
    "a" * 5000,
]


def test_a_path_outside_is_refused_wherever_it_is_given_and_whether_it_exists_is_not_told(server: Caller, place: Path) -> None:
    for written in OUTSIDE:
        path = written.replace("{place}", str(place))
        calls = {
            "search": server.call("search", query="walrus", path=path),
            "related": server.call("related", place=f"{path}:1"),
            "context": server.call("context", files=[path]),
            "remember": server.call("remember", text="x", about=[f"{path}#{SECRET}"]),
            "graph": server.call("graph", question="callers", symbol=f"{path}#{SECRET}"),
            "feedback": server.call("feedback", useful=[f"{path}#{SECRET}"]),
        }
        for tool, said in calls.items():
            assert said.wrong, (written, tool, said)
            assert "\n" not in said, (written, tool, said)
            assert "walrus" not in said.replace(path, ""), (written, tool, said)
        assert "is not in a folder that this server may read" in calls["search"] or "no such file" in calls["search"], calls["search"]
        if "secret" in path:
            missing = path.replace("secret", "nosuch")
            assert server.call("search", query="walrus", path=missing) == calls["search"].replace("secret", "nosuch")
            assert server.call("context", files=[missing]) == calls["context"].replace("secret", "nosuch")
        for kind in ("unit", "note"):
            for uri in (f"whence://{kind}/{path}", f"whence://{kind}/{path}%23{SECRET}", f"whence://{kind}/{path.replace('/', '%2F')}"):
                with pytest.raises(MCPError) as refused:
                    server.read(uri)
                assert "walrus" not in refused.value.message


def test_an_empty_path_is_no_path(server: Caller) -> None:
    assert "walrus_main" in server.call("search", query="walrus", path="")
    assert "names no line" in server.call("related", place=":1")
    assert server.call("context", files=[]).wrong


def test_links_out_of_a_root_are_not_searched(server: Caller) -> None:
    for query in (SECRET, f"/{SECRET}/", "password herring"):
        assert "secret.py" not in server.call("search", query=query)
    units = [json.loads(server.read("whence://status"))["roots"][number]["files"] for number in range(3)]
    assert units == [2, 1, 1]


def test_answers_of_several_roots_say_which_and_what_they_say_can_be_given_back(server: Caller, place: Path) -> None:
    said = server.call("search", query="walrus")
    found = [line.split()[1].partition(":")[0] for line in said.splitlines() if line[:1].isdigit()]
    assert sorted(found) == ["app/main.py", "inner/deep.py", "lib/tool.py"], "each file once, of the innermost root"
    for path in found:
        assert path in server.call("search", query="walrus", path=path)
        assert not server.call("related", place=f"{path}:1").wrong
    assert "lib/tool.py" in server.call("context", files=["lib/tool.py"])
    assert "lib/tool.py" in server.call("graph", question="callers", symbol="walrus_tool"), "the root that knows the name is asked"
    assert "lib/tool.py" in server.call("graph", question="callers", symbol="lib/tool.py#walrus_tool")
    assert not server.call("remember", text="Tools are walruses.", about=["lib/tool.py#walrus_tool"]).wrong
    assert "tool.py#walrus_tool" in server.call("feedback", useful=["lib/tool.py#walrus_tool"])
    assert "walrus_tool" in server.call("graph", question="callers", symbol="walrus_tool", root="lib")
    assert server.call("graph", question="callers", symbol="walrus_tool", root="app").wrong
    assert "walrus_deep" in server.call("search", query="walrus", root="app", path="inner")
    assert "walrus_main" not in server.call("search", query="walrus", root=str(place / "lib"))
    assert "walrus_main" in server.call("search", query="walrus", path=str(place / "app" / "inside_link.py"))
    assert "return 3" in server.read("whence://unit/tool.py%23walrus_tool")
    for root in ("elsewhere", str(place / "outside"), "../lib", "/"):
        assert server.call("search", query="walrus", root=root).wrong


def test_two_roots_of_one_name_are_told_apart(place: Path) -> None:
    with over_stdio(place / "home", place / "lib", place / "other" / "lib") as server:
        said = server.call("search", query="walrus")
        assert f"{place}/lib/tool.py:1" in said
        assert f"{place}/other/lib/tool.py:1" in said
        assert "walrus_other" in server.call("search", query="walrus", path=f"{place}/other/lib/tool.py")
        assert "walrus_other" in server.call("graph", question="callers", symbol="walrus_other", root=f"{place}/other/lib")


def test_a_server_is_not_started_where_there_is_no_project(tmp_path: Path, place: Path) -> None:
    home = tmp_path / "folder" / "home"
    there = surroundings(home)
    git("init", "-q", cwd=home)
    for folder in (home, home.parent, Path("/")):
        done = whence("mcp", cwd=folder, **there)
        assert done.returncode == 2
        assert "no project" in done.stderr
    for wrong in (("--root", str(place / "nowhere")), ("--root", str(place / "secret.py")), ("--root", ""), ("--set", "mcp.nope=1")):
        done = whence("mcp", *wrong, cwd=place / "app", **there)
        assert done.returncode == 2, wrong
        assert done.stderr.startswith("whence: "), wrong
        assert done.stderr.count("\n") <= 2, wrong
        assert done.stdout == ""


def test_a_file_that_became_a_link_is_not_read_though_the_index_still_knows_it(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"door.py": "def open_door():\n    pass\n", "below/gate.py": "def open_gate():\n    pass\n"})
    write(tmp_path / "outside", {"door.py": f"{SECRET} door\n", "gate.py": f"{SECRET} gate\n"})
    with over_stdio(tmp_path / "home", root, more=("--set", "mcp.patience=60")) as server:
        assert "open_gate" in server.call("search", query="open")
    (root / "door.py").unlink()
    (root / "door.py").symlink_to(tmp_path / "outside" / "door.py")
    (root / "below").rename(tmp_path / "away")
    (root / "below").symlink_to(tmp_path / "outside")
    write(root, {"large.py": "x = 1  # so much that the index is brought up to date beside the server\n" * 10_000})
    with over_stdio(tmp_path / "home", root, more=("--set", "mcp.patience=0")) as server:
        answers = [server.call("search", query="open"), server.call("context", task="open")]
        assert not any(SECRET in said for said in answers)
