"""Those who meet in a crowd: each is a process of its own, does one thing in a loop, and says at the end what was wrong."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence_bench.faults.crowds_board import Board
from whence_bench.faults.crowds_tree import MARKS, State, apply, never_so, read_states, unlike_any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from whence.app.index import Index

#: More than there are files.
MANY = 100_000
#: Whoever goes wrong so often has said enough.
MOST_WRONG = 5
_PAUSE = 0.02


@dataclass(slots=True)
class Told:
    """What one of them has to say."""

    did: int = 0
    wrong: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def watching(self, doing: str) -> Iterator[None]:
        """Take down whatever goes wrong, in one line."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  -- whatever it is, it is to be told
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.blame(f"{doing}: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})")

    def blame(self, line: str) -> None:
        """Take down one thing that was wrong."""
        if line and len(self.wrong) < MOST_WRONG:
            self.wrong.append(line)

    def most(self, name: str, value: float) -> None:
        """Keep the largest of some values."""
        self.facts[name] = round(max(self.facts.get(name, 0.0), value), 3)

    def count(self, name: str, number: int = 1) -> None:
        """Count something."""
        self.facts[name] = self.facts.get(name, 0) + number


@dataclass(frozen=True, slots=True)
class Place:
    """Where a crowd meets."""

    folder: Path

    @property
    def tree(self) -> Path:
        """The folder that is indexed."""
        return self.folder / "tree"

    @property
    def data(self) -> Path:
        """Where the index is."""
        return self.folder / "data"

    @property
    def states(self) -> Path:
        """All states that the tree goes through."""
        return self.folder / "states.json"

    def board(self) -> Board:
        """How far it is."""
        return Board(self.folder / "board")

    def open(self, **asked: Any) -> Index:
        """The index of the tree."""
        from whence.app.index import Index  # noqa: PLC0415  -- some of the crowd need none

        return Index.open(self.tree, data_dir=self.data, **asked)


def answered(index: Index) -> State:
    """Every file with the mark under which it is found: one answer for each mark."""
    seen: State = {}
    for mark in MARKS:
        for path in marked(index, mark):
            if path in seen:
                raise AssertionError(f"{path} is found under {seen[path]} and {mark}")
            seen[path] = mark
    return seen


def marked(index: Index, mark: str) -> list[str]:
    """The files found under a mark, by words alone: no others are near enough to be shown."""
    return [found.path for found in index.search(mark, k=MANY, strategy="lexical")]


def edit(place: Place, told: Told, _: Connection, *, seconds: float, least: int) -> None:
    """Bring the tree from state to state and index it each time, for so long, and at least so often."""
    states, board = read_states(place.states), place.board()
    until, at, kept = time.monotonic() + seconds, board.done, None
    try:
        while at + 1 < len(states) and (time.monotonic() < until or at < least):
            board.begun = at + 1
            apply(place.tree, states[at], states[at + 1])
            at += 1
            board.done = at
            with told.watching(f"indexing state {at}"):
                if at % 2:  # opened anew, and kept open: both are done
                    with place.open(settings={"index.lock_wait": 60}) as index:
                        told.blame("; ".join(index.notes))
                else:
                    kept = kept or place.open(settings={"index.lock_wait": 60})
                    kept.refresh()
                    told.blame("; ".join(kept.notes))
                board.indexed = at
            told.did += 1
            time.sleep(_PAUSE)
    finally:
        board.end()


def ask(place: Place, told: Told, _: Connection, *, how: str, strict: bool) -> None:
    """Ask again and again until nothing changes any more.

    How: `open` anew without indexing, `look` with one index that never indexes, `opening` and `refreshing` with
    indexing. Strict: an answer is of one state as a whole; else each file is as it was while it was asked for.
    """
    states, board = read_states(place.states), place.board()
    kept = place.open(refresh=False) if how == "look" else place.open() if how == "refreshing" else None
    last = False
    while not last:
        time.sleep(_PAUSE)  # or so many readers would leave no time to the one who indexes
        last = board.over
        with told.watching(how):
            first, began = (board.done, board.indexed), time.perf_counter()
            if kept is not None:
                kept.poll() if how == "look" else kept.refresh()
                seen, notes = answered(kept), kept.notes
            else:
                with place.open(refresh=how == "opening") as index:
                    seen, notes = answered(index), index.notes
            told.most("slowest", time.perf_counter() - began)
            behind = [note for note in notes if note.startswith("answering from before")]
            told.count("behind", bool(behind))
            told.blame("; ".join(set(notes) - set(behind)))
            lowest = first[0] if how in ("opening", "refreshing") and not behind else first[1]
            told.blame(_prefixed(how, (unlike_any if strict else never_so)(seen, states, lowest, board.begun)))
        told.did += 1


def _prefixed(how: str, line: str) -> str:
    return f"{how}: {line}" if line else ""


def hold(place: Place, told: Told, line: Connection) -> None:
    """Hold the writer's lock until it is told to let go."""
    from whence.index.layout import Layout  # noqa: PLC0415

    with Layout(place.data, place.tree.resolve()).write_lock(0):
        line.send("held")
        line.recv()
    told.did += 1


