"""What is cut off: each operation that writes, the state before it, and what may be seen after it was killed.

A scenario is an entry in `SCENARIOS`. The folder of notes, the data and what is exported are put back before each
kill; the tree stays as it is, so that its time stamps do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from whence.bench.faults import compared
from whence.bench.faults.compared import Seen
from whence.bench.faults.scenario_tree import change_tree, commit, write_tree
from whence.source.walk import RACY_NS

#: The folders that an operation writes to.
WRITTEN = ("data", "notes", "out")
#: Seconds after which time stamps are trusted.
SETTLING = RACY_NS / 1e9
NOW = datetime(2026, 11, 16, 8, 0, tzinfo=timezone.utc)
#: Derived files whose names are drawn by chance are never written twice: a link to them is as good as a copy, and keeps their stamp.
_NEVER_REWRITTEN = "segments"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one scenario happens."""

    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        """The repository that is indexed."""
        return self.folder / "tree"

    @property
    def data(self) -> Path:
        """The indexes."""
        return self.folder / "data"

    @property
    def notes(self) -> Path:
        """The notes of the user."""
        return self.folder / "notes"

    @property
    def out(self) -> Path:
        """What is exported."""
        return self.folder / "out"

    @property
    def index_folder(self) -> Path:
        """The folder of the index, and of what was learned."""
        from whence.index.layout import Layout  # noqa: PLC0415

        return Layout(self.data, self.tree.resolve()).directory

    def keep(self) -> None:
        """Take what is there now for the state before the operation."""
        for name in WRITTEN:
            (self.folder / name).mkdir(exist_ok=True)
            (self.folder / name).rename(self._kept / name)

    def restore(self, *, linked: bool) -> None:
        """Put everything back as it was before the operation; derived files as copies or as what they were."""
        for name in WRITTEN:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self._kept / name, self.folder / name, copy_function=_linking if linked else shutil.copy2)

    @property
    def _kept(self) -> Path:
        kept = self.folder / "before"
        kept.mkdir(exist_ok=True)
        return kept


def _linking(source: str, target: str) -> None:
    if f"{os.sep}{_NEVER_REWRITTEN}{os.sep}" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _nothing(place: Place) -> None:
    """Nothing is there before."""


def _no_strays(place: Place) -> list[str]:  # noqa: ARG001
    return []


@dataclass(frozen=True, slots=True)
class Scenario:
    """An operation that is cut off, and what is looked at afterwards."""

    name: str
    operate: Callable[[Place], list[str] | None]  # what it says to the user, where it does not fail
    look: Callable[[Place], Seen]
    prepare: Callable[[Place], None] = _nothing
    #: What is left behind when all was done once more.
    strays: Callable[[Place], list[str]] = _no_strays
    #: The next use brings it to its end; else it is done or it is not.
    finishes: bool = False
    #: What may be done by parts: each entry of these is as before or as after.
    by_parts: tuple[str, ...] = ()
    #: What says nothing as long as the operation is not finished.
    loose: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    workers: bool = False  # whether it starts processes


# The index of a tree.


def _opened(place: Place, **settings: Any) -> list[str]:
    from whence.engine import Index  # noqa: PLC0415

    with Index.open(place.tree, data_dir=place.data, settings={**place.settings, **settings}) as index:
        _ = index.graph
        return list(index.notes)


def _build_first(place: Place) -> None:
    _opened(place)


def _build_and_change(place: Place) -> None:
    _opened(place)
    change_tree(place.tree)


def _build_and_edit(place: Place) -> None:
    _opened(place)
    change_tree(place.tree, committed=False)


def _build_and_commit(place: Place) -> None:
    change_tree(place.tree, committed=False)
    _opened(place)
    commit(place.tree, "What was done is committed", 5)


def _look(place: Place) -> Seen:
    return compared.of_index(place.tree, place.data, place.settings)


def _index_strays(place: Place) -> list[str]:
    return compared.strays_of_index(place.tree, place.data, place.settings)


def _index(name: str, operate: Callable[[Place], list[str]] = _opened, **more: Any) -> Scenario:
    return Scenario(name, operate, _look, strays=_index_strays, finishes=True, **more)


