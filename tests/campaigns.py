"""How long a campaign is: a short version of it in `make test`, the whole in `make nightly`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: Set by `pytest --nightly`, before any test is imported. No `WHENCE_` name: those are settings of the commands under test.
VARIABLE = "NIGHTLY_TESTS"
MIN_EXAMPLES = 20
#: Of a long list of cases every so-and-so-many-th is tried by day.
EVERY = 3


def is_nightly() -> bool:
    """Whether campaigns run in full."""
    return bool(os.environ.get(VARIABLE))


def examples(full: int) -> int:
    """How many examples Hypothesis tries: `full` of them at night, else a quarter."""
    return full if is_nightly() else min(full, max(full // 4, MIN_EXAMPLES))


def some(cases: Iterable[Case]) -> list[Case]:
    """All cases at night, by day every third: for long lists of cases that are alike."""
    return list(cases)[:: 1 if is_nightly() else EVERY]
