"""The formats: readable, well-formed whatever the source holds, and the same bytes every time."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.context.budget import Detail, PackHeader, PackItem, pack
from whence.context.render import RENDERERS, Json, Markdown, Xml, renderer
from whence.core.errors import UsageError

HEAD = PackHeader("add retry", "whence show PATH:LINE", {"commit": "1a2b3c4", "changed": 2})
PIECE = PackItem(
    key="net/client.py#Client.send", qualified_name="Client.send", kind="method", path="net/client.py", start_line=12, end_line=14,
    score=2.5, walk=1.0, signature="def send(self, request):", doc="Sends a request.",
    body="    def send(self, request):\n        return self._pool.send(request)\n", because="names retry",
)  # fmt: skip

any_text = st.text(st.characters(exclude_categories=())) | st.text("]>[<&\"'`\r\n\t\0 \ufffe\ud800a") | st.just("]]>")
any_piece = st.builds(
    PackItem, key=any_text, qualified_name=any_text, kind=any_text, path=any_text, start_line=st.integers(1, 99), end_line=st.integers(1, 99),
    score=st.floats(-1, 1), walk=st.floats(0, 1), signature=any_text, doc=any_text, body=any_text, because=any_text,
)  # fmt: skip
any_head = st.builds(PackHeader, task=any_text, hint=any_text, freshness=st.dictionaries(any_text, any_text | st.integers(), max_size=2))


def packed(render, pieces=(PIECE,), budget=5_000, head=HEAD):
    return pack(pieces, budget, render, head=head)


def text_between(text, fence):
    """What Markdown takes as the content of the first fenced block."""
    lines = iter(text.split("\n"))
    next(line for line in lines if line.startswith(fence))
    content = []
    for line in lines:
        if line.startswith(fence) and not line.strip("` "):
            return "\n".join(content)
        content.append(line)
    raise AssertionError("the fence is never closed")


def test_markdown_shows_a_body_under_a_heading_that_says_where():
    assert packed(Markdown()).text == (
        "# add retry\n\ncommit 1a2b3c4 · changed 2\n\n\n"
        "## `net/client.py:12-14 Client.send` method\n"
        "```python\n    def send(self, request):\n        return self._pool.send(request)\n```\n\n"
        "Tokens: 5000 asked, 107 given. Symbols: 1 with body, 0 with signature, 0 named, 0 left out\n"
    )


def test_markdown_shows_a_signature_and_a_pointer_in_one_line_each():
    assert (
        Markdown().symbol(PIECE, Detail.SIGNATURE)
        == "- `net/client.py:12 Client.send` `def send(self, request):` Sends a request. (names retry)\n"
    )
    assert Markdown().symbol(PIECE, Detail.POINTER) == "- `net/client.py:12 Client.send`\n"


@each("quotes", ["`", "```", "``````", "a ```` b ````` c"])
def test_a_markdown_fence_is_longer_than_any_run_of_backquotes_in_the_source(quotes):
    body = f"text = '''\n{quotes}\n{quotes}python\n'''"
    text = Markdown().symbol(PackItem("k", "n", "constant", "a.py", 1, 4, 1.0, 1.0, "", "", body), Detail.BODY)
    fence = text.split("\n")[2].removesuffix("python")
    assert set(fence) == {"`"}
    assert text_between(text, fence) == body


@each(("path", "tag"), [("a/b.rs", "rust"), ("Makefile", "make"), ("x.unheard-of", ""), ("a.tsx", "tsx")])
def test_a_fence_names_the_language_of_the_path(path, tag):
    text = Markdown().symbol(PackItem("k", "n", "function", path, 1, 1, 1.0, 1.0, "", "", "body"), Detail.BODY)
    assert f"\n```{tag}\nbody\n```\n" in text


def test_names_with_backquotes_and_line_ends_stay_inside_one_code_span():
    piece = PackItem("k", "a`b``\nc", "function", "x  y.py", 3, 3, 1.0, 1.0, "", "", "")
    assert Markdown().symbol(piece, Detail.POINTER) == "- ``` x  y.py:3 a`b`` c ```\n"


def test_xml_holds_source_to_the_letter():
    body = "if (a < b && c[d[0]]>1) {\n\treturn \"<![CDATA[\" + ']]>';\n}\n"
    tree = ET.fromstring(packed(Xml(), [PackItem("k", "f", "function", "a.c", 1, 3, 1.0, 1.0, "int f()", "", body, "a < b")]).text)
    symbol = tree.find("symbol")
    assert symbol.text == f"\n{body}"
    assert symbol.attrib == {"at": "a.c:1 f", "kind": "function", "because": "a < b", "end": "3"}


@given(st.lists(any_piece, max_size=5), any_head, st.integers(1_000, 5_000))
def test_xml_is_well_formed_whatever_the_source_holds(pieces, head, budget):
    given = packed(Xml(), pieces, budget, head)
    tree = ET.fromstring(given.text.encode("utf-8"))
    assert len(tree.findall("symbol")) == len(given.shown)
    assert tree[-1].tag == "budget"


@given(st.lists(any_piece, max_size=5), any_head, st.integers(1_000, 5_000))
def test_json_is_one_object_whatever_the_source_holds(pieces, head, budget):
    given = packed(Json(), pieces, budget, head)
    read = json.loads(given.text.encode("utf-8"))
    assert [symbol["form"] for symbol in read["symbols"]] == [shown.form.name.lower() for shown in given.shown]
    assert (read["budget"], read["tokens"], read["left_out"]["count"]) == (budget, given.tokens, len(given.left_out))


@given(st.lists(any_piece, max_size=5), any_head, st.integers(1_000, 5_000))
def test_markdown_can_be_printed_whatever_the_source_holds(pieces, head, budget):
    text = packed(Markdown(), pieces, budget, head).text
    text.encode("utf-8")
    assert text.endswith("left out\n") or "left out; " in text.splitlines()[-1]
    assert not set(text) & {"\0", "\x1b", "\r"}


def test_json_says_everything_that_is_known_of_a_symbol_in_its_form():
    read = json.loads(packed(Json()).text)
    assert read["task"] == "add retry"
    assert read["freshness"] == {"commit": "1a2b3c4", "changed": 2}
    assert read["symbols"] == [
        {
            "form": "body", "key": "net/client.py#Client.send", "start_line": 12, "end_line": 14, "path": "net/client.py",
            "name": "Client.send", "kind": "method", "because": "names retry", "body": PIECE.body,
        }
    ]  # fmt: skip
    assert (read["inside"], read["left_out"]) == (0, {"count": 0})
    signature = json.loads(Json().symbol(PIECE, Detail.SIGNATURE).removeprefix(","))
    assert (signature["signature"], signature["doc"]) == ("def send(self, request):", "Sends a request.")


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_what_is_left_out_is_counted_and_how_to_get_it_is_said(name):
    pieces = [PackItem(f"k{row}", f"name_{row}", "function", f"file_{row}.py", 1, 1, 1.0, 1.0, "", "", "") for row in range(40)]
    given = packed(renderer(name), pieces, 200)
    assert given.left_out
    assert "whence show PATH:LINE" in given.text
    assert str(len(given.left_out)) in given.text.splitlines()[-2 if name == "xml" else -1]


@pytest.mark.parametrize("name", sorted(RENDERERS))
@given(any_piece)
def test_every_part_ends_its_line_so_that_weights_add_up(name, piece):
    render = renderer(name)
    assert all(render.symbol(piece, form).endswith("\n") for form in Detail)
    assert render.head(HEAD).endswith("\n")


def test_a_format_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match="one of: markdown, xml, json"):
        renderer("yaml")