def _other_model(place: Place) -> None:
    _opened(place, **{"index.model": "none" if place.settings["index.model"] == "shipped" else "shipped"})


def _with_small_batches(place: Place) -> list[str]:
    """A build that starts processes, on a tree for which one would do."""
    from whence.index import build  # noqa: PLC0415

    build.SMALL_BUILD_BYTES, build.SMALLEST_BATCH_BYTES, build.BATCH_BYTES = 0, 500, 1_000
    return _opened(place)


# Edges and verdicts.


def _edges(place: Place, count: int) -> None:
    from whence.engine import Index  # noqa: PLC0415
    from whence.types import RUNTIME, Edge  # noqa: PLC0415

    source, target = "shop/cart.py#empty", "shop/prices.py#price_of"
    with Index.open(place.tree, data_dir=place.data) as index:
        index.add_edges(RUNTIME, [Edge(source, target, "calls", RUNTIME, 0.5, seen=1.0, count=count)])
        _ = index.graph


def _say(place: Place, *symbols: str) -> None:
    from contextlib import closing  # noqa: PLC0415

    from whence.engine import load_settings  # noqa: PLC0415
    from whence.learn.feedback import Record, say  # noqa: PLC0415
    from whence.learn.store import Learned  # noqa: PLC0415

    with closing(Learned.beside(place.index_folder)) as learned:
        said = [Record(f"shop/cart.py#{symbol}", True, "a hash", f"discount of the {symbol}", 1.0) for symbol in symbols]
        say(learned, said, load_settings(None)[0].learn)


def _take_verdicts(place: Place) -> None:
    from contextlib import closing  # noqa: PLC0415

    from whence.engine import load_settings  # noqa: PLC0415
    from whence.learn.exchange import as_text, from_text  # noqa: PLC0415
    from whence.learn.store import Learned  # noqa: PLC0415

    with closing(Learned.beside(place.index_folder)) as learned:
        text = as_text(learned).replace("shop/cart.py#", "shop/stock.py#")
        from_text(learned, text, load_settings(None)[0].learn)


def _verdicts(name: str, operate: Callable[[Place], None], prepare: Callable[[Place], None]) -> Scenario:
    return Scenario(
        name, operate, lambda place: compared.of_learned(place.index_folder), prepare, lambda place: compared.halves(place.data)
    )


# Notes.


def _memory(place: Place) -> Any:
    from whence.memories import Memory  # noqa: PLC0415

    return Memory.open(place.notes, data_dir=place.data, repository=place.tree.parent)


def _first_notes(place: Place) -> None:
    with _memory(place) as memory:
        memory.remember("The price list is kept in one table.\n", project="shop", topic="prices")
        memory.remember("The price list is kept in one table, by name.\n", project="shop", topic="prices")
        memory.remember("Nobody deploys on a friday.\n", project="shop", topic="deploying", tags=["habit"])
        memory.remember("Carts are emptied at night.\n", project="other")


def _remember(place: Place) -> None:
    with _memory(place) as memory:
        memory.remember("Stock is counted in the morning.\n", project="shop", topic="stock")


def _supersede(place: Place) -> None:
    with _memory(place) as memory:
        memory.remember("The price list is kept in two tables.\n", project="shop", topic="prices")


def _edit(place: Place) -> None:
    with _memory(place) as memory:
        memory.edit("shop/deploying", text="Nobody deploys on a friday, nor on a holiday.\n")


def _archive(place: Place) -> None:
    with _memory(place) as memory:
        memory.archive("shop/deploying")


def _forget(place: Place) -> None:
    from whence.errors import UsageError  # noqa: PLC0415

    with _memory(place) as memory:
        try:
            memory.forget("shop/prices")
        except UsageError as trouble:
            if "there is no note" not in trouble.message:  # it was forgotten before
                raise


def _to_import(place: Place) -> None:
    _first_notes(place)
    incoming = place.folder / "incoming"
    incoming.mkdir()
    for number, text in enumerate(("Prices are in cents.", "Requests are tried three times.", "The web renders the cart.")):
        (incoming / f"note-{number}.md").write_text(f"---\ntopic: learned {number}\n---\n{text}\n", encoding="utf-8")


