"""Readers and writers at once: every answer is of a state of the tree that was, one writes, nothing is lost, no dead lock holds."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from whence.app.index import Index
from whence.index.layout import Layout
from whence_bench.faults.crowds_people import Place, answered, main
from whence_bench.faults.crowds_tree import MARKS, State, apply, states_of, unlike_any, write_states
from whence_bench.faults.part import Bounds, Part

#: Seconds after which a process that should have ended is stuck.
PATIENCE = 60.0
#: Whoever finds a lock of a dead process waits no longer than this, with all that there is to load.
AT_ONCE = 5.0
#: How the six ask who only read, and how when some of them index too.
READING = ("open", "open", "open", "look", "look", "look")
INDEXING = ("open", "look", "opening", "opening", "refreshing", "refreshing")
_QUERIES = ("retry the request", "connection limit", "walrus", MARKS[0])


@dataclass(slots=True)
class Seen:
    """What was tried and found so far."""

    tried: int = 0
    wrong: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def expect(self, holds: bool, line: str) -> None:
        """Something that has to hold."""
        self.tried += 1
        if not holds:
            self.wrong.append(line)


class Person:
    """A process of the crowd. All of them are split off one that has loaded everything, for to load takes longest."""

    def __init__(self, place: Place, role: str, **asked: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(
            ["whence.app.index", "whence.memory.memory", "whence.index.builder", "whence_bench.faults.crowds_people"]
        )
        self.role = role
        self._line, theirs = context.Pipe()
        self.process = context.Process(target=main, args=(theirs, place.folder, role, asked), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid or 0

    def heard(self) -> Any:
        """What it says next; None when it ended, or says nothing."""
        try:
            return self._line.recv() if self._line.poll(PATIENCE) else None
        except EOFError:
            return None

    def ended(self, seen: Seen) -> dict[str, Any]:
        """What it says at its end, taken into account."""
        with suppress(OSError):
            self._line.send("end")  # for those who wait for it
        told = self.heard()
        if not isinstance(told, dict):
            self.kill()
            seen.wrong.append(f"{self.role} ended with {self.process.exitcode} and said {told}")
            return {}
        self.process.join(PATIENCE)
        self._line.close()
        seen.tried += told["did"]
        seen.wrong += [f"{self.role}: {line}" for line in told["wrong"]]
        facts: dict[str, Any] = told["facts"]
        return facts

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.join()


def run(bounds: Bounds) -> Part:
    """Let them all meet, one kind of crowd after the other."""
    seen = Seen()
    scenes: Sequence[tuple[str, Callable[[Bounds, Seen], None]]] = (
        ("readers beside one who indexes many files at a time", _reading),
        ("readers of which some index too", _indexing),
        ("two who index at once", _two_writers),
        ("locks of the dead, and locks that are gone", _locks),
        ("an index made anew under those who use it", _made_anew),
        ("two who write notes and feedback", _noting),
        ("a process that splits in two", _forking),
        ("threads that share one index", _sharing),
    )
    missed = []
    for name, scene in scenes:
        if bounds.left <= 0:
            missed.append(name)
            continue
        bounds.tell(name)
        scene(bounds, seen)
    if missed:
        seen.facts["not reached"] = "; ".join(missed)
    return Part("crowds", seen.tried, tuple(seen.wrong), seen.facts)


def made(bounds: Bounds, name: str, *, steps: int, bunch: int, build: bool = True) -> tuple[Place, list[State]]:
    """A tree in its first state, indexed or not, and the states that it is to go through."""
    place = Place(bounds.scratch / name)
    place.tree.mkdir(parents=True)
    states = states_of(bounds.seed, 40 if bounds.small else 300, steps, bunch)
    apply(place.tree, {}, states[0])
    write_states(place.states, states)
    place.board()
    if build:
        place.open().close()
    return place, states


def like_a_clean_build(place: Place, state: State, seen: Seen, after: str) -> None:
    """A fresh reader answers as a build does that nothing came in between of."""
    found: list[Any] = []
    for data in (place.data, place.folder / f"clean-{len(list(place.folder.iterdir()))}"):
        with Index.open(place.tree, data_dir=data) as index:
            seen.expect(not index.notes, f"after {after} a fresh reader is told: {index.notes}")
            seen.expect(not (line := unlike_any(answered(index), [state], 0, 0)), f"after {after} a fresh reader is wrong: {line}")
            found.append({query: [(one.path, round(one.score, 6)) for one in index.search(query)] for query in _QUERIES})
    seen.expect(found[0] == found[1], f"after {after} answers are not those of a clean build: {found}")


def _crowd(bounds: Bounds, seen: Seen, name: str, how: Sequence[str], *, bunch: int, strict: bool) -> None:
    place, states = made(bounds, name, steps=4 if bounds.small else 400, bunch=bunch)
    asking = [Person(place, "ask", how=one, strict=strict) for one in how]
    editing = Person(
        place, "edit", seconds=0.5 if bounds.small else min(20.0, max(bounds.left / 6, 1.0)), least=len(states) - 1 if bounds.small else 4
    )
    editing.ended(seen)
    told = [one.ended(seen) for one in asking]
    at = place.board().done
    seen.facts[f"{name}: states"] = at
    seen.facts[f"{name}: slowest answer, s"] = max((one.get("slowest", 0.0) for one in told), default=0.0)
    seen.facts[f"{name}: answers from before the last change"] = sum(one.get("behind", 0) for one in told)
    like_a_clean_build(place, states[at], seen, name)


def _reading(bounds: Bounds, seen: Seen) -> None:
    _crowd(bounds, seen, "readers", READING, bunch=10, strict=True)


def _indexing(bounds: Bounds, seen: Seen) -> None:
    _crowd(bounds, seen, "indexing readers", INDEXING, bunch=1, strict=False)


def _two_writers(bounds: Bounds, seen: Seen) -> None:
    for number in range(1 if bounds.small else 3):
        place, states = made(bounds, f"writers-{number}", steps=0, bunch=1, build=False)
        both = [Person(place, "index", wait=PATIENCE) for _ in range(2)]
        told = [one.ended(seen) for one in both]
        for one in told:
            seen.expect("error" not in one and not one.get("notes"), f"one of two who index at once: {one}")
            seen.expect(
                one.get("files") == len(states[0]), f"one of two who index at once sees {one.get('files')} of {len(states[0])} files"
            )
        read = sum(one.get("read", 0) for one in told)
        seen.expect(read <= len(states[0]), f"two who index at once read {read} files, of {len(states[0])}")
        like_a_clean_build(place, states[0], seen, "two who index at once")


def _locks(bounds: Bounds, seen: Seen) -> None:
    place, states = made(bounds, "locks", steps=4, bunch=3, build=False)
    holder = Person(place, "hold")
    seen.expect(holder.heard() == "held", "nobody could take a lock that nobody had")
    time.sleep(1.1)  # so that its age can be told
    told = Person(place, "index", wait=0).ended(seen)
    named = f"process {holder.pid}, for " in told.get("message", "")
    seen.expect(
        told.get("error") == "IndexBusy" and named and ", for 0 s" not in told["message"], f"one who does not wait was told: {told}"
    )
    seen.expect(told.get("seconds", PATIENCE) < AT_ONCE, f"one who does not wait was told after {told.get('seconds')} s")
    waiting = Person(place, "index", wait=PATIENCE)
    time.sleep(0.2)
    seen.expect(waiting.process.is_alive(), "one who may wait did not")
    holder.ended(seen)
    told = waiting.ended(seen)
    seen.expect(told.get("files") == len(states[0]), f"one who waited for the lock: {told}")
    _locks_left_over(place, states, seen)


def _locks_left_over(place: Place, states: list[State], seen: Seen) -> None:
    killed = Person(place, "hold")
    killed.heard()
    apply(place.tree, states[0], states[1])
    told = Person(place, "index", wait=0).ended(seen)
    seen.expect(
        any(f"process {killed.pid}, for" in note for note in told.get("notes", ())) and told.get("files") == len(states[0]),
        f"one who finds the index busy answers from what is there, and says so: {told}",
    )
    killed.kill()
    told = Person(place, "index", wait=0).ended(seen)
    seen.expect(told.get("files") == len(states[1]) and not told.get("notes"), f"the lock of one who was killed is not taken over: {told}")
    lock = Layout(place.data, place.tree.resolve()).lock_file
    lock.write_text(json.dumps({"pid": killed.pid, "since": 0}), encoding="utf-8")
    apply(place.tree, states[1], states[2])
    told = Person(place, "index", wait=0).ended(seen)
    seen.expect(told.get("files") == len(states[2]) and not told.get("notes"), f"a lock file left over is not taken over: {told}")
    holder = Person(place, "hold")
    holder.heard()
    lock.unlink()
    apply(place.tree, states[2], states[3])
    told = Person(place, "index", wait=0).ended(seen)
    seen.expect(told.get("read") == 0 and bool(told.get("notes")), f"two hold the lock whose file was deleted under one of them: {told}")
    holder.ended(seen)
    told = Person(place, "index", wait=0).ended(seen)
    seen.expect(told.get("files") == len(states[3]), f"the lock whose file was deleted cannot be taken any more: {told}")
    like_a_clean_build(place, states[3], seen, "all those locks")


def _made_anew(bounds: Bounds, seen: Seen) -> None:
    place, states = made(bounds, "anew", steps=2, bunch=3)
    layout = Layout(place.data, place.tree.resolve())
    keeper = Person(place, "keep")
    seen.expect(keeper.heard() == "open", "an index could not be kept open")
    segment = next(layout.segments.glob("*.segment"))
    segment.write_bytes(segment.read_bytes()[:-1])
    told = [one.ended(seen) for one in [Person(place, "index", wait=PATIENCE) for _ in range(4)]]
    for one in told:
        seen.expect(one.get("files") == len(states[0]), f"one of those who found the index damaged all at once: {one}")
    said = sum(bool(one.get("notes")) for one in told)
    seen.expect(said > 0, "nobody was told that the index was damaged")
    for path in layout.directory.glob(f"{layout.database.name}*"):
        path.unlink()
    apply(place.tree, states[0], states[1])
    told = [Person(place, "index", wait=PATIENCE).ended(seen)]
    seen.expect(told[0].get("files") == len(states[1]), f"an index whose database was deleted: {told}")
    apply(place.tree, states[1], states[2])
    keeper.ended(seen)
    like_a_clean_build(place, states[2], seen, "an index was made anew under one who kept it open")


def _noting(bounds: Bounds, seen: Seen) -> None:
    from whence.context.feedback.store import FeedbackStore  # noqa: PLC0415
    from whence.context.feedback.verdicts import records  # noqa: PLC0415
    from whence.memory.memory import Memory  # noqa: PLC0415

    place, _ = made(bounds, "notes", steps=0, bunch=1)
    count = 12 if bounds.small else 150
    writers = [Person(place, "note", who=who, count=count) for who in range(2)]
    keys = [key for one in writers for key in one.ended(seen).get("keys", ())]
    seen.expect(len(keys) == 2 * count, f"{len(keys)} of {2 * count} notes were acknowledged")
    with Memory.open(place.folder / "notes", data_dir=place.data) as memory:
        texts = {one.key: [one.text, *(past.text for past in memory.history(one.key))] for one in memory.list()}
        for key, word, shared in keys:
            there = any(word in text for text in texts.get(key, ()))
            seen.expect(there, f"the note {key} with {word} is lost, though it was acknowledged")
            if not shared:
                seen.expect([hit.note.key for hit in memory.recall(word, k=1)] == [key], f"a fresh reader does not recall {key} by {word}")
        seen.expect(not memory.remarks, f"a fresh reader of notes is told: {memory.remarks}")
    learned = FeedbackStore.beside(Layout(place.data, place.tree.resolve()).directory)
    kept = len(records(learned))
    learned.close()
    seen.expect(kept == 2 * count, f"{kept} of {2 * count} verdicts are kept")
    seen.facts["notes and verdicts written at once"] = 4 * count


def _forking(bounds: Bounds, seen: Seen) -> None:
    place, states = made(bounds, "fork", steps=2, bunch=3)
    child = Person(place, "fork")
    seen.expect(child.heard() == "forked", "a process could not be split")
    child.process.join()  # the parent is gone, its child is not
    apply(place.tree, states[0], states[1])
    Person(place, "index", wait=0).ended(seen)
    child.ended(seen)
    like_a_clean_build(place, states[1], seen, "a process split in two")


def _sharing(bounds: Bounds, seen: Seen) -> None:
    place, states = made(bounds, "threads", steps=200, bunch=1)
    told = Person(place, "share", seconds=1.0 if bounds.small else min(20.0, max(bounds.left / 2, 1.0)), threads=8).ended(seen)
    seen.facts["threads: refreshed"] = told.get("refreshed", 0)
    seen.expect(told.get("refreshed", 0) > 0, "nothing was refreshed beside the threads")
    like_a_clean_build(place, states[place.board().done], seen, "threads")
