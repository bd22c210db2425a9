"""Filters: the names of languages that options and operators take."""

from __future__ import annotations

import pytest

from small_cases import each
from whence.core.errors import UsageError
from whence.query.filters import Filters
from whence.query.parser import parse_query


@each(
    ("said", "name"),
    [
        ("js", "javascript"), ("ts", "typescript"), ("py", "python"), ("rb", "ruby"), ("c++", "cpp"), ("C#", "csharp"), ("golang", "go"),
        ("rs", "rust"), ("kt", "kotlin"), ("sh", "bash"), ("shell", "bash"), (".hs", "haskell"), ("Python", "python"), ("tf", "hcl"),
    ],
)  # fmt: skip
def test_an_option_and_an_operator_take_the_same_names_of_languages(said: str, name: str) -> None:
    assert Filters(languages=(said,)).languages == (name,)
    assert [str(one) for one in parse_query(f"retry lang:{said}").conditions] == [f"lang:{name}"]


def test_a_language_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown language 'qqqq'"):
        Filters(languages=("qqqq",))
