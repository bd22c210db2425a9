"""The keywords of a task (K1 to K5)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_cases import each
from whence.context.classic.keywords import ACTION_VERBS, LONGEST_NAME, MOST_IN_A_TIER, STOP_WORDS, Keywords, keywords

HOSTILE_SIZE = 100_000


def test_a_task_with_a_verb_gives_its_noun_first_and_joins_neighbours():
    assert keywords("add a new MCP tool for snapshot diffing") == Keywords(
        exact=(),
        compounds=("SnapshotDiffing", "snapshot_diffing"),
        components=("snapshot", "Snapshot", "diffing", "tool", "mcp"),
        priority=("snapshot", "Snapshot"),
    )


def test_names_in_back_quotes_are_exact_as_written_and_lower_cased():
    assert keywords("why does `SessionStore` lose data").exact == ("SessionStore", "sessionstore")


def test_a_name_in_double_back_quotes_is_exact():
    assert keywords("see ``open_session``").exact == ("open_session",)


def test_a_quoted_call_stands_for_the_name_that_is_called():
    assert keywords("see `.close()`, `open(path)` and `join`").exact == ("close", "open", "join")


def test_a_quoted_stop_word_is_meant_as_a_name():
    assert keywords("where is `get`").exact == ("get",)


def test_quoted_text_with_spaces_is_no_name():
    assert keywords("run `make all tests`").exact == ()


def test_a_quoted_name_may_have_a_hundred_characters_and_no_more():
    assert keywords(f"`{'a' * LONGEST_NAME}`").exact == ("a" * LONGEST_NAME,)
    assert keywords(f"`{'a' * (LONGEST_NAME + 1)}`").exact == ()


@each("text", ["`open", "open`", "` open_file", "``` open", "```\nopen\n```", "`` ` ``", "`***`"])
def test_unbalanced_back_quotes_and_fences_quote_nothing(text):
    assert keywords(text).exact == ()


def test_after_an_unbalanced_back_quote_names_are_still_found():
    assert keywords("it`s in `parse_line` or so").exact == ("parse_line",)


def test_an_exact_name_is_not_repeated_in_the_other_tiers():
    found = keywords("`parse_line` and `flush`")
    assert "parse_line" not in found.compounds
    assert "flush" not in found.components
    assert {"parse", "line"} <= set(found.components)


@each("name", ["open_session", "MAX_SIZE", "SessionStore", "sessionStore", "HTTPServer", "_private", "__init__"])
def test_identifiers_are_compounds_as_written_and_lower_cased(name):
    assert {name, name.lower()} <= set(keywords(f"where is {name} used").compounds)


def test_the_parts_of_an_identifier_are_components():
    assert {"session", "store"} <= set(keywords("where does SessionStore live").components)


@each("word", ["Session", "HTTP", "URLs", "session", "utf8"])
def test_plain_words_are_no_compounds(word):
    assert keywords(word).compounds == ()


def test_an_acronym_in_the_plural_is_found_in_the_singular_too():
    assert keywords("the URLs").components == ("urls", "url")


def test_a_word_with_digits_stays_findable_whole():
    assert keywords("the sha256 of v2").components == ("sha256", "sha", "v2")


@each(
    ("text", "name"),
    [
        ("what does .delete() do", "delete"),
        ("what does get() do", "get"),
        ("what does get_rows() do", "get_rows"),
        ("what does RowSet.annotate() do", "RowSet.annotate"),
        ("what does Table.rows do", "Table.rows"),
        ("what does table.get_rows do", "table.get_rows"),
        ("what does package_a.rows do", "package_a.rows"),
        ("what does package.module.rows.escape do", "package.module.rows.escape"),
        ("what does table::rows do", "table.rows"),
        ("what does table->rows do", "table.rows"),
        ("what does Table#rows do", "Table.rows"),
    ],
)
def test_code_patterns_are_compounds(text, name):
    assert {name, name.lower()} <= set(keywords(text).compounds)


@each("text", ["e.g. rows", "i.e. rows", "E.g. rows", "rows etc.", "version 3.9", "version v2.0", "foo.bar", "row(s)", "end.Then"])
def test_prose_with_dots_and_parentheses_is_not_code(text):
    assert keywords(text).compounds == ()


def test_a_plain_dotted_name_gives_its_words():
    assert keywords("foo.bar").components == ("foo", "bar")


def test_the_names_inside_a_dotted_path_are_compounds_of_their_own():
    assert {"RowSet", "get_rows"} <= set(keywords("RowSet.get_rows").compounds)


@each("text", ["fix retry", "Add the retry", "please extend the existing retry", "We should rework retry", "test retry"])
def test_the_first_noun_after_an_opening_verb_has_priority(text):
    assert keywords(text).priority == ("retry", "Retry")
    assert keywords(text).components[:2] == ("retry", "Retry")


@pytest.mark.parametrize("text", ["retry is broken", "the fix of retry", "where to add retry"])
def test_without_an_opening_verb_nothing_has_priority(text):
    assert keywords(text).priority == ()


def test_an_identifier_with_priority_leads_the_compounds():
    found = keywords("rename open_session in SessionStore.close()")
    assert found.priority == ("open_session",)
    assert found.compounds[0] == "open_session"


def test_a_scope_after_the_verb_is_the_noun():
    assert keywords("fix(parser): keep comments").priority == ("parser", "Parser")


@pytest.mark.parametrize("text", ["add a tool for retry", "add an HTTP feature for retry", "implement support for retry"])
def test_the_noun_after_the_sort_of_thing_is_what_is_meant(text):
    assert keywords(text).priority == ("retry", "Retry")


@pytest.mark.parametrize("text", ["add HTTP to the client", "add HTTP. Tools want a client", "add HTTP client support"])
def test_an_acronym_is_the_noun_where_it_stands_for_itself(text):
    assert keywords(text).priority == ("http", "Http")


def test_the_sort_of_thing_has_priority_when_nothing_else_is_named():
    assert keywords("add a new tool").priority == ("tool", "Tool")


@each("word", ["the", "func", "type", "var", "err", "refactor", "fix", "update", "x", "7"])
def test_stop_words_and_single_characters_are_dropped(word):
    assert keywords(f"zebra {word} gallop").components == ("gallop", "zebra")


def test_stop_words_inside_identifiers_are_dropped_from_the_parts():
    assert keywords("get_type_name").components == ("name",)


@pytest.mark.parametrize(("short", "long"), [("ctx", "context"), ("cfg", "config"), ("svc", "service")])
def test_abbreviations_expand_both_ways(short, long):
    assert {short, long} <= set(keywords(f"where is the {short}").components)
    assert {short, long} <= set(keywords(f"where is the {long}").components)


def test_an_expansion_that_is_a_stop_word_is_dropped():
    assert "error" in keywords("the error").components
    assert "err" not in keywords("the error").components


def test_abbreviations_inside_identifiers_expand():
    assert "context" in keywords("request_ctx").components


@each(
    ("text", "camel", "snake"),
    [
        ("the blast radius", "BlastRadius", "blast_radius"),
        ("transitive callers", "TransitiveCallers", "transitive_callers"),
        ("HTTP client", "HttpClient", "http_client"),
        ("snapshot-diffing", "SnapshotDiffing", "snapshot_diffing"),
        ("blast\nradius", "BlastRadius", "blast_radius"),
    ],
)
def test_neighbouring_words_make_compounds(text, camel, snake):
    assert keywords(text).compounds == (camel, snake)


@each(
    "text",
    [
        "row map",
        "io blast",
        "blast of radius",
        "blast, radius",
        "blast. Radius",
        "blast\n\nradius",
        "blast fix",
        "blast type",
        "radius 42",
        "blast" + " " * 20 + "radius",
    ],
)
def test_other_words_are_not_joined(text):
    assert keywords(text).compounds == ()


def test_the_opening_verb_is_joined_with_nothing():
    assert keywords("help test sessions").compounds == ()


def test_identifiers_are_not_joined_with_their_neighbours():
    assert keywords("open_session timeout").compounds == ("open_session",)


def test_components_after_the_priority_terms_fall_in_length():
    assert keywords("add oak to saplings of big zebra").components == ("oak", "Oak", "saplings", "zebra", "big")


def test_components_of_equal_length_keep_the_order_of_the_text():
    assert keywords("beta and alfa").components == ("beta", "alfa")


def test_a_task_of_verbs_alone_is_about_the_verbs():
    assert keywords("find and delete").components == ("find", "delete")


@each("text", ["", " \n\t", "the of and", "\0", "...", "()[]{}", "``", "42", "\ud800"])
def test_a_text_without_words_gives_no_keywords(text):
    assert keywords(text) == Keywords((), (), (), ())


def test_a_nul_separates_words():
    assert set(keywords("retry\0timeout").components) == {"retry", "timeout"}


def test_letters_of_any_script_are_letters():
    assert keywords("größe ändern").compounds == ("GrößeÄndern", "größe_ändern")
    assert "解析" in keywords("修复解析器错误").components


def test_a_long_sentence_without_spaces_still_gives_words():
    assert "解析" in keywords("解析器" * 100).components


def test_the_prose_of_a_pasted_text_is_read_before_its_quoted_code():
    trace = "\n".join(f"    at handler{number}.run(Server.java:{number})" for number in range(500))
    found = keywords(f"{trace}\nsessions are lost after the timeout")
    assert {"sessions", "timeout"} <= set(found.components)


@each(
    "text",
    [
        "`" * HOSTILE_SIZE,
        "`a" * (HOSTILE_SIZE // 2),
        " ".join(f"`name{number}`" for number in range(10_000)),
        "a." * (HOSTILE_SIZE // 2),
        "a::" * (HOSTILE_SIZE // 3),
        "1a" * (HOSTILE_SIZE // 2),
        "_" * HOSTILE_SIZE,
        "A" * HOSTILE_SIZE,
        "()" * (HOSTILE_SIZE // 2),
        "\n" * HOSTILE_SIZE,
        "x\n" + " " * HOSTILE_SIZE,
        "x\n" + "^" * HOSTILE_SIZE,
        "解" * HOSTILE_SIZE,
        " ".join(f"word{number} snake_{number} Camel{number}Case" for number in range(5_000)),
        "blast radius " * (HOSTILE_SIZE // 13),
    ],
)
def test_a_hundred_kilobytes_of_anything_are_read_at_once(text):
    began = time.process_time()
    found = keywords(text)
    assert time.process_time() - began < 2
    assert max(len(tier) for tier in (found.exact, found.compounds, found.components)) <= MOST_IN_A_TIER
    assert all(len(word) <= 2 * LONGEST_NAME + 1 for tier in (found.exact, found.compounds, found.components) for word in tier)


def test_a_text_with_more_names_than_fit_fills_the_tiers():
    found = keywords(" ".join(f"`name_{number}` other_{number}x" for number in range(1_000)))
    assert (len(found.exact), len(found.compounds)) == (MOST_IN_A_TIER, MOST_IN_A_TIER)
    assert found.exact[0] == "name_0"


words_of_all_sorts = st.sampled_from(
    [*"add fix the of retry Retry HTTP URLs open_session SessionStore Table.rows foo.bar .close() `get` ctx".split()]
)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(words_of_all_sorts, max_size=12).map(" ".join)))
def test_every_task_gives_each_keyword_once_and_the_same_each_time(text):
    found = keywords(text)
    assert found == keywords(text)
    for tier in (found.exact, found.compounds, found.components, found.priority):
        assert len(set(tier)) == len(tier)
        assert all(tier)
    assert not set(found.exact) & set(found.compounds)
    assert set(found.priority) <= {*found.components, *found.compounds, *found.exact}


def test_the_verbs_are_stop_words():
    assert ACTION_VERBS <= STOP_WORDS
