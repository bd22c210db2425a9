"""TOML and marked blocks are edited in place (A3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.app.agents import toml_edits
from whence.app.agents.json_edits import MISSING
from whence.app.agents.text_edits import EditError, apply_splices, marked_block, put_block, remove_block

PATH = ("mcp_servers", "whence")
ENTRY = {"command": "whence", "args": ["mcp"], "env": {"WHENCE_SESSION": "codex"}}
WRITTEN = '[mcp_servers.whence]\ncommand = "whence"\nargs = ["mcp"]\nenv = { WHENCE_SESSION = "codex" }\n'
REAL = '''# Codex
model = "gpt-5.1"      # the usual one
notify = [
  "notify-send", # a comment with [brackets]
  "[mcp_servers.whence]",
]
prompt = """
[mcp_servers.whence]
not a table
"""

[mcp_servers."my server"]   # mine
command = 'npx'
args = [ "-y",'x' ]

[mcp_servers.docs.env]
KEY = "v#1"

[[profiles]]
name="a"
'''
pieces = st.sampled_from(
    [
        "a = 1\n",
        "# c\n",
        "\n",
        's = """\n[x]\n"""\n',
        "[t]\n",
        "[t.u]\r\n",
        "l = [\n [1], # ]\n]\n",
        "[[arr]]\n",
        'q = "[z]"\n',
        "i = { a = [1] }\n",
    ]
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(pieces, max_size=6).map("".join), st.sampled_from(["", "\ufeff"]), st.booleans())
def test_a_table_comes_and_goes_and_every_byte_stays(text, mark, cut):
    text = mark + (text.rstrip("\n") if cut else text)
    try:
        before = toml_edits.parse(text)
    except toml_edits.TomlError:
        return
    added = toml_edits.put(text, PATH, ENTRY)
    assert toml_edits.parse(added.text) == {**before, "mcp_servers": {"whence": ENTRY}}
    assert apply_splices(added.text, added.undo) == text
    assert toml_edits.parse(toml_edits.remove(added.text, PATH).text) == before


def test_a_real_configuration_keeps_its_comments_and_its_look():
    added = toml_edits.put(REAL, PATH, ENTRY).text
    assert added == f"{REAL}\n{WRITTEN}"
    assert toml_edits.remove(added, PATH).text == REAL
    windows = REAL.replace("\n", "\r\n")
    assert toml_edits.put(windows, PATH, ENTRY).text == added.replace("\n", "\r\n")


def test_a_table_that_is_there_is_replaced_where_it_stands():
    text = "x = 1\n\n[mcp_servers.whence] # ours\ncommand = 'old'\n\n[mcp_servers.whence.env]\nA = 'b'\n\n# of the next\n[y]\nz = 1\n"
    done = toml_edits.put(text, PATH, ENTRY)
    assert done.text == f"x = 1\n\n{WRITTEN}\n# of the next\n[y]\nz = 1\n"
    assert apply_splices(done.text, done.undo) == text
    assert toml_edits.remove(done.text, PATH).text == "x = 1\n\n# of the next\n[y]\nz = 1\n"
    assert toml_edits.value_at(text, PATH) == {"command": "old", "env": {"A": "b"}}
    assert toml_edits.value_at("a = 1", PATH) is MISSING


@each(
    "text",
    [
        "mcp_servers = { a = { command = 'x' } }\n",
        "[mcp_servers]\nwhence.command = 'x'\n",
        "mcp_servers.whence.command = 'x'\n",
        "mcp_servers = 1\n",
    ],
)
def test_what_cannot_be_a_table_of_its_own_is_refused_and_not_damaged(text):
    with pytest.raises(EditError, match=r"mcp_servers\.whence"):
        toml_edits.put(text, PATH, ENTRY)


def test_text_that_is_not_toml_is_refused_with_its_line():
    with pytest.raises(toml_edits.TomlError, match="line 2"):
        toml_edits.put("a = 1\nb = \n", PATH, ENTRY)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(["# Title\n", "\n", "text", "- a\r\n", "\r\n", "<!-- other -->\n", "\ufeff"]), max_size=5).map("".join))
def test_a_block_comes_and_goes_and_every_byte_stays(text):
    added = put_block(text, "one\ntwo")
    assert marked_block(added.text) == "one\ntwo"
    assert apply_splices(added.text, added.undo) == text
    assert put_block(added.text, "one\ntwo").text == added.text
    changed = put_block(added.text, "three")
    assert marked_block(changed.text) == "three"
    assert apply_splices(changed.text, (*changed.undo, *added.undo)) == text
    assert remove_block(added.text).text.rstrip() == text.rstrip()


def test_a_block_stands_apart_from_the_text_before_it_and_takes_its_line_ends():
    assert put_block("# A\r\n\r\nb\r\n", "x\ny").text == "# A\r\n\r\nb\r\n\r\n<!-- whence:start -->\r\nx\r\ny\r\n<!-- whence:end -->\r\n"
    text = "# A\n\n<!-- whence:start -->\nx\n<!-- whence:end -->\n\n# B\n"
    assert remove_block(text).text == "# A\n\n# B\n"
    assert put_block(text, "z").text == text.replace("x", "z")


@pytest.mark.parametrize(
    "text",
    ["<!-- whence:start -->\nx\n", "<!-- whence:end -->\n<!-- whence:start -->\n", "see <!-- whence:start --> and <!-- whence:end -->\n"],
)
def test_marks_that_do_not_enclose_a_block_are_refused(text):
    with pytest.raises(EditError):
        put_block(text, "x")
    with pytest.raises(EditError):
        remove_block(text)
