"""The classic way from a task to symbols: seeds, a walk, authorities, and a score of named parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sample_trees import write
from whence.app.index import Index
from whence.context.classic.pipeline import classic_pool
from whence.context.pipeline import ContextRun
from whence.core.profiles import CLASSIC, Profile, Weight
from whence.core.settings import ClassicSettings
from whence.core.types import RUNTIME, Edge
from whence.query.plan import make_plan
from whence.ranking.ledger import score
from whence.retrieval.lexical import FieldWeights

NOW = 1_800_000_000.0
DAY = 86_400.0
PARTS = {
    "blast": 0.35, "confidence": 0.20, "observed": 0.15, "distance": 0.15, "authority": 1.0, "feedback": 1.0, "session": 1.0,
    "recency": 0.05, "test_factor": 1.0,
}  # fmt: skip
PROFILE = Profile(fields=CLASSIC.fields, decay=0.0, quoted=1.0, signals={name: Weight(worth, worth) for name, worth in PARTS.items()})
WEIGHTS = FieldWeights.of(PROFILE)
TREE = {
    "shop/cart.py": "import os\nfrom shop.stock import reserve_stock, log_line\n\n"
    "class Cart:\n    def add_line(self, line):\n        log_line(line)\n        return reserve_stock(line)\n"
    "    def price(self):\n        log_line(self)\n        return os.environ['CART_PRICE']\n",
    "shop/stock.py": "def reserve_stock(line):\n    log_line(line)\n    return find_shelf(line)\n\n"
    "def find_shelf(line):\n    return line.shelf\n\ndef log_line(line):\n    print(line)\n\n"
    "def count_shelves():\n    log_line(1)\n",
    "shop/fakes.py": "from shop.stock import reserve_stock\n\ndef fake_reserve(line):\n    return reserve_stock(line)\n",
    "shop/far.py": "def unrelated():\n    return 1\n",
    "tests/test_stock.py": "from shop.stock import reserve_stock\n\ndef test_reserve_stock():\n    assert reserve_stock(1)\n",
}


class Answer:
    """A pool with its ledger, read by the names of symbols."""

    def __init__(self, pool):
        self.pool, self.ledger = pool, score(pool)
        self.names = [pool.snapshot.symbols.qualified_name(unit) for unit in pool.units.tolist()]

    def part(self, signal, name):
        entry = next(entry for entry in self.ledger.entries if entry.signal == signal)
        return float(entry.column.values[self.names.index(name)])

    @property
    def ranked(self):
        return [self.names[row] for row in np.argsort(-self.ledger.scores(), kind="stable").tolist()]


@pytest.fixture
def index(tmp_path):
    root = write(tmp_path / "tree", TREE)
    with Index.open(root, data_dir=tmp_path / "data", settings={"index.model": "none", "index.workers": 1}) as opened:
        yield opened


def asked(index, task, *, now=NOW, include=None, learned=()):
    plan = make_plan(task, decay=0.0, quoted=1.0)
    run = ContextRun(index.snapshot, index.open_graph(), PROFILE, PROFILE, WEIGHTS, include=include, now=now, learned=learned)
    return Answer(classic_pool(plan, run, ClassicSettings()))


def test_what_the_task_names_leads_and_what_it_calls_follows(index):
    found = asked(index, "make `reserve_stock` faster")
    assert found.ranked[0] == "reserve_stock"
    assert "find_shelf" in found.names


def test_what_no_edge_leads_to_is_no_candidate(index):
    assert "unrelated" not in asked(index, "make `reserve_stock` faster").names


def test_a_stand_in_is_no_candidate_though_the_walk_comes_by(index):
    assert "fake_reserve" not in asked(index, "make `reserve_stock` faster").names


def test_every_score_is_the_sum_of_its_parts_before_the_factor_for_tests(index):
    found = asked(index, "make `reserve_stock` faster")
    for row in range(len(found.names)):
        lines = {line.signal: line for line in found.ledger.lines(row)}
        added = sum(PARTS[name] * line.value for name, line in lines.items() if name != "test_factor")
        assert found.ledger.scores()[row] == pytest.approx(added * lines["test_factor"].value)


def test_the_walk_gives_the_nearest_a_blast_of_one(index):
    found = asked(index, "make `reserve_stock` faster")
    blasts = [found.part("blast", name) for name in found.names]
    assert max(blasts) == 1.0
    assert min(blasts) > 0


def test_a_seed_is_no_hop_away_and_all_else_one(index):
    found = asked(index, "`find_shelf`")
    assert found.part("distance", "find_shelf") == 1.0
    assert found.part("distance", "Cart.add_line") == 0.5


def test_what_the_parser_found_is_sure_to_seven_tenths(index):
    found = asked(index, "make `reserve_stock` faster")
    assert found.part("confidence", "reserve_stock") == pytest.approx(0.7)
    assert found.part("confidence", "Cart.add_line") == pytest.approx(0.7)


def test_a_test_counts_three_tenths_unless_the_task_speaks_of_tests(index):
    assert asked(index, "make `reserve_stock` faster").part("test_factor", "test_reserve_stock") == pytest.approx(0.3)
    assert asked(index, "make `reserve_stock` faster").part("test_factor", "reserve_stock") == 1.0
    assert asked(index, "fix the tests of `reserve_stock`").part("test_factor", "test_reserve_stock") == 1.0


@pytest.mark.parametrize(("days", "worth"), [(0.5, 1.0), (3, 0.8), (20, 0.5), (400, 0.2)])
def test_what_ran_lately_counts_more(index, days, worth):
    seen = Edge("shop/stock.py#reserve_stock", "shop/stock.py#find_shelf", "calls", RUNTIME, 0.95, seen=NOW - days * DAY, count=9)
    index.add_edges(RUNTIME, [seen])
    found = asked(index, "make `reserve_stock` faster")
    assert found.part("observed", "find_shelf") == pytest.approx(worth)
    assert found.part("observed", "reserve_stock") == pytest.approx(worth)
    assert found.part("observed", "Cart") == pytest.approx(0.3)
    assert found.part("confidence", "find_shelf") == pytest.approx(0.95)


def test_a_seed_that_much_leads_to_gains_and_what_everything_uses_loses(index):
    central = asked(index, "`log_line`")
    assert central.part("authority", "log_line") > 0
    beside = asked(index, "`price`")
    assert beside.pool.seed_scores.is_seed[beside.names.index("log_line")] == np.False_
    assert beside.part("authority", "log_line") < 0


def test_verdicts_and_the_session_are_added_as_they_are(index):
    plain = asked(index, "make `reserve_stock` faster").pool
    taught = score(replace(plain, feedback=np.full(len(plain.units), -0.05), session=np.full(len(plain.units), 0.2)))
    factors = next(entry for entry in taught.entries if entry.signal == "test_factor").contribution
    assert taught.scores() - score(plain).scores() == pytest.approx(0.15 * factors)


def test_a_learned_symbol_becomes_a_seed(index):
    far = int(index.snapshot.definitions("unrelated")[0])
    found = asked(index, "make `reserve_stock` faster", learned=[(far, 0.8)])
    assert found.part("distance", "unrelated") == 1.0


def test_the_pool_remembers_the_place_in_each_channel(index):
    found = asked(index, "make `reserve_stock` faster")
    row = found.names.index("reserve_stock")
    assert found.pool.seed_scores.ranks["names"][row] == 1
    assert found.pool.seed_scores.ranks["words"][row] == 1
    assert found.pool.retrieved["names"][row] == pytest.approx(1 / 61)
    assert np.isnan(found.pool.retrieved["names"][found.names.index("Cart")])


def test_what_has_no_place_in_the_source_is_walked_through_and_not_returned(index):
    found = asked(index, "`price`")
    assert any(name.startswith("env:") for name in index.open_graph().endpoints)
    assert (found.pool.units < index.snapshot.units).all()


def test_a_symbol_asked_for_is_ranked_though_nothing_finds_it(index):
    far = index.snapshot.definitions("unrelated")
    found = asked(index, "make `reserve_stock` faster", include=far)
    assert found.part("blast", "unrelated") == 0.0


def test_a_task_that_names_nothing_here_has_an_empty_pool(index):
    found = asked(index, "zzyzx")
    assert found.names == []
    assert len(found.ledger.scores()) == 0


def test_the_same_question_has_the_same_scores(index):
    first, again = asked(index, "make `reserve_stock` faster"), asked(index, "make `reserve_stock` faster")
    assert first.pool.units.tolist() == again.pool.units.tolist()
    assert first.ledger.scores().tolist() == again.ledger.scores().tolist()


def test_a_deleted_file_is_no_longer_a_candidate(index):
    assert "Cart.add_line" in asked(index, "make `reserve_stock` faster").names
    (index.root / "shop/cart.py").unlink()
    index.refresh()
    assert "Cart.add_line" not in asked(index, "make `reserve_stock` faster").names


def test_few_hits_by_words_are_filled_up_by_meaning(tmp_path):
    root = write(tmp_path / "tree", TREE)
    with Index.open(root, data_dir=tmp_path / "data", settings={"index.workers": 1}) as index:
        task = "warehouse inventory"
        run = ContextRun(index.snapshot, index.open_graph(), PROFILE, PROFILE, WEIGHTS, index.reader.encoder, now=NOW)
        pool = classic_pool(make_plan(task, decay=0.0, quoted=1.0), run, ClassicSettings())
        assert (pool.seed_scores.ranks["vectors"] > 0).any()
        assert asked(index, task).names == []
