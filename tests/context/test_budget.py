"""A pack never exceeds its budget, uses it well, and accounts for every symbol."""

from __future__ import annotations

import dataclasses
import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.context.budget import ByDensity, Detail, PackHeader, PackItem, pack
from whence.context.render import RENDERERS, Json, Markdown, renderer
from whence.core.errors import UsageError
from whence.text import token_estimate

HEAD = PackHeader("add retry to the client", 'whence context "add retry to the client" --budget 20000', {"commit": "1a2b3c4"})
#: More than head and foot can take, for the tasks and hints that are made up here.
ROOMY = 2_000

any_text = st.text(st.characters(exclude_categories=()), max_size=30)
any_number = st.floats(allow_nan=True, allow_infinity=True)
line_numbers = st.integers(1, 12)
any_piece = st.builds(
    PackItem,
    key=any_text, qualified_name=any_text, kind=st.sampled_from(["class", "method"]), path=st.sampled_from(["a.py", "b/c.rs", "`"]) | any_text,
    start_line=line_numbers, end_line=line_numbers, score=any_number | st.floats(-1, 1), walk=any_number | st.floats(0, 1),
    signature=any_text, doc=any_text, body=any_text | st.integers(0, 400).map("value = compute(value)\n".__mul__), because=any_text,
)  # fmt: skip
any_pieces = st.lists(any_piece, max_size=10)
any_head = st.builds(PackHeader, task=any_text, hint=any_text, freshness=st.dictionaries(any_text, any_text, max_size=2))
formats = st.sampled_from(sorted(RENDERERS)).map(renderer)


def symbol(number, *, lines=5, score=None, path=None, first=1, **other):
    """A function of so many lines; the smaller its number, the better it is."""
    name = f"function_{number}"
    body = f"def {name}(value):\n" + "    value = compute(value, retries=3)\n" * (lines - 1)
    given = dict(
        key=f"{path or f'pkg/module_{number}.py'}#{name}", qualified_name=name, kind="function", path=path or f"pkg/module_{number}.py",
        start_line=first, end_line=first + lines - 1, score=1 / (1 + number / 8) if score is None else score, walk=1.0,
        signature=f"def {name}(value):", doc="Computes a value.", body=body, because="calls compute",
    )  # fmt: skip
    return PackItem(**(given | other))


def forms(packed):
    return Counter(shown.form for shown in packed.shown)


