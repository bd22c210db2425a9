"""Tiny real models, made on the spot: files as the large ones have them, loaded by the same libraries.

Their vectors are random but known, so that a test can say what must come out.
"""

from __future__ import annotations

import json
import os
import string
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha1, sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np

from sample_trees import SOURCES

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MARKERS = ("[Q] ", "[D] ")
WORDS = tuple("read write file open close socket parse token tree path name body code src lib main py go rs a b c".split())
VOCABULARY = (*SPECIAL, *string.punctuation, *WORDS, *string.ascii_uppercase[3:], "File", "Code", "Read")
WIDTH = 8
#: A model's own numbers: short lengths, so that a test reaches them.
RECIPE = {
    "query_prefix": "[Q] ",
    "document_prefix": "[D] ",
    "query_length": 10,
    "document_length": 16,
    "do_query_expansion": False,
    "attend_to_expansion_tokens": False,
    "skiplist_words": list(string.punctuation),
}


#: Long enough for a small machine that does other things as well.
PATIENCE = 60
#: A program that opens a late model and asks it.
OPEN_LATE = """
from whence.embed.late import LateEncoder
try:
    print(LateEncoder(sys.argv[1]).encode_query("read file").rows.shape)
except ModelUnavailable as error:
    print(error)
"""


@dataclass(frozen=True)
class TinyLate:
    """A network that says of each token: its own vector and the mean of all that are attended to, projected."""

    directory: Path
    table: np.ndarray
    projection: np.ndarray
    ids: dict[str, int]

    def rows(self, tokens: Sequence[str], attended: int | None = None) -> np.ndarray:
        """What must come out for some tokens, of which the first ones are attended to."""
        found = self.table[[self.ids[token] for token in tokens]]
        rows = (found + found[:attended].mean(axis=0)) @ self.projection
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def late_model(
    directory: Path, recipe: dict[str, object] | None = RECIPE, *, seed: int = 0, weights: str = "model.onnx", token_types: bool = False
) -> TinyLate:
    """A ColBERT-like model in a directory; without a recipe it says nothing of how it wants its texts."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = tiny_tokenizer(MARKERS, closed=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    if recipe is not None:
        (directory / "onnx_config.json").write_text(json.dumps(recipe))
    chance = np.random.default_rng(seed)
    table = chance.standard_normal((len(VOCABULARY) + len(MARKERS), 2 * WIDTH)).astype(np.float32)
    projection = chance.standard_normal((2 * WIDTH, WIDTH)).astype(np.float32)
    save_network(directory / weights, table, projection, token_types=token_types)
    return TinyLate(directory, table, projection, tokenizer.get_vocab())


def sentence_model(directory: Path, seed: int = 0, *, pooling: str = "mean", length: int = 16, weights: str = "model.onnx") -> TinyLate:
    """A sentence encoder in a directory, with the files that sentence-transformers writes."""
    model = late_model(directory, None, seed=seed, weights=weights, token_types=True)
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    (directory / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "read ", "document": "file "}}))
    (directory / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length}))
    return model


def quantized(model: TinyLate) -> TinyLate:
    """The same model with a network in whole numbers beside the full one."""
    from onnxruntime.quantization import quant_pre_process, quantize_dynamic

    prepared = model.directory / "prepared.onnx"
    quant_pre_process(str(model.directory / "model.onnx"), str(prepared), skip_symbolic_shape=True)
    quantize_dynamic(str(prepared), str(model.directory / "model_int8.onnx"))
    prepared.unlink()
    return model


def tiny_tokenizer(added: Sequence[str] = (), *, closed: bool = False):
    """A tokenizer of whole words; a closed one puts a token before and one after each text."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    if closed:
        ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
        # As in files of real models, and of no use here: texts are neither cut nor filled up by the tokenizer.
        tokenizer.enable_truncation(6)
        tokenizer.enable_padding(length=6)
    return tokenizer


