"""From bytes to text: every encoding gives something to search, and what is no text is told apart."""

from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from small_cases import each
from whence.source.read import SNIFFED, longest_line, to_utf8


def test_utf_8_comes_out_as_it_is() -> None:
    assert to_utf8("naïve 漢字\n".encode()) == "naïve 漢字\n".encode()


def test_the_mark_at_the_start_of_utf_8_is_no_part_of_the_text() -> None:
    assert to_utf8(codecs.BOM_UTF8 + b"import os\n") == b"import os\n"


@each("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_with_their_mark_are_read(encoding: str) -> None:
    mark = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }
    assert to_utf8(mark[encoding] + "größe = 1\n".encode(encoding)) == "größe = 1\n".encode()


def test_a_wide_mark_with_nothing_sensible_behind_it_is_no_text() -> None:
    assert to_utf8(codecs.BOM_UTF16_LE + b"\x00\xd8") is None


def test_an_old_encoding_is_read_so_that_its_plain_words_are_found() -> None:
    found = to_utf8("def grüße(name): pass\n".encode("latin-1"))
    assert found == "def grüße(name): pass\n".encode()


def test_one_wrong_byte_in_utf_8_loses_no_plain_word() -> None:
    found = to_utf8(b"first \xff second\n")
    assert found is not None
    assert found.split()[0] == b"first"
    assert found.split()[-1] == b"second"


def test_a_nul_byte_near_the_start_means_no_text() -> None:
    assert to_utf8(b"\x7fELF\0\0\0") is None
    assert to_utf8(b"x" * (SNIFFED - 1) + b"\0") is None


def test_nothing_is_text() -> None:
    assert to_utf8(b"") == b""


@given(st.binary(max_size=300))
def test_whatever_comes_out_is_utf_8(raw: bytes) -> None:
    found = to_utf8(raw)
    assert found is None or found.decode("utf-8") is not None


@given(st.text(max_size=200).filter(lambda text: "\0" not in text and not text.startswith("\ufeff")))
def test_utf_8_is_never_changed(text: str) -> None:
    assert to_utf8(text.encode("utf-8")) == text.encode("utf-8")


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=10))
def test_the_longest_line_is_the_longest_line(lines: list[bytes]) -> None:
    assert longest_line(b"\n".join(lines)) == max(map(len, lines))
