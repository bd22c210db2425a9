"""Kinds of edge as a picture tells them apart."""

from __future__ import annotations

import numpy as np

from whence.types import EDGE_KINDS

#: Kinds by what they say; every other kind is `other`.
_KINDS_OF = {
    "calls": frozenset({"calls"}),
    "inheritance": frozenset({"extends", "implements", "implements_rpc", "overrides", "inherits"}),
    "tests": frozenset({"tests", "tested_by", "co_tested_with"}),
    "contains": frozenset({"contains", "member_of"}),
}
GROUPS = (*_KINDS_OF, "other")
#: The group of each kind, by its row.
GROUP_OF = tuple(next((group for group, kinds in _KINDS_OF.items() if kind in kinds), "other") for kind in EDGE_KINDS)
#: Whether a kind is drawn, by its row. The others say an edge once more from its other end, or only that two symbols have
#: a test in common: they are walked, and a picture of them is a knot.
DRAWN = np.array([kind not in ("member_of", "tested_by", "co_tested_with") for kind in EDGE_KINDS])
