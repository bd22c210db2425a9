"""What can be seen of an index, of notes and of what was learned, as plain values that can be compared.

Times are left out of it: what is written at another second is the same.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Seen = dict[str, Any]

QUERIES = ("retry a failed request", "price of the cart", "parse_stock", "who renders the cart")
TASK = "add a discount to the total price of a cart"
SYMBOL = "total_price"
BUDGET = 3_000
RECALLED = ("what is kept of the price list", "deploy on friday")
#: The folder beside the notes that most of them are of.
SHOP = "shop"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?")
#: What is made beside a file before it is whole, by any part of whence.
_HALF = re.compile(r"\.part$|\.tmp$|\.new(-wal|-shm|-journal)?$")
#: Old enough for a file that is half written to have no writer any more.
LONG_AGO = 1_000_000_000


def of_index(tree: Path, data: Path, settings: Mapping[str, Any]) -> Seen:
    """The answers of an index once it is opened: by words, by the graph, as a pack."""
    from whence.app.index import Index  # noqa: PLC0415
    from whence.core.types import RUNTIME  # noqa: PLC0415

    with Index.open(tree, data_dir=data, settings=settings) as index:
        graph = index.open_graph()
        edges = zip(graph.source.tolist(), graph.target.tolist(), graph.kind.tolist(), graph.line.tolist(), strict=True)
        seen = {
            "notes": list(index.notes),
            "fresh": index.freshness.fresh,
            "found": {
                query: [(one.path, one.start_line, one.name, round(one.score, 9)) for one in index.search(query)] for query in QUERIES
            },
            "callers": [(one.path, one.qualified_name, one.line) for one in index.callers(SYMBOL)],
            "edges": sorted((graph.name(source), graph.name(target), kind, line) for source, target, kind, line in edges),
            "context": index.context(TASK, budget=BUDGET).text,
            "units": {path: len(found.units) for path in sorted(index.tree.files) if (found := index.parsed(path)) is not None},
            "observed": [asdict(edge) for edge in index.store.edges(RUNTIME)],
        }
    return plain(seen)


def strays_of_index(tree: Path, data: Path, settings: Mapping[str, Any]) -> list[str]:
    """Files that an index does not list, after a refresh that has something to do."""
    from whence.app.index import Index  # noqa: PLC0415

    make_old(data)
    with Index.open(tree, data_dir=data, settings={**settings, "index.history": 2_000}) as index:
        listed = _mentioned(index.layout.database)
        names = [path.name for path in index.layout.segments.iterdir()]
        found = [name for name in names if _HALF.search(name) or not any(name.startswith(one) for one in listed)]
        beside = [path.name for path in index.layout.directory.iterdir() if _HALF.search(path.name)]
    return sorted(found + beside)


def _mentioned(database: Path) -> list[str]:
    """The names of derived files that a database holds anywhere, whatever its tables are."""
    names: set[str] = set()
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608  -- its own tables
                for value in row:
                    if isinstance(value, str):
                        names.update(re.findall(r"[0-9a-f]{16}[-.\w]*\.\w+", value))
    return sorted(names)


def of_notes(notes: Path, data: Path) -> Seen:
    """All notes with their pasts, and what they answer; whether an index that is made afresh answers the same."""
    from whence.memory.memory import Memory  # noqa: PLC0415

    with Memory.open(notes, data_dir=data, repository=notes.parent / SHOP) as memory:
        keys = [one.key for one in memory.store.scan()]
        seen: Seen = {
            "said": list(memory.remarks),
            "notes": {key: _file(notes / f"{key}.md") for key in keys},
            "pasts": {key: [one.text for one in memory.store.history(key)] for key in keys},
            "odd": memory.store.stray_files(),
            "recalled": _recalled(memory),
        }
    with TemporaryDirectory(dir=notes.parent) as fresh, Memory.open(notes, data_dir=fresh, repository=notes.parent / SHOP) as again:
        seen["as a new index"] = plain({"recalled": _recalled(again)})["recalled"] == plain(seen)["recalled"]
    return plain(seen)


def _recalled(memory: Any) -> dict[str, Any]:
    return {
        query: [(one.note.key, one.note.text, one.label, round(one.score, 9)) for one in memory.recall(query, archived=True)]
        for query in RECALLED
    }


def strays_of_notes(notes: Path, data: Path) -> list[str]:
    """What killed writers left among the notes, after they were opened once more."""
    from whence.memory.memory import Memory  # noqa: PLC0415

    make_old(notes, data)
    with Memory.open(notes, data_dir=data, repository=notes.parent / SHOP) as memory:
        memory.list()
    return halves(notes, data)


def of_learned(directory: Path) -> Seen:
    """Every verdict, and every word that was learned of it."""
    from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415
    from whence.context.feedback.verdicts import records  # noqa: PLC0415

    with closing(FeedbackStore.beside(directory)) as learned:
        words = learned.rows("SELECT k.keyword, r.symbol, r.task FROM keywords k JOIN records r ON r.id = k.record ORDER BY 1, 2, 3")
        return plain({"records": [asdict(one) for one in records(learned)], "words": [[part.decode() for part in row] for row in words]})


def of_files(folder: Path) -> Seen:
    """Every file below a folder, without the times in it."""
    return {path.relative_to(folder).as_posix(): _file(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def halves(*folders: Path) -> list[str]:
    """What lies below some folders and was never finished."""
    found = (path for folder in folders for path in folder.rglob("*") if _HALF.search(path.name))
    return sorted(f"{path.parent.name}/{path.name}" for path in found)


def make_old(*folders: Path) -> None:
    """Let what lies half written below some folders look as if its writer was long gone."""
    for folder in folders:
        for path in folder.rglob("*"):
            if _HALF.search(path.name):
                os.utime(path, (LONG_AGO, LONG_AGO))


def _file(path: Path) -> str:
    return _TIME.sub("<time>", path.read_bytes().decode("utf-8", "backslashreplace"))


def plain(seen: Seen) -> Seen:
    """Values as they come out of JSON, so that those of two processes can be compared."""
    found: Seen = json.loads(json.dumps(seen))
    return found


def difference(seen: Any, wanted: Any, where: str = "") -> str:
    """Where two values first differ, in one line; empty when they are equal."""
    if seen == wanted:
        return ""
    if isinstance(seen, dict) and isinstance(wanted, dict):
        for key in sorted(seen.keys() | wanted.keys()):
            if key not in seen or key not in wanted:
                return f"{where}{key} is {'missing' if key not in seen else 'too many'}"
            if found := difference(seen[key], wanted[key], f"{where}{key}: "):
                return found
    if isinstance(seen, list) and isinstance(wanted, list) and len(seen) == len(wanted):
        at = next(number for number, pair in enumerate(zip(seen, wanted, strict=True)) if pair[0] != pair[1])
        return difference(seen[at], wanted[at], f"{where}[{at}] ")
    return f"{where}{_short(seen)} instead of {_short(wanted)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 160 else f"{text[:120]} ... {text[-30:]}"
