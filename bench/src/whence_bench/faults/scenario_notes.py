"""What is done with notes, and what may be seen of them after it was cut off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from whence_bench.faults import compared
from whence_bench.faults.compared import Seen
from whence_bench.faults.scenario import Place, Scenario, nothing

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=timezone.utc)


def _memory(place: Place) -> Any:
    from whence.memory.memory import Memory  # noqa: PLC0415

    return Memory.open(place.notes, data_dir=place.data, repository=place.shop)


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
    from whence.core.errors import UsageError  # noqa: PLC0415

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
    from whence.memory.transfer import import_notes  # noqa: PLC0415

    with _memory(place) as memory:
        import_notes(memory, place.folder / "incoming", project="shop", now=NOW)


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
    from whence.memory.transfer import export_notes  # noqa: PLC0415

    with _memory(place) as memory:
        export_notes(memory, place.out / name)


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


NOTE_SCENARIOS = (
    _notes("first note", _remember, nothing),
    _notes("note written", _remember),
    _notes("note superseded", _supersede),
    _notes("note edited", _edit),
    _notes("note archived", _archive),
    _notes("note forgotten", _forget, by_parts=("notes",), loose=("pasts", "recalled")),
    _notes("notes taken in", _import, _to_import, by_parts=("notes", "pasts"), loose=("recalled",)),
    _exporting("notes to a folder", _export_folder, by_parts=("files",)),
    _exporting("notes to a file", _export_lines),
)
