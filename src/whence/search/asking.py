"""From what was given with a query, and the settings, to everything it is asked with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.core.errors import QueryError
from whence.core.profiles import PROFILES, Profile
from whence.core.settings_schema import Settings
from whence.core.trace import Trace
from whence.embed.encoder import Encoder
from whence.index.snapshot import Snapshot
from whence.query.parser import ParsedQuery
from whence.retrieval.pattern_lines import ReadText
from whence.retrieval.term_statistics import FieldWeights
from whence.search.options import make_options, with_factors, with_fusion
from whence.search.pipeline import SearchRun

#: What codes are worth under a profile: it is worked out once for each.
WeightsOf = Callable[[str, Profile], FieldWeights]


def make_asking(
    query: str,
    k: int | None,
    profile: str | None,
    asked: Mapping[str, Any],
    *,
    snapshot: Snapshot,
    settings: Settings,
    weights_of: WeightsOf,
    read: ReadText,
    encoder: Encoder | None,
    trace: Trace | None = None,
) -> SearchRun:
    """Check what was given, and put it together with what is set."""
    chosen, asked = settings.search, dict(asked)
    fusion, alpha, factors = (asked.pop(name, None) for name in ("fusion", "alpha", "factors"))
    unbounded = k is None and not query.strip()  # a pattern alone is grep: it loses nothing
    options = make_options(
        k=snapshot.files + 1 if unbounded else chosen.k if k is None else k,
        **{"operator": chosen.operator, "content": chosen.content, "strategy": chosen.strategy, **asked},
    )
    name, ranking = profile_named(profile, settings)
    weights = weights_of(name, ranking)
    ranking = with_factors(name, with_fusion(name, ranking, fusion, alpha), factors)
    return SearchRun(snapshot, ranking, weights, options, chosen.pool, chosen.pool_per_result, read, encoder, trace)


def profile_named(profile: str | None, settings: Settings) -> tuple[str, Profile]:
    """The profile that is asked for, or set, with its name."""
    name = profile or settings.search.profile
    if name not in PROFILES:
        raise QueryError(f"there is no profile {name!r}", hint=f"allowed: {', '.join(PROFILES)}")
    return name, settings.profiles[name]


def with_content(read: ParsedQuery, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was asked beside the query, with all files to choose from where the query itself says which."""
    return {**asked, "content": "all"} if read.beyond_code and asked.get("content") is None else asked
