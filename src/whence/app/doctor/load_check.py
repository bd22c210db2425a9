"""Loading packages, grammars and models in a subprocess: one that crashes or hangs takes nothing else down.

`python -m whence.app.doctor.load_check` takes a JSON list of pairs (kind, name) as its argument and writes one line for
each. If it dies, the part after the last line is to blame. This module itself imports nothing that may be broken.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MODULE, GRAMMAR, QUERIES, MODEL = "module", "grammar", "queries", "model"
_SAMPLE = b"x\n"

Part = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LoadResult:
    """For each part that was tried, what is wrong with it (empty: nothing); and the parts for which there was no time."""

    errors: Mapping[Part, str]
    untried: tuple[Part, ...] = ()

    def errors_of(self, kind: str) -> dict[str, str]:
        """The parts of one kind that were tried."""
        return {name: error for (own, name), error in self.errors.items() if own == kind}

    def untried_of(self, kind: str) -> list[str]:
        """The parts of one kind for which there was no time."""
        return [name for own, name in self.untried if own == kind]


def load_in_subprocess(parts: Sequence[Part], seconds: float, environment: Mapping[str, str]) -> LoadResult:
    """Load parts in a subprocess. One that crashes it is recorded, and the rest are tried without it."""
    errors: dict[Part, str] = {}
    left = list(parts)
    while left:
        tried, crash = _run(left, seconds, environment)
        errors |= tried
        left = left[len(tried) :]
        if not left or not crash:
            break
        errors[left.pop(0)] = crash
    return LoadResult(errors, tuple(left))


def _run(parts: Sequence[Part], seconds: float, environment: Mapping[str, str]) -> tuple[dict[Part, str], str]:
    """The parts that were tried, and how the process crashed; empty if it finished or ran out of time."""
    own = {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-m", "whence.app.doctor.load_check", json.dumps(list(parts))]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL, env={**environment, **own}, cwd="/"
        )
    except subprocess.TimeoutExpired as late:
        return _parse(late.stdout or b"", parts), ""
    tried = _parse(done.stdout, parts)
    return tried, "" if len(tried) == len(parts) else f"loading it crashed the process (code {done.returncode})"


def _parse(output: bytes, parts: Sequence[Part]) -> dict[Part, str]:
    lines = output.decode("utf-8", "replace").split("\n")[:-1]
    return {(kind, name): json.loads(line) for (kind, name), line in zip(parts, lines, strict=False)}


# In the subprocess.
def _attempts(parts: Sequence[Part]) -> Iterator[str]:
    for kind, name in parts:
        try:
            yield {MODULE: _module, GRAMMAR: _grammar, QUERIES: _queries, MODEL: _model}[kind](name)
        except Exception as error:  # noqa: BLE001  -- libraries fail in unexpected ways
            yield f"{type(error).__name__}: {error}"


def _module(name: str) -> str:
    importlib.import_module(name)
    return ""


def _grammar(language: str) -> str:
    from tree_sitter import Parser  # noqa: PLC0415  -- may be what is broken

    from whence.parse.grammars import load_language  # noqa: PLC0415
    from whence.parse.languages import BY_NAME  # noqa: PLC0415

    tree = Parser(load_language(BY_NAME[language].grammar)).parse(_SAMPLE)
    return "" if tree.root_node.end_byte <= len(_SAMPLE) else "it parses beyond the end of its input"


def _queries(language: str) -> str:
    from whence.parse.grammars import grammar_of  # noqa: PLC0415

    return "" if grammar_of(language) is not None else "its queries cannot be loaded"


def _model(name: str) -> str:
    from whence.embed.encoder import open_encoder  # noqa: PLC0415

    encoder = open_encoder(name)
    fits = encoder is None or encoder.encode_query("open the file").rows.shape[-1] == encoder.width
    return "" if fits else "its vectors have the wrong width"


def main() -> None:
    """Try each part of the argument and write its error, empty if there is none."""
    own = os.dup(1)  # for our lines alone: what libraries print goes to standard error
    os.dup2(2, 1)
    with os.fdopen(own, "w", encoding="utf-8") as output:
        for error in _attempts(json.loads(sys.argv[1])):
            print(json.dumps(error), file=output, flush=True)


if __name__ == "__main__":
    main()
