"""A result of every benchmark, made once for many tests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from bench.html.small_results import MAKERS

Results = Callable[[str], dict[str, Any]]


def shorter(result: dict[str, Any]) -> dict[str, Any]:
    """Without most of what is there by the dozen and looks the same; one result keeps all of its settings."""
    if result["benchmark"] != "search" and "settings" in result:
        del result["settings"][5:]
    if "profiles" in result:
        result["profiles"] = dict(islice(result["profiles"].items(), 8))
    return result


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """`results("search")`: what that benchmark wrote, to do anything with."""
    made: dict[str, dict[str, Any]] = {}

    def result_of(kind: str) -> dict[str, Any]:
        if kind not in made:
            made[kind] = shorter(MAKERS[kind](tmp_path_factory.mktemp("bench")))
        return copy.deepcopy(made[kind])

    return result_of
