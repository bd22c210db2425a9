"""What is cut off: each operation that writes, the state before it, and what may be seen after it was killed.

A scenario is an entry in `SCENARIOS`. The folder of notes, the data and what is exported are put back before each
kill; the tree stays as it is, so that its time stamps do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whence.source.walk import RACY_NS
from whence_bench.faults import compared
from whence_bench.faults.compared import Seen
from whence_bench.faults.scenario import Place, Scenario
from whence_bench.faults.scenario_notes import NOTE_SCENARIOS
from whence_bench.faults.scenario_tree import change_tree, commit, write_tree

#: Seconds after which time stamps are trusted.
SETTLING = RACY_NS / 1e9

# The index of a tree.


def _opened(place: Place, **settings: Any) -> list[str]:
    from whence.app.index import Index  # noqa: PLC0415

    with Index.open(place.tree, data_dir=place.data, settings={**place.settings, **settings}) as index:
        _ = index.open_graph()
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
    from whence.index import builder  # noqa: PLC0415

    builder.SMALL_BUILD_BYTES, builder.SMALLEST_BATCH_BYTES, builder.BATCH_BYTES = 0, 500, 1_000
    return _opened(place)


# An index that begins with another: of a worktree, of a pack.


def _other_tree(place: Place) -> Path:
    """The same repository once more."""
    return shutil.copytree(place.tree, place.folder / "other", symlinks=True)


def _index_other(place: Place) -> None:
    from whence.app.index import Index  # noqa: PLC0415

    with Index.open(_other_tree(place), data_dir=place.data) as index:
        _ = index.open_graph()


def _pack_other(place: Place) -> None:
    from whence.app.index import Index  # noqa: PLC0415

    with Index.open(_other_tree(place), data_dir=place.folder / "elsewhere") as index:
        _write_pack(index, place.folder / "tree.pack")


def _write_pack(index: Any, file: Path) -> None:
    from whence.index.archive import write_archive  # noqa: PLC0415
    from whence.index.changes import hash_committed_files  # noqa: PLC0415
    from whence.source.history import list_blobs  # noqa: PLC0415

    commit, chosen = index.freshness.commit, index.settings.index
    committed = hash_committed_files(index.root, index.tree.files, list_blobs(index.root, commit) or {}, chosen.max_file_bytes)
    write_archive(index.store, index.layout, chosen, committed, commit, file)


def _take_pack_in(place: Place) -> list[str]:
    from whence.app.index import Index  # noqa: PLC0415
    from whence.core.settings import Settings  # noqa: PLC0415
    from whence.index.archive import unpack_archive  # noqa: PLC0415
    from whence.index.layout import Layout  # noqa: PLC0415

    made_with = Settings().index_fingerprint()
    with unpack_archive(place.folder / "tree.pack", Layout(place.data, place.tree.resolve()), made_with) as (_, estate):
        index = Index.open(place.tree, data_dir=place.data, reuse=estate)
    with index:
        _ = index.open_graph()
        return list(index.notes)


def _export_pack(place: Place) -> None:
    from whence.app.index import Index  # noqa: PLC0415

    (place.out / "tree.pack").unlink(missing_ok=True)
    with Index.open(place.tree, data_dir=place.data) as index:
        _write_pack(index, place.out / "tree.pack")


def _look_at_pack(place: Place) -> Seen:
    """The pack, which is whole or not there."""
    from whence.index.archive import read_archive  # noqa: PLC0415

    file, into = place.out / "tree.pack", place.folder / "looked-at"
    if not file.exists():
        return {"pack": ""}
    into.mkdir()
    try:
        return {"pack": read_archive(file, into)[0].digest}
    finally:
        shutil.rmtree(into)


# Edges and verdicts.


def _edges(place: Place, count: int) -> None:
    from whence.app.index import Index  # noqa: PLC0415
    from whence.core.types import RUNTIME, Edge  # noqa: PLC0415

    source, target = "shop/cart.py#empty", "shop/prices.py#price_of"
    with Index.open(place.tree, data_dir=place.data) as index:
        index.add_edges(RUNTIME, [Edge(source, target, "calls", RUNTIME, 0.5, seen=1.0, count=count)])
        _ = index.open_graph()


def _say(place: Place, *symbols: str) -> None:
    from contextlib import closing  # noqa: PLC0415

    from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415
    from whence.context.feedback.verdicts import Verdict, say  # noqa: PLC0415
    from whence.core.settings import load_settings  # noqa: PLC0415

    with closing(FeedbackStore.beside(place.index_folder)) as learned:
        said = [Verdict(f"shop/cart.py#{symbol}", True, "a hash", f"discount of the {symbol}", 1.0) for symbol in symbols]
        say(learned, said, load_settings(None)[0].learn)


def _take_verdicts(place: Place) -> None:
    from contextlib import closing  # noqa: PLC0415

    from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415
    from whence.context.feedback.verdicts import as_text, from_text  # noqa: PLC0415
    from whence.core.settings import load_settings  # noqa: PLC0415

    with closing(FeedbackStore.beside(place.index_folder)) as learned:
        text = as_text(learned).replace("shop/cart.py#", "shop/stock.py#")
        from_text(learned, text, load_settings(None)[0].learn)


def _verdicts(name: str, operate: Callable[[Place], None], prepare: Callable[[Place], None]) -> Scenario:
    return Scenario(
        name, operate, lambda place: compared.of_learned(place.index_folder), prepare, lambda place: compared.halves(place.data)
    )


SCENARIOS = (
    _index("build"),
    _index("build with workers", _with_small_batches, settings={"index.workers": 2}, workers=True),
    _index("refresh, beside", prepare=_build_and_edit, settings={"index.overlay_share": 1.0}),
    _index("refresh, merged", prepare=_build_and_change, settings={"index.overlay_share": 0.0}),
    _index("commit", prepare=_build_and_commit),
    _index("vectors made", prepare=_other_model, settings={"index.model": "shipped"}),
    _index("vectors let go", prepare=_other_model, settings={"index.model": "none"}),
    _index("worktree taken over", prepare=_index_other),
    _index("pack taken in", _take_pack_in, prepare=_pack_other),
    Scenario("pack written", _export_pack, _look_at_pack, _build_first),
    Scenario("edges added", lambda place: _edges(place, 2), _look, lambda place: _edges(place, 1), _index_strays),
    _verdicts("first verdict", lambda place: _say(place, "Cart", "empty"), _build_first),
    _verdicts("more verdicts", lambda place: _say(place, "Cart.total_price", "empty"), lambda place: _say(place, "Cart")),
    _verdicts("verdicts taken in", _take_verdicts, lambda place: _say(place, "Cart", "empty")),
    *NOTE_SCENARIOS,
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
