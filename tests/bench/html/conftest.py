"""A result of every benchmark, made once for many tests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from bench.html.small_results import MAKERS

Results = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """`results("search")`: what that benchmark wrote, to do anything with."""
    made: dict[str, dict[str, Any]] = {}

    def result_of(kind: str) -> dict[str, Any]:
        if kind not in made:
            made[kind] = MAKERS[kind](tmp_path_factory.mktemp("bench"))
        return copy.deepcopy(made[kind])

    return result_of
