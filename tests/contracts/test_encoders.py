"""What every encoder must keep to, whatever is in it: the shipped one, late interaction, a model2vec model, a sentence encoder."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from embed.tiny_models import late_model, model2vec_model, said_by, sentence_model
from whence.embed.encoder import LATE, MODEL2VEC, ONNX, SHIPPED, Encoder, UnitText, Vectors, open_encoder
from whence.embed.late import LateEncoder
from whence.embed.model2vec import Model2VecEncoder
from whence.embed.prose import ProseEncoder
from whence.embed.sentence import SentenceEncoder
from whence.embed.static import StaticEncoder

KINDS = ("shipped", "late", "model2vec", "sentence")
PLAIN = [
    UnitText("src/lib/read.py", "read file", b"def read(path):\n    file = open(path)\n    return file\n"),
    UnitText("src/main.go", "main", b"socket.write(body)\n"),
    UnitText("lib/tree.rs", "parse token", b"parse the token tree\n" * 30),
]
#: Everything a tree can hold, and some that it cannot.
ODD = [
    UnitText("", "", b""),
    UnitText("", "", b"\0"),
    UnitText("a\0b.py", "na\0me", b"read\0file\0\0open"),
    UnitText("caf\udce9/\udcff.py", "\udc80 name", b"\xff\xfe read \xc3\x28 file \x80"),
    UnitText("two\nlines.py", "\r\n\t", b"\r\r\r"),
    UnitText("a/b/c/" * 400 + "read.py", "name " * 2000, b"file"),
    UnitText("lib/line.js", "", b"x" * 100_000),
    UnitText("lib/words.js", "", b"read file open " * 7_000),
    UnitText("", "", "читать файл 読む ファイル größe 👩‍💻".encode()),
    UnitText("...", "!!!", b"(){}[];:,.<>?!@#$%^&*"),
    UnitText("e.py", "", b" \n" * 50_000),
]
QUESTIONS = ["read file", "", " ", "\0", "?!(", "читать", "\udcff read", "read\0file", "read file " * 10_000, "x" * 100_000]
FRESH = """
from hashlib import blake2b
from whence.embed.encoder import UnitText
from whence.embed.encoder import open_encoder
encoder = open_encoder(sys.argv[1])
units = [UnitText("src/lib/read.py", "read file", b"def read(path): return open(path)"), UnitText("a.go", "main", b"socket write body name")]
digest = blake2b(encoder.encode_units(units).rows.tobytes())
digest.update(encoder.encode_query("parse the token tree").rows.tobytes())
print(encoder.fingerprint, digest.hexdigest())
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of each kind that is not shipped."""
    place = tmp_path_factory.mktemp("models")
    for seed in (0, 1):
        late_model(place / f"late{seed}", seed=seed)
        model2vec_model(place / f"model2vec{seed}", seed=seed)
        sentence_model(place / f"sentence{seed}", seed=seed, pooling="mean_tokens")
    return place


@pytest.fixture(scope="module", params=(*KINDS, "prose"))
def encoder(request: pytest.FixtureRequest, models: Path) -> Encoder:
    return opened(request.param, models)


def opened(kind: str, models: Path, number: int = 0) -> Encoder:
    """A model that nobody has opened before."""
    if kind in ("shipped", "prose"):
        return StaticEncoder() if kind == "shipped" else ProseEncoder()
    kinds = {"late": LateEncoder, "model2vec": Model2VecEncoder, "sentence": SentenceEncoder}
    return kinds[kind](str(models / f"{kind}{number}"))


def name_of(kind: str, models: Path) -> str:
    return SHIPPED if kind == "shipped" else {"late": LATE, "model2vec": MODEL2VEC, "sentence": ONNX}[kind] + f"{models}/{kind}0"


def each(found: Vectors) -> Iterator[np.ndarray]:
    """The rows of each text."""
    for start, end in zip(found.starts[:-1], found.starts[1:], strict=True):
        yield found.rows[start:end]


def similar(question: Vectors, rows: np.ndarray) -> float:
    """The best row for each row of a question, on average."""
    return float((rows @ question.rows.T).max(axis=0).mean())


def keeps_its_word(found: Vectors, texts: int, width: int) -> bool:
    """Whether vectors are what the seam promises, for so many texts."""
    lengths = np.linalg.norm(found.rows, axis=1)
    sizes = np.diff(found.starts)
    assert found.rows.dtype == np.float32
    assert found.rows.shape == (int(found.starts[-1]), width)
    assert len(found.starts) == texts + 1
    assert found.starts[0] == 0
    assert (sizes >= 1).all()
    assert np.isfinite(found.rows).all()
    assert (np.isclose(lengths, 1, atol=1e-4) | (lengths == 0)).all()
    return True


def test_rows_have_length_one_or_say_nothing_and_every_text_has_one(encoder: Encoder):
    assert keeps_its_word(encoder.encode_units([*PLAIN, *ODD]), len(PLAIN) + len(ODD), encoder.width)


@pytest.mark.parametrize("at", range(len(ODD)))
def test_an_odd_text_alone_keeps_to_it_too(encoder: Encoder, at: int):
    assert keeps_its_word(encoder.encode_units([ODD[at]]), 1, encoder.width)


@pytest.mark.parametrize("text", QUESTIONS, ids=range(len(QUESTIONS)))
def test_any_question_is_one_text_with_rows_as_wide_as_those_of_units(encoder: Encoder, text: str):
    assert keeps_its_word(encoder.encode_query(text), 1, encoder.width)


def test_no_units_have_no_rows(encoder: Encoder):
    found = encoder.encode_units([])
    assert found.rows.shape == (0, encoder.width)
    assert found.starts.tolist() == [0]


def test_a_text_that_says_nothing_is_a_single_row_of_zeros(encoder: Encoder):
    assert not encoder.encode_units([UnitText("", "", b"")]).rows.any()
    assert not encoder.encode_query("").rows.any()
    assert len(encoder.encode_query("").rows) == 1


def test_a_text_that_says_something_is_not_all_zeros(encoder: Encoder):
    assert all(rows.any() for rows in each(encoder.encode_units(PLAIN)))
    assert encoder.encode_query("read file").rows.any()


def test_only_a_late_encoder_has_several_rows_for_a_text(encoder: Encoder):
    sizes = np.diff(encoder.encode_units(PLAIN).starts)
    assert sizes.max() > 1 if encoder.late else (sizes == 1).all()


def test_a_text_alone_has_the_rows_it_has_among_others(encoder: Encoder):
    texts = [*PLAIN, *ODD, *PLAIN]
    for text, among in zip(texts, each(encoder.encode_units(texts)), strict=True):
        alone = encoder.encode_units([text]).rows
        assert alone.shape == among.shape
        assert np.allclose(alone, among, atol=1e-5)


@settings(max_examples=examples(30), deadline=None)
@given(texts=st.lists(st.builds(UnitText, st.text(max_size=30), st.text(max_size=30), st.binary(max_size=80)), max_size=6))
def test_whatever_stands_in_a_text_its_rows_are_its_own(encoder: Encoder, texts: list[UnitText]):
    found = encoder.encode_units(texts)
    assert keeps_its_word(found, len(texts), encoder.width)
    for text, among in zip(texts, each(found), strict=True):
        assert np.allclose(encoder.encode_units([text]).rows, among, atol=1e-5)


def test_what_was_encoded_before_changes_nothing(encoder: Encoder):
    before = encoder.encode_units(PLAIN).rows, encoder.encode_query("read file").rows
    encoder.encode_units(ODD)
    for text in QUESTIONS:
        encoder.encode_query(text)
    after = encoder.encode_units(PLAIN).rows, encoder.encode_query("read file").rows
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_an_encoder_says_below_which_similarity_likeness_is_chance(encoder: Encoder):
    assert 0 <= encoder.noise < 1


def test_words_of_a_question_are_nearer_to_a_text_that_holds_them(encoder: Encoder):
    question = encoder.encode_query("read file")
    holds, does_not = each(encoder.encode_units([UnitText("", "", b"read file"), UnitText("", "", b"socket tree")]))
    assert similar(question, holds) > similar(question, does_not)


@pytest.mark.parametrize("kind", KINDS)
def test_other_processes_get_the_same_vectors_to_the_last_bit(kind: str, models: Path):
    said = [said_by(FRESH, name_of(kind, models), PYTHONHASHSEED=seed) for seed in ("1", "2")]
    encoder = opened(kind, models)
    units = [
        UnitText("src/lib/read.py", "read file", b"def read(path): return open(path)"),
        UnitText("a.go", "main", b"socket write body name"),
    ]
    digest = blake2b(encoder.encode_units(units).rows.tobytes())
    digest.update(encoder.encode_query("parse the token tree").rows.tobytes())
    assert said == [f"{encoder.fingerprint} {digest.hexdigest()}"] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_fingerprint_is_one_word_that_stays(kind: str, models: Path):
    first, second = opened(kind, models), opened(kind, models)
    first.encode_units(PLAIN)
    assert first.fingerprint == second.fingerprint
    assert len(first.fingerprint.split()) == 1


def test_every_model_has_a_fingerprint_of_its_own(models: Path):
    every = [
        opened("shipped", models),
        opened("prose", models),
        *(opened(kind, models, number) for kind in KINDS[1:] for number in (0, 1)),
    ]
    assert len({encoder.fingerprint for encoder in every}) == len(every)


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_opened_by_name_is_called_as_the_user_called_it_and_opened_once(kind: str, models: Path):
    name = name_of(kind, models)
    found = open_encoder(name)
    assert found is not None
    assert found.name == name
    assert open_encoder(name) is found
