"""Sentence encoders in ONNX form: one vector for a text, pooled from those of its tokens.

A model is a directory, or a hub id that `whence model get` has downloaded: its network, `tokenizer.json`, and how it
wants its texts, in the files that sentence-transformers writes or in the table of known models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import Array, UnitText, Vectors, unit_length
from whence.embed.hub import check_download, fingerprint_of, local_directory, model_errors
from whence.embed.network import TOKENIZER, TokenNetwork, Tokens, text_of
from whence.text.tables import content_lines

#: Counts the changes of how texts are given to the model; one more makes all vectors anew.
FORM = "sentence-1"
CLS, MEAN = "cls", "mean"
#: Networks in whole numbers first: a quarter of the size, twice as fast.
WEIGHTS = tuple(f"{folder}{name}.onnx" for name in ("model_int8", "model_quantized", "model") for folder in ("", "onnx/"))
_POOLING, _PROMPTS, _LENGTHS = "1_Pooling/config.json", "config_sentence_transformers.json", "sentence_bert_config.json"
_NETWORK, _TOKENS = "config.json", "tokenizer_config.json"
CONFIGURATION = (_POOLING, _PROMPTS, _LENGTHS, _NETWORK, _TOKENS)
#: What models call the prompt of a text that may answer.
_DOCUMENT_PROMPTS = ("document", "passage")
#: Tokens of a text where no file says how many the model reads, and at least: a first, a last and one of the text's own.
_LENGTH, _SHORTEST = 512, 3


class KnownModel(NamedTuple):
    """A row of the table of models."""

    name: str
    hub_id: str
    pooling: str
    query_prefix: str
    document_prefix: str
    licence: str


@cache
def known_models() -> Mapping[str, KnownModel]:
    """The table of models, by name."""
    rows = [KnownModel(*map(str.strip, line.split("|"))) for line in content_lines(Path(__file__).with_name("models.txt"))]
    return {row.name: row for row in rows}


def hub_id_of(model: str) -> str:
    """Where a model is published that is named as in the table; any other name as it is."""
    return known_models()[model].hub_id if model in known_models() and not Path(model).is_dir() else model


def find_model(model: str) -> Path | None:
    """The directory of a model that is on this machine."""
    try:
        return local_directory(hub_id_of(model), (TOKENIZER, WEIGHTS), CONFIGURATION, download=False)
    except ModelUnavailable:
        return None


def download_model(model: str) -> Path:
    """The directory of a model after a download, its files compared with their checksums."""
    directory = local_directory(hub_id_of(model), (TOKENIZER, WEIGHTS), CONFIGURATION, progress=True)
    check_download(hub_id_of(model), directory)
    return directory


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model wants its texts."""

    pooling: str = MEAN
    query_prefix: str = ""
    document_prefix: str = ""
    length: int = _LENGTH

    @classmethod
    def of(cls, model: str, directory: Path) -> Recipe:
        """The recipe in a model's directory; what it does not say is looked up by the model's name."""
        known = known_models().get(model.rstrip("/").rpartition("/")[2])
        found = {name: _read(model, directory, name) for name in CONFIGURATION}
        with model_errors(model, "its configuration"):
            pooling, prompts = found[_POOLING], found[_PROMPTS].get("prompts") or {}
            document = next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), None)
            lengths = (
                found[_LENGTHS].get("max_seq_length"),
                found[_TOKENS].get("model_max_length"),
                found[_NETWORK].get("max_position_embeddings"),
            )
            return cls(
                _pooling(model, pooling) if pooling else known.pooling if known else MEAN,
                _prefix(prompts.get("query"), known.query_prefix if known else ""),
                _prefix(document, known.document_prefix if known else ""),
                max(_SHORTEST, min([_LENGTH, *(int(one) for one in lengths if one)])),
            )


def _read(model: str, directory: Path, name: str) -> dict[str, Any]:
    if not (directory / name).is_file():
        return {}
    with model_errors(model, name):
        return dict(json.loads((directory / name).read_text(encoding="utf-8")))


def _pooling(model: str, configured: Mapping[str, Any]) -> str:
    if configured.get("pooling_mode_cls_token"):
        return CLS
    if configured.get("pooling_mode_mean_tokens"):
        return MEAN
    raise ModelUnavailable(f"model {model}: it is pooled neither by mean nor by its first token", hint="choose another model")


def _prefix(configured: str | None, known: str) -> str:
    return configured if configured is not None else f"{known} " if known else ""


class SentenceEncoder:
    """Loads a model from a directory or an earlier download; runs it on the processor."""

    late = False
    noise = 0.0

    def __init__(self, model: str, length: int | None = None, threads: int = 2) -> None:
        """`length` is the most tokens of a text, where that is to be less than the model reads."""
        directory = local_directory(hub_id_of(model), (TOKENIZER, WEIGHTS), CONFIGURATION, download=False)
        self.name = model
        self.recipe = Recipe.of(model, directory)
        self._length = min(self.recipe.length, length or self.recipe.length)
        weights = next(name for name in WEIGHTS if (directory / name).is_file())
        self._network = TokenNetwork(model, directory, weights, threads)
        files = [*CONFIGURATION, TOKENIZER, weights]
        self.fingerprint = f"onnx-{fingerprint_of(directory, files, f'{FORM} {self.recipe}')}-{self._length}"
        self.width = len(self._row("a text, to see that there is a vector for one"))

    def encode_query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self._vectors([self.recipe.query_prefix + text if text.strip() else ""])

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """A vector for each unit."""
        return self._vectors([self._text(unit) for unit in units])

    def count(self, unit: UnitText) -> int:
        """How many tokens of a unit are read."""
        return len(self._network.ids(self._text(unit), self._length))

    def _text(self, unit: UnitText) -> str:
        text = text_of(unit)
        return self.recipe.document_prefix + text if text.strip() else ""

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        rows = [self._row(text) for text in texts]
        return Vectors.one_per_text(unit_length(np.array(rows, np.float32).reshape(len(rows), self.width)))

    def _row(self, text: str) -> Array:
        """The vector of a text, of any length; zeros where it says nothing."""
        ids = self._network.ids(text, self._length)
        if not ids:
            return np.zeros(self.width, np.float32)
        rows = self._network.run(Tokens(ids, len(ids)))
        return np.asarray(rows[0] if self.recipe.pooling == CLS else rows.mean(axis=0))
