"""Load what whence stands on, in a process of its own: what crashes or hangs here takes nothing else down.

`python -m whence.app.doctor.load_check` takes one JSON list of pairs (kind, name) as its argument
and writes a line for each when it is done with it. The one after the last line is the one that did it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

MODULE, GRAMMAR, QUERIES, MODEL = "module", "grammar", "queries", "model"
_LINE = b"x\n"

Part = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What became of the parts: what is wrong with each (empty: nothing), and those that were not reached."""

    trouble: Mapping[Part, str]
    unreached: tuple[Part, ...] = ()

    def of(self, kind: str) -> dict[str, str]:
        """The parts of one kind that were reached."""
        return {name: said for (found, name), said in self.trouble.items() if found == kind}

    def missing(self, kind: str) -> list[str]:
        """The parts of one kind that were not reached in time."""
        return [name for found, name in self.unreached if found == kind]


def load_apart(wanted: Sequence[Part], seconds: float, environment: Mapping[str, str]) -> LoadResult:
    """Load parts in another process; one that takes it down is named, and the rest are tried again without it."""
    trouble: dict[Part, str] = {}
    left = list(wanted)
    while left:
        done, ending = _run(left, seconds, environment)
        trouble |= done
        left = left[len(done) :]
        if not left or not ending:
            break
        trouble[left.pop(0)] = ending
    return LoadResult(trouble, tuple(left))


def _run(wanted: Sequence[Part], seconds: float, environment: Mapping[str, str]) -> tuple[dict[Part, str], str]:
    """What was loaded before the process ended, and how it ended where that was not by itself; out of time is not its fault."""
    ours = {"OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-m", "whence.app.doctor.load_check", json.dumps(list(wanted))]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL, env={**environment, **ours}, cwd="/"
        )
    except subprocess.TimeoutExpired as late:
        return _read(late.stdout or b"", wanted), ""
    found = _read(done.stdout, wanted)
    return found, "" if len(found) == len(wanted) else f"loading it ended the process (code {done.returncode})"


def _read(text: bytes, wanted: Sequence[Part]) -> dict[Part, str]:
    lines = text.decode("utf-8", "replace").split("\n")[:-1]
    return {(kind, name): json.loads(line) for (kind, name), line in zip(wanted, lines, strict=False)}


def _attempts(wanted: Sequence[Part]) -> Iterator[str]:
    for kind, name in wanted:
        try:
            yield {MODULE: _module, GRAMMAR: _grammar, QUERIES: _queries, MODEL: _model}[kind](name)
        except Exception as error:  # noqa: BLE001  -- libraries fail in ways of their own
            yield f"{type(error).__name__}: {error}"


def _module(name: str) -> str:
    importlib.import_module(name)
    return ""


def _grammar(language: str) -> str:
    import semble_grammars  # noqa: PLC0415  -- may be what is broken
    from tree_sitter import Parser  # noqa: PLC0415

    from whence.parse.languages import BY_NAME  # noqa: PLC0415

    tree = Parser(semble_grammars.get_language(BY_NAME[language].grammar)).parse(_LINE)
    return "" if tree.root_node.end_byte <= len(_LINE) else "it reads more than there is"


def _queries(language: str) -> str:
    from whence.parse.grammars import grammar_of  # noqa: PLC0415

    return "" if grammar_of(language) is not None else "its queries cannot be loaded"


def _model(name: str) -> str:
    from whence.embed.registry import open_encoder  # noqa: PLC0415

    encoder = open_encoder(name)
    return (
        "" if encoder is None or encoder.encode_query("open the file").rows.shape[-1] == encoder.width else "its rows are of another width"
    )


def _kept_apart() -> IO[str]:
    """Standard output for us alone: what a library prints goes to standard error."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "w", encoding="utf-8")


def main() -> None:
    """Load what the argument lists, and say of each how it went."""
    out = _kept_apart()
    for trouble in _attempts(json.loads(sys.argv[1])):
        out.write(json.dumps(trouble) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
