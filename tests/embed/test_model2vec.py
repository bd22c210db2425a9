"""Static models of the model2vec library: three fields, identifiers in words, and what can go wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embed.tiny_models import WIDTH, WORDS, TinyStatic, model2vec_model, said_by, tiny_hub
from whence.core.errors import ModelUnavailable
from whence.embed.encoder import UnitText
from whence.embed.model2vec import Model2VecEncoder

OPEN = """
from whence.embed.model2vec import Model2VecEncoder
try:
    print(Model2VecEncoder(sys.argv[1]).encode_query("read file").rows.shape)
except ModelUnavailable as error:
    print(error)
"""


@pytest.fixture
def tiny(tmp_path: Path) -> TinyStatic:
    return model2vec_model(tmp_path / "model")


def opened(tiny: TinyStatic) -> Model2VecEncoder:
    return Model2VecEncoder(str(tiny.directory))


def normalised(row: np.ndarray) -> np.ndarray:
    return row / np.linalg.norm(row)


def test_a_model_in_a_directory_knows_its_name_its_width_and_its_kind(tiny):
    encoder = opened(tiny)
    assert (encoder.name, encoder.width, encoder.late) == (str(tiny.directory), WIDTH, False)


def test_a_question_is_the_mean_of_its_words_in_one_row(tiny):
    found = opened(tiny).encode_query("open the file, then parse it")
    assert np.allclose(found.rows, [tiny.mean("open file parse")], atol=1e-6)
    assert found.starts.tolist() == [0, 1]
    assert found.rows.dtype == np.float32


@pytest.mark.parametrize("text", ["readFile", "read_file", "ReadFile()", "READ_FILE", "read.file"])
def test_an_identifier_means_the_same_as_its_words(tiny, text):
    assert np.allclose(opened(tiny).encode_query(text).rows, [tiny.mean("read file")], atol=1e-6)


def test_single_letters_say_nothing(tiny):
    assert np.allclose(opened(tiny).encode_query("a read b").rows, [tiny.mean("read")], atol=1e-6)


def test_a_unit_is_the_weighted_sum_of_its_path_its_names_and_its_body(tiny):
    unit = UnitText("src/lib/main.py", "parseTree", b"open(token)\nclose(token)\n")
    expected = normalised(
        1.0 * tiny.mean("src lib main py") + 1.2 * tiny.mean("parse tree") + 1.7 * tiny.mean("open token close token"),
    )
    assert np.allclose(opened(tiny).encode_units([unit]).rows, [expected], atol=1e-6)


def test_a_field_that_says_nothing_leaves_the_others_as_they_are(tiny):
    unit = UnitText("unknown/words", "parse", b"")
    assert np.allclose(opened(tiny).encode_units([unit]).rows, [tiny.mean("parse")], atol=1e-6)


def test_a_long_body_does_not_drown_the_path(tiny):
    short, long = (UnitText("socket.py", "", b"token tree " * times) for times in (1, 200))
    found = opened(tiny).encode_units([short, long]).rows
    assert np.allclose(found[0], found[1], atol=1e-5)


def test_of_a_deep_path_the_words_nearest_to_the_file_count(tiny):
    deep = "/".join(["src"] * 30 + ["lib"] * 23 + ["main"])
    found = opened(tiny).encode_units([UnitText(deep, "", b"")])
    assert np.allclose(found.rows, [tiny.mean("lib " * 23 + "main")], atol=1e-6)


def test_a_text_without_a_known_word_has_a_row_of_zeros(tiny):
    encoder = opened(tiny)
    assert np.array_equal(encoder.encode_query("").rows, np.zeros((1, WIDTH)))
    assert np.array_equal(encoder.encode_query("unheard of").rows, np.zeros((1, WIDTH)))
    assert np.array_equal(encoder.encode_units([UnitText("", "", b"")]).rows, np.zeros((1, WIDTH)))


def test_no_units_have_no_rows(tiny):
    found = opened(tiny).encode_units([])
    assert found.rows.shape == (0, WIDTH)
    assert found.starts.tolist() == [0]


def test_units_keep_their_order_and_their_rows_whatever_is_encoded_beside_them(tiny):
    encoder = opened(tiny)
    several = [UnitText(f"{word}.py", word, " ".join(WORDS[at:]).encode()) for at, word in enumerate(WORDS)]
    units = several * 60  # more than are encoded at a time
    found = encoder.encode_units(units)
    alone = np.concatenate([encoder.encode_units([unit]).rows for unit in several])
    assert np.allclose(found.rows, np.tile(alone, (60, 1)), atol=1e-6)
    assert found.starts.tolist() == list(range(len(units) + 1))


def test_a_body_that_is_not_utf_8_is_read_as_far_as_it_goes(tiny):
    found = opened(tiny).encode_units([UnitText("", "", b"read \xff\xfe file")])
    assert np.allclose(found.rows, [tiny.mean("read file")], atol=1e-6)


def test_the_fingerprint_is_of_what_decides_the_rows(tiny, tmp_path):
    first = opened(tiny).fingerprint
    copy = shutil.copytree(tiny.directory, tmp_path / "copy")
    (copy / "README.md").write_text("about it")
    os.utime(copy / "model.safetensors", (1, 1))
    assert Model2VecEncoder(str(copy)).fingerprint == first
    model2vec_model(copy, seed=1)
    assert Model2VecEncoder(str(copy)).fingerprint != first


def without(name: str) -> Callable[[TinyStatic], None]:
    return lambda tiny: (tiny.directory / name).unlink()


def holding(name: str, content: str) -> Callable[[TinyStatic], None]:
    return lambda tiny: (tiny.directory / name).write_text(content) and None


def cut_short(tiny: TinyStatic) -> None:
    path = tiny.directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def with_too_few_vectors(tiny: TinyStatic) -> None:
    from safetensors.numpy import save_file

    save_file({"embeddings": np.ones((3, WIDTH), np.float32)}, tiny.directory / "model.safetensors")


HARM = {
    "no tokenizer": (without("tokenizer.json"), "tokenizer.json"),
    "no vectors": (without("model.safetensors"), "model.safetensors"),
    "no configuration": (without("config.json"), "static model"),
    "a tokenizer that is no JSON": (holding("tokenizer.json", "{"), "static model"),
    "vectors that are text": (holding("model.safetensors", "version https"), "static model"),
    "vectors cut short": (cut_short, "static model"),
    "fewer vectors than words": (with_too_few_vectors, "static model"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_model_with_something_wrong_is_one_line_that_names_it(tiny, harm):
    harming, named = HARM[harm]
    harming(tiny)
    with pytest.raises(ModelUnavailable) as caught:
        opened(tiny)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"model {tiny.directory}: ")
    assert named in line


def test_a_directory_that_is_not_there_is_one_line_that_names_it(tmp_path):
    with pytest.raises(ModelUnavailable, match=r"^model .*nowhere: no such directory \(give a directory or a hub id"):
        Model2VecEncoder(str(tmp_path / "nowhere"))


def test_a_library_that_is_not_installed_is_one_line_with_what_to_install(tiny):
    said = said_by(f"sys.modules['model2vec'] = None\n{OPEN}", str(tiny.directory))
    assert said == f"model {tiny.directory}: model2vec is not installed (pip install 'whence[model2vec]')"


def test_a_model_is_downloaded_once_and_then_kept(tmp_path):
    model2vec_model(tmp_path / "hub/ada/tiny")
    home = str(tmp_path / "home")
    with tiny_hub(tmp_path / "hub") as (address, _):
        assert said_by(OPEN, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home) == f"(1, {WIDTH})"
    assert said_by(OPEN, "ada/tiny", HF_ENDPOINT=address, HF_HOME=home) == f"(1, {WIDTH})"


def test_a_model_that_is_not_here_and_cannot_be_fetched_is_one_line(tmp_path):
    said = said_by(OPEN, "ada/tiny", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert said.startswith("model ada/tiny: not on this machine, and downloads are switched off (")
    assert "\n" not in said


def test_importing_the_encoder_loads_none_of_its_libraries():
    heavy = {"model2vec", "tokenizers", "huggingface_hub", "safetensors"}
    assert said_by(f"import whence.embed.model2vec\nprint(sorted({heavy!r} & set(sys.modules)))") == "[]"
