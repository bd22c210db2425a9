"""Why a file stands where it stands, or is missing (E1)."""

from __future__ import annotations

import operator
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns import some
from small_cases import each
from whence import Index, Why
from whence.core.errors import UsageError
from whence.core.profiles import PROFILES

PROJECT = Path(__file__).parents[1] / "golden/project"
QUERY = "cart total with discount"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("why") / "project"
    shutil.copytree(PROJECT, root)
    return root, tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def index(place: tuple[Path, Path]) -> Iterator[Index]:
    with Index.open(place[0], data_dir=place[1]) as opened:
        yield opened


def folded(why: Why) -> float:
    score = 0.0
    for one in why.lines:
        score = score + one.line.contribution if one.line.operation == "+" else score * one.line.contribution
    return score


@each("profile", sorted(PROFILES))
@each("target", ["shop/cart/cart.py", "tests/test_cart.py", "web/src/cart.ts"])
def test_the_parts_add_up_to_the_score_and_rank_of_the_search(index, profile, target):
    results = index.search(QUERY, profile=profile, k=20)
    why = index.why(QUERY, target, profile=profile)
    rank, result = next((number, result) for number, result in enumerate(results, 1) if result.path == target)
    assert folded(why) == pytest.approx(why.score)
    assert (why.rank, why.score, why.path) == (rank, result.score, target)
    assert (why.leader, why.leader_score) == (results[0].path, results[0].score)


@each(("profile", "signal"), some((profile, signal) for profile in sorted(PROFILES) for signal in PROFILES[profile].signals))
def test_the_rank_without_a_signal_is_the_rank_when_its_weight_is_0(index, place, profile, signal):
    zero = {f"profiles.{profile}.signals.{signal}.{part}": 0.0 for part in ("short", "long")}
    with Index.open(place[0], data_dir=place[1], settings=zero) as other:
        scores = {result.path: result.score for result in other.search(QUERY, profile=profile, k=20)}
    for target in ("shop/cart/discount.py", "tests/test_cart.py", "shop/legacy/cart.py", "shop/cart/__init__.py"):
        without = {one.line.signal: one.rank_without for one in index.why(QUERY, target, profile=profile).lines}[signal]
        better, equal = (sum(test(score, scores[target]) for score in scores.values()) for test in (operator.gt, operator.eq))
        assert better < without <= better + equal, target


def test_every_retriever_that_found_it_is_named_with_its_rank(index):
    why = index.why("PaymentGateway", "shop/payments/gateway.py")
    assert {one.retriever for one in why.found_by} >= {"words", "windows", "names"}
    assert all(one.rank >= 1 and one.score > 0 for one in why.found_by)


def test_a_file_that_is_not_found_at_all_is_still_explained(index):
    assert "db/schema.sql" not in [result.path for result in index.search("PaymentGateway", k=20)]
    why = index.why("PaymentGateway", "db/schema.sql")
    assert why.found_by == ()
    assert 1 < why.rank <= why.candidates
    assert folded(why) == pytest.approx(why.score)


def test_the_end_of_a_path_is_enough(index):
    assert index.why(QUERY, "discount.py").path == "shop/cart/discount.py"
    assert index.why(QUERY, "./shop/cart/discount.py").path == "shop/cart/discount.py"


def test_a_symbol_is_explained_by_its_own_unit(index):
    why = index.why(QUERY, "remove_item")
    assert (why.path, why.unit, why.kind) == ("shop/cart/cart.py", "remove_item", "method")


def test_a_qualified_symbol_is_explained_by_its_own_unit(index):
    why = index.why(QUERY, "OldCart.add_item")
    assert (why.path, why.unit) == ("shop/legacy/cart.py", "add_item")


def test_a_line_of_a_file_is_explained_by_the_unit_that_holds_it(index):
    why = index.why(QUERY, "shop/cart/cart.py:41")
    assert (why.path, why.unit) == ("shop/cart/cart.py", "clear")


def test_a_symbol_in_several_files_is_explained_where_it_ranks_best(index):
    results = [result.path for result in index.search("add_item", k=20)]
    why = index.why("add_item", "add_item")
    assert why.path == results[0]


@pytest.mark.parametrize(
    ("target", "nearest"),
    [("shop/cart/discont.py", "shop/cart/discount.py"), ("gatewai.py", "gateway.py"), ("PaymentGatway", "PaymentGateway")],
)
def test_an_unknown_target_suggests_the_nearest(index, target, nearest):
    with pytest.raises(UsageError) as refused:
        index.why(QUERY, target)
    assert repr(target) in refused.value.message
    assert nearest in refused.value.hint


def test_an_unknown_target_with_nothing_near_points_to_the_list(index):
    with pytest.raises(UsageError, match="whence status --files"):
        index.why(QUERY, "qqqqqqqq")


@pytest.mark.parametrize("options", [{"content": "code"}, {"content": "all", "paths": ("shop",)}, {"content": "all", "exclude": ("*.md",)}])
def test_a_target_that_the_filters_leave_out_says_so(index, options):
    with pytest.raises(UsageError, match="outside what was searched"):
        index.why(QUERY, "README.md", **options)


def test_a_file_of_other_content_can_be_explained_when_all_is_searched(index):
    assert index.why("payments retried", "README.md", content="all").path == "README.md"


def test_a_symbol_with_the_wrong_owner_is_not_answered_with_another(index):
    with pytest.raises(UsageError, match="no indexed file or symbol"):
        index.why(QUERY, "Elsewhere.add_item")


def test_a_symbol_may_be_named_by_its_module(index):
    assert index.why(QUERY, "legacy.cart.add_item").path == "shop/legacy/cart.py"
