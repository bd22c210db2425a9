"""What is damaged: a small repository with its index, what use taught, and notes; and what is asked of all that."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.app.index import Index
from whence.context.feedback.store import FeedbackStore
from whence.context.feedback.verdicts import Verdict, records, say
from whence.core.errors import WhenceError
from whence.core.settings import Settings
from whence.core.types import RUNTIME, Edge
from whence.index.layout import Layout
from whence.memory import index as note_index
from whence.memory.memory import Memory

#: Notes that are kept beside the file of arrays here: so few that there is such a file.
FEW_BESIDE = 3
_THINGS = "harbour kitten ledger orchard pump quarry signal tariff valve walrus".split()
QUESTIONS = ("repay the ledger twice", "open_valve", "why is the pump stopped when the signal is lost", "tariff of the harbour")
TASK = "stop the pump when the valve is opened and the ledger is repaid"
NOTES_ASKED = ("who feeds the kitten", "when does the harbour close", "pump")
#: Files that are written in place; every other is written once and then only replaced.
_WRITTEN_IN_PLACE = (".db", "-wal", ".lock")


@dataclass(frozen=True, slots=True)
class Ground:
    """What every case begins with, and what it says as long as nothing is damaged."""

    root: Path
    notes: Path
    data: Path  # everything closed in good order
    logged: Path  # the same, left by a process that was killed: its last changes are in the logs of the databases
    other: Path  # the data folder of another repository and other notes
    healthy: Mapping[str, Any]

    def layout(self, data: Path) -> Layout:
        """The places of the repository's index below a data folder."""
        return Layout(data, self.root)

    def note_places(self, data: Path) -> Path:
        """The folder of the index over the notes below a data folder."""
        return Layout(data, self.notes).note_index


def make_ground(scratch: Path) -> Ground:
    """Write, index, teach and remember; then end one process in the middle of it."""
    note_index.MAX_TAIL = FEW_BESIDE
    root, notes = (scratch / "tree").resolve(), scratch / "notes"
    data, logged, other = scratch / "clean", scratch / "logged", scratch / "other"
    for number, size in enumerate((10, 11, 12)):
        _write_tree(root, size, number)
        _commit(root, f"{_THINGS[number]} and {_THINGS[number + 4]}: step {number}")
        if number != 1:
            Index.open(root, data_dir=data).close()
    _teach(root, data)
    _remember(notes, data, root, 0, 7)
    _write_tree(scratch / "tree2", 3, 5)
    Index.open(scratch / "tree2", data_dir=other).close()
    _remember(scratch / "notes2", other, root, 2, 7)
    with Index.open(scratch / "tree2", data_dir=other) as index:
        _ = index.open_graph()
    _leave_in_the_middle(root, notes, data)
    shutil.copytree(data, logged, ignore=shutil.ignore_patterns("*-shm"))
    ground = Ground(root, notes, data, logged, other, {})
    ask(ground, data)  # whoever comes next puts the logs in order
    return ground


def _write_tree(root: Path, size: int, version: int) -> None:
    for number in range(size):
        one, two, three = (_THINGS[(number * step + step) % len(_THINGS)] for step in (1, 3, 7))
        text = [
            f'"""The {one} of the {two}."""',
            f"from part_{(number + 1) % size} import stop_{_THINGS[(number + 2) % len(_THINGS)]}",
            "",
            f"class {one.title()}Keeper:",
            f'    """Keeps a {one} until the {three} is lost."""',
            "",
            f"    def open_{two}(self, amount):",
            f"        # repay the {three} twice, then close",
            f"        return stop_{one}(amount + {version if number % 4 == 0 else number})",
            "",
            f"def stop_{_THINGS[(number + 1) % len(_THINGS)]}(amount):",
            f'    """Stop the {two} when the {three} is opened."""',
            f"    keeper = {one.title()}Keeper()",
            f"    return keeper.open_{two}(amount)",
            "",
        ]
        path = root / ("src" if number % 3 else "lib") / f"part_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text), encoding="utf-8")
    (root / "README.md").write_text(f"# Harbour\n\nThe tariff of the harbour, step {version}.\n", encoding="utf-8")


def _commit(root: Path, subject: str) -> None:
    named = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*named, "commit", "-q", "-m", subject]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)


def _edge(source: int, target: int) -> Edge:
    ends = [f"{'src' if one % 3 else 'lib'}/part_{one}.py#stop_{_THINGS[(one + 1) % len(_THINGS)]}" for one in (source, target)]
    return Edge(ends[0], ends[1], "calls", RUNTIME, 0.9, 0, 1_700_000_000.0, 12)


def _teach(root: Path, data: Path) -> None:
    with Index.open(root, data_dir=data) as index:
        index.add_edges(RUNTIME, [_edge(1, 5), _edge(2, 7)])
        _judge(index, ("src/part_1.py#stop_ledger", True), ("src/part_4.py#stop_quarry", False))
        _ = index.open_graph()


