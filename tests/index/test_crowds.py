"""Several processes and threads with one index: what each of them must not notice of the others (Z6)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sample_trees import write
from whence import Index
from whence.core.errors import IndexBusy, IndexDamaged
from whence.index.layout import Layout
from whence.index.segment import open_segment
from whence.index.store import IndexStore
from whence.source import walk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", {f"part_{number}.py": f"def walrus_{number}(): pass\n" for number in range(12)})


def paths(index: Index, query: str = "walrus") -> set[str]:
    return {found.path for found in index.search(query, k=100, strategy="lexical")}


def layout_of(tree: Path, data_dir: Path) -> Layout:
    return Layout(data_dir, tree.resolve())


def open_files(folder: Path) -> list[str]:
    """What this process holds open below a folder."""
    handles = [handle for handle in Path("/proc/self/fd").iterdir() if handle.exists()]
    return [name for handle in handles if (name := str(handle.readlink())).startswith(str(folder))]


def test_a_lock_whose_file_is_deleted_still_has_one_holder(tree: Path, own_data_dir: Path) -> None:
    layout = layout_of(tree, own_data_dir)
    with layout.write_lock(0):
        layout.lock_file.unlink()
        with pytest.raises(IndexBusy, match="another process is writing the index"), layout.write_lock(0):
            pass
        taken = threading.Event()

        def wait() -> None:
            with layout.write_lock(20):
                taken.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not taken.wait(0.2)
        layout.lock_file.unlink(missing_ok=True)  # under the one who waits, too
    waiting.join()
    assert taken.is_set()
    with layout.write_lock(0):
        assert f"process {os.getpid()}, for 0 s" in layout.holder()


def test_files_that_another_replaced_meanwhile_are_no_damage_and_files_that_are_lost_are(tree: Path, own_data_dir: Path) -> None:
    Index.open(tree).close()
    layout = layout_of(tree, own_data_dir)
    store = IndexStore(layout.database)
    tries = []

    def read() -> int:
        rows = store.segments()
        tries.append(len(rows))
        if len(tries) == 1:  # another process indexes all files anew, and removes what it replaced
            write(tree, {f"part_{number}.py": f"def seal_{number}(): pass\n" for number in range(12)})
            Index.open(tree).close()
        return sum(open_segment(layout.segments / row.name, row.stamp).files for row in rows)

    assert store.read_consistently(read) == 24  # with the earlier versions, which may come back
    assert len(tries) == 2
    for path in layout.segments.glob("*.segment"):
        path.unlink()
    with pytest.raises(IndexDamaged):
        store.read_consistently(read)
    store.close()


def test_a_question_is_answered_from_one_view_though_the_index_is_refreshed_meanwhile(tree: Path) -> None:
    class Interrupted(Index):
        meanwhile: Callable[[], Any] = staticmethod(lambda: None)

        def _searcher(self) -> Any:
            searcher = super()._searcher()
            self.meanwhile()  # what was chosen to answer from stays what it is
            return searcher

    with Interrupted.open(tree) as index:

        def grow() -> None:
            write(tree, {f"more_{number}.py": f"def walrus_more_{number}(): pass\n" for number in range(40)})
            index.refresh()

        index.meanwhile = grow
        assert len(index.search("walrus", k=100, strategy="lexical")) == 12
        index.meanwhile = lambda: None
        assert len(paths(index)) == 52


def test_an_index_made_anew_under_one_that_is_open_is_taken_up_by_it(tree: Path, own_data_dir: Path) -> None:
    with Index.open(tree) as kept:
        layout = layout_of(tree, own_data_dir)
        for path in layout.directory.glob(f"{layout.database.name}*"):
            path.unlink()
        write(tree, {"new.py": "def walrus_new(): pass\n"})
        Index.open(tree).close()
        write(tree, {"newer.py": "def walrus_newer(): pass\n"})
        kept.refresh()
        assert {"new.py", "newer.py"} < paths(kept)
    with Index.open(tree) as fresh:
        assert fresh.notes == []
        assert fresh.last_refresh.read == 0
        assert len(paths(fresh)) == 14


def test_an_index_in_which_nothing_changed_is_not_opened_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "RACY_NS", 0)  # else a file that was just written is looked at once more
    time.sleep(0.02)
    with Index.open(tree) as index:
        index.refresh()
        before = index.snapshot
        index.refresh()
        assert index.snapshot is before
        write(tree, {"new.py": "def walrus_new(): pass\n"})
        index.refresh()
        assert index.snapshot is not before


def test_what_is_not_answered_from_any_more_is_let_go_of(tree: Path, own_data_dir: Path) -> None:
    own = own_data_dir.resolve()
    with Index.open(tree) as index:
        _ = paths(index), index.callers("walrus_1")
        handles = len(open_files(own))
        for number in range(12):
            write(tree, {"part_1.py": f"def walrus_1(): return {number}\n"})
            index.refresh()
            _ = paths(index), index.callers("walrus_1")
        assert len(open_files(own)) <= handles + 8  # the last change is a segment of its own
    assert len(open_files(own)) <= 8