@settings(max_examples=examples(100))
@given(
    any_pieces, any_head, st.integers(ROOMY // 4, ROOMY) | st.integers(ROOMY, 100_000), formats, st.none() | st.floats(-2, 5).map(ByDensity)
)
def test_the_printed_text_stays_within_any_budget_and_says_its_own_size(pieces, head, budget, render, by_density):
    packed = pack(pieces, budget, render, head=head, terms={"valu": 1.0}, by_density=by_density)
    assert token_estimate.count_tokens(packed.text) == packed.tokens <= budget


@settings(max_examples=examples(100))
@given(any_pieces, st.integers(150, 1_500), formats)
def test_every_piece_is_shown_or_inside_another_or_left_out(pieces, budget, render):
    packed = pack(pieces, budget, render, head=HEAD)
    accounted = [*(shown.item for shown in packed.shown), *packed.inside, *packed.left_out]
    assert Counter(map(repr, accounted)) == Counter(map(repr, pieces))


@settings(max_examples=examples(50))
@given(st.lists(any_piece, max_size=10, unique_by=repr), st.integers(150, 3_000), formats, st.randoms())
def test_the_same_pieces_in_any_order_give_the_same_bytes(pieces, budget, render, random):
    distinct = [dataclasses.replace(piece, key=f"{number}") for number, piece in enumerate(pieces)]
    shuffled = random.sample(distinct, len(distinct))
    assert pack(distinct, budget, render, head=HEAD).text == pack(shuffled, budget, render, head=HEAD).text


def test_no_token_too_many_where_the_numbers_get_longer():
    pieces = [symbol(number, lines=2 + number % 5) for number in range(40)]
    packs = [pack(pieces, budget, Markdown(), head=HEAD) for budget in (*range(90, 115), *range(985, 1_015))]
    assert all(packed.tokens <= packed.budget for packed in packs)
    assert (len(packs[0].shown) < 3, len(packs[-1].shown) > 8) == (True, True)


def test_the_last_line_is_counted_with_numbers_as_long_as_they_get():
    pieces = [symbol(number, lines=2 + number * 3) for number in range(9)]
    packs = [pack(pieces, budget, Json(), head=HEAD) for budget in (*range(300, 600), *range(1_000, 1_300))]
    assert all(packed.tokens <= packed.budget for packed in packs)


def test_a_budget_too_small_for_code_gives_signatures_or_pointers():
    pieces = [symbol(number, lines=30) for number in range(50)]
    assert {form for budget in range(110, 125) for form in forms(pack(pieces, budget, Markdown(), head=HEAD))} == {Detail.POINTER}
    assert "- `pkg/module_0.py:1 function_0`\n" in pack(pieces, 120, Markdown(), head=HEAD).text


def test_symbols_come_in_rank_order_with_code_until_the_budget_is_used():
    packed = pack([symbol(number, lines=15) for number in range(200)], 8_000, Markdown(), head=HEAD)
    code = [shown.form in (Detail.BODY, Detail.EXCERPT) for shown in packed.shown]
    assert [shown.item.qualified_name for shown in packed.shown] == [f"function_{number}" for number in range(len(code))]
    assert code == sorted(code, reverse=True)
    assert sum(code) >= len(code) - 2


@each("budget", [400, 1_000, 2_000, 6_000])
def test_the_code_of_the_best_symbol_is_always_there_however_long_it_is(budget):
    pieces = [symbol(0, lines=400), *(symbol(number, lines=40) for number in range(1, 60))]
    packed = pack(pieces, budget, Markdown(), head=HEAD, terms={"retri": 1.0})
    assert packed.shown[0].form is Detail.EXCERPT
    assert "def function_0(value):" in packed.text


def test_an_excerpt_shows_the_signature_and_the_lines_with_words_of_the_task_and_counts_the_others():
    body = (
        "def send(self, message):\n" + "    self.note(message)\n" * 200 + "    self.backoff(attempt)\n" + "    self.note(message)\n" * 200
    )
    long = symbol(0, lines=402, body=body, qualified_name="Client.send")
    packed = pack([long, *(symbol(number) for number in range(1, 30))], 1_000, Markdown(), head=HEAD, terms={"backoff": 2.0})
    text = packed.text
    assert "def send(self, message):" in text
    assert "    self.backoff(attempt)" in text
    elided = [int(count) for count in re.findall(r"^ *\.\.\. (\d+) lines?$", text, re.MULTILINE)]
    assert sum(elided) + len(packed.shown[0].lines) == 402
    assert f"{len(packed.shown[0].lines)} of 402 lines" in text


def test_an_excerpt_of_a_type_shows_where_its_members_are_defined():
    body = "class Client:\n" + "".join(f"    def part_{number}(self):\n" + "        work()\n" * 30 for number in range(12))
    whole = symbol(0, lines=373, body=body, qualified_name="Client", kind="class", members=tuple(2 + 31 * number for number in range(12)))
    packed = pack([whole], 600, Markdown(), head=HEAD)
    assert all(f"def part_{number}(self):" in packed.text for number in range(12))


def test_room_that_is_left_when_all_are_in_extends_excerpts():
    pieces = [symbol(number, lines=100) for number in range(4)]
    assert Detail.EXCERPT in forms(pack(pieces, 2_000, Markdown(), head=HEAD))
    assert forms(pack(pieces, 20_000, Markdown(), head=HEAD)) == {Detail.BODY: 4}


def test_a_type_whose_member_is_shown_already_does_not_repeat_it():
    whole, methods = a_class_with_methods(0.5, 1.0)
    packed = pack([whole, *methods, *(symbol(20 + number, lines=60, score=0.1) for number in range(9))], 1_500, Markdown(), head=HEAD)
    assert packed.text.count("def function_3(value):") == 2  # the second only as a line of the type's excerpt
    assert next(shown for shown in packed.shown if shown.item.kind == "class").form is not Detail.BODY


def test_the_outline_of_a_type_comes_with_the_first_of_its_members():
    pieces = [symbol(number, outline="class Client: send, close") for number in range(5)]
    assert pack(pieces, 3_000, Markdown(), head=HEAD).text.count("in class Client: send, close") == 1


def test_the_classic_profile_packs_by_density_and_skips_what_does_not_fit():
    pieces = [symbol(0, lines=400), *(symbol(number, lines=4) for number in range(1, 9))]
    packed = pack(pieces, 1_500, Markdown(), head=HEAD, by_density=ByDensity())
    assert forms(packed) == {Detail.BODY: 8}
    assert packed.left_out == (pieces[0],)


def test_a_generous_budget_gives_every_body():
    pieces = [symbol(number, lines=15) for number in range(200)]
    packed = pack(pieces, 200_000, Markdown(), head=HEAD)
    assert forms(packed) == {Detail.BODY: 200}
    assert packed.left_out == ()


def test_at_least_nine_tenths_of_a_budget_are_used_when_there_is_more_to_show():
    pieces = [symbol(number, lines=1 + number * 7 % 40) for number in range(300)]
    for budget in (500, 1_000, 2_000, 8_000, 50_000):
        assert pack(pieces, budget, Markdown(), head=HEAD).tokens > 0.9 * budget


def test_symbols_are_printed_best_first():
    pieces = [symbol(number, lines=1 + number % 9) for number in range(40)]
    packed = pack(pieces[::-1], 3_000, Markdown(), head=HEAD)
    places = [packed.text.index(f"{shown.item.qualified_name}") for shown in packed.shown]
    assert places == sorted(places)
    assert [shown.item.score for shown in packed.shown] == sorted((shown.item.score for shown in packed.shown), reverse=True)


def test_symbols_whose_lines_only_overlap_are_both_printed():
    packed = pack([symbol(0, path="a.py", lines=10), symbol(1, path="a.py", first=5, lines=10)], 2_000, Markdown(), head=HEAD)
    assert forms(packed) == {Detail.BODY: 2}


def test_the_only_symbol_comes_with_its_body_when_it_fits():
    packed = pack([symbol(0, lines=100)], 3_000, Markdown(), head=HEAD)
    assert forms(packed) == {Detail.BODY: 1}


def test_a_symbol_whose_file_is_gone_is_shown_by_its_signature():
    packed = pack([symbol(0, body="")], 3_000, Markdown(), head=HEAD)
    assert forms(packed) == {Detail.SIGNATURE: 1}


def test_scores_of_zero_and_below_still_rank():
    pieces = [symbol(number, score=-float(number)) for number in range(30)]
    packed = pack(pieces, 600, Markdown(), head=HEAD)
    assert packed.shown[0].item.qualified_name == "function_0"
    assert packed.left_out[-1].qualified_name == "function_29"


def a_class_with_methods(score_of_class, score_of_methods):
    methods = [symbol(number, path="m.py", first=2 + number * 6, lines=6, score=score_of_methods) for number in range(5)]
    body = "class Client:\n" + "".join(method.body for method in methods)
    whole = symbol(
        9, path="m.py", lines=31, score=score_of_class, body=body, qualified_name="Client", kind="class", members=(2, 8, 14, 20, 26)
    )
    return whole, methods


def test_a_method_inside_a_class_that_is_printed_is_not_printed_twice():
    whole, methods = a_class_with_methods(1.0, 0.5)
    packed = pack([whole, *methods], 5_000, Markdown(), head=HEAD)
    assert [shown.item for shown in packed.shown] == [whole]
    assert packed.inside == tuple(methods)
    assert packed.text.count("def function_3(value):") == 1
    assert "5 inside these, 0 left out" in packed.text


def test_equal_lines_in_two_files_are_not_taken_for_one_inside_the_other():
    packed = pack([symbol(0, path="a.py"), symbol(1, path="b.py")], 2_000, Markdown(), head=HEAD)
    assert forms(packed) == {Detail.BODY: 2}


def test_a_budget_too_small_for_head_and_foot_is_refused_and_the_least_is_named():
    pieces = [symbol(number) for number in range(9)]
    with pytest.raises(UsageError, match="a budget of 7 tokens is too small") as caught:
        pack(pieces, 7, Markdown(), head=HEAD)
    least = int(caught.value.hint.rsplit(" ", 1)[1])
    assert pack(pieces, least, Markdown(), head=HEAD).tokens <= least
    with pytest.raises(UsageError, match=f"the least is {least}"):
        pack(pieces, least - 1, Markdown(), head=HEAD)


@pytest.mark.parametrize("budget", [0, -1, -10_000])
def test_a_budget_of_nothing_is_refused(budget):
    with pytest.raises(UsageError, match="the least is"):
        pack([], budget, Json(), head=HEAD)


def test_a_task_as_long_as_an_issue_does_not_raise_the_least_budget_beyond_a_few_hundred():
    task = "the client must try again when the server does not answer " * 500
    assert pack([symbol(0)], 300, Markdown(), head=PackHeader(task)).tokens <= 300


def test_no_pieces_give_an_account_of_nothing():
    packed = pack([], 200, Markdown(), head=HEAD)
    assert "0 left out" in packed.text
    assert HEAD.hint not in packed.text


def test_three_hundred_symbols_are_packed_in_the_time_of_a_glance():
    pieces = [symbol(number, lines=5 + number % 60) for number in range(300)]
    took = []
    for _ in range(5):
        start = time.process_time()
        pack(pieces, 50_000, Markdown(), head=HEAD)
        took.append(time.process_time() - start)
    assert min(took) < 0.12
