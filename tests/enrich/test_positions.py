"""Bytes become lines and UTF-16 columns, and come back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whence.graph.enrich.definitions import TextPositions, path_of


def test_a_column_counts_utf16_units_not_bytes():
    text = "x = '\N{PILE OF POO}é'; name".encode()
    assert TextPositions(text).position(text.index(b"name")) == (0, 11)


def test_all_three_line_ends_count():
    text = b"a\nb\r\nc\rd"
    assert [TextPositions(text).position(text.index(letter)) for letter in (b"a", b"b", b"c", b"d")] == [(0, 0), (1, 0), (2, 0), (3, 0)]


@given(st.text(alphabet="aé\N{PILE OF POO}\n\r ", max_size=40), st.integers(0, 40))
def test_a_place_that_is_turned_into_a_position_comes_back(text, at):
    byte = len(text[:at].encode())
    raw = text.encode()
    if raw[byte - 1 : byte + 1] == b"\r\n":  # the middle of a line end is no place
        return
    places = TextPositions(raw)
    assert places.byte(*places.position(byte)) == byte


def test_a_position_outside_the_text_is_no_place():
    places = TextPositions("é\nb".encode())
    assert [places.byte(*position) for position in ((5, 0), (-1, 0), (0, 9), (1, 9), (0, -1))] == [None] * 5


def test_the_middle_of_a_character_is_no_place():
    assert TextPositions("\N{PILE OF POO}".encode()).byte(0, 1) is None


def test_an_address_is_read_as_the_path_it_names():
    assert path_of("file:///a%20b/c%C3%A9.py") == "/a b/cé.py".encode()


def test_an_address_that_is_no_file_has_no_path():
    assert [path_of(address) for address in ("http://x/a.py", "untitled:1", "file://host/a")] == [None, None, None]
