"""`whence enrich`, as a process: what it says, what it keeps, and how it goes on."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from graph.enrich.real_servers import python_server
from sample_trees import whence, write
from whence import Index
from whence.core.types import LSP, Edge

HOSTILE = Path(__file__).parents[1] / "graph" / "enrich" / "hostile_server.py"
FILES = {
    "shop/pay.py": "class Gateway:\n    def charge(self):\n        return 1\n\n\ndef make() -> Gateway:\n    return Gateway()\n",
    "shop/app.py": "from shop.pay import make\n\n\ndef pay():\n    return make().charge()\n",
}


@pytest.fixture
def tree(tmp_path) -> Path:
    return write(tmp_path / "tree", FILES)


def server(mode: str = "none", moment: str = "never", *more: str) -> str:
    return shlex.join([sys.executable, str(HOSTILE), mode, moment, *more])


def kept(root: Path) -> list[Edge]:
    with Index.open(root, refresh=False) as index:
        return index.store.edges(LSP)


def figures(*arguments: str, cwd: Path) -> dict:
    done = whence("enrich", "--lang", "python", "--json", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["languages"][0]


def test_a_real_server_adds_edges_and_is_asked_again_only_about_what_changed(tree):
    command = shlex.join(python_server())
    first = figures("--server", command, cwd=tree)
    assert (first["files"], first["left"], first["failed"]) == (2, 0, [])
    assert ("shop/app.py#pay", "shop/pay.py#Gateway.charge", "calls") in {(edge.source, edge.target, edge.kind) for edge in kept(tree)}
    write(tree, {"shop/app.py": FILES["shop/app.py"] + "\n\ndef more():\n    return make()\n"})
    second = figures("--server", command, cwd=tree)
    assert second["files"] == 1
    assert ("shop/app.py#more", "shop/pay.py#make") in {(edge.source, edge.target) for edge in kept(tree)}
    assert figures("--server", command, cwd=tree)["files"] == 0
    assert ("shop/app.py#more", "shop/pay.py#make") in {(edge.source, edge.target) for edge in kept(tree)}


def test_a_file_that_changed_and_changed_back_is_asked_about_again(tree):
    command = shlex.join(python_server())
    figures("--server", command, cwd=tree)
    for text in ("def pay():\n    pass\n", FILES["shop/app.py"]):
        write(tree, {"shop/app.py": text})
        whence("index", cwd=tree)
    assert not [edge for edge in kept(tree) if edge.source.startswith("shop/app.py")]
    assert figures("--server", command, cwd=tree)["files"] == 1
    assert [edge for edge in kept(tree) if edge.source.startswith("shop/app.py")]


def test_a_limit_leaves_the_rest_to_the_next_run(tree):
    first = figures("--server", server(), "--limit", "1", cwd=tree)
    assert (first["files"], first["left"]) == (1, 1)
    second = figures("--server", server(), "--limit", "1", cwd=tree)
    assert (second["files"], second["left"]) == (1, 0)
    assert figures("--server", server(), cwd=tree)["files"] == 0
    assert figures("--server", server(), "--again", cwd=tree)["files"] == 2


def test_a_path_narrows_what_is_asked_about(tree):
    assert figures("shop/app.py", "--server", server(), cwd=tree)["files"] == 1


def test_a_server_that_crashes_is_told_in_plain_lines_and_the_other_files_are_kept(tree, tmp_path):
    crashing = server("crash", "textDocument/definition", str(tmp_path / "process"), "app.py")
    done = whence("enrich", "--lang", "python", "--server", crashing, cwd=tree)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("whence: shop/app.py is left out: the language server")
    assert "1 files left" in done.stdout
    assert figures("--server", server(), cwd=tree)["files"] == 1


def test_a_server_that_talks_nonsense_is_one_line_and_exit_code_two(tree):
    done = whence("enrich", "--lang", "python", "--server", server("prose", "initialize"), cwd=tree)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "does not speak the protocol" in done.stderr


def test_without_a_server_the_line_says_how_to_install_one(tmp_path):
    root = write(tmp_path / "tree", {"a.ts": "export function f() { return g(); }\n"})
    done = whence("enrich", cwd=root, PATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "npm i -g typescript-language-server typescript" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--server", "x"], "--server needs --lang"),
        (["--lang", "klingon"], "there is no language 'klingon'"),
        (["--lang", "python", "--server", "no-such-program-anywhere"], "no such program"),
        (["--lang", "lua"], "there is no language server for lua"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_two(tree, arguments, complaint):
    done = whence("enrich", *arguments, cwd=tree)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert complaint in done.stderr


def test_a_tree_without_a_known_language_is_one_line(tmp_path):
    done = whence("enrich", cwd=write(tmp_path / "tree", {"a.md": "# Title\n"}))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nothing here to ask" in done.stderr


def test_the_command_may_be_a_setting_of_the_user(tree):
    done = whence("enrich", "--lang", "python", "--json", cwd=tree, WHENCE_ENRICH_PYTHON=server())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["languages"][0]["command"][0] == sys.executable


def test_a_repository_may_not_say_which_program_to_run(tree):
    write(tree, {".whence.toml": f"[enrich]\npython = {json.dumps(server())}\n"})
    done = whence("enrich", "--lang", "python", cwd=tree)
    assert done.returncode == 2
    assert "a repository may not say which program to run" in done.stderr
