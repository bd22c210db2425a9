"""The shipped encoder: what it reads of a unit, how words are cut, and a model that is not whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from small_cases import each
from whence.core.errors import ModelUnavailable
from whence.embed import static
from whence.embed.encoder import UnitText
from whence.embed.static import MAX_BODY_BYTES, MAX_WORD_LENGTH, MODEL, PATH_PIECES, StaticEncoder, WordPieces, words_of

#: What the package may spend on its model.
MOST_BYTES = 12_000_000
PIECES = ["[UNK]", "read", "write", "file", "par", "parse", "##r", "##s", "socket", "retry", "backoff"]
FILES = ("vectors.npy", "weights.npy", "fields.npy", "vocabulary.txt", "fingerprint.txt")


@pytest.fixture(scope="module")
def shipped() -> StaticEncoder:
    return StaticEncoder()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_model(tmp_path)


@pytest.fixture(scope="module")
def lasting_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def tiny_model(place: Path) -> Path:
    """A model of a few pieces, in the files that the shipped one has."""
    chance = np.random.default_rng(0)
    np.save(place / "vectors.npy", chance.integers(-127, 128, (len(PIECES), 16)).astype(np.int8))
    np.save(place / "weights.npy", np.ones((3, len(PIECES)), np.float32))
    np.save(place / "fields.npy", np.array([1.0, 1.2, 1.7], np.float32))
    (place / "vocabulary.txt").write_text("\n".join(PIECES))
    (place / "fingerprint.txt").write_text("tiny-1\n")
    return place


def near(encoder: StaticEncoder, question: str, *units: UnitText) -> list[float]:
    """How similar some units are to a question."""
    return (encoder.encode_units(units).rows @ encoder.encode_query(question).rows[0]).tolist()


# Words.


@each(
    ("text", "words"),
    [
        ("parseRequest", ["parse", "Request"]),
        ("getHTTPResponse", ["get", "HTTP", "Response"]),
        ("my_func2", ["my", "func", "2"]),
        ("utf8", ["utf", "8"]),
        ("IOError", ["IO", "Error"]),
        ("", []),
        ("?!", []),
    ],
)
def test_identifiers_are_split_into_words(text: str, words: list[str]):
    assert words_of(text) == words


@each("name", ["parseHttpRequest", "parse_http_request", "PARSE-HTTP-REQUEST", "ParseHTTPRequest"])
def test_a_name_asks_for_the_same_as_its_words(shipped: StaticEncoder, name: str):
    assert np.array_equal(shipped.encode_query(name).rows, shipped.encode_query("parse http request").rows)


def test_the_longest_piece_that_fits_comes_first():
    assert WordPieces(PIECES).pieces("parser parsers parse") == [5, 6, 5, 6, 7, 5]


def test_a_word_that_cannot_be_cut_into_pieces_is_left_out_whole():
    assert WordPieces(PIECES).pieces("parsing readx file") == [3]


def test_single_letters_and_endless_words_say_nothing():
    vocabulary = WordPieces(["a", "r", "##r", "rr"])
    assert vocabulary.pieces("a r") == []
    assert vocabulary.pieces("r" * (MAX_WORD_LENGTH + 1)) == []
    assert vocabulary.pieces("rr") == [3]


# Fields.


@pytest.mark.parametrize(
    "unit",
    [UnitText("net/retry_backoff.py", "", b""), UnitText("", "retryBackoff", b""), UnitText("", "", b"retry with backoff")],
    ids=["path", "names", "body"],
)
def test_each_of_path_names_and_body_can_answer(shipped: StaticEncoder, unit: UnitText):
    other = UnitText("ui/color.py", "colorPicker", b"draw the color wheel")
    answers, does_not = near(shipped, "retry backoff", unit, other)
    assert answers > 0.5
    assert answers > does_not + 0.2


def test_a_long_body_does_not_drown_the_path(shipped: StaticEncoder):
    body = b"draw the color wheel with a brush on the canvas\n" * 100
    with_path, without = near(shipped, "retry backoff", UnitText("retry/backoff.py", "", body), UnitText("", "", body))
    assert with_path > without + 0.2


def test_the_order_of_words_does_not_matter_and_repeating_them_all_changes_nothing(shipped: StaticEncoder):
    once = shipped.encode_units([UnitText("", "", b"open the socket file")]).rows
    for body in (b"file socket the open", b"open the socket file\n" * 7):
        assert np.allclose(shipped.encode_units([UnitText("", "", body)]).rows, once, atol=1e-5)


def test_a_word_said_often_counts_more_but_not_so_many_times(folder: Path):
    encoder = StaticEncoder(folder)
    socket = encoder.encode_query("socket").rows[0]
    bodies = (b"socket file", b"socket socket socket file", b"socket " * 500 + b"file")
    one, three, many = encoder.encode_units([UnitText("", "", body) for body in bodies]).rows @ socket
    assert one < three < many < 0.9999


def test_only_the_end_of_a_long_path_is_read(folder: Path):
    encoder = StaticEncoder(folder)
    near_end = "/".join(["file"] * PATH_PIECES)
    long, short = encoder.encode_units([UnitText(f"socket/{near_end}", "", b""), UnitText(near_end, "", b"")]).rows
    assert np.array_equal(long, short)


def test_only_the_beginning_of_a_long_body_is_read(folder: Path):
    encoder = StaticEncoder(folder)
    body = (b"read file\n" * MAX_BODY_BYTES)[:MAX_BODY_BYTES]
    long, short = encoder.encode_units([UnitText("", "", body + b" socket" * 50), UnitText("", "", body)]).rows
    assert np.array_equal(long, short)


# Memory.

TEXTS = st.lists(st.sampled_from(["read", "write", "file", "parser", "parse", "socket", "retry", "nothing", "\0", "?"]), max_size=12)


@settings(max_examples=examples(40), deadline=None)
@given(bodies=st.lists(TEXTS.map(" ".join), min_size=1, max_size=8), gathered=st.integers(1, 6), known=st.integers(1, 4))
def test_how_much_is_held_at_a_time_and_remembered_does_not_change_a_row(
    lasting_folder: Path, bodies: list[str], gathered: int, known: int
):
    units = [UnitText(body, body, body.encode()) for body in bodies]
    plain = StaticEncoder(lasting_folder).encode_units(units).rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "_GATHERED", gathered)
        patch.setattr(static, "MAX_CACHED_WORDS", known)
        short_of_memory = StaticEncoder(lasting_folder)
        for _ in range(2):
            assert np.array_equal(short_of_memory.encode_units(units).rows, plain)


# The model itself.


def test_the_shipped_model_is_small():
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= MOST_BYTES


def test_the_shipped_model_has_every_file_that_is_read():
    assert set(FILES) <= {path.name for path in MODEL.iterdir()}


def test_a_model_in_another_folder_has_its_own_fingerprint_and_width(folder: Path):
    encoder = StaticEncoder(folder)
    assert (encoder.fingerprint, encoder.width, encoder.name, encoder.late) == ("tiny-1", 16, "shipped", False)


@pytest.mark.parametrize("name", FILES)
def test_a_model_that_lacks_a_file_cannot_be_had_and_says_so_in_one_line(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(ModelUnavailable, match="install whence again") as refused:
        StaticEncoder(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["vectors.npy", "weights.npy", "fields.npy"])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"not an array at all"], ids=["empty", "cut", "text"])
def test_a_damaged_table_cannot_be_had_either(folder: Path, name: str, content: bytes):
    (folder / name).write_bytes(content)
    with pytest.raises(ModelUnavailable, match="install whence again"):
        StaticEncoder(folder)


def test_tables_that_do_not_belong_together_are_refused(folder: Path):
    np.save(folder / "weights.npy", np.ones((3, len(PIECES) - 2), np.float32))
    with pytest.raises(ModelUnavailable, match="install whence again"):
        StaticEncoder(folder).encode_query("retry backoff")
