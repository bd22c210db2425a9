"""Many small cases in one test: every case is tried, and all that fail are listed.

pytest spends a few milliseconds on each case of a parametrised test, whatever it does. `each` is for tables of cases that take
less than that and share no state: no files of their own, no patches.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

LONGEST_NAME, MAX_LISTED = 120, 20

Test = Callable[..., None]


def each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Try a test with every case, named as by `pytest.mark.parametrize`, but as one test; its fixtures are made once."""
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_values(case, len(parameters)) for case in cases]
    assert rows, "no cases"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            __tracebackhide__ = True
            failures: list[tuple[tuple[Any, ...], BaseException]] = []
            for row in rows:
                try:
                    test(**fixtures, **dict(zip(parameters, row, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001  -- whatever a case raises is its failure
                    failures.append((row, failure))
            if failures:
                listed = "\n".join(f"  {_name(row)}: {_summary(failure)}" for row, failure in failures[:MAX_LISTED])
                raise AssertionError(f"{len(failures)} of {len(rows)} cases fail:\n{listed}") from failures[0][1]

        fixtures = [one for one in inspect.signature(test).parameters.values() if one.name not in parameters]
        tried.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]  # what pytest gives
        return tried

    return decorate


def _values(case: Any, count: int) -> tuple[Any, ...]:
    values = (case,) if count == 1 else tuple(case)
    assert len(values) == count, case
    return values


def _name(row: Sequence[Any]) -> str:
    name = ", ".join(map(repr, row))
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def _summary(failure: BaseException) -> str:
    first = str(failure).partition("\n")[0]
    return first if isinstance(failure, AssertionError) else f"{type(failure).__name__}: {first}"
