"""whence finds the code that matters for a task, and says why.

>>> import whence
>>> with whence.Index.open("path/to/repository") as index:
...     for result in index.search("where are retries configured", k=5):
...         print(result.path, result.start_line, result.score)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.core.errors import WhenceError
from whence.core.version import __version__

if TYPE_CHECKING:
    from whence.app.index import Freshness, Index
    from whence.context.pack import Pack, Symbol
    from whence.fleet.search import Fleet
    from whence.graph.neighbours import Neighbour
    from whence.graph.shortest_path import Step
    from whence.memory.memory import Memory
    from whence.memory.note import Note
    from whence.memory.result import Recalled
    from whence.search.confidence import Confidence
    from whence.search.explain import Why
    from whence.search.result import Answer, Result

__all__ = [
    "Answer",
    "Confidence",
    "Fleet",
    "Freshness",
    "Index",
    "Memory",
    "Neighbour",
    "Note",
    "Pack",
    "Recalled",
    "Result",
    "Step",
    "Symbol",
    "WhenceError",
    "Why",
    "__version__",
]

_HOMES = {
    "Answer": "whence.search.result",
    "Confidence": "whence.search.confidence",
    "Fleet": "whence.fleet.search",
    "Freshness": "whence.app.index",
    "Index": "whence.app.index",
    "Memory": "whence.memory.memory",
    "Neighbour": "whence.graph.neighbours",
    "Note": "whence.memory.note",
    "Pack": "whence.context.pack",
    "Recalled": "whence.memory.result",
    "Result": "whence.search.result",
    "Step": "whence.graph.shortest_path",
    "Symbol": "whence.context.pack",
    "Why": "whence.search.explain",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for: `import whence` alone costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
