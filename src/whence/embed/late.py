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
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import Array, UnitText, Vectors, unit_length
from whence.embed.hub import fingerprint_of, import_library, local_directory, model_errors
from whence.text.analyzer import parts, words

#: Counts the changes of how texts are given to the model; one more makes all vectors anew.
FORM = "late-1"
#: Folders of a path that are given to the model, the ones nearest to the file.
FOLDERS = 3
#: Characters that are tokenized for each token that is kept: more would be cut off again.
_CHARACTERS_PER_TOKEN = 16
#: A marker, a first and a last token, and one of the text's own.
_SHORTEST_LENGTH = 4
#: Texts that share a run of the model when padding does not change their vectors.
_BATCH = 8
_INSTALL = "pip install 'whence[late]'"
_QUANTIZED, _FULL = "model_int8.onnx", "model.onnx"
_WEIGHTS = (_QUANTIZED, _FULL)
_TOKENIZER = "tokenizer.json"
#: Later ones override earlier ones.
_CONFIGURATION = ("sentence_bert_config.json", "config_sentence_transformers.json", "onnx_config.json")
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


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


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A text as the model reads it: its tokens, how many are attended to, and which of them get a row."""

    ids: list[int]
    attended: int
    positions: list[int]


class LateEncoder:
    """Loads a model from a directory or, by its hub id, from the hub; runs it on the processor."""

    late = True
    noise = 0.0

    def __init__(self, model: str, threads: int = 2) -> None:
        runtime = import_library("onnxruntime", model, _INSTALL)
        tokenizers = import_library("tokenizers", model, _INSTALL)
        directory = local_directory(model, (_TOKENIZER, _WEIGHTS), _CONFIGURATION)
        self.name = model
        self._recipe = Recipe.of(model, directory)
        with model_errors(model, _TOKENIZER):
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory / _TOKENIZER))
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
        weights = next(name for name in _WEIGHTS if (directory / name).is_file())
        with model_errors(model, weights):
            self._session = runtime.InferenceSession(str(directory / weights), _options(runtime, threads), ["CPUExecutionProvider"])
        # Integer models scale each run by its largest value, so that a text's vectors would depend on its neighbours.
        self._batch = 1 if weights == _QUANTIZED else _BATCH
        self.fingerprint = "late-" + fingerprint_of(directory, [*_CONFIGURATION, _TOKENIZER, weights], FORM)
        self._set_inputs()
        with model_errors(model, _TOKENIZER):
            self._set_tokens()
        trial = [self._pad, *self._asks, *self._answers, self._mask]
        self.width = self._run([_Tokens(trial, len(trial), [])]).shape[2]

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """For each unit a row for each of its tokens that are not in the skip list."""
        return self._vectors([self._document(unit) for unit in units])

    def encode_query(self, text: str) -> Vectors:
        """A row for each token of a question and, where the model wants it, for masks up to its full length."""
        return self._vectors([self._question(text)])

    def _set_inputs(self) -> None:
        inputs = {one.name: np.int32 if "int32" in one.type else np.int64 for one in self._session.get_inputs()}
        if not {"input_ids", "attention_mask"} <= set(inputs) <= _INPUTS:
            raise ModelUnavailable(f"model {self.name}: it asks for {', '.join(inputs)}", hint="is it a model of this kind?")
        self._inputs = inputs
        outputs = [one.name for one in self._session.get_outputs()]
        self._output = "output" if "output" in outputs else outputs[0]

    def _set_tokens(self) -> None:
        recipe = self._recipe
        self._asks = self._marker(recipe.query_prefix, recipe.query_prefix_id)
        self._answers = self._marker(recipe.document_prefix, recipe.document_prefix_id)
        self._pad = self._special(recipe.pad_token_id, ("[PAD]", "<pad>"), 0)
        self._mask = self._special(recipe.mask_token_id, ("[MASK]", "<mask>"), self._pad)
        self._skipped = {self._tokenizer.token_to_id(word) for word in recipe.skiplist_words} - {None}

    def _marker(self, prefix: str, configured: int) -> list[int]:
        """The token that says what a text is for; a model that has none of that name gets none."""
        if configured >= 0:
            return [configured]
        found = (self._tokenizer.token_to_id(form) for form in (prefix, prefix.strip()) if form)
        return [token for token in found if token is not None][:1]

    def _special(self, configured: int, names: tuple[str, ...], otherwise: int) -> int:
        if configured >= 0:
            return configured
        return next((token for name in names if (token := self._tokenizer.token_to_id(name)) is not None), otherwise)

    def _document(self, unit: UnitText) -> _Tokens:
        ids = self._ids(text_of(unit), self._answers, self._recipe.document_length)
        return _Tokens(ids, len(ids), [at for at, token in enumerate(ids) if token not in self._skipped])

    def _question(self, text: str) -> _Tokens:
        ids = self._ids(text, self._asks, self._recipe.query_length)
        attended = len(ids)
        if ids and self._recipe.do_query_expansion:
            ids = ids + [self._mask] * (self._recipe.query_length - len(ids))
            attended = len(ids) if self._recipe.attend_to_expansion_tokens else attended
        return _Tokens(ids, attended, list(range(len(ids))))

    def _ids(self, text: str, marker: list[int], length: int) -> list[int]:
        """The tokens of a text, no more than `length`, the last one kept when it closes the text."""
        text = text.strip()[: length * _CHARACTERS_PER_TOKEN].encode("utf-8", "replace").decode()  # names of files may be no Unicode
        if not text:
            return []
        with model_errors(self.name, _TOKENIZER):
            found = self._tokenizer.encode(text.lower() if self._recipe.do_lower_case else text)
        ids: list[int] = found.ids
        room = length - len(marker)
        if len(ids) > room:
            closing = ids[-1:] if found.special_tokens_mask[-1] else []
            ids = ids[: room - len(closing)] + closing
        return ids[:1] + marker + ids[1:]

    def _vectors(self, texts: Sequence[_Tokens]) -> Vectors:
        """The rows of all texts, in their order; those of similar length are run together."""
        found = [np.zeros((1, self.width), np.float32)] * len(texts)
        order = sorted((row for row, text in enumerate(texts) if text.positions), key=lambda row: len(texts[row].ids))
        for at in range(0, len(order), self._batch):
            batch = order[at : at + self._batch]
            for row, vectors in zip(batch, self._run([texts[row] for row in batch]), strict=True):
                found[row] = unit_length(vectors[texts[row].positions])
        starts = np.cumsum([0, *(len(rows) for rows in found)])
        return Vectors(np.concatenate([np.zeros((0, self.width), np.float32), *found]), starts)

    def _run(self, texts: Sequence[_Tokens]) -> Array:
        """What the model says of some texts: text by token by number."""
        shape = len(texts), max(len(text.ids) for text in texts)
        feeds = {"input_ids": np.full(shape, self._pad), "attention_mask": np.zeros(shape, int), "token_type_ids": np.zeros(shape, int)}
        for row, text in enumerate(texts):
            feeds["input_ids"][row, : len(text.ids)] = text.ids
            feeds["attention_mask"][row, : text.attended] = 1
        with model_errors(self.name, "the network"):
            answer = self._session.run([self._output], {name: feeds[name].astype(kind) for name, kind in self._inputs.items()})[0]
            vectors = np.asarray(answer, np.float32)
        if vectors.ndim != 3 or vectors.shape[:2] != shape:
            raise ModelUnavailable(f"model {self.name}: it gives no vector for each token", hint="is it a model of this kind?")
        return vectors


def text_of(unit: UnitText) -> str:
    """A unit as models of this kind read code: what it is called, where it is, then the code."""
    lines = [unit.names] if unit.names else []
    if unit.path:
        lines.append(f"File: {_path_in_words(unit.path)}")
    if body := unit.body.decode("utf-8", "replace").strip("\n"):
        lines.append(f"Code:\n{body}")
    return "\n".join(lines)


def _path_in_words(path: str) -> str:
    """The words of a path's last folders and stem, then the file's name as it is: `src parser mod mod.rs`."""
    near = PurePosixPath(*PurePosixPath(path).parts[-FOLDERS - 1 :])
    return " ".join([*(part for word in words(f"{near.parent} {near.stem}") for part in parts(word)), near.name])


def _options(runtime: Any, threads: int) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its errors are raised as well; printed, they would be a second line
    return options
