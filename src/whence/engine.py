"""The engine: an index that can be asked. The only module that knows every stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whence.answer import Asking, Ranked, answer, ranked_with
from whence.errors import QueryError
from whence.explain.why import Why, explain, find_target
from whence.opened import Freshness, OpenIndex, load_settings
from whence.profiles import Profile
from whence.query.options import check_compared, make_options, with_fusion
from whence.related import Example, related
from whence.results import Result
from whence.retrieve.evidence import FieldWeights
from whence.types import Parsed

__all__ = ["Freshness", "Index", "load_settings"]


class Index(OpenIndex):
    """An index of one root. Open it with `Index.open`; it is a context manager."""

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        self._weights: dict[str, FieldWeights] = {}

    def _weights_of(self, name: str, profile: Profile) -> FieldWeights:
        """What codes are worth under a profile, worked out once."""
        if name not in self._weights:
            self._weights[name] = FieldWeights.of(profile)
        return self._weights[name]

    def search(self, query: str = "", *, k: int | None = None, profile: str | None = None, **asked: Any) -> list[Result]:
        """The best files for a query, best first: exactly k of them when that many match.

        `asked` are the filters and modes of `query.options.make_options`: operator,
        relaxation, include, exclude, languages, kinds, content, paths, pattern, ...
        """
        return [Result(self, found) for found in answer(query, self._asking(query, k, profile, asked))]

    def why(self, query: str, target: str, *, profile: str | None = None, **asked: Any) -> Why:
        """Why a file (or `file:line`, or a symbol) stands where it stands in the answer to a query, or is not in it."""
        asking = self._asking(query, None, profile, asked)
        units = find_target(self.snapshot, target)
        return explain(query, units, ranked_with(query, asking, units))

    def related(self, path: str, line: int, *, k: int | None = None, **asked: Any) -> list[Result]:
        """Units like the one at a line of a file, best first (Q9); `asked` are filters as in `search`."""
        check_compared(asked)
        asking = self._asking("related", k, None, asked)
        unit = int(find_target(self.snapshot, f"{path}:{line}", wants_line=True)[0])
        return [Result(self, found) for found in related(self._example(unit), asking)]

    def _example(self, unit: int) -> Example:
        path = self.snapshot.path(int(self.snapshot.file_of_unit[unit]))
        first, last = int(self.snapshot.column("units.first")[unit]), int(self.snapshot.column("units.last")[unit])
        lines = (self.read_text(path) or "").split("\n")[first - 1 : last]
        parents = [one.parents for one in (self.parsed(path) or Parsed("", ())).units if one.first_line == first and one.last_line == last]
        return Example(unit, " ".join((*(parents[0] if parents else ()), self.snapshot.unit_name(unit))), "\n".join(lines))

    def ranked(self, query: str, profile: Profile) -> Ranked:
        """Every candidate of a query with its ledger, under a profile that need not be among the settings."""
        asking = replace(self._asking(query, None, None, {}), profile=profile, weights=FieldWeights.of(profile))
        return ranked_with(query, asking)

    def _asking(self, query: str, k: int | None, profile: str | None, asked: Mapping[str, Any]) -> Asking:
        chosen = self.settings.search
        asked = dict(asked)
        fusion, alpha = asked.pop("fusion", None), asked.pop("alpha", None)
        unbounded = k is None and not query.strip()  # a pattern alone is grep: it loses nothing
        options = make_options(
            k=self.snapshot.files + 1 if unbounded else chosen.k if k is None else k,
            **{"operator": chosen.operator, "content": chosen.content, "strategy": chosen.strategy, **asked},
        )
        name = profile or chosen.profile
        if name not in self.settings.profiles:
            raise QueryError(f"there is no profile {name!r}", hint=f"allowed: {', '.join(self.settings.profiles)}")
        ranking = self.settings.profiles[name]
        weights = self._weights_of(name, ranking)
        ranking = with_fusion(name, ranking, fusion, alpha)
        return Asking(
            self.snapshot,
            ranking,
            weights,
            options,
            chosen.pool,
            chosen.pool_per_result,
            self.read_text,
            self._encoder,
            self._trace,
        )
