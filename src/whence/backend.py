"""What answers a search: an index on this machine, or a fleet of them on an engine. One contract holds for both."""

from __future__ import annotations

from typing import Any, Protocol

from whence.explain.why import Why
from whence.results import Answer


class Backend(Protocol):
    """The stores of a corpus, opened together and asked as one (`tests/contracts/test_backends.py`)."""

    def search(self, query: str, *, k: int | None = None, profile: str | None = None, plain: bool = False, **asked: Any) -> Answer:
        """The best files for a query, best first: exactly k of them when that many match."""

    def why(self, query: str, target: str, *, k: int | None = None, profile: str | None = None, **asked: Any) -> Why:
        """Why a file stands where it stands in the answer to a query."""
