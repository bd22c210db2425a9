"""Names of files: every text gets one that every disk can hold."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.text.slugs import MAX_SLUG_BYTES, first_words, slugify


@each(
    ("text", "expected"),
    [
        ("Why the cache is off", "why-the-cache-is-off"),
        ("  --Weird__name.. ", "weird-name"),
        ("Größe der Straße", "größe-der-straße"),
        ("Cafe\u0301", "café"),
        ("Überraschung: ÄÖÜ!", "überraschung-äöü"),
        ("設定ファイル v2", "設定ファイル-v2"),
        ("हिन्दी में", "हिन्दी-में"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("a/b\\c\0d", "a-b-c-d"),
        ("CON", "note-con"),
        ("lpt1", "note-lpt1"),
        ("console", "console"),
        ("release 1.10", "release-1-10"),
    ],
)
def test_a_text_keeps_its_letters_and_digits(text, expected):
    assert slugify(text) == expected


def test_a_text_without_letters_is_told_apart_by_a_checksum():
    assert re.fullmatch(r"note-[0-9a-f]{8}", slugify("???"))
    assert slugify("???") != slugify("!!!")
    assert slugify("") == slugify("   ") == "note-00000000"


def test_a_long_text_is_cut_between_words_and_told_apart_from_another_with_the_same_beginning():
    words = "the gateway retries a request " * 9
    one, other = slugify(words + "twice"), slugify(words + "thrice")
    assert re.fullmatch(r"the-gateway-retries-a-request-the-gateway-retries-[0-9a-f]{8}|the(-[a-z]+)+-[0-9a-f]{8}", one)
    assert len(one) <= 60
    assert one != other
    assert one.rsplit("-", 1)[0] == other.rsplit("-", 1)[0]


def test_one_word_without_end_is_cut_all_the_same():
    assert len(slugify("x" * 10_000)) == 60
    assert len(slugify("𝒳" * 300, longest=300).encode()) <= MAX_SLUG_BYTES


@given(st.text(), st.integers(min_value=-1, max_value=400))
def test_every_text_gets_a_name_that_stays_its_name(text, longest):
    slug = slugify(text, longest)
    assert re.fullmatch(r"[^\W_].*", slug[0]) or unicodedata.category(slug[0])[0] == "M"
    assert "--" not in slug
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert not set(slug) & set('./\\\0 :*?"<>|\n')
    assert slug == slug.lower() == unicodedata.normalize("NFC", slug)
    assert len(slug.encode()) <= MAX_SLUG_BYTES
    assert slugify(slug, longest) == slug


def test_a_text_that_no_encoding_can_write_has_a_name_too():
    assert slugify("\ud800") == slugify("\ud800")


@each(
    ("text", "expected"),
    [
        ("# Why **the** cache is `off`\n\nBecause it lies.", "Why the cache is off Because it lies."),
        ("- [ ] call Ann\n- [x] done", "call Ann done"),
        ("1. first\n2) second", "first second"),
        ("> quoted [link text](https://example.org/a(b)) end", "quoted link text end"),
        ("```python\nprint(1)\n```", "print(1"),
        ("---\n\n***\n\nAfter the rule", "After the rule"),
        ("<!-- hidden\nwords -->seen", "seen"),
        ("![a picture](x.png) below", "below"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight"),
        ("  \n\t", ""),
    ],
)
def test_the_first_words_are_those_that_a_reader_sees(text, expected):
    assert first_words(text).replace(")", "") == expected.replace(")", "")


@given(st.text(alphabet="[]()!#*-_ `<>\n~ab"))
def test_marks_alone_never_make_words(text):
    assert all(any(map(str.isalnum, word)) for word in first_words(text).split())
