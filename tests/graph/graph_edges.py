"""Edges of small real trees as plain text, so that a test can list what it expects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sample_trees import write
from whence import Index
from whence.core.types import EDGE_KINDS
from whence.graph.reader import Graph

#: (source, kind, target, confidence), sources and targets by their keys.
Edge = tuple[str, str, str, float]


def files_of(text: str) -> dict[str, str]:
    """A tree written as one text: `--- path`, then the file."""
    parts = re.split(r"(?m)^--- (\S+)\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def opened(root: Path, files: dict[str, str] | str) -> Index:
    """An index of a tree that is written first."""
    return Index.open(write(root, files_of(files) if isinstance(files, str) else files))


def key_of(graph: Graph, node: int) -> str:
    """The key of a node, or its name where it has no place in the source."""
    return graph.symbols.key(node) if node < graph.symbols.units else graph.name(node)


def edges_of(graph: Graph, kinds: Iterable[str] = EDGE_KINDS) -> set[Edge]:
    """All edges of some kinds."""
    wanted = set(kinds)
    rows = zip(graph.source.tolist(), graph.kind.tolist(), graph.target.tolist(), graph.confidence.tolist(), strict=True)
    return {
        (key_of(graph, source), EDGE_KINDS[kind], key_of(graph, target), round(confidence, 3))
        for source, kind, target, confidence in rows
        if EDGE_KINDS[kind] in wanted
    }


def told(graph: Graph, *kinds: str) -> list[str]:
    """Edges of some kinds as sentences: paths by their last part, the confidence only where it is not the parser's usual one."""
    found = edges_of(graph, kinds)
    return sorted(
        f"{source.rpartition('/')[2]} {kind} {target.rpartition('/')[2] if '#' in target else target}"
        + (f" {confidence:.2f}" if abs(confidence - 0.7) > 0.001 else "")
        for source, kind, target, confidence in found
    )
