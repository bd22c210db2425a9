"""Where the walk of a task begins: names, words, classes, folders, and what is made of them together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sample_trees import write
from whence.app.index import Index
from whence.context.classic.channels import ClassicQuery, by_folders, by_names, by_words
from whence.context.classic.keywords import keywords
from whence.context.classic.pipeline import CLASSES, VECTORS, _injected, find_seeds
from whence.core.profiles import CLASSIC
from whence.core.settings import ClassicSettings
from whence.query.concepts import Concept, ConceptMatch
from whence.retrieval.lexical import FieldWeights

LIMITS = ClassicSettings()
TREE = {
    "shop/cart.py": """
        class Cart:
            def add_line(self, line): self.check_stock(line)
            def check_stock(self, line): return line.stock
            def remove_line(self, line): pass
        def open_cart(): return Cart()
        def get(): pass
        def blast_radius_of(node): return spread(node)
        def spread(node): return node
    """,
    "shop/payments/gateway.py": """
        class Gateway:
            def charge(self, amount): return self.retry_charge(amount)
            def retry_charge(self, amount): pass
        class Refund: pass
        def authorise(): pass
    """,
    "shop/payments/ledger.py": """
        class Ledger:
            def book(self): pass
            def balance(self): pass
            def close_year(self): pass
        class MockLedger:
            def book(self): pass
        def ab(): pass
    """,
    "queue/worker.go": """
        package queue
        type Runner interface {
            Start() error
            Drain() error
        }
        type Pooled struct{}
        func (p *Pooled) Start() error { return nil }
        func (p *Pooled) Drain() error { return nil }
    """,
    "apart.py": "def weigh(): pass\n",
    "scales.py": "def weigh(): pass\ndef balance_all(): weigh()\n",
    "vendor/charge.py": "def charge(): pass\n",
    "acceptance_tests/cart.py": "from shop.cart import Cart\ndef check_stock(): Cart()\ndef open_cart(): pass\n",
    "many.py": "\n".join(f"def parcel_{number:02d}(): pass" for number in range(50)) + "\n",
}


def dedented(text):
    return "\n".join(line.removeprefix("        ") for line in text.split("\n"))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    files = {name: dedented(text) for name, text in TREE.items()}
    root = write(tmp_path_factory.mktemp("tree"), files)
    with Index.open(root, data_dir=tmp_path_factory.mktemp("data"), settings={"index.model": "none", "index.workers": 1}) as opened:
        yield opened


@pytest.fixture
def seek(index):
    def query(task, **limits):
        symbols = index.snapshot.symbols
        return ClassicQuery(
            task, keywords(task), index.open_graph(), symbols.defines, FieldWeights.of(CLASSIC), CLASSIC.fields, replace(LIMITS, **limits)
        )

    return query


def names(query, units):
    return [query.symbols.qualified_name(unit) for unit in units.tolist()]


def paths(query, units):
    return [query.snapshot.path(int(query.symbols.file[unit])) for unit in units.tolist()]


# N1
def test_a_quoted_name_is_found_whatever_its_case(seek):
    query = seek("why is `CART` slow")
    assert names(query, by_names(query))[0] == "Cart"


def test_a_name_with_dots_is_the_member_of_that_type_alone(seek):
    query = seek("change `Ledger.book`", path_below=0, prefix_below=0, components_below=0, substring_below=0)
    assert names(query, by_names(query)) == ["Ledger.book"]


def test_two_neighbouring_words_find_what_begins_with_them(seek):
    query = seek("compute the blast radius")
    assert names(query, by_names(query))[0] == "blast_radius_of"


def test_names_that_begin_with_a_word_fill_up_to_their_limit(seek):
    query = seek("`parcel` labels")
    assert len(by_names(query)) == LIMITS.prefix_most


def test_single_words_are_asked_for_only_when_compounds_find_little(seek):
    query = seek("`check_stock` for a gateway", path_below=0, substring_below=0, components_below=1)
    assert names(query, by_names(query)) == ["Cart.check_stock", "check_stock"]
    query = seek("`check_stock` for a gateway", path_below=0, substring_below=0)
    assert "Gateway" in names(query, by_names(query))


def test_a_part_of_a_name_counts_when_nothing_else_does(seek):
    query = seek("`adius`", path_below=0)
    assert names(query, by_names(query)) == ["blast_radius_of"]
    query = seek("`ius`", path_below=0)
    assert names(query, by_names(query)) == []


def test_a_segment_of_the_path_comes_last(seek):
    query = seek("`payments`")
    assert set(paths(query, by_names(query))) == {"shop/payments/gateway.py", "shop/payments/ledger.py"}
    query = seek("`payments`", path_below=0)
    assert len(by_names(query)) == 0


def test_of_equal_names_those_in_tests_come_last(seek):
    query = seek("`open_cart`")
    assert paths(query, by_names(query))[:2] == ["shop/cart.py", "acceptance_tests/cart.py"]


def test_of_equal_names_what_others_refer_to_comes_first(seek):
    query = seek("`weigh`")
    assert paths(query, by_names(query))[:2] == ["scales.py", "apart.py"]


# N2
def test_words_in_a_body_find_a_symbol(seek):
    query = seek("something about the stock")
    assert names(query, by_words(query))[0] in ("Cart.check_stock", "check_stock")


def test_a_compound_outweighs_its_words_apart(seek):
    query = seek("where is the retry charge done")
    assert names(query, by_words(query))[0] == "Gateway.retry_charge"


def test_a_compound_that_no_name_holds_is_taken_apart(seek):
    query = seek("`Basket.remove_everything`")
    assert "Cart.remove_line" in names(query, by_words(query))


def test_related_words_are_asked_for_too(seek):
    query = seek("the proxy broke")
    assert names(query, by_words(query))[0].startswith("Gateway")


def test_a_word_with_which_a_folder_begins_finds_what_is_in_it(seek):
    query = seek("every paym")
    assert set(paths(query, by_words(query))) == {"shop/payments/gateway.py", "shop/payments/ledger.py"}


def test_words_find_no_more_than_their_limit(seek):
    query = seek("send a parcel")
    assert len(by_words(query)) == LIMITS.bm25_most


# N3
def test_a_class_leads_to_names_that_share_no_word_with_the_task(seek):
    query = seek("undo it and stop gracefully")
    match = ConceptMatch(Concept("x/stopping", ("stop gracefully",), ("drain", "add", "get"), 0.95, frozenset()), ("stop gracefully",))
    assert set(names(query, np.array(_injected(query, [match])))) == {"Pooled.Drain", "Runner.Drain"}


def test_of_a_target_with_a_type_the_type_must_fit(seek):
    query = seek("books")
    match = ConceptMatch(Concept("x/books", ("double entry",), ("Gateway.book", "Ledger.balance"), 0.95, frozenset()), ("double entry",))
    assert names(query, np.array(_injected(query, [match]))) == ["Ledger.balance"]


def test_only_a_heavy_class_that_surely_matched_is_injected(seek):
    query = seek("books")
    concept = Concept("x/books", ("books", "entry"), ("Ledger",), 0.95, frozenset())
    assert _injected(query, [ConceptMatch(concept, ("books",))]) == []
    assert len(_injected(query, [ConceptMatch(concept, ("books", "entry"))])) == 1
    assert _injected(query, [ConceptMatch(replace(concept, weight=0.8), ("books", "entry"))]) == []


def test_the_words_of_a_caller_point_back_at_what_it_calls(seek):
    query = seek("`spread` the blast radius")
    assert "spread" in names(query, find_seeds(query).channels[CLASSES])
    query = seek("`spread` the butter thickly")
    assert "spread" not in names(query, find_seeds(query).channels[CLASSES])


def test_classes_give_no_more_than_a_share_of_what_names_and_words_gave(seek):
    query = seek("`spread` the blast radius", equivalent_share=0.0)
    assert len(find_seeds(query).channels[CLASSES]) == 0


def test_what_was_learned_becomes_a_seed_unless_it_is_noise(seek, index):
    query = seek("`spread`")
    close_year, stand_in = (int(index.snapshot.definitions(name)[0]) for name in ("close_year", "MockLedger"))
    assert close_year not in find_seeds(query).units
    found = find_seeds(query, [(stand_in, 0.8), (close_year, 0.3)])
    assert found.channels["learned"].tolist() == [close_year]
    assert close_year in found.units


def test_what_was_learned_more_surely_comes_first(seek, index):
    close_year, refund = (int(index.snapshot.definitions(name)[0]) for name in ("close_year", "Refund"))
    for learned in ([(close_year, 0.3), (refund, 0.8)], [(refund, 0.3), (close_year, 0.8)]):
        assert find_seeds(seek("zzyzx"), learned).units.tolist() == [learned[1][0], learned[0][0]]


# N4
def test_a_type_whose_members_the_task_speaks_of_leads_its_folder(seek):
    assert names(*folders(seek("book payments for the balance")))[0] == "Ledger"
    assert names(*folders(seek("charge payments")))[0] == "Gateway"


def folders(query):
    return query, by_folders(query)


def test_types_with_members_come_before_those_without_and_before_functions(seek):
    found = names(*folders(seek("payments")))
    assert found.index("Gateway") < found.index("Refund") < found.index("authorise")


def test_each_sort_of_symbol_of_a_folder_has_its_limit(seek):
    found = names(*folders(seek("payments", folder_rich_types=1, folder_lean_types=0, folder_others=2)))
    assert [name[0].isupper() and "." not in name for name in found] == [True, False, False]
    assert len(by_folders(seek("payments", folder_most=2))) == 2


def test_what_stands_in_a_folder_is_no_candidate_of_the_fusion(seek):
    query = seek("payments", path_below=0, bm25_weight=0.0)
    found = find_seeds(query)
    assert len(found.units) == 0
    assert len(found.folders) > 0


# N5
def test_vectors_are_asked_only_when_all_else_finds_next_to_nothing(seek):
    asked = []

    def nearest(count):
        asked.append(count)
        return np.flatnonzero(seek("x").returnable)[:3]

    assert len(find_seeds(seek("zzyzx"), nearest=nearest).units) == 3
    assert VECTORS not in find_seeds(seek("`parcel`"), nearest=nearest).channels
    assert len(asked) == 1
    assert VECTORS in find_seeds(seek("`parcel`", vector_weight=1.0), nearest=nearest).channels


# N6
def test_what_implements_a_matched_interface_joins_the_seeds(seek):
    query = seek("`Runner`", candidates=1)
    assert names(query, find_seeds(query).units) == ["Runner", "Pooled"]
    assert names(query, find_seeds(seek("`Runner`", candidates=1, implementors=0)).units) == ["Runner"]


@pytest.mark.parametrize("noise", ["MockLedger", "ab"])
def test_stand_ins_and_names_of_two_letters_are_no_candidates(seek, noise):
    query = seek(f"`{noise}`")
    assert noise not in names(query, by_names(query))


def test_copied_code_is_no_candidate(seek):
    query = seek("`charge`")
    assert "Gateway.charge" in names(query, by_names(query))
    assert "vendor/charge.py" not in paths(query, by_names(query))


# N7
def test_the_package_with_most_candidates_comes_first(seek):
    task = "`blast_radius_of` and `Gateway` and `Ledger` and `Refund`"
    query = seek(task, candidates=4, seeds_small=3)
    assert set(names(query, find_seeds(query).units)) == {"Gateway", "Ledger", "Refund"}


def test_a_large_graph_takes_more_seeds_and_types_before_functions(seek):
    task = "`parcel` `authorise` `Gateway`"
    small = find_seeds(seek(task))
    large = find_seeds(seek(task, large_nodes=1))
    assert (len(small.units), len(large.units)) == (LIMITS.seeds_small, LIMITS.seeds_large)
    query = seek("`authorise` `Gateway`", large_nodes=1, seeds_large=1, candidates=2, bm25_weight=0.0)
    assert names(query, find_seeds(query).units) == ["Gateway"]
    query = seek("`authorise` `Gateway`", seeds_small=1, candidates=2, bm25_weight=0.0)
    assert names(query, find_seeds(query).units) == ["authorise"]


def test_the_first_seed_weighs_most_and_the_last_least(seek):
    restart = find_seeds(seek("`parcel` labels")).restart
    assert restart[0] == LIMITS.restart_first
    assert restart[-1] == LIMITS.restart_last
    assert (np.diff(restart) < 0).all()


def test_a_name_that_two_channels_find_stands_before_one_that_one_finds(seek):
    task = "`authorise` and `close_year`"
    query = seek(task, seeds_small=1, bm25_most=1)
    first = names(query, by_words(query))
    assert names(query, by_names(query))[:2] == ["authorise", "Ledger.close_year"]
    assert first == ["Ledger.close_year"]
    assert names(query, find_seeds(query).units) == first


def test_a_task_without_any_known_word_has_no_seeds(seek):
    assert len(find_seeds(seek("zzyzx")).units) == 0


def test_a_long_pasted_text_is_no_trouble(seek):
    text = " ".join(f"word{number} alpha_{number} Beta{number}Gamma" for number in range(20_000))
    assert len(find_seeds(seek(text + " `Cart`")).units) <= LIMITS.seeds_small + LIMITS.implementors
