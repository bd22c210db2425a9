"""Equivalence classes: what a task speaks of, and what code calls it."""

from __future__ import annotations

import re

import pytest

from small_cases import each
from whence.parse.languages import BY_NAME
from whence.query.concepts import (
    FOLDER,
    Concept,
    ConceptMatch,
    is_generic,
    is_strong,
    load_concepts,
    match_concepts,
    name_key,
    phrase_stems,
    read_concepts,
)

PYTHON = frozenset({"python"})
NONE: frozenset[str] = frozenset()


def ids(task, languages=NONE):
    return [match.concept.id for match in match_concepts(task, languages)]


def test_a_phrase_in_a_task_names_its_concept():
    assert "universal/retry" in ids("retry when the upstream is down")


def test_other_forms_of_a_word_are_heard():
    assert "universal/caching" in ids("Caches are never filled")


def test_case_and_hyphens_do_not_matter():
    assert "universal/http_client" in ids("the HTTP-Client hangs")


def test_a_phrase_inside_an_identifier_is_heard():
    assert "universal/http_client" in ids("HttpClient hangs")


def test_a_phrase_is_whole_words_only():
    assert "universal/retry" not in ids("poetryreader")


def test_the_words_of_a_phrase_stand_together():
    assert "universal/http_client" not in ids("http is spoken by the client")


def test_a_word_marked_as_written_is_not_taken_for_another_of_the_same_stem():
    assert "universal/localization" in ids("change the locale")
    assert "universal/localization" not in ids("change the local file")


def test_a_task_that_speaks_of_nothing_known_has_no_matches():
    assert ids("xyzzy plugh") == []
    assert ids("") == []


def test_a_task_in_another_language_is_no_trouble():
    assert ids("データベースを開く") == []


def test_a_language_layer_is_silent_where_the_language_is_not_used():
    assert "python/context_managers" in ids("write a context manager", PYTHON)
    assert "python/context_managers" not in ids("write a context manager", frozenset({"go"}))
    assert "python/context_managers" not in ids("write a context manager")


def test_the_concept_with_most_words_matched_comes_first():
    assert ids("the cache and the database connection pool")[0] in ("universal/connection_pool", "universal/database_connection")


def test_the_same_task_gives_the_same_matches():
    task = "retry the http client, log the error and cache the response"
    assert match_concepts(task, PYTHON) == match_concepts(task, PYTHON)


def test_the_phrases_that_matched_are_told_once_each():
    [match] = [match for match in match_concepts("retry, retry, with backoff", NONE) if match.concept.id == "universal/retry"]
    assert match.phrases == ("retry", "backoff")


def test_two_forms_of_one_word_are_one_phrase():
    [match] = [match for match in match_concepts("caching in the cache", NONE) if match.concept.id == "universal/caching"]
    assert not is_strong(match)


@pytest.mark.parametrize(
    ("phrases", "expected"),
    [(("retry",), False), (("retry", "backoff"), True), (("time out",), True)],
    ids=["one word", "two", "several words"],
)
def test_a_match_is_strong_by_two_phrases_or_one_of_several_words(phrases, expected):
    assert is_strong(ConceptMatch(Concept("x/y", phrases, ("retries",), 0.8, NONE), phrases)) is expected


@each("name", ["set_cookie", "SetCookie", "setCookie", "SET_COOKIE"])
def test_names_are_compared_whatever_their_style(name):
    assert name_key(name) == "setcookie"


def test_a_name_of_the_language_is_compared_as_it_is():
    assert name_key("__enter__") != name_key("enter")


@each("target", ["get", "Post", "_call", "io", "to_s", "Router.add", "new"])
def test_names_that_say_nothing_are_generic(target):
    assert is_generic(target)


@pytest.mark.parametrize("target", ["__call__", "retry", "Type.Dispose"])
def test_names_that_say_something_are_not_generic(target):
    assert not is_generic(target)


@each("concept", load_concepts())
def test_every_class_is_whole(concept):
    assert [target for target in concept.targets if is_generic(target)] == []
    assert concept.targets
    assert len({name_key(target) for target in concept.targets}) == len(concept.targets)
    assert all(phrase_stems(phrase) for phrase in concept.phrases)
    assert concept.weight == 0.8
    assert concept.languages <= set(BY_NAME)
    assert bool(concept.languages) != concept.id.startswith("universal/")


def test_no_two_classes_have_one_id():
    found = [concept.id for concept in load_concepts()]
    assert len(set(found)) == len(found)


def test_targets_are_names():
    pattern = re.compile(r"\w+[?!]?(?:\.\w+)?|operator\W+")
    assert [target for concept in load_concepts() for target in concept.targets if not pattern.fullmatch(target)] == []


@each("language", ["python", "typescript", "javascript", "go", "rust", "java", "csharp", "ruby", "php", "kotlin", "c", "cpp"])
def test_every_common_language_has_classes_of_its_own(language):
    assert sum(language in concept.languages for concept in load_concepts()) >= 10


def test_a_layer_is_read_with_what_holds_for_all_of_it(tmp_path):
    file = tmp_path / "zig.txt"
    file.write_text(
        "# why\nweight: 0.5\nlanguages: zig\n\nfirst\n  phrases: a b, c\n  phrases: d\n  targets: Eins zwei\nsecond\n  phrases: e\n  targets: drei\n"
    )
    assert list(read_concepts(file)) == [
        Concept("zig/first", ("a b", "c", "d"), ("Eins", "zwei"), 0.5, frozenset({"zig"})),
        Concept("zig/second", ("e",), ("drei",), 0.5, frozenset({"zig"})),
    ]


def test_every_file_of_the_folder_is_a_layer():
    assert {path.stem for path in FOLDER.iterdir()} == {concept.id.partition("/")[0] for concept in load_concepts()}
