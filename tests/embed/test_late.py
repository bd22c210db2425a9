"""Late interaction, with tiny models that the real libraries load: rows, markers, lengths, and what can go wrong."""

from __future__ import annotations

import json
import os
import shutil
import string
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embed.tiny_models import OPEN_LATE, RECIPE, WIDTH, WORDS, TinyLate, late_model, quantized, said_by, save_network
from small_cases import each
from whence.core.errors import ModelUnavailable
from whence.embed.encoder import UnitText
from whence.embed.late import LateEncoder
from whence.embed.network import text_of


@pytest.fixture
def tiny(tmp_path: Path) -> TinyLate:
    return late_model(tmp_path / "model")


def opened(tiny: TinyLate) -> LateEncoder:
    return LateEncoder(str(tiny.directory))


def code(body: str) -> UnitText:
    """A unit that is nothing but its code."""
    return UnitText("", "", body.encode())


def tokens(text: str, marker: str) -> list[str]:
    """The tokens of a text, marked and closed."""
    return ["[CLS]", marker, *text.split(), "[SEP]"]


def document(text: str) -> list[str]:
    return tokens(f"Code : {text}", "[D] ")


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and np.allclose(found, expected, atol=1e-5)


def test_a_model_in_a_directory_knows_its_name_its_width_and_its_kind(tiny):
    encoder = opened(tiny)
    assert (encoder.name, encoder.width, encoder.late) == (str(tiny.directory), WIDTH, True)


def test_a_question_has_a_row_for_each_token_with_its_marker_after_the_first(tiny):
    found = opened(tiny).encode_query("read file")
    assert same(found.rows, tiny.rows(["[CLS]", "[Q] ", "read", "file", "[SEP]"]))
    assert found.starts.tolist() == [0, 5]
    assert found.rows.dtype == np.float32


def test_rows_have_length_one_although_the_network_gives_others(tiny):
    lengths = np.linalg.norm(opened(tiny).encode_units([code("read file open socket")]).rows, axis=1)
    assert np.allclose(lengths, 1, atol=1e-6)


def test_tokens_of_the_skip_list_are_read_but_get_no_row_in_a_document(tiny):
    read = document("read ( file )")
    kept = [at for at, token in enumerate(read) if token not in string.punctuation]
    assert same(opened(tiny).encode_units([code("read(file)")]).rows, tiny.rows(read)[kept])


def test_a_skip_list_of_the_model_is_taken_as_it_is(tmp_path):
    tiny = late_model(tmp_path, RECIPE | {"skiplist_words": ["read", "no-such-token"]})
    read = document("read ( file )")
    kept = [at for at, token in enumerate(read) if token != "read"]
    assert same(opened(tiny).encode_units([code("read(file)")]).rows, tiny.rows(read)[kept])


def test_a_question_keeps_its_punctuation(tiny):
    assert same(opened(tiny).encode_query("read (file)").rows, tiny.rows(tokens("read ( file )", "[Q] ")))


def test_units_keep_their_order_and_their_rows_whatever_runs_beside_them(tiny):
    encoder = opened(tiny)
    units = [code(" ".join(WORDS[at : at + 1 + at % 7])) for at in range(20)]
    together = encoder.encode_units(units)
    assert len(together.starts) == len(units) + 1
    for at, unit in enumerate(units):
        alone = encoder.encode_units([unit])
        assert same(together.rows[together.starts[at] : together.starts[at + 1]], alone.rows)


def test_an_integer_model_gives_a_unit_the_same_rows_whatever_runs_beside_it(tiny):
    """Such a network scales a run by its largest number, so that a batch would change the rows of each text in it."""
    encoder = opened(quantized(tiny))
    units = [code(word) for word in WORDS]
    together = encoder.encode_units(units).rows
    assert np.array_equal(together, np.concatenate([encoder.encode_units([unit]).rows for unit in units]))


def test_a_long_document_is_cut_to_its_length_and_still_closed(tiny):
    body = " ".join(WORDS)
    expected = ["[CLS]", "[D] ", "Code", ":", *WORDS[: RECIPE["document_length"] - 5], "[SEP]"]
    kept = [at for at, token in enumerate(expected) if token != ":"]
    assert same(opened(tiny).encode_units([code(body)]).rows, tiny.rows(expected)[kept])


def test_a_long_question_is_cut_to_its_length_and_still_closed(tiny):
    expected = ["[CLS]", "[Q] ", *WORDS[: RECIPE["query_length"] - 3], "[SEP]"]
    assert same(opened(tiny).encode_query(" ".join(WORDS)).rows, tiny.rows(expected))


