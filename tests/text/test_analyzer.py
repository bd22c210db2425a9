"""Words of code and prose: the same for documents and for queries (T1), and safe whatever the text (T3)."""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from small_cases import each
from whence.core.errors import QueryError
from whence.index.segment_writer import SegmentWriter
from whence.parse.units import parse
from whence.query.plan import make_plan
from whence.storage.arrayfile import StringTable
from whence.text import analyzer

IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,30}", fullmatch=True)
#: Text as people paste it: any character, with the marks of code and of query languages among them.
TEXTS = st.text(max_size=200) | st.text(alphabet=string.printable + "éßİǅ漢字かな한글١٢\0\ufeff\u2028", max_size=200)


def split(word: str) -> list[str]:
    """An identifier as it is indexed, before stemming: its whole where it has several parts, and its parts."""
    parts = analyzer.parts(word)
    assert analyzer.terms(word) == (*map(analyzer.stem, parts), *([analyzer.normalize_identifier(word)] if len(parts) > 1 else []))
    return [analyzer.normalize_identifier(word), *parts] if len(parts) > 1 else parts


def document_terms(text: str) -> set[str]:
    """The terms a file with this text is indexed under, its path aside."""
    digest = SegmentWriter()
    source = text.encode()
    digest.add("", source, parse(source, "unknown"))
    arrays = digest.arrays()
    return set(StringTable(arrays["terms.blob"], arrays["terms.ends"]).all())


def query_terms(text: str) -> set[str]:
    try:
        return {term.text for term in make_plan(text, decay=0.0, quoted=1.0).terms}
    except QueryError:
        return set()


@each(
    ("identifier", "expected"),
    [
        ("parseRequest", "parserequest parse request"),
        ("ParseRequest", "parserequest parse request"),
        ("my_func", "myfunc my func"),
        ("_my__func_", "myfunc my func"),
        ("MY_CONSTANT", "myconstant my constant"),
        ("getHTTPResponse", "gethttpresponse get http response"),
        ("HTTPServer", "httpserver http server"),
        ("parseHTTP", "parsehttp parse http"),
        ("utf8", "utf8 utf 8"),
        ("v2", "v2 v 2"),
        ("sha256sum", "sha256sum sha 256 sum"),
        ("word", "word"),
        ("Word", "word"),
        ("HTTP", "http"),
        ("größeÄndern", "größeändern größe ändern"),
        ("ПарсерЗапроса", "парсерзапроса парсер запроса"),
        ("_", ""),
        ("", ""),
    ],
)
def test_an_identifier_gives_its_whole_and_its_parts(identifier: str, expected: str) -> None:
    assert split(identifier) == expected.split()


@each(("one", "other"), [("my_func", "myFunc"), ("my_func", "MyFunc"), ("MY_FUNC", "myfunc"), ("HTTPServer", "http_server")])
def test_spellings_of_one_name_share_their_whole(one: str, other: str) -> None:
    assert analyzer.normalize_identifier(one) == analyzer.normalize_identifier(other)


def test_inflections_of_one_word_share_their_term() -> None:
    assert analyzer.terms("parsing") == analyzer.terms("parses") == analyzer.terms("parsed")


def test_a_number_is_a_word_and_a_long_one_is_noise() -> None:
    assert analyzer.words("404 and 1234567") == ["404", "and"]
    assert analyzer.parts("commit12345678") == ["commit"]


def test_text_without_spaces_is_found_by_pairs_of_characters() -> None:
    assert set(analyzer.terms("漢字")) <= set(analyzer.terms("常用漢字表"))


def test_nothing_gives_no_tokens() -> None:
    assert analyzer.words("") == []
    assert analyzer.terms("") == ()
    assert document_terms("") == set()


def test_a_query_drops_repeats() -> None:
    plan = make_plan("retry Retry retries RETRY", decay=0.0, quoted=1.0)
    assert [term.text for term in plan.terms] == ["retri"]


def test_a_document_keeps_its_counts() -> None:
    def codes(text: bytes) -> list[int]:
        digest = SegmentWriter()
        digest.add("", text, parse(text, "unknown"))
        return [int(code) for code in digest.arrays()["postings.code"]]

    once, often = codes(b"retry\n"), codes(b"retry retry retry retry\n")
    assert len(once) == len(often) == 1
    assert often[0] > once[0]


@given(IDENTIFIERS)
def test_parts_have_no_parts(identifier: str) -> None:
    for part in analyzer.parts(identifier):
        assert analyzer.parts(part) == [part]


@given(IDENTIFIERS)
def test_a_whole_joined_again_is_itself(identifier: str) -> None:
    whole = analyzer.normalize_identifier(identifier)
    assert analyzer.normalize_identifier(whole) == whole


@given(st.lists(st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=8), min_size=2, max_size=5))
def test_words_joined_as_snake_case_are_split_into_the_same_words(parts: list[str]) -> None:
    assert split("_".join(parts)) == ["".join(parts), *parts]


@given(st.lists(st.text(alphabet=string.ascii_lowercase, min_size=2, max_size=8), min_size=2, max_size=5))
def test_words_joined_as_camel_case_are_split_into_the_same_words(parts: list[str]) -> None:
    assert split("".join(part.capitalize() for part in parts)) == ["".join(parts), *parts]


@given(TEXTS)
@example("\0")
@example("a\0b")
@example('") OR 1=1 -- "unclosed (')
@example("İstanbul ǅ ß ﬁ")
def test_any_text_gives_tokens_that_are_not_empty(text: str) -> None:
    for word in analyzer.words(text):
        assert word
        assert all(analyzer.terms(word))


@given(TEXTS)
@example("naïve—dash")
@example("a\u00a0b")
@example("x٣y")
@example("foo.bar::baz->qux")
def test_a_document_is_indexed_under_every_term_of_itself_as_a_query(text: str) -> None:
    assert query_terms(text) <= document_terms(text)


@given(IDENTIFIERS, st.sampled_from([" ", "(", '"', "::", ".", "->", "\n", "\t", "—", "\u00a0", "“"]))
def test_what_stands_around_a_word_does_not_change_it(identifier: str, mark: str) -> None:
    assert document_terms(f"{mark}{identifier}{mark}") == document_terms(identifier)


def test_a_query_of_100_kb_is_read_in_a_moment(tmp_path: Path) -> None:
    plan = make_plan("def parseRequest(self): ('\"\\ " * 4_000, decay=0.5, quoted=1.0)
    assert np.isfinite([term.weight for term in plan.terms]).all()
    assert "parserequest" in {term.text for term in plan.terms}


def test_one_word_of_100_kb_is_no_trouble() -> None:
    assert all(len(term) <= analyzer.MAX_WORD_LENGTH for term in document_terms("x" * 100_000 + " " + "aB" * 50_000))