def _judge(index: Index, *verdicts: tuple[str, bool]) -> None:
    learned = FeedbackStore.beside(index.layout.directory)
    said = [Verdict(symbol, useful, index.package_hash(symbol) or "none", TASK, 1_700_000_000.0) for symbol, useful in verdicts]
    say(learned, said, index.settings.learn)
    learned.close()


def _remember(notes: Path, data: Path, root: Path, first: int, last: int) -> None:
    with Memory.open(notes, data_dir=data, repository=root) as memory:
        for number in range(first, last):
            one, two = _THINGS[number], _THINGS[(number + 3) % len(_THINGS)]
            memory.remember(
                f"The {one} is closed on Mondays; ask Ada for the {two}.",
                topic=f"{one} hours",
                project=root.name if number % 2 else "",
                tags=[two],
                about=["src/part_1.py"] if number == 1 else (),
                created="2026-03-02",
            )
        memory.recall("harbour")


def _leave_in_the_middle(root: Path, notes: Path, data: Path) -> None:
    """Let a process write to every database and end before it has closed any."""
    child = os.fork()
    if not child:
        try:
            index, memory = Index.open(root, data_dir=data), Memory.open(notes, data_dir=data, repository=root)
            index.add_edges(RUNTIME, [_edge(1, 5), _edge(2, 7), _edge(4, 8)])
            _ = index.open_graph()
            learned = FeedbackStore.beside(index.layout.directory)
            learned.rows("SELECT 1")
            _judge(index, ("src/part_2.py#stop_orchard", True))
            memory.remember("The walrus sleeps in the quarry.", topic="walrus", created="2026-03-03")
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)


def copy_of(source: Path, place: Path) -> Path:
    """A data folder of its own: databases are copied, files that are never written again are linked, so that their stamps hold."""
    for folder, _, names in os.walk(source):
        there = place / Path(folder).relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name.endswith(_WRITTEN_IN_PLACE):
                shutil.copy2(Path(folder) / name, there / name)
            elif not name.endswith("-shm"):
                os.link(Path(folder) / name, there / name)
    return place


def ask(ground: Ground, data: Path, *, verify: bool = False) -> dict[str, Any]:
    """Everything that an index, its graph, what was learned and the notes answer; and what was said beside."""
    values = {"index.verify_after": 0.0} if verify and hasattr(Settings().index, "verify_after") else {}
    found: dict[str, Any] = {"said": [], "refused": []}
    for name, part in (("code", _ask_code), ("notes", _ask_notes)):
        try:
            found[name] = part(ground, data, values, found["said"])
        except WhenceError as error:
            found["refused"].append(str(error))
            found[name] = {}
    return found


def _ask_code(ground: Ground, data: Path, values: Mapping[str, Any], said: list[str]) -> dict[str, Any]:
    with Index.open(ground.root, data_dir=data, settings=values) as index:
        found = {
            "answers": [[(one.path, round(one.score, 9), one.start_line, one.end_line) for one in index.search(q)] for q in QUESTIONS],
            "graph": sorted(_edges(index)),
            "edges": [repr(one) for one in index.store.edges()],
            "context": index.context(TASK).text,
            "files": [(path, repr(index.parsed(path))) for path in sorted(_live_paths(index))],
            "status": _status(index),
        }
        said += index.notes
    try:
        found["learned"] = [repr(one) for one in records(FeedbackStore.beside(ground.layout(data).directory))]
    except WhenceError as error:
        said.append(str(error))
        found["learned"] = []
    return found


def _edges(index: Index) -> Iterator[tuple[Any, ...]]:
    graph = index.open_graph()
    columns = zip(graph.source.tolist(), graph.target.tolist(), graph.kind.tolist(), graph.confidence.tolist(), graph.seen, strict=True)
    for source, target, kind, confidence, seen in columns:
        yield graph.name(source), graph.name(target), kind, round(confidence, 6), float(seen)


def _live_paths(index: Index) -> list[str]:
    """The files that are answered from; earlier versions, which a rebuilt index lacks, do not count."""
    return [path for row, path in enumerate(index.snapshot.paths) if index.snapshot.alive[row]]


def _status(index: Index) -> list[Any]:
    snapshot = index.snapshot
    passages = snapshot.vectors is not None and snapshot.vectors.passages > 0
    commits = len(snapshot.commits["times"]) if snapshot.commits is not None else 0
    return [snapshot.live_files, snapshot.live_units, passages, commits, [list(one) for one in index.store.languages()]]


def _ask_notes(ground: Ground, data: Path, values: Mapping[str, Any], said: list[str]) -> dict[str, Any]:
    with Memory.open(ground.notes, data_dir=data, repository=ground.root, settings=values) as memory:
        found = {
            "listed": [(one.key, one.text, one.topic, one.project, one.tags, one.problem) for one in memory.list()],
            "recalled": [[(one.note.key, round(one.score, 9)) for one in memory.recall(question, k=5)] for question in NOTES_ASKED],
            "of a kind": [one.key for one in memory.list(project=ground.root.name, tags=["quarry"])],
            "speaking": memory.notes_about(ground.root, ["src/part_1.py"]),
        }
        said += memory.remarks
    return found
