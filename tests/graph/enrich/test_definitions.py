"""Real language servers say what names stand for; what they say becomes edges, and what is not in the tree does not."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.enrich.real_servers import python_server, typescript_server
from sample_trees import write
from whence.core.types import LSP
from whence.graph.enrich.client import LanguageServer, ServerError, Timeouts, server_kind
from whence.graph.enrich.definitions import MAX_FAILURES, EnrichedFile, Outlines, TextPositions, enrich, path_of_uri
from whence.parse.languages import language_of

pytestmark = pytest.mark.process
HOSTILE = Path(__file__).parent / "hostile_server.py"
QUICK = Timeouts(start=20, answer=1, shutdown=0.5)
PYTHON = {
    "shop/pay.py": """\
class Gateway:
    def charge(self, amount):
        return amount


class Test(Gateway):
    def charge(self, amount):
        return 0


def make() -> Gateway:
    return Gateway()
""",
    "shop/app.py": """\
import os

from shop.pay import make as made


def pay(callback):
    gateway = made()
    text = '\N{PILE OF POO}'; gateway.charge(len(text))
    callback()
    return os.getcwd()
""",
}
TYPESCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "jsx": "preserve", "module": "esnext", "moduleResolution": "bundler"}}',
    "src/gateway.ts": "export class Gateway {\n  charge(amount: number): number {\n    return Math.max(amount, 0);\n  }\n}\n",
    "src/index.ts": "export { Gateway as Till } from './gateway';\n",
    "src/pay.ts": "import { Till } from './index';\n\nexport function pay(): number {\n  const till = new Till();\n  return till.charge(1);\n}\n",
    "src/page.tsx": "import { pay } from './pay';\n\nexport function Page() {\n  return <b>{pay()}</b>;\n}\n",
}


def asked(root: Path, files: dict[str, str], command: list[str], patience: Timeouts | None = None) -> list[EnrichedFile]:
    write(root, files)
    languages = {path: language_of(path).name for path in files}
    kind = server_kind("python" if "shop/app.py" in files else "typescript")
    paths = sorted(path for path, language in languages.items() if language in kind.languages)
    outlines = Outlines(root, languages, 1_500_000)
    start = lambda: LanguageServer(command, root, configuration=kind.configuration, options=kind.options, patience=patience)  # noqa: E731
    return list(enrich(start, outlines, paths, lambda done, total: None))


def told(found: list[EnrichedFile]) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.kind, edge.target) for one in found for edge in one.edges}


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> list[EnrichedFile]:
    return asked(tmp_path_factory.mktemp("python"), PYTHON, python_server())


def test_a_python_server_resolves_a_method_by_the_type_of_a_variable(python):
    assert ("shop/app.py#pay", "calls", "shop/pay.py#Gateway.charge") in told(python)
    assert ("shop/app.py#pay", "calls", "shop/pay.py#Test.charge") not in told(python)


def test_a_python_server_resolves_a_name_that_was_imported_under_another(python):
    assert ("shop/app.py#pay", "calls", "shop/pay.py#make") in told(python)


def test_names_of_the_standard_library_and_parameters_give_no_edge(python):
    assert all(target.startswith("shop/pay.py#") for _, _, target in told(python))


def test_edges_say_who_resolved_them_and_where(python):
    edge = next(edge for one in python for edge in one.edges if edge.target == "shop/pay.py#Gateway.charge")
    assert (edge.provenance, edge.confidence, edge.line) == (LSP, 0.9, 8)


def test_a_typescript_server_resolves_through_a_file_that_only_passes_a_name_on(tmp_path_factory):
    command = typescript_server(tmp_path_factory.mktemp("npm"))
    found = told(asked(tmp_path_factory.mktemp("typescript"), TYPESCRIPT, command))
    assert ("src/pay.ts#pay", "calls", "src/gateway.ts#Gateway.charge") in found
    assert ("src/pay.ts#pay", "calls", "src/gateway.ts#Gateway") in found
    assert ("src/page.tsx#Page", "calls", "src/pay.ts#pay") in found
    assert not [target for _, _, target in found if not target.startswith("src/")]


def hostile(mode: str, *more: str) -> list[str]:
    return [sys.executable, str(HOSTILE), mode, "textDocument/definition", *more]


def test_answers_of_the_wrong_shape_give_no_edge(tmp_path):
    found = asked(tmp_path, PYTHON, hostile("wrong-shapes"), QUICK)
    assert [(one.path, one.edges, one.error) for one in found] == [("shop/app.py", (), ""), ("shop/pay.py", (), "")]


def test_a_file_that_a_server_hangs_at_is_left_out_and_the_rest_is_asked(tmp_path):
    found = asked(tmp_path, PYTHON, hostile("hang", str(tmp_path / "process"), "app.py"), QUICK)
    assert [one.path for one in found if one.error] == ["shop/app.py"]
    assert [one.path for one in found if not one.error] == ["shop/pay.py"]


def test_a_server_that_crashes_at_every_file_is_not_started_for_ever(tmp_path):
    files = {**PYTHON, **{f"shop/more{row}.py": "def f():\n    g()\n" for row in range(5)}}
    write(tmp_path, files)
    languages = dict.fromkeys(files, "python")
    found = enrich(
        lambda: LanguageServer(hostile("crash"), tmp_path, patience=QUICK),
        Outlines(tmp_path, languages, 1_500_000),
        sorted(files),
        lambda done, total: None,
    )
    assert [bool(one.error) for one in islice(found, MAX_FAILURES)] == [True] * MAX_FAILURES
    with pytest.raises(ServerError, match="ended"):
        next(found)


def test_a_column_counts_utf16_units_not_bytes():
    text = "x = '\N{PILE OF POO}é'; name".encode()
    assert TextPositions(text).position(text.index(b"name")) == (0, 11)


def test_all_three_line_ends_count():
    text = b"a\nb\r\nc\rd"
    assert [TextPositions(text).position(text.index(letter)) for letter in (b"a", b"b", b"c", b"d")] == [(0, 0), (1, 0), (2, 0), (3, 0)]


@given(st.text(alphabet="aé\N{PILE OF POO}\n\r ", max_size=40), st.integers(0, 40))
def test_a_place_that_is_turned_into_a_position_comes_back(text, at):
    byte = len(text[:at].encode())
    raw = text.encode()
    if raw[byte - 1 : byte + 1] == b"\r\n":  # the middle of a line end is no place
        return
    places = TextPositions(raw)
    assert places.byte(*places.position(byte)) == byte


def test_a_position_outside_the_text_is_no_place():
    places = TextPositions("é\nb".encode())
    assert [places.byte(*position) for position in ((5, 0), (-1, 0), (0, 9), (1, 9), (0, -1))] == [None] * 5


def test_the_middle_of_a_character_is_no_place():
    assert TextPositions("\N{PILE OF POO}".encode()).byte(0, 1) is None


def test_an_address_is_read_as_the_path_it_names():
    assert path_of_uri("file:///a%20b/c%C3%A9.py") == "/a b/cé.py".encode()


def test_an_address_that_is_no_file_has_no_path():
    assert [path_of_uri(address) for address in ("http://x/a.py", "untitled:1", "file://host/a")] == [None, None, None]
