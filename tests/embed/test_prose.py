"""The encoder of prose: what it knows of everyday words, what it skips, and a model that is not whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from small_cases import each
from whence.core.errors import ModelUnavailable
from whence.embed.encoder import UnitText
from whence.embed.prose import MODEL, UNKNOWN, ProseEncoder

#: What the package may spend on this model.
MOST_BYTES = 6_000_000
FILES = ("vectors.npy", "weights.npy", "vocabulary.txt", "fingerprint.txt")


@pytest.fixture(scope="module")
def prose() -> ProseEncoder:
    return ProseEncoder()


def tiny_model(place: Path) -> Path:
    """A model of four words, in the files that the shipped one has."""
    np.save(place / "vectors.npy", np.array([[127, 0], [0, 127], [90, 90], [-127, 0]], np.int8))
    np.save(place / "weights.npy", np.array([[1 / 127, 1 / 127, 1 / np.hypot(90, 90), 1 / 127], [1, 2, 1, 0]], np.float32))
    (place / "vocabulary.txt").write_text("dog\nbake\npie\nthe")
    (place / "fingerprint.txt").write_text("tiny-1\n")
    return place


def near(encoder: ProseEncoder, question: str, *texts: str) -> list[float]:
    """How similar some texts are to a question."""
    return (encoder.encode_units([body(text) for text in texts]).rows @ encoder.encode_query(question).rows[0]).tolist()


def body(text: str) -> UnitText:
    return UnitText("", "", text.encode())


# What it means.


@each(
    ("question", "wanted", "other"),
    [
        ("Which pets does she have?", "Our puppy and the old cat sleep on the sofa.", "The train to the coast was late again."),
        ("What are his hobbies?", "Most weekends I go hiking or paint.", "The invoice was sent to the bank on Monday."),
        ("Where did they go on holiday?", "We spent a week at the beach in Spain.", "The dentist gave me a new toothbrush."),
        (
            "Why was the deployment rolled back?",
            "The release broke the server, so we reverted it.",
            "She bakes bread with her grandmother.",
        ),
        ("Who fell ill?", "Tom caught the flu and is in hospital.", "Tom bought a guitar and a drum."),
    ],
)
def test_a_note_that_shares_no_word_with_the_question_is_nearer_than_one_about_something_else(prose, question, wanted, other):
    right, wrong = near(prose, question, wanted, other)
    assert right > wrong + 0.1


@each("word", ["grandmother", "pottery", "hiking", "wedding", "kubernetes", "async", "refactor", "database"])
def test_everyday_words_and_those_of_software_are_known(prose, word):
    assert prose.rows_of([word])[0] != UNKNOWN


def test_likeness_above_the_noise_means_something(prose):
    related, unrelated = near(prose, "her dog", "the puppy barked", "interest rates were raised")
    assert related > prose.noise > unrelated


# What it reads.


def test_only_the_body_is_read(prose):
    one, other = prose.encode_units([UnitText("pets/dog.md", "Dog", b"a cake"), UnitText("", "", b"a cake")]).rows
    assert one.tolist() == other.tolist()


def test_identifiers_are_read_as_their_parts(prose):
    whole, parted = prose.encode_units([body("parseRequest HTTPServer"), body("parse request http server")]).rows
    assert whole == pytest.approx(parted, abs=1e-6)


def test_a_text_is_the_weighted_sum_of_its_words_at_length_one(tmp_path):
    encoder = ProseEncoder(tiny_model(tmp_path))
    assert encoder.encode_query("Dog, bake! The dog?").rows[0] == pytest.approx(np.array([2, 2]) / np.sqrt(8), abs=1e-3)


def test_a_text_without_known_words_says_nothing(tmp_path):
    encoder = ProseEncoder(tiny_model(tmp_path))
    found = encoder.encode_units([body("dog"), body(""), body("the xyzzy 42"), UnitText("", "", b"\xff\xfe"), body("pie")])
    assert np.linalg.norm(found.rows, axis=1) == pytest.approx([1, 0, 0, 0, 1], abs=1e-3)
    assert found.starts.tolist() == [0, 1, 2, 3, 4, 5]
    assert encoder.encode_units([]).rows.shape == (0, 2)


def test_many_long_texts_at_once_are_read_like_each_alone(prose):
    texts = [body("garden bread music " * size + "river") for size in (1, 9_000, 0, 300, 7_000)]
    alone = np.concatenate([prose.encode_units([text]).rows for text in texts])
    assert prose.encode_units(texts).rows == pytest.approx(alone, abs=1e-4)


# Single words.


def test_words_can_be_compared_one_by_one(prose):
    vectors = prose.vectors_at(prose.rows_of(["violin", "instrument", "taxes"]))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-3)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_unknown_words_have_no_vector_and_no_weight(prose):
    rows = prose.rows_of(["xqzzyv", "dog", ""])
    assert rows.tolist()[0] == rows.tolist()[2] == UNKNOWN
    assert np.linalg.norm(prose.vectors_at(rows), axis=1) == pytest.approx([0, 1, 0], abs=1e-3)
    assert prose.weights_at(rows)[0] == 0 < prose.weights_at(rows)[1]


def test_a_form_that_is_not_in_the_table_stands_for_the_one_that_is(tmp_path):
    encoder = ProseEncoder(tiny_model(tmp_path))
    assert encoder.rows_of(["baked", "baking", "bakes"]).tolist() == [1, 1, 1]
    assert encoder.rows_of(["pies", "dogs"]).tolist() == [UNKNOWN, UNKNOWN], "too short to be sure"


def test_words_without_content_do_not_count(prose):
    assert prose.weights_at(prose.rows_of(["the", "and", "what", "did"])).tolist() == [0, 0, 0, 0]


def test_names_of_people_do_not_count_but_places_and_plants_do(prose):
    assert prose.weights_at(prose.rows_of(["john", "maria", "stuart"])).tolist() == [0, 0, 0]
    assert (prose.weights_at(prose.rows_of(["venice", "ginger", "ruby", "paris"])) > 0).all()


# The files.


def test_the_model_is_small():
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= MOST_BYTES


def test_the_model_says_where_it_comes_from():
    card = (MODEL / "CARD.md").read_text(encoding="utf-8")
    assert "Apache-2.0" in card
    assert "WordNet" in card


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_one_line(tmp_path, name):
    (tiny_model(tmp_path) / name).unlink()
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        ProseEncoder(tmp_path)


def test_tables_of_different_length_are_refused(tmp_path):
    (tiny_model(tmp_path) / "vocabulary.txt").write_text("dog\nbake")
    with pytest.raises(ModelUnavailable, match="do not belong together"):
        ProseEncoder(tmp_path)


def test_opening_it_loads_no_library_for_training():
    code = "import sys; from whence.embed.prose import ProseEncoder; ProseEncoder().encode_query('dog'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {"torch", "tokenizers", "onnxruntime"}.isdisjoint(loaded)