@pytest.mark.parametrize("attended", [False, True])
def test_a_question_is_filled_up_with_masks_when_the_model_wants_it(tmp_path, attended):
    tiny = late_model(tmp_path, RECIPE | {"do_query_expansion": True, "attend_to_expansion_tokens": attended})
    said = tokens("read file", "[Q] ")
    filled = said + ["[MASK]"] * (RECIPE["query_length"] - len(said))
    assert same(opened(tiny).encode_query("read file").rows, tiny.rows(filled, attended=None if attended else len(said)))


def test_a_document_is_never_filled_up(tmp_path):
    tiny = late_model(tmp_path, RECIPE | {"do_query_expansion": True})
    assert len(opened(tiny).encode_units([code("read")]).rows) == len(["[CLS]", "[D] ", "Code", "read", "[SEP]"])


def test_a_model_that_names_no_marker_gets_none(tmp_path):
    tiny = late_model(tmp_path, RECIPE | {"query_prefix": ""})
    assert same(opened(tiny).encode_query("read").rows, tiny.rows(["[CLS]", "read", "[SEP]"]))


def test_a_marker_can_be_given_by_its_number(tmp_path):
    tiny = late_model(tmp_path)
    (tmp_path / "onnx_config.json").write_text(json.dumps(RECIPE | {"query_prefix": "none such", "query_prefix_id": tiny.ids["[D] "]}))
    assert same(opened(tiny).encode_query("read").rows, tiny.rows(tokens("read", "[D] ")))


def test_a_model_that_was_trained_on_small_letters_gets_small_letters(tmp_path):
    tiny = late_model(tmp_path, RECIPE | {"do_lower_case": True})
    assert same(opened(tiny).encode_query("Read FILE").rows, tiny.rows(tokens("read file", "[Q] ")))
    (tmp_path / "onnx_config.json").write_text(json.dumps(RECIPE))
    assert same(opened(tiny).encode_query("Read").rows, tiny.rows(tokens("Read", "[Q] ")))


def test_a_model_without_a_recipe_is_read_as_its_exporter_would(tmp_path):
    tiny = late_model(tmp_path, None)
    encoder = opened(tiny)
    said = tokens("read", "[Q] ")
    assert same(encoder.encode_query("read").rows, tiny.rows(said + ["[MASK]"] * (48 - len(said)), attended=len(said)))
    assert len(encoder.encode_units([code("read " * 400)]).rows) == 300 - len([":"])


def test_the_recipe_for_the_network_goes_before_that_of_the_trainer(tmp_path):
    tiny = late_model(tmp_path, {"do_query_expansion": False})
    trainer = RECIPE | {"do_query_expansion": True, "query_length": 6, "document_length": None}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(trainer))
    assert len(opened(tiny).encode_query("read").rows) == len(["[CLS]", "[Q] ", "read", "[SEP]"])
    assert len(opened(tiny).encode_query("read " * 50).rows) == 6


def test_the_integer_network_is_preferred_to_the_full_one(tiny):
    other = late_model(tiny.directory, seed=1, weights="model_int8.onnx")
    assert same(opened(tiny).encode_query("read").rows, other.rows(tokens("read", "[Q] ")))


def test_a_network_that_asks_for_token_types_gets_zeros(tmp_path):
    tiny = late_model(tmp_path, token_types=True)
    assert same(opened(tiny).encode_query("read").rows, tiny.rows(tokens("read", "[Q] ")))


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_text_that_says_nothing_has_one_row_of_zeros(tiny, text):
    encoder = opened(tiny)
    assert np.array_equal(encoder.encode_query(text).rows, np.zeros((1, WIDTH)))
    found = encoder.encode_units([code("read"), code(""), code("file")])
    assert np.array_equal(found.rows[found.starts[1] : found.starts[2]], np.zeros((1, WIDTH)))


def test_no_units_have_no_rows(tiny):
    found = opened(tiny).encode_units([])
    assert found.rows.shape == (0, WIDTH)
    assert found.starts.tolist() == [0]


def test_a_body_that_is_not_utf_8_is_read_as_far_as_it_goes(tiny):
    found = opened(tiny).encode_units([UnitText("", "", b"read \xff\xfe file")])
    assert np.isfinite(found.rows).all()
    assert len(found.rows) > 4


def test_a_unit_is_told_by_its_names_then_its_place_then_its_code():
    unit = UnitText("deep/in/src/httpClient/open_socket.py", "Client connect(host)", b"\ndef connect(host):\n    pass\n")
    assert text_of(unit) == (
        "Client connect(host)\nFile: in src http client open socket open_socket.py\nCode:\ndef connect(host):\n    pass"
    )


@each("path", ["Makefile", ".gitignore", "/", "a/b.tar.gz"])
def test_every_path_can_be_told(path):
    assert text_of(UnitText(path, "", b"")).startswith("File: ")


