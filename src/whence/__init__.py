"""whence finds the code that matters for a task, and says why.

>>> import whence
>>> with whence.Index.open("path/to/repository") as index:
...     for result in index.search("where are retries configured", k=5):
...         print(result.path, result.start_line, result.score)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.version import __version__

if TYPE_CHECKING:
    from whence.confidence import Confidence
    from whence.engine import Freshness, Index
    from whence.explain.why import Why
    from whence.fleet.searching import Fleet
    from whence.graph.neighbours import Neighbour
    from whence.graph.ways import Step
    from whence.memories import Memory
    from whence.memory.note import Note
    from whence.packs import Pack, Symbol
    from whence.recollections import Recalled
    from whence.results import Answer, Result

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
    "Answer": "whence.results",
    "Confidence": "whence.confidence",
    "Fleet": "whence.fleet.searching",
    "Freshness": "whence.engine",
    "Index": "whence.engine",
    "Memory": "whence.memories",
    "Neighbour": "whence.graph.neighbours",
    "Note": "whence.memory.note",
    "Pack": "whence.packs",
    "Recalled": "whence.recollections",
    "Result": "whence.results",
    "Step": "whence.graph.ways",
    "Symbol": "whence.packs",
    "Why": "whence.explain.why",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for: `import whence` alone costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
