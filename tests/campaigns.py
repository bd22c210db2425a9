"""How long a campaign is: a short version of it in `make test`, the whole in `make nightly`."""

from __future__ import annotations

import os

#: Set by `pytest --nightly`, before any test is imported. No `WHENCE_` name: those are settings of the commands under test.
VARIABLE = "NIGHTLY_TESTS"
MIN_EXAMPLES = 20


def is_nightly() -> bool:
    """Whether campaigns run in full."""
    return bool(os.environ.get(VARIABLE))


def examples(full: int) -> int:
    """How many examples Hypothesis tries: `full` of them at night, else a quarter."""
    return full if is_nightly() else min(full, max(full // 4, MIN_EXAMPLES))