def _import(place: Place) -> None:
    from whence.lifecycle import bring_in  # noqa: PLC0415

    with _memory(place) as memory:
        bring_in(memory, place.folder / "incoming", project="shop", now=NOW)


def _exported_before(place: Place) -> None:
    _first_notes(place)
    _export_folder(place)
    _export_lines(place)
    _supersede(place)
    _remember(place)
    _forget_habit(place)


def _forget_habit(place: Place) -> None:
    with _memory(place) as memory:
        memory.forget("shop/deploying")


def _export(place: Place, name: str) -> None:
    from whence.lifecycle import give_out  # noqa: PLC0415

    with _memory(place) as memory:
        give_out(memory, place.out / name)


def _export_folder(place: Place) -> None:
    _export(place, "notes")


def _export_lines(place: Place) -> None:
    _export(place, "notes.jsonl")


def _look_at_notes(place: Place) -> Seen:
    return compared.of_notes(place.notes, place.data)


def _notes(name: str, operate: Callable[[Place], None], prepare: Callable[[Place], None] = _first_notes, **more: Any) -> Scenario:
    return Scenario(name, operate, _look_at_notes, prepare, lambda place: compared.strays_of_notes(place.notes, place.data), **more)


def _look_at_export(place: Place) -> Seen:
    """What was exported, apart from what the next export takes away; and the notes, which an export must leave alone."""
    files = compared.of_files(place.out)
    ours = {name: text for name, text in files.items() if name.endswith((".md", ".jsonl"))}
    return {"files": ours, "notes": compared.of_files(place.notes)}


def _exporting(name: str, operate: Callable[[Place], None], **more: Any) -> Scenario:
    def strays(place: Place) -> list[str]:
        compared.make_old(place.out)
        operate(place)
        return compared.halves(place.out)

    return Scenario(name, operate, _look_at_export, _exported_before, strays, **more)


SCENARIOS = (
    _index("build"),
    _index("build with workers", _with_small_batches, settings={"index.workers": 2}, workers=True),
    _index("refresh, beside", prepare=_build_and_edit, settings={"index.overlay_share": 1.0}),
    _index("refresh, merged", prepare=_build_and_change, settings={"index.overlay_share": 0.0}),
    _index("commit", prepare=_build_and_commit),
    _index("vectors made", prepare=_other_model, settings={"index.model": "shipped"}),
    _index("vectors let go", prepare=_other_model, settings={"index.model": "none"}),
    Scenario("edges added", lambda place: _edges(place, 2), _look, lambda place: _edges(place, 1), _index_strays),
    _verdicts("first verdict", lambda place: _say(place, "Cart", "empty"), _build_first),
    _verdicts("more verdicts", lambda place: _say(place, "Cart.total_price", "empty"), lambda place: _say(place, "Cart")),
    _verdicts("verdicts taken in", _take_verdicts, lambda place: _say(place, "Cart", "empty")),
    _notes("first note", _remember, _nothing),
    _notes("note written", _remember),
    _notes("note superseded", _supersede),
    _notes("note edited", _edit),
    _notes("note archived", _archive),
    _notes("note forgotten", _forget, by_parts=("notes",), loose=("pasts", "recalled")),
    _notes("notes taken in", _import, _to_import, by_parts=("notes", "pasts"), loose=("recalled",)),
    _exporting("notes to a folder", _export_folder, by_parts=("files",)),
    _exporting("notes to a file", _export_lines),
)


def load(scratch: Path) -> None:
    """Have everything loaded that a scenario needs, so that a process forked from this one starts at once."""
    tree = write_tree(scratch / "tree")
    compared.of_index(tree, scratch / "data", {})
    compared.of_notes(scratch / "notes", scratch / "data")


def made(scenario: Scenario, folder: Path, template: Path) -> Place:
    """The place of a scenario, with the state before its operation; `template` is the tree to begin with."""
    place = Place(folder, scenario.settings)
    folder.mkdir(parents=True)
    shutil.copytree(template, place.tree, symlinks=True)
    scenario.prepare(place)
    place.keep()
    return place
