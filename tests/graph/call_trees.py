"""Small trees with every call labelled by hand, and how much of it a graph knows.

A tree is a text file of files (`--- path`), with the calls of all of them in the last (`--- calls`): `caller -> callee`, each by
its qualified name or its end, with its path before `#` where two files define one. A label after it says what is the most that can
be known: `(open)` for what only a person can tell, `(outside)` for what no definition stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graph.graph_edges import files_of, key_of, opened
from whence.core.types import EDGE_KINDS
from whence.graph.outcomes import open_calls
from whence.graph.reader import Graph

TREES = Path(__file__).parent / "languages"
#: Kinds of edge by which one symbol makes use of another's code.
USES = ("calls", "references", "accesses_field", "decorates")
#: Edges of lower confidence were matched by name alone.
SURE = 0.5

Call = tuple[str, str]  # the keys of caller and callee


@dataclass(frozen=True)
class CallTree:
    """A labelled tree, and the graph of it."""

    graph: Graph
    labels: tuple[str, ...]

    @classmethod
    def read(cls, language: str, root: Path) -> CallTree:
        files = files_of((TREES / f"{language}.txt").read_text("utf-8"))
        labels = tuple(line for line in files.pop("calls").splitlines() if line)
        return cls(opened(root, files).open_graph(), labels)

    @cached_property
    def keys(self) -> list[str]:
        symbols = self.graph.symbols
        return [symbols.key(unit) for unit in range(symbols.units) if symbols.defines[unit] or symbols.container[unit]]

    def key(self, name: str) -> str:
        """The key of a symbol, or of the file around its units; AssertionError unless there is just one."""
        if (
            "." in name
            and not name.startswith(".")
            and any(name == self.graph.symbols.snapshot.path(row) for row in self.graph.symbols.file_row.values())
        ):
            return f"{name}#"
        fits = [key for key in self.keys if key == name or key.partition("#")[2] == name]
        fits = fits or [key for key in self.keys if key.partition("#")[2].endswith(f".{name}")]
        fits = list(
            dict.fromkeys(
                self.merged(one)
                if one.startswith(("src/", "include/")) and one.partition("#")[0].endswith((".h", ".c", ".hpp", ".cpp"))
                else one
                for one in fits
            )
        )
        assert len(set(fits)) <= 1 or len({key.partition("#")[2] for key in fits}) == 1, f"{name}: {sorted(set(fits))}"
        return fits[0] if fits else name

    @cached_property
    def expected(self) -> set[Call]:
        parts = [label.partition(" (")[0].split(" -> ") for label in self.labels if not label.endswith("(outside)")]
        return {(self.merged(self.key(caller)), self.merged(self.key(callee))) for caller, callee in parts}

    @cached_property
    def hard(self) -> set[Call]:
        parts = [label.partition(" (")[0].split(" -> ") for label in self.labels if label.endswith("(open)")]
        return {(self.merged(self.key(caller)), self.merged(self.key(callee))) for caller, callee in parts}

    def merged(self, key: str) -> str:
        """A constructor is its type, and a declaration in a header its definition."""
        path, _, name = key.partition("#")
        around, _, last = name.rpartition(".")
        owner = around.rpartition(".")[2]
        if around and last in {owner, "__init__", "initialize", "constructor", "__construct"}:
            name = around
        joined = path.endswith((".h", ".hpp", ".c", ".cpp")) and name != "clamp"
        return f"#{name}" if joined else f"{path}#{name}"

    def edges(self, kinds: tuple[str, ...]) -> set[tuple[str, str, float]]:
        graph = self.graph
        rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), graph.confidence.tolist(), strict=True)
        return {
            (self.merged(key_of(graph, source)), self.merged(key_of(graph, target)), confidence)
            for source, kind, target, confidence in rows
            if EDGE_KINDS[kind] in kinds and target < graph.symbols.units
        }

    @cached_property
    def sure(self) -> set[Call]:
        return {(source, target) for source, target, confidence in self.edges(("calls",)) if confidence >= SURE}

    @cached_property
    def used(self) -> set[Call]:
        return {(source, target) for source, target, confidence in self.edges(USES) if confidence >= SURE}

    @cached_property
    def wrong(self) -> set[Call]:
        return {call for call in self.sure - self.expected if call[0] != call[1]}

    @cached_property
    def missed(self) -> set[Call]:
        return self.expected - self.used

    @cached_property
    def lost(self) -> set[Call]:
        """Calls that are neither known nor left open by name."""
        candidates = {(source, target) for source, target, _ in self.edges(USES)}
        open_ = {(self.merged(key_of(self.graph, unit)), name) for unit, name in open_calls(self.graph)}
        return {
            (caller, callee)
            for caller, callee in self.missed - candidates
            if (caller, callee.rpartition(".")[2].rpartition("#")[2]) not in open_
        }

    @property
    def precision(self) -> float:
        return 1 - len(self.wrong) / max(len(self.sure), 1)

    @property
    def recall(self) -> float:
        """Of what can be known."""
        return 1 - len(self.missed - self.hard) / len(self.expected - self.hard)

    @property
    def recall_with_open(self) -> float:
        return 1 - len(self.lost) / len(self.expected)