def index(place: Place, told: Told, _: Connection, *, wait: float) -> None:
    """Index once, and say how long it took and what was said."""
    from whence.core.errors import WhenceError  # noqa: PLC0415

    began = time.perf_counter()
    try:
        with place.open(settings={"index.lock_wait": wait}) as opened:
            told.facts |= {"notes": opened.notes, "read": opened.last_refresh.read, "files": len(answered(opened))}
    except WhenceError as error:
        told.facts |= {"error": type(error).__name__, "message": str(error)}
    told.facts["seconds"] = round(time.perf_counter() - began, 3)
    told.did += 1


def note(place: Place, told: Told, _: Connection, *, who: int, count: int) -> None:
    """Write notes, give feedback, recall and search, in turn."""
    from whence.memory.memory import Memory  # noqa: PLC0415

    keys = []
    with Memory.open(place.folder / "notes", data_dir=place.data) as memory, place.open() as opened:
        from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415
        from whence.context.feedback.verdicts import Verdict, say  # noqa: PLC0415

        learned = FeedbackStore.beside(opened.layout.directory)
        symbol = opened.symbol_keys("Part1")[0]
        for number in range(count):
            with told.watching(f"writer {who}, note {number}"):
                word = f"mark{chr(98 + who)}{''.join(chr(98 + int(digit)) for digit in str(number))}q"
                shared = f"topic {number % 3}" if number % 2 else None  # a topic that both write: one of them replaces the other's note
                keys.append([memory.remember(f"the word is {word}", topic=shared).key, word, bool(shared)])
                said = Verdict(symbol, True, opened.package_hash(symbol), f"task {who}", float(who * count + number))
                say(learned, [said], opened.settings.learn)
                if not shared and [hit.note.key for hit in memory.recall(word, k=1)] != [keys[-1][0]]:
                    told.blame(f"writer {who} does not recall what it has just written under {word}")
                if len(marked(opened, MARKS[number % 5])) == 0:
                    told.blame(f"writer {who} finds nothing under {MARKS[number % 5]}")
            told.did += 1
        learned.close()
    told.facts["keys"] = keys


def fork(place: Place, told: Told, line: Connection) -> None:
    """Open an index, split in two, and be gone: the child goes on with what it was given, and says what it finds."""
    opened = place.open()
    answered(opened)
    if os.fork():
        os._exit(0)
    line.send("forked")
    line.recv()  # meanwhile another process has indexed something else
    states = read_states(place.states)
    with told.watching("the child, before it looks"):
        told.blame(unlike_any(answered(opened), states, 0, 0))
        _ = opened.freshness
    with told.watching("the child, after a refresh"):
        opened.refresh()
        told.blame(unlike_any(answered(opened), states, 1, 1) or "; ".join(opened.notes))
        opened.close()
    told.did += 2


def keep(place: Place, told: Told, line: Connection) -> None:
    """Keep an index open while others do something to it, then refresh it: it is in the last state."""
    opened, states = place.open(), read_states(place.states)
    told.blame(unlike_any(answered(opened), states, 0, 0))
    line.send("open")
    line.recv()
    opened.refresh()
    told.blame(unlike_any(answered(opened), states, len(states) - 1, len(states) - 1))
    opened.close()
    told.did += 2


def share(place: Place, told: Told, _: Connection, *, seconds: float, threads: int) -> None:
    """Share one index between threads that search, one that refreshes it, and one that edits its files."""
    states, board = read_states(place.states), place.board()
    shared = place.open()

    def searching(number: int) -> None:
        at = number
        while not board.over:
            with told.watching(f"thread {number}"):
                mark, first = MARKS[at % len(MARKS)], board.indexed
                if at % 3:
                    seen = dict.fromkeys(marked(shared, mark), mark)
                else:  # with operators, which ask for more than one part of the index
                    seen = {one.path: mark for one in shared.search(f"{mark} path:lib lang:python", k=MANY, strategy="lexical")}
                told.blame(_prefixed(f"thread {number}", never_so(seen, states, first, board.begun, (mark,))))
                if at % 7 == 0:
                    _ = shared.freshness, shared.callers("Part1")
            at += 1
            told.did += 1

    def changing() -> None:
        until, at = time.monotonic() + seconds, 0
        while at + 1 < len(states) and time.monotonic() < until:
            with told.watching("the thread that refreshes"):
                board.begun = at + 1
                apply(place.tree, states[at], states[at + 1])
                at += 1
                board.done = at
                shared.refresh()
                board.indexed = at
            told.count("refreshed")
        board.end()

    crowd = [threading.Thread(target=searching, args=(number,)) for number in range(threads)] + [threading.Thread(target=changing)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    with told.watching("the shared index, at the end"):
        told.blame(unlike_any(answered(shared), states, board.done, board.done))
    shared.close()


ROLES: dict[str, Callable[..., None]] = {
    "edit": edit,
    "ask": ask,
    "hold": hold,
    "index": index,
    "note": note,
    "fork": fork,
    "keep": keep,
    "share": share,
}


def main(line: Connection, folder: Path, role: str, asked: dict[str, Any]) -> None:
    """Be one of them: do it, say what came of it, and be gone."""
    for name in [name for name in os.environ if name.startswith("WHENCE_")]:
        del os.environ[name]
    os.environ.update(WHENCE_DATA_DIR=str(folder / "data"), XDG_CONFIG_HOME=str(folder / "config"))  # no setting of the user
    os.chdir(folder)
    told = Told()
    with told.watching(role):
        ROLES[role](Place(folder), told, line, **asked)
    line.send({"did": told.did, "wrong": told.wrong, "facts": told.facts})
    line.close()
    os._exit(0)
