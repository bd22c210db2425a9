"""On a terminal: links to lines, a pager, an editor at the line, and results while one types."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from mcp_servers import until
from sample_trees import whence, write
from small_cases import each
from terminals import Tmux, on_a_terminal
from whence.cli.terminal import editor_command
from whence.core.errors import SettingError, UsageError
from whence.core.settings import load_settings

FILES = {
    "src/shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n\n\ndef empty_cart(cart):\n    cart.prices = []\n",
    "src/shop/pay.py": "def pay(cart):\n    if not cart.total():\n        raise ValueError('nothing to pay for')\n",
    "docs/guide.md": "# Guide\n\nHow to pay.\n",
}
LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\")
process = pytest.mark.process
pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    root = write(tmp_path_factory.mktemp("tree") / "a shop", FILES)
    whence("index", cwd=root, WHENCE_DATA_DIR=str(data))
    return root


# Links.
@process
def test_a_path_leads_to_its_line_where_the_terminal_follows_links(tree):
    written, _ = on_a_terminal("search", "what is the total of a cart", "-k", "1", cwd=tree, WHENCE_SHELL_LINKS="edit://{path}?line={line}")
    (address, text), *_ = LINK.findall(written)
    assert address == f"edit://{tree}/src/shop/cart.py?line=2".replace(" ", "%20")
    assert "src/shop/cart.py" in text
    written, _ = on_a_terminal("callers", "Cart.total", cwd=tree, VTE_VERSION="7200")
    assert any(address.startswith("file://") and address.endswith("src/shop/pay.py") for address, _ in LINK.findall(written))


@process
def test_nothing_is_linked_where_links_are_not_known_to_work_or_not_wanted(tree, monkeypatch):
    for name in ("VTE_VERSION", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    for environment in ({}, {"VTE_VERSION": "7200", "WHENCE_SHELL_LINKS": "none"}, {"VTE_VERSION": "7200", "TERM": "dumb"}):
        assert not LINK.findall(on_a_terminal("search", "total of a cart", cwd=tree, **environment)[0])
    assert "\x1b" not in whence("search", "total of a cart", cwd=tree, VTE_VERSION="7200").stdout


def test_a_repository_cannot_say_where_links_lead(tmp_path):
    write(tmp_path, {".whence.toml": '[shell]\nlinks = "http://evil.example/{path}"\n'})
    with pytest.raises(SettingError, match="may not set 'shell"):
        load_settings(tmp_path)


@each("links", ["javascript", "vscode://file/{line}", "a b:{path}", "x:{path}\x1b\\"])
def test_an_address_without_a_path_or_with_control_characters_is_refused(links):
    with pytest.raises(SettingError):
        load_settings(None, call={"shell.links": links})


# The pager.
@process
def test_an_answer_longer_than_the_terminal_is_paged(tree):
    written, code = on_a_terminal("config", cwd=tree, PAGER="sed s/^/|/")
    assert code == 0
    assert all(line.startswith("|") for line in written.splitlines())


@process
def test_a_short_answer_or_one_that_is_to_be_plain_is_not_paged(tree):
    for command in (("search", "total of a cart"), ("config", "--set", "shell.pager=never"), ("config", "--budget", "100")):
        written, _ = on_a_terminal(*command, cwd=tree, PAGER="sed s/^/|/")
        assert not any(line.startswith("|") for line in written.splitlines())


@process
def test_json_is_paged_too_and_whole(tree):
    written, _ = on_a_terminal("config", "--json", cwd=tree, PAGER="grep -c '\"name\"'")
    assert int(written) > 100


# Editors.
@each(
    ("editor", "command"),
    [
        ("vi", ["vi", "+7", "/a/b c.py"]),
        ("emacs -nw", ["emacs", "-nw", "+7", "/a/b c.py"]),
        ("/usr/bin/code --wait", ["/usr/bin/code", "--wait", "--goto", "/a/b c.py:7"]),
        ("hx", ["hx", "/a/b c.py:7"]),
        ("pycharm", ["pycharm", "--line", "7", "/a/b c.py"]),
    ],
)
def test_every_editor_is_given_the_line_in_its_own_way(editor, command):
    assert editor_command({"EDITOR": editor}, Path("/a/b c.py"), 7) == command


def test_visual_comes_before_editor_and_one_of_them_must_be_set():
    assert editor_command({"EDITOR": "ed", "VISUAL": "vim"}, Path("/x"), 1)[0] == "vim"
    with pytest.raises(UsageError, match="there is no editor"):
        editor_command({}, Path("/x"), 1)


def test_the_best_result_opens_in_the_editor_at_its_line(tree, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/opened"\n')
    editor.chmod(0o755)
    done = whence("search", "what is the total of a cart", "--open", cwd=tree, EDITOR=str(editor))
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "opened").read_text() == f"+2 {tree}/src/shop/cart.py\n"


# Searching while typing.
def test_without_a_terminal_nobody_can_type(tree):
    done = whence("search", "-i", cwd=tree)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


@process
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_results_and_code_appear_while_one_types_and_enter_opens_them(tree, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/opened"\n')
    editor.chmod(0o755)
    with Tmux(
        "search", "-i", cwd=tree, socket=tmp_path / "tmux", EDITOR=str(editor), WHENCE_DATA_DIR=os.environ["WHENCE_DATA_DIR"]
    ) as terminal:
        terminal.shows("Esc quit")
        terminal.press("nothing to p", "a", "y")
        shown = terminal.shows("src/shop/pay.py")
        assert shown[0] == "> nothing to pay"
        assert any("raise ValueError" in line for line in shown)
        terminal.press("C-u")
        terminal.press("total of cart")
        terminal.shows("cart.py:2")
        terminal.press(" callers:nobody")
        assert "cart.py:2" in "\n".join(terminal.shows("no such symbol"))  # the last results stay
        terminal.press("C-w", "Enter")
        until((tmp_path / "opened").exists)
        terminal.shows("> total of cart")  # after the editor
        terminal.press("Escape")
        terminal.shows("ended with 0")
    assert (tmp_path / "opened").read_text() == f"+2 {tree}/src/shop/cart.py\n"
