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
    from whence.app.index import Index
    from whence.context.pack import ContextPack, Symbol
    from whence.core.types import Freshness
    from whence.fleet.search import Fleet
    from whence.graph.questions import Neighbour, PathStep
    from whence.memory.memory import Memory
    from whence.memory.note import Note
    from whence.memory.recall import RecalledNote
    from whence.ranking.confidence import Confidence
    from whence.ranking.receipt import Why
    from whence.search.result import SearchResponse, SearchResult

__all__ = [
    "Confidence",
    "ContextPack",
    "Fleet",
    "Freshness",
    "Index",
    "Memory",
    "Neighbour",
    "Note",
    "PathStep",
    "RecalledNote",
    "SearchResponse",
    "SearchResult",
    "Symbol",
    "WhenceError",
    "Why",
    "__version__",
]

_MODULES = {
    "Confidence": "whence.ranking.confidence",
    "ContextPack": "whence.context.pack",
    "Fleet": "whence.fleet.search",
    "Freshness": "whence.core.types",
    "Index": "whence.app.index",
    "Memory": "whence.memory.memory",
    "Neighbour": "whence.graph.questions",
    "Note": "whence.memory.note",
    "PathStep": "whence.graph.questions",
    "RecalledNote": "whence.memory.recall",
    "SearchResponse": "whence.search.result",
    "SearchResult": "whence.search.result",
    "Symbol": "whence.context.pack",
    "Why": "whence.ranking.receipt",
}


def __getattr__(name: str) -> Any:
    """Load heavy classes on first use: `import whence` alone costs next to nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Public names, so that completion offers `Index`, `Memory` and `Fleet` before they are loaded."""
    return sorted(__all__)
