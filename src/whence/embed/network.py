"""Transformers in ONNX form with their tokenizers: a text's tokens in, a vector for each of them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from whence.core.errors import ModelUnavailable
from whence.embed.encoder import Array, UnitText
from whence.embed.hub import import_library, model_errors
from whence.text.analyzer import parts, words

TOKENIZER = "tokenizer.json"
#: Folders of a path that are given to the model, the ones nearest to the file.
FOLDERS = 3
#: Characters that are tokenized for each token that is kept: more would be cut off again.
_CHARACTERS_PER_TOKEN = 16
_INSTALL = "pip install 'whence[neural]'"
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
#: What networks call a vector for each token; one that calls it otherwise gives it first.
_OUTPUTS = ("output", "last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as a network reads it: its tokens, and how many of them are attended to."""

    ids: list[int]
    attended: int


class TokenNetwork:
    """A network and its tokenizer, from files in a directory; runs on the processor.

    It reads one text at a time. Networks in whole numbers scale each run by its largest value, so neighbours would change a
    text's vectors; and there is no padding to compute.
    """

    def __init__(self, model: str, directory: Path, weights: str, threads: int) -> None:
        runtime = import_library("onnxruntime", model, _INSTALL)
        tokenizers = import_library("tokenizers", model, _INSTALL)
        self._model = model
        with model_errors(model, TOKENIZER):
            self.tokenizer = tokenizers.Tokenizer.from_file(str(directory / TOKENIZER))
            self.tokenizer.no_padding()
            self.tokenizer.no_truncation()
        with model_errors(model, weights):
            self._session = runtime.InferenceSession(str(directory / weights), _options(runtime, threads), ["CPUExecutionProvider"])
        inputs = {one.name: np.int32 if "int32" in one.type else np.int64 for one in self._session.get_inputs()}
        if not {"input_ids", "attention_mask"} <= set(inputs) <= _INPUTS:
            raise ModelUnavailable(f"model {model}: it asks for {', '.join(inputs)}", hint="is it a model of this kind?")
        self._inputs = inputs
        outputs = [one.name for one in self._session.get_outputs()]
        self._output = next((name for name in _OUTPUTS if name in outputs), outputs[0])

    def ids(self, text: str, length: int, marker: Sequence[int] = ()) -> list[int]:
        """The tokens of a text with a marker after the first, no more than `length`, the last one kept when it closes the text."""
        text = text.strip()[: length * _CHARACTERS_PER_TOKEN].encode("utf-8", "replace").decode()  # names of files may be no Unicode
        if not text:
            return []
        with model_errors(self._model, TOKENIZER):
            found = self.tokenizer.encode(text)
        ids: list[int] = found.ids
        room = length - len(marker)
        if len(ids) > room:
            closing = ids[-1:] if found.special_tokens_mask[-1] else []
            ids = ids[: room - len(closing)] + closing
        return [*ids[:1], *marker, *ids[1:]]

    def run(self, text: Tokens) -> Array:
        """The vectors of a text's tokens."""
        count = len(text.ids)
        mask = [1] * text.attended + [0] * (count - text.attended)
        given = {"input_ids": text.ids, "attention_mask": mask, "token_type_ids": [0] * count}
        feeds = {name: np.array([given[name]], kind) for name, kind in self._inputs.items()}
        with model_errors(self._model, "the network"):
            vectors: Array = np.asarray(self._session.run([self._output], feeds)[0], np.float32)
        if vectors.ndim != 3 or vectors.shape[:2] != (1, count):
            raise ModelUnavailable(f"model {self._model}: it gives no vector for each token", hint="is it a model of this kind?")
        return np.asarray(vectors[0])


def text_of(unit: UnitText) -> str:
    """A unit as transformers read code: what it is called, where it is, then the code."""
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
