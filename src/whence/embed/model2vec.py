"""Any static model of the model2vec library: a vector for each token, a text is their mean.

A unit is the sum of three such means, each brought to length 1 first: of its path,
of its names, of its body. Identifiers are split into words before the model sees
them, because its tokens were made from prose.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from whence.embed.encoder import Array, UnitText, Vectors, unit_length
from whence.embed.hub import fingerprint_of, import_library, local_directory, model_errors
from whence.text.analyzer import parts, words

#: Counts the changes of how texts are given to the model; one more makes all vectors anew.
FORM = "fields-1"
#: What path, names and body count (docs/experiments/embeddings.md).
PATH_WEIGHT, NAMES_WEIGHT, BODY_WEIGHT = 1.0, 1.2, 1.7
#: Words of a path that count: the last ones, nearest to the file.
PATH_WORDS = 24
#: Bytes of a body that are read: enough to know what it is about.
MAX_BODY_BYTES = 6000
#: Units that are encoded at a time, so that a large tree needs no more memory than a small one.
_AT_ONCE = 1024
_INSTALL = "pip install 'whence[model2vec]'"
_NEEDED = (
    ("tokenizer.json", "0_StaticEmbedding/tokenizer.json"),
    ("model.safetensors", "0_StaticEmbedding/model.safetensors"),
)
_CONFIGURATION = ("config.json", "config_sentence_transformers.json", "modules.json")


class Model2VecEncoder:
    """Loads a static model from a directory or, by its hub id, from the hub."""

    late = False
    noise = 0.0

    def __init__(self, model: str) -> None:
        static_models = import_library("model2vec", model, _INSTALL)
        directory = local_directory(model, _NEEDED, _CONFIGURATION)
        with model_errors(model, "the static model"):
            self._model = static_models.StaticModel.from_pretrained(str(directory))
            self.width = int(self._model.dim)
        self.name = model
        files = [*_CONFIGURATION, *(name for group in _NEEDED for name in group)]
        self.fingerprint = "model2vec-" + fingerprint_of(directory, files, FORM)
        self._means(["a text, to see that there are vectors for one"])

    def encode_query(self, text: str) -> Vectors:
        """A question as the mean of its words."""
        return Vectors.one_per_text(self._means([" ".join(_words(text))]))

    def encode_units(self, units: Sequence[UnitText]) -> Vectors:
        """One row for each unit: its path, its names and its body, each of equal length, weighted and added."""
        rows = [np.zeros((0, self.width), np.float32)]
        rows += [self._sums(units[at : at + _AT_ONCE]) for at in range(0, len(units), _AT_ONCE)]
        return Vectors.one_per_text(np.concatenate(rows))

    def _sums(self, units: Sequence[UnitText]) -> Array:
        texts = [" ".join(_words(unit.path)[-PATH_WORDS:]) for unit in units]
        texts += [" ".join(_words(unit.names)) for unit in units]
        texts += [" ".join(_words(unit.body[:MAX_BODY_BYTES].decode("utf-8", "replace"))) for unit in units]
        places, names, bodies = self._means(texts).reshape(3, len(units), self.width)
        return unit_length(PATH_WEIGHT * places + NAMES_WEIGHT * names + BODY_WEIGHT * bodies)

    def _means(self, texts: list[str]) -> Array:
        with model_errors(self.name, "the static model"):
            found = self._model.encode(texts, max_length=None, show_progress_bar=False, use_multiprocessing=False)
        return unit_length(np.asarray(found, np.float32))


def _words(text: str) -> list[str]:
    return [part for word in words(text) for part in _parts(word)]


@lru_cache(maxsize=1 << 15)
def _parts(word: str) -> tuple[str, ...]:
    """The words in an identifier; single letters say nothing, single characters of other scripts do."""
    return tuple(part for part in parts(word) if len(part) > 1 or not part.isascii())
