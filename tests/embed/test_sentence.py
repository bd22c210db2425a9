"""Sentence encoders, with tiny models that the real libraries load: pooling, prefixes, lengths, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embed.tiny_models import TinyLate, late_model, quantized, sentence_model
from whence.core.errors import ModelUnavailable
from whence.embed.encoder import UnitText
from whence.embed.sentence import Recipe, SentenceEncoder, known_models


def pooled(tiny: TinyLate, text: str, pooling: str = "mean_tokens") -> np.ndarray:
    """What must come out for some words."""
    tokens = ["[CLS]", *text.split(), "[SEP]"]
    found = tiny.table[[tiny.ids[token] for token in tokens]]
    rows = (found + found.mean(axis=0)) @ tiny.projection
    row = rows[0] if pooling == "cls_token" else rows.mean(axis=0)
    return row / np.linalg.norm(row)


def code(body: str) -> UnitText:
    return UnitText("", "", body.encode())


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_a_text_is_pooled_as_its_model_says(tmp_path: Path, pooling: str):
    tiny = sentence_model(tmp_path / "model", pooling=pooling)
    found = SentenceEncoder(str(tiny.directory)).encode_query("socket tree").rows
    assert np.allclose(found, [pooled(tiny, "read socket tree", pooling)], atol=1e-5)


def test_questions_and_texts_get_the_prefix_of_their_kind(tmp_path: Path):
    tiny = sentence_model(tmp_path / "model", pooling="mean_tokens")
    encoder = SentenceEncoder(str(tiny.directory))
    assert np.allclose(encoder.encode_query("socket").rows, [pooled(tiny, "read socket")], atol=1e-5)
    assert np.allclose(encoder.encode_units([code("socket")]).rows, [pooled(tiny, "file Code : socket")], atol=1e-5)


def test_a_text_is_cut_at_the_length_that_its_model_reads_or_at_a_smaller_one(tmp_path: Path):
    tiny = sentence_model(tmp_path / "model", pooling="mean_tokens", length=6)
    whole, cut = SentenceEncoder(str(tiny.directory)), SentenceEncoder(str(tiny.directory), 5)
    assert np.allclose(whole.encode_query("a b c path name").rows, [pooled(tiny, "read a b c")], atol=1e-5)
    assert np.allclose(cut.encode_query("a b c path name").rows, [pooled(tiny, "read a b")], atol=1e-5)
    assert whole.fingerprint != cut.fingerprint


def test_what_a_text_costs_is_its_tokens(tmp_path: Path):
    encoder = SentenceEncoder(str(sentence_model(tmp_path / "model", pooling="mean_tokens").directory))
    assert encoder.count(code("socket tree")) == len("[CLS] file Code : socket tree [SEP]".split())


def test_a_network_in_whole_numbers_gives_a_text_the_same_vector_alone_and_among_others(tmp_path: Path):
    encoder = SentenceEncoder(str(quantized(sentence_model(tmp_path / "model", pooling="mean_tokens")).directory))
    units = [code("socket"), code("read file open close token path name body " * 3), code("tree a b c")]
    together = encoder.encode_units(units).rows
    assert np.array_equal(together, np.concatenate([encoder.encode_units([one]).rows for one in units]))


def test_the_network_may_lie_where_exporters_put_it(tmp_path: Path):
    tiny = sentence_model(tmp_path / "model", pooling="mean_tokens")
    (tiny.directory / "onnx").mkdir()
    (tiny.directory / "model.onnx").rename(tiny.directory / "onnx" / "model_quantized.onnx")
    assert SentenceEncoder(str(tiny.directory)).encode_query("tree").rows.any()


def test_a_known_model_that_says_nothing_of_itself_is_read_as_the_table_says(tmp_path: Path):
    late_model(tmp_path / "bge-small-en-v1.5", None)
    known = known_models()["bge-small-en-v1.5"]
    assert Recipe.of(str(tmp_path / known.name), tmp_path / known.name) == Recipe("cls", f"{known.query_prefix} ", "", 512)


def test_an_unknown_model_that_says_nothing_of_itself_is_pooled_by_mean_without_prefixes(tmp_path: Path):
    late_model(tmp_path / "model", None)
    assert Recipe.of(str(tmp_path / "model"), tmp_path / "model") == Recipe("mean", "", "", 512)


def test_a_model_whose_pooling_we_cannot_do_is_refused_in_one_line(tmp_path: Path):
    tiny = sentence_model(tmp_path / "model", pooling="max_tokens")
    with pytest.raises(ModelUnavailable, match="pooled neither by mean nor by its first token"):
        SentenceEncoder(str(tiny.directory))


@pytest.mark.parametrize("name", ["config_sentence_transformers.json", "1_Pooling/config.json", "tokenizer.json", "model.onnx"])
def test_a_damaged_file_is_named_in_one_line(tmp_path: Path, name: str):
    tiny = sentence_model(tmp_path / "model", pooling="mean_tokens")
    (tiny.directory / name).write_text("{")
    with pytest.raises(ModelUnavailable, match=name):
        SentenceEncoder(str(tiny.directory))


def test_nothing_is_downloaded_without_being_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="whence model get") as refused:
        SentenceEncoder("gte-small")
    assert "not on this machine" in str(refused.value)


def test_every_known_model_says_where_it_is_published_how_it_is_pooled_and_under_which_licence():
    assert all(one.hub_id.count("/") == 1 and one.pooling in {"mean", "cls"} and one.licence for one in known_models().values())


def test_a_length_that_is_no_number_is_an_error_in_one_line(tmp_path: Path):
    tiny = sentence_model(tmp_path / "model", pooling="mean_tokens")
    (tiny.directory / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": "long"}))
    with pytest.raises(ModelUnavailable, match="its configuration"):
        SentenceEncoder(str(tiny.directory))
