"""Late interaction: a vector for each token of a text, from a ColBERT-like model in ONNX form.

A model is a directory as next-plaid exports it: `model_int8.onnx` (preferred: a quarter
of the size, half again as fast) or `model.onnx`, `tokenizer.json`, and how it wants its
texts in `onnx_config.json` or `config_sentence_transformers.json`. A text is its tokens
with a marker after the first one that says whether it asks or answers. The tokens of the
skip list, usually punctuation, are read by the model but get no row in a document.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import UnitText, Vectors, unit_length
from whence.embed.hub import fingerprint_of, local_directory, model_errors
from whence.embed.network import TOKENIZER, TokenNetwork, Tokens, text_of

#: Counts the changes of how texts are given to the model; one more makes all vectors anew.
FORM = "late-1"
#: A marker, a first and a last token, and one of the text's own.
_SHORTEST_LENGTH = 4
_WEIGHTS = ("model_int8.onnx", "model.onnx")
#: Later ones override earlier ones.
_CONFIGURATION = ("sentence_bert_config.json", "config_sentence_transformers.json", "onnx_config.json")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model wants its texts; the names are those of its configuration, the defaults those of its exporter."""

    query_prefix: str = "[Q] "
    document_prefix: str = "[D] "
    query_prefix_id: int = -1
    document_prefix_id: int = -1
    query_length: int = 48
    document_length: int = 300
    do_query_expansion: bool = True
    attend_to_expansion_tokens: bool = False
    do_lower_case: bool = False
    mask_token_id: int = -1
    pad_token_id: int = -1
    skiplist_words: tuple[str, ...] = tuple(string.punctuation)

    @classmethod
    def of(cls, model: str, directory: Path) -> Recipe:
        """The recipe in a model's directory."""
        given: dict[str, Any] = {}
        for name in _CONFIGURATION:
            if (directory / name).is_file():
                with model_errors(model, name):
                    given |= json.loads((directory / name).read_text(encoding="utf-8"))
        with model_errors(model, "its configuration"):
            recipe = cls(**{f.name: _as_is(f.name, given[f.name], f.default) for f in fields(cls) if given.get(f.name) is not None})
        if min(recipe.query_length, recipe.document_length) < _SHORTEST_LENGTH:
            raise ModelUnavailable(f"model {model}: it allows texts of less than {_SHORTEST_LENGTH} tokens")
        return recipe


def _as_is(name: str, value: Any, default: Any) -> Any:
    """A configured value, if it is of the kind that is expected."""
    found = tuple(value) if isinstance(default, tuple) and isinstance(value, list) else value
    if type(found) is not type(default):
        raise TypeError(f"{name} is {value!r}")
    return found


class LateEncoder:
    """Loads a model from a directory or, by its hub id, from the hub; runs it on the processor."""

    late = True
    noise = 0.0

    def __init__(self, model: str, threads: int = 2) -> None:
        directory = local_directory(model, (TOKENIZER, _WEIGHTS), _CONFIGURATION)
        self.name = model
        self._recipe = Recipe.of(model, directory)
        weights = next(name for name in _WEIGHTS if (directory / name).is_file())
        self._network = TokenNetwork(model, directory, weights, threads)
        self.fingerprint = "late-" + fingerprint_of(directory, [*_CONFIGURATION, TOKENIZER, weights], FORM)
        with model_errors(model, TOKENIZER):
            self._set_tokens()
        trial = [*self._asks, *self._answers, self._mask]
        self.width = self._network.run(Tokens(trial, len(trial))).shape[1]

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """For each unit a row for each of its tokens that are not in the skip list."""
        return self._vectors([self._document(unit) for unit in units])

    def encode_query(self, text: str) -> Vectors:
        """A row for each token of a question and, where the model wants it, for masks up to its full length."""
        return self._vectors([self._question(text)])

    def _set_tokens(self) -> None:
        recipe, number_of = self._recipe, self._network.tokenizer.token_to_id
        self._asks = self._marker(recipe.query_prefix, recipe.query_prefix_id)
        self._answers = self._marker(recipe.document_prefix, recipe.document_prefix_id)
        pad = self._special(recipe.pad_token_id, ("[PAD]", "<pad>"), 0)
        self._mask = self._special(recipe.mask_token_id, ("[MASK]", "<mask>"), pad)
        self._skipped = {number_of(word) for word in recipe.skiplist_words} - {None}

    def _marker(self, prefix: str, configured: int) -> list[int]:
        """The token that says what a text is for; a model that has none of that name gets none."""
        if configured >= 0:
            return [configured]
        found = (self._network.tokenizer.token_to_id(form) for form in (prefix, prefix.strip()) if form)
        return [token for token in found if token is not None][:1]

    def _special(self, configured: int, names: tuple[str, ...], otherwise: int) -> int:
        if configured >= 0:
            return configured
        return next((token for name in names if (token := self._network.tokenizer.token_to_id(name)) is not None), otherwise)

    def _document(self, unit: UnitText) -> tuple[Tokens, list[int]]:
        """A unit's tokens, and the places of those that get a row."""
        ids = self._ids(text_of(unit), self._answers, self._recipe.document_length)
        return Tokens(ids, len(ids)), [at for at, token in enumerate(ids) if token not in self._skipped]

    def _question(self, text: str) -> tuple[Tokens, list[int]]:
        ids = self._ids(text, self._asks, self._recipe.query_length)
        attended = len(ids)
        if ids and self._recipe.do_query_expansion:
            ids = ids + [self._mask] * (self._recipe.query_length - len(ids))
            attended = len(ids) if self._recipe.attend_to_expansion_tokens else attended
        return Tokens(ids, attended), list(range(len(ids)))

    def _ids(self, text: str, marker: list[int], length: int) -> list[int]:
        return self._network.ids(text.lower() if self._recipe.do_lower_case else text, length, marker)

    def _vectors(self, texts: Sequence[tuple[Tokens, list[int]]]) -> Vectors:
        """The rows of all texts, in their order."""
        nothing = np.zeros((1, self.width), np.float32)
        found = [unit_length(self._network.run(text)[positions]) if positions else nothing for text, positions in texts]
        starts = np.cumsum([0, *(len(rows) for rows in found)])
        return Vectors(np.concatenate([nothing[:0], *found]), starts)
