"""Related words and short forms."""

from __future__ import annotations

from pathlib import Path

import whence.query.plan
from small_cases import each
from whence.query.plan import abbreviations_of, related_words
from whence.text.analyzer import stem
from whence.text.tables import content_lines

QUERY = Path(whence.query.plan.__file__).parent


@each(("word", "other"), [("consumer", "subscriber"), ("listener", "handler"), ("lexer", "tokenizer"), ("raise", "throw")])
def test_related_words_widen_each_other(word, other):
    assert stem(other) in related_words(stem(word))
    assert stem(word) in related_words(stem(other))


def test_a_word_in_two_clusters_is_widened_by_both():
    assert {stem("subscriber"), stem("controller")} <= related_words(stem("handler"))


def test_widening_reaches_no_further_than_the_clusters_of_a_word():
    assert stem("controller") not in related_words(stem("subscriber"))


def test_a_word_does_not_widen_to_itself():
    assert [
        word for line in content_lines(QUERY / "thesaurus.txt") for word in line.split() if stem(word) in related_words(stem(word))
    ] == []


def test_an_unknown_word_is_not_widened():
    assert related_words("xyzzy") == frozenset()


def test_no_word_is_widened_to_many():
    assert [word for line in content_lines(QUERY / "thesaurus.txt") for word in line.split() if len(related_words(stem(word))) > 12] == []


def test_every_cluster_relates_at_least_two_words():
    assert [line for line in content_lines(QUERY / "thesaurus.txt") if len({stem(word) for word in line.split()}) < 2] == []


@each(("short", "full"), [("ctx", "context"), ("cfg", "config"), ("svc", "service"), ("config", "configuration")])
def test_short_forms_go_both_ways(short, full):
    assert full in abbreviations_of(short)
    assert short in abbreviations_of(full)


def test_a_word_in_another_form_has_the_same_short_forms():
    assert "svc" in abbreviations_of("Services")


def test_two_meanings_of_a_short_form_are_not_forms_of_each_other():
    assert {"request", "requirement"} <= abbreviations_of("req")
    assert "requirement" not in abbreviations_of("request")


def test_two_short_forms_of_one_word_are_forms_of_each_other():
    assert "tpl" in abbreviations_of("tmpl")


def test_a_word_is_no_short_form_of_itself():
    words = [word for line in content_lines(QUERY / "abbreviations.txt") for word in line.replace(":", " ").split()]
    assert [word for word in words if word in abbreviations_of(word)] == []


def test_an_unknown_word_has_no_short_forms():
    assert abbreviations_of("xyzzy") == frozenset()


def test_a_short_form_is_shorter_than_what_it_stands_for():
    groups = [line.partition(":")[::2] for line in content_lines(QUERY / "abbreviations.txt")]
    assert [short for short, full in groups if min(map(len, full.split())) <= max(map(len, short.split()))] == []
