"""What everything that answers a search must do, whether it is an index on this machine or a fleet on an engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet.conftest import *  # noqa: F403  -- the engines
from sample_histories import commit
from sample_trees import git, write
from small_cases import each
from whence import Index
from whence.core.errors import QueryError, UsageError
from whence.core.settings import FleetSettings, load
from whence.fleet.counts import refresh_totals
from whence.fleet.engine import Engine
from whence.fleet.registry import OPERATOR, Registry
from whence.fleet.search import Fleet
from whence.fleet.sync import sync_index

FILES = {
    "shop/cart.py": '"""The shopping cart."""\n\nfrom shop.price import discount\n\n\nclass Cart:\n    def total(self):\n        """The sum of all prices."""\n        return sum(discount(one) for one in self.lines)\n',
    "shop/price.py": '"""Prices."""\n\n\ndef discount(price):\n    """The price, less a tenth."""\n    return price * 0.9\n',
    "shop/pay.go": "package shop\n\n// Pay charges a card with the total of a cart.\nfunc Pay(card string, total int) error { return nil }\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total() == 0\n",
    "README.md": "# Shop\n\nA shop for walruses: the total of a cart is paid by card.\n",
}
NAME = "acme/shop"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("backends")
    root = write(place / "shop", FILES)
    git("init", "-q", cwd=root)
    commit(root, "The cart has a total")
    with Index.open(root, data_dir=place / "data") as opened:
        yield opened


@pytest.fixture(scope="module")
def engine(server: str) -> Iterator[Engine]:
    settings = FleetSettings(backend="milvus", address=server, prefix="contract", timeout=30)
    with Engine.open(settings) as opened:
        opened.ensure()
        yield opened
        opened.drop()


@pytest.fixture(scope="module")
def fleet(engine: Engine, index: Index) -> Fleet:
    sync_index(engine, Registry(engine).add(NAME, str(index.root), ["all"]), index.writer)
    refresh_totals(engine)
    settings, _ = load(root=None, environment={}, command_line={})
    return Fleet(engine, settings, OPERATOR)


@pytest.fixture(params=["embedded", "fleet"])
def backend(request: pytest.FixtureRequest, index: Index, fleet: Fleet) -> Index | Fleet:
    return index if request.param == "embedded" else fleet


def paths(answer: Any) -> list[str]:
    return [one.path.removeprefix(f"{NAME}/") for one in answer]


@each("query", ["total of the cart", "discount", "charge a card", "Cart.total", "the price less a tenth"])
def test_both_rank_the_same_files_with_the_same_scores(query, index, fleet):
    mine, theirs = index.search(query, k=4), fleet.search(query, k=4)
    assert paths(theirs) == paths(mine)
    assert [one.score for one in theirs] == pytest.approx(
        [one.score for one in mine], abs=0.35
    )  # the past is found by the engine's own words


def test_the_best_file_comes_first(backend):
    assert paths(backend.search("sum of all prices"))[0] == "shop/cart.py"


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_files_come_where_so_many_match(backend, k):
    assert len(backend.search("total cart", k=k)) == k


def test_a_score_is_the_fold_of_its_ledger(backend):
    for one in backend.search("total of the cart"):
        folded = 0.0
        for line in one.why:
            folded = folded * line.contribution if line.operation == "x" else folded + line.contribution
        assert math.isclose(folded, one.score, rel_tol=1e-5)


def test_results_show_their_lines_names_and_places(backend):
    first = backend.search("sum of all prices")[0]
    assert (first.name, first.qualified_name, first.kind, first.language) == ("total", "Cart.total", "method", "python")
    assert any("sum" in line.text for line in first.lines)


@pytest.mark.parametrize(
    ("query", "asked", "found"),
    [
        ("total lang:go", {}, ["shop/pay.go"]),
        ("total", {"languages": ("go",)}, ["shop/pay.go"]),
        ("walruses", {"content": "docs"}, ["README.md"]),
        ("total -path:tests -lang:go", {}, ["shop/cart.py"]),
        ('"less a tenth"', {}, ["shop/price.py"]),
        ("sym:discount", {}, ["shop/price.py"]),
    ],
)
def test_operators_and_filters_narrow_it(backend, query, asked, found):
    assert paths(backend.search(query, **asked))[: len(found)] == found
    if query == "total lang:go" or asked:
        assert len(backend.search(query, **asked)) == len(found)


def test_why_tells_every_part_and_the_place(backend):
    target = "shop/price.py" if isinstance(backend, Index) else f"{NAME}/shop/price.py"
    why = backend.why("discount", target)
    assert why.rank == 1
    assert {line.line.signal for line in why.lines} >= {"unit", "meaning"}


def test_what_is_not_there_is_refused(backend):
    with pytest.raises(UsageError):
        backend.why("discount", "no/such/file.py")


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_is_refused(backend, query):
    with pytest.raises(QueryError, match="empty"):
        backend.search(query)


def test_an_unknown_profile_is_refused(backend):
    with pytest.raises(QueryError, match="clasic"):
        backend.search("total", profile="clasic")


def test_what_is_not_here_is_said_to_be_doubtful(backend):
    sure = backend.search("kubernetes ingress certificates").confidence
    assert sure is not None
    assert not sure.here


def test_a_file_that_changed_is_found_by_its_new_words_and_not_by_its_old_ones(index, engine, fleet, tmp_path: Path):
    root = index.root
    before = (root / "shop/price.py").read_text(encoding="utf-8")
    write(root, {"shop/price.py": before.replace("less a tenth", "less a zebra")})
    try:
        index.refresh()
        repository = Registry(engine).get(NAME)
        assert repository is not None
        sent = sync_index(engine, repository, index.writer)
        assert sent.files == 1
        for backend in (index, fleet):
            assert paths(backend.search("zebra"))[0] == "shop/price.py"
            assert "shop/price.py" not in paths(backend.search('"a tenth"'))
    finally:
        write(root, {"shop/price.py": before})
        index.refresh()
        sync_index(engine, Registry(engine).get(NAME), index.writer)
