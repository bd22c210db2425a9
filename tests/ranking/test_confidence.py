"""Answers that can say no: a confidence that is high where the answer is there, low where it is not, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_trees import write
from whence.app.index import Index
from whence.cli.main import main
from whence.core.profiles import PROFILES
from whence.ranking.confidence import (
    NOTHING_FOUND,
    ConfidenceFeatures,
    confidence_of,
    features_of,
    fitted_weights,
    nothing_found,
    probability_of,
)
from whence.search.pipeline import RankedFile, leading_files

LINE = 0.3
TREE = {
    "shop/cart.py": '''"""The shopping cart."""

class Cart:
    """Items a customer wants to buy."""

    def add_item(self, item, quantity=1):
        """Add an item to the cart, or more of one that is in it."""

    def total_price(self):
        """The price of all items with discounts."""
''',
    "shop/discount.py": '''"""Discounts and vouchers."""

def apply_voucher(code, cart):
    """Lower the total price of a cart by a voucher code."""

class PercentageDiscount:
    """So many per cent off the price."""
''',
    "shop/payment.py": '''"""Payment gateway."""

class PaymentGateway:
    def charge(self, card_number, amount):
        """Charge a credit card and retry when the gateway times out."""
''',
    "shop/stock.py": '''"""How much of each item is in the warehouse."""

def reserve_stock(item, quantity):
    """Reserve stock of an item in the warehouse until it is paid."""
''',
    "docs/queue.md": "# Orders\n\nOrders go to a rabbit topic.\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return write(tmp_path_factory.mktemp("confidence"), TREE)


@pytest.fixture
def index(tree):
    with Index.open(tree) as opened:
        yield opened


def found(index, query):
    ranked = index.ranked(query, PROFILES["default"])
    return [RankedFile(ranked, hit) for hit in ranked.hits[:10]]


def asked(index, query, line=LINE, **how):
    files = found(index, query)
    return confidence_of(leading_files(files), line, **how) if files else nothing_found(query, line)


HERE = [
    "how are items added to the cart",
    "apply a voucher code to lower the total price",
    "PaymentGateway",
    "reserve stock in the warehouse",
    "charge a credit card",
]
NOT_HERE = [
    "how does the garbage collector mark reachable objects",
    "TokenBucketLimiter",
    "parse a Markdown table into an abstract syntax tree",
    "데이터베이스 연결 풀을 어떻게 닫나요",
    "wie wird die Rechnung als PDF erzeugt",
    "PaymentCart",
]


def test_questions_that_the_tree_answers_are_here_and_others_are_not(index):
    assert [query for query in HERE if not asked(index, query).here] == []
    assert [query for query in NOT_HERE if asked(index, query).here] == []


def test_it_can_tell_by_words_alone(tree):
    with Index.open(tree, settings={"index.model": "none"}) as index:
        assert [query for query in HERE if not asked(index, query).here] == []
        assert [query for query in NOT_HERE if asked(index, query).here] == []
        assert "meaning" not in asked(index, "price of an abstract syntax tree").because


def test_similarities_of_another_model_have_no_part(index):
    question = "reserve stock in the warehouse"
    facts = features_of(leading_files(found(index, question)))
    assert facts.has_vectors
    assert asked(index, question, shipped_model=False).probability == probability_of(facts, fitted_weights()["words"])
    assert "meaning" not in asked(index, "price of an abstract syntax tree", shipped_model=False).because


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("retry the rabbitmq consumer", 'no file holds "rabbitmq" or "consumer"'),
        ("PaymentCart", 'nothing is named "PaymentCart"'),
        ("TokenBucketLimiter price", 'no file holds "TokenBucketLimiter"'),
        ("price of a rabbit topic", 'only docs/queue.md holds "rabbit"'),
        ("데이터베이스 price", 'no file holds "데이터베이스"'),
        ("warehouse voucher gateway percentage discount", "no place holds more than 2 of its 5 words"),
        ("warehouse percentage", "its words never stand together"),
    ],
)
def test_it_says_in_plain_words_what_speaks_against_it(index, query, said):
    assert said in asked(index, query, line=1.0).because


def test_a_meaning_that_is_no_nearer_than_chance_is_said_with_both_numbers(index):
    question = "price of an abstract syntax tree in the parser"
    facts = features_of(leading_files(found(index, question)))
    assert asked(index, question).because.endswith(
        f"nearest meaning {facts.nearest:.2f}, chance {fitted_weights()['similarity']['chance']:.2f}"
    )


def test_what_was_found_for_certain_has_nothing_against_it(index):
    assert asked(index, "PaymentGateway").because == ""


def test_files_that_were_left_out_are_searched_for_what_is_missing(index):
    assert asked(index, "PaymentCart").sought == ("PaymentCart",)
    assert asked(index, "retry the rabbitmq queries").sought == ("rabbitmq", "quer")
    assert asked(index, "price of an OAuth2 login").sought == ("oauth2", "login")


def test_an_answer_of_nothing_is_not_here_and_one_to_a_pattern_has_no_confidence(index):
    nothing = nothing_found("where are the queries of Rabbit", LINE)
    assert (nothing.probability, nothing.here, nothing.because, nothing.sought) == (0.0, False, NOTHING_FOUND, ("quer", "rabbit"))
    grepped = index.search(pattern="class")
    assert grepped
    assert confidence_of(leading_files([result._found for result in grepped]), LINE) is None


def test_a_line_of_nothing_never_says_no(index):
    assert all(asked(index, query, line=0.0).here for query in NOT_HERE)


def test_how_many_results_are_wanted_changes_nothing(index):
    every = found(index, HERE[0])
    assert features_of(leading_files(every)) == features_of(leading_files(every[:1]))


def test_odd_questions_have_a_confidence_too(index):
    for query in ("g", "the of and", "?" * 50 + "a", "price " * 5_000, "shop/cart.py", "x_" * 200, "'; DROP TABLE--"):
        assert 0 <= asked(index, query).probability <= 1


SHARE = st.floats(0, 1)
FACTS = st.builds(ConfidenceFeatures, *[SHARE] * 7, st.sampled_from([0.0, 1.0]), SHARE, st.floats(0, 5))


@given(
    FACTS, SHARE, st.sampled_from(["near", "nearest", "held", "together", "written", "file_name"]), st.sampled_from(["meaning", "words"])
)
def test_more_of_what_speaks_for_an_answer_never_makes_it_less_sure(facts, more, name, which):
    weights = fitted_weights()[which]
    low, high = sorted((getattr(facts, name), more))
    assert probability_of(replace(facts, **{name: low}), weights) <= probability_of(replace(facts, **{name: high}), weights)
    assert 0 <= probability_of(facts, weights) <= 1


def test_one_everyday_word_that_files_hold_is_here_though_nothing_is_called_so(index):
    for word in ("warehouse", "WAREHOUSE", "Warehouse"):
        sure = index.search(word).confidence
        assert sure is not None
        assert sure.here, word
    name = index.search("WarehouseKeeper").confidence
    assert name is not None
    assert not name.here


def test_conditions_that_leave_nothing_are_told_from_words_that_are_nowhere(index):
    answer = index.search("warehouse path:nosuchfolder")
    assert list(answer) == []
    assert answer.confidence is None
    assert answer.notes[-1] == "0 of 1 matching files meet path:nosuchfolder; drop path:nosuchfolder to see them"
    assert index.search("nosuchword path:nosuchfolder").notes[-1] == "nothing that is indexed meets these conditions"


def test_a_name_that_is_used_here_and_defined_elsewhere_is_here(tmp_path):
    calls = {
        f"app/{name}.py": f"import web\n\ndef {name}(order):\n    return web.renderTemplate('{name}', order)\n"
        for name in ("cart", "shop", "bill")
    }
    with Index.open(write(tmp_path, {**TREE, **calls})) as index:
        used, unknown = index.search("renderTemplate").confidence, index.search("renderTemplates2").confidence
    assert used is not None
    assert used.here
    assert unknown is not None
    assert not unknown.here


def test_an_empty_folder_is_told_from_a_word_that_is_nowhere(tmp_path, tree, capsys, monkeypatch):
    for folder, said in ((tmp_path, "no files to search here"), (tree, "not here, most likely")):
        monkeypatch.chdir(folder)
        assert main(["search", "zyxwvut"]) == 1
        told = capsys.readouterr()
        assert said in told.out + told.err
        assert "try --content all" not in told.out + told.err