def save_network(path: Path, table: np.ndarray, projection: np.ndarray, *, token_types: bool = False, pooled: bool = False) -> None:
    """The network of a late model, its rows not yet of length 1; a pooled one has a single row for each text."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if token_types else [])]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["own"]),
        helper.make_node("Cast", ["attention_mask"], ["attended"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["attended", "last"], ["weight"]),
        helper.make_node("Mul", ["own", "weight"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "second"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["weight", "second"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Add", ["own", "mean"], ["both"]),
        helper.make_node("MatMul", ["mean" if pooled else "both", "projection"], ["vectors"]),
    ]
    if token_types:
        # A model that gets other types than 0 would say something else.
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["types", "last"], ["offset"]),
            helper.make_node("Add", ["vectors", "offset"], ["typed"]),
        ]
    found = "typed" if token_types else "vectors"
    nodes.append(
        helper.make_node("Squeeze", [found, "second"], ["output"]) if pooled else helper.make_node("Identity", [found], ["output"])
    )
    constants = {"table": table, "projection": projection, "last": np.array([2]), "second": np.array([1])}
    shape = ["texts", table.shape[1]] if pooled else ["texts", "tokens", projection.shape[1]]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape if not pooled else None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


@dataclass(frozen=True)
class TinyStatic:
    """A model2vec model: a vector for each word."""

    directory: Path
    table: np.ndarray

    def mean(self, text: str) -> np.ndarray:
        """What must come out for some words, of length 1."""
        row = np.mean([self.table[VOCABULARY.index(word)] for word in text.split()], axis=0)
        return row / np.linalg.norm(row)


def model2vec_model(directory: Path, seed: int = 0) -> TinyStatic:
    """A model2vec model in a directory."""
    from model2vec import StaticModel

    table = np.random.default_rng(seed).standard_normal((len(VOCABULARY), WIDTH)).astype(np.float32)
    StaticModel(table, tiny_tokenizer()).save_pretrained(directory)
    return TinyStatic(directory, table)


@contextmanager
def tiny_hub(models: Path, failing: str = "\0") -> Iterator[tuple[str, list[str]]]:
    """A hub on this machine that offers the models below a folder: its address, and what is asked of it.

    A file that is `failing` is listed but refused.
    """
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, asked, failing, directory=str(models)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


class _Hub(SimpleHTTPRequestHandler):
    """The few questions of a download: what there is, and each file."""

    commit = "c0ffee" * 6 + "c0ff"

    def __init__(self, asked: list[str], failing: str, *arguments, **options) -> None:
        self.asked, self.failing = asked, failing
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[-1] == self.failing:
            self.send_error(403)
            return
        if parts[0] != "api":
            super().do_GET()
            return
        folder = Path(self.directory, *parts[2:4])
        if not folder.is_dir():
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        names = sorted(path.name for path in folder.iterdir())
        sizes = {name: (folder / name).stat().st_size for name in names}
        if "tree" in parts:
            self._say([{"type": "file", "path": name, "size": sizes[name], "oid": self._oid(folder / name)} for name in names])
        else:
            self._say({"id": "/".join(parts[2:4]), "sha": self.commit, "siblings": [self._facts(folder / name) for name in names]})

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.replace(f"/resolve/{self.commit}", "").replace("/resolve/main", ""))

    def end_headers(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.is_file():
            self.send_header("ETag", f'"{self._oid(path)}"')
            self.send_header("X-Repo-Commit", self.commit)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    @staticmethod
    def _facts(path: Path) -> dict[str, object]:
        """What the hub says of a file: of a network its checksum, too."""
        size = path.stat().st_size
        if path.suffix != ".onnx":
            return {"rfilename": path.name, "size": size}
        lie = (path.parent / "WRONG").is_file()
        checksum = sha256(b"another" if lie else path.read_bytes()).hexdigest()
        return {"rfilename": path.name, "size": size, "lfs": {"sha256": checksum, "size": size, "pointerSize": 1}}

    @staticmethod
    def _oid(path: Path) -> str:
        return sha1(path.read_bytes()).hexdigest()

    def _say(self, answer: object) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        super().end_headers()
        self.wfile.write(content)


def said_by(program: str, *arguments: str, **environment: str) -> str:
    """What a fresh process prints, in all, when it opens a model; a traceback would be part of it."""
    start = f"import sys; from whence.core.errors import ModelUnavailable\n{program}"
    proxyless = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        env={**proxyless, "PYTHONPATH": str(SOURCES), "HF_HUB_DISABLE_TELEMETRY": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout.strip()