def test_the_fingerprint_is_of_what_decides_the_rows(tiny, tmp_path):
    first = opened(tiny).fingerprint
    copy = shutil.copytree(tiny.directory, tmp_path / "copy")
    (copy / "README.md").write_text("about it")
    os.utime(copy / "model.onnx", (1, 1))
    assert LateEncoder(str(copy)).fingerprint == first
    (copy / "onnx_config.json").write_text(json.dumps(RECIPE | {"query_length": 11}))
    second = LateEncoder(str(copy)).fingerprint
    late_model(copy, RECIPE | {"query_length": 11}, seed=1)
    assert len({first, second, LateEncoder(str(copy)).fingerprint}) == 3


def without(name: str) -> Callable[[TinyLate], None]:
    return lambda tiny: (tiny.directory / name).unlink()


def holding(name: str, content: str) -> Callable[[TinyLate], None]:
    return lambda tiny: (tiny.directory / name).write_text(content) and None


def cut_short(tiny: TinyLate) -> None:
    path = tiny.directory / "model.onnx"
    path.write_bytes(path.read_bytes()[:-100])


def pooled(tiny: TinyLate) -> None:
    save_network(tiny.directory / "model.onnx", tiny.table, tiny.projection, pooled=True)


def asking_for_pictures(tiny: TinyLate) -> None:
    path = tiny.directory / "model.onnx"
    path.write_bytes(path.read_bytes().replace(b"input_ids", b"pixel_map"))


HARM = {
    "no tokenizer": (without("tokenizer.json"), "tokenizer.json"),
    "no network": (without("model.onnx"), "model_int8.onnx or model.onnx"),
    "a network that is text": (holding("model.onnx", "version https"), "model.onnx"),
    "an empty network": (holding("model_int8.onnx", ""), "model_int8.onnx"),
    "a network cut short": (cut_short, "model.onnx"),
    "a network with one row for each text": (pooled, "no vector for each token"),
    "a network with other inputs": (asking_for_pictures, "pixel_map"),
    "a tokenizer that is no JSON": (holding("tokenizer.json", "{"), "tokenizer.json"),
    "a tokenizer of no kind": (holding("tokenizer.json", '{"model": 5}'), "tokenizer.json"),
    "a recipe that is no JSON": (holding("onnx_config.json", "["), "onnx_config.json"),
    "a recipe that is a list": (holding("onnx_config.json", "[1]"), "onnx_config.json"),
    "a length in words": (holding("onnx_config.json", '{"query_length": "long"}'), "query_length"),
    "a length too short": (holding("onnx_config.json", '{"document_length": 2}'), "less than 4 tokens"),
    "a marker that the network does not know": (holding("onnx_config.json", '{"query_prefix_id": 99999}'), "the network"),
    "a skip list of numbers": (holding("onnx_config.json", '{"skiplist_words": [1]}'), "tokenizer.json"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_model_with_something_wrong_is_one_line_that_names_it(tiny, harm):
    harming, named = HARM[harm]
    harming(tiny)
    with pytest.raises(ModelUnavailable) as caught:
        opened(tiny)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400 + len(line.partition(named)[0])
    assert line.startswith(f"model {tiny.directory}: ")
    assert named in line


def test_a_directory_that_is_not_there_is_one_line_that_names_it(tmp_path):
    with pytest.raises(ModelUnavailable, match=r"^model .*nowhere: no such directory \(give a directory or a hub id"):
        LateEncoder(str(tmp_path / "nowhere"))


def test_a_broken_network_prints_nothing_of_its_own(tiny):
    cut_short(tiny)
    assert said_by(OPEN_LATE, str(tiny.directory)).count("\n") == 0


@pytest.mark.parametrize("name", ["onnxruntime", "tokenizers"])
def test_a_library_that_is_not_installed_is_one_line_with_what_to_install(tiny, name):
    said = said_by(f"sys.modules[{name!r}] = None\n{OPEN_LATE}", str(tiny.directory))
    assert said == f"model {tiny.directory}: {name} is not installed (pip install 'whence[neural]')"


def test_a_library_that_does_not_load_is_one_line_as_well(tiny, tmp_path):
    (tmp_path / "onnxruntime.py").write_text("raise OSError('libgomp.so.1: cannot open shared object file')")
    said = said_by(f"sys.path.insert(0, {str(tmp_path)!r})\n{OPEN_LATE}", str(tiny.directory))
    assert said == f"model {tiny.directory}: onnxruntime cannot be loaded (pip install 'whence[neural]')"


def test_importing_the_encoder_loads_none_of_its_libraries():
    heavy = {"onnxruntime", "tokenizers", "huggingface_hub"}
    said = said_by(f"import whence.embed.late\nprint(sorted({heavy!r} & set(sys.modules)))")
    assert said == "[]"
