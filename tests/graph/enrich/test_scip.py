"""Edges from SCIP files: made by hand, and by the real indexers for Python and TypeScript."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from graph.enrich.real_servers import scip_indexers
from graph.graph_edges import edges_of
from sample_trees import whence, write
from whence import Index
from whence.graph.enrich.scip import ScipError, ScipIndex

MUSIC = {
    "a.py": "class Cart:\n    def beat(self):\n        return 1\n\n\nclass Drum:\n    def beat(self):\n        return 2\n",
    "b.py": "def play(one, other):\n    other.update()\n    return one.beat()\n",
    "c.py": "class Store:\n    def update(self):\n        return 1\n",
}


def varint(number: int) -> bytes:
    """A number as protocol buffers write it."""
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


def field(number: int, body: bytes | str | int) -> bytes:
    """A field of a message."""
    if isinstance(body, int):
        return varint(number << 3) + varint(body)
    data = body.encode() if isinstance(body, str) else body
    return varint(number << 3 | 2) + varint(len(data)) + data


def document(path: str, *occurrences: tuple[int, int, int, str, int]) -> bytes:
    """A document of (line, column, end, symbol, roles)."""
    parts = [
        field(1, b"".join(map(varint, (line, column, end)))) + field(2, symbol) + (field(3, roles) if roles else b"")
        for line, column, end, symbol, roles in occurrences
    ]
    return field(2, field(1, path) + b"".join(field(2, part) for part in parts))


SCIP = field(1, field(3, "file:///music")) + b"".join(
    [
        document("a.py", (1, 8, 12, "music `a`/Cart#beat().", 1), (6, 8, 12, "music `a`/Drum#beat().", 1)),
        document("b.py", (2, 15, 19, "music `a`/Drum#beat().", 0), (1, 10, 16, "python-stdlib `builtins`/dict#update().", 0)),
        document("c.py"),
    ]
)


def _ingested(root: Path, data: bytes) -> None:
    file = root.parent / "index.scip"
    file.write_bytes(data)
    os.utime(file, (4e9, 4e9))
    done = whence("ingest", "scip", str(file), "--root", str(root), cwd=root)
    assert done.returncode == 0, done.stderr


def _calls(root: Path) -> set[tuple[str, str]]:
    with Index.open(root) as index:
        return {(source, target) for source, _, target, _ in edges_of(index.questions().graph, ["calls"])}


def test_what_an_indexer_says_replaces_a_guess_about_the_same_mention(tmp_path: Path) -> None:
    """Also where it says that a name means something outside."""
    root = write(tmp_path / "music", MUSIC)
    guesses = {("b.py#play", "a.py#Cart.beat"), ("b.py#play", "a.py#Drum.beat"), ("b.py#play", "c.py#Store.update")}
    assert _calls(root) <= guesses
    assert len(_calls(root)) > 1
    _ingested(root, SCIP)
    assert _calls(root) == {("b.py#play", "a.py#Drum.beat")}
    found = json.loads(whence("callers", "Drum.beat", "--json", cwd=root).stdout)["answers"][0]
    assert found["counts"] == {"callers": 1, "open": 0, "outside": 0}
    assert found["results"][0]["provenance"] == "lsp_resolved"
    update = json.loads(whence("callers", "Store.update", "--json", cwd=root).stdout)["answers"][0]
    assert update["counts"] == {"callers": 0, "open": 0, "outside": 1}


def test_a_changed_file_is_guessed_again(tmp_path: Path) -> None:
    """What was said of its mentions may hold no longer."""
    root = write(tmp_path / "music", MUSIC)
    before = _calls(root)
    _ingested(root, SCIP)
    write(root, {"b.py": MUSIC["b.py"] + "\n\nX = 1\n"})
    assert _calls(root) == before


def test_files_newer_than_the_index_are_left_out(tmp_path: Path) -> None:
    """Its positions are those of another text."""
    root = write(tmp_path / "music", MUSIC)
    file = tmp_path / "index.scip"
    file.write_bytes(SCIP)
    os.utime(file, (1, 1))
    done = whence("ingest", "scip", str(file), "--root", str(root), "--json", cwd=root)
    assert done.returncode == 1
    assert json.loads(done.stdout)["changed"] == 3


@pytest.mark.parametrize("data", [b"\xff" * 40, SCIP[:-3], b"not a SCIP index at all", field(2, field(2, field(1, b"\x01")))])
def test_what_is_no_scip_index_is_refused(data: bytes) -> None:
    """With one line, whatever the bytes are."""
    with pytest.raises(ScipError, match="no SCIP index"):
        ScipIndex(data)


SHOP = {
    "python": {
        "src/shop/__init__.py": "",
        "src/shop/pay.py": "class Gateway:\n    def charge(self):\n        return 1\n\n\nclass Test:\n    def charge(self):\n        return 2\n",
        "src/shop/app.py": "from shop.pay import Gateway\n\n\ndef pay(gateways: dict[str, Gateway]):\n    for one in gateways.values():\n        one.charge()\n",
    },
    "typescript": {
        "package.json": '{"name": "shop", "version": "1.0.0"}',
        "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "es2022"}, "include": ["src"]}',
        "src/pay.ts": "export class Gateway {\n  charge() {\n    return 1;\n  }\n}\n\nexport class Test {\n  charge() {\n    return 2;\n  }\n}\n",
        "src/app.ts": "import { Gateway } from './pay';\n\nexport function pay(all: Map<string, Gateway>) {\n  for (const one of all.values()) one.charge();\n}\n",
    },
}


@pytest.fixture(scope="module")
def indexers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Installed once."""
    return scip_indexers(tmp_path_factory.mktemp("npm"))


@pytest.mark.process
@pytest.mark.parametrize("language", SHOP)
def test_real_indexers_resolve_what_words_cannot(tmp_path: Path, indexers: dict[str, list[str]], language: str) -> None:
    """The type of a loop variable, here."""
    root = write(tmp_path / "shop", SHOP[language])
    done = subprocess.run(
        [*indexers[language], "--output", "index.scip"], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )
    assert (root / "index.scip").is_file(), done.stdout + done.stderr
    assert whence("ingest", "scip", str(root / "index.scip"), "--root", str(root), cwd=root).returncode == 0
    end = "py" if language == "python" else "ts"
    app, pay = f"src/{'shop/' * (end == 'py')}app.{end}", f"src/{'shop/' * (end == 'py')}pay.{end}"
    calls = _calls(root)
    assert (f"{app}#pay", f"{pay}#Gateway.charge") in calls
    assert (f"{app}#pay", f"{pay}#Test.charge") not in calls
