"""Secrets planted in a tree, in its past, in notes and in questions: then every byte that whence keeps and says is read (Z10).

What is looked for is any eight characters in a row of what was drawn at random, in large or small letters, backwards,
in base 64, and inside of what is compressed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whence_bench.faults.part import Bounds, Part
from whence_bench.faults.planted_secrets import SAMPLES, SHORTEST_PART, Planted, draw, messages, plant, write

#: Runs commands one after another in one process, and prints each one's exit code and what it said. Starting anew takes longer.
_COMMANDS = """
import contextlib, io, json, sys
from whence.cli.main import main
for line in sys.stdin:
    said = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(json.loads(line))
    print(json.dumps([code, said.buffer.getvalue().decode("utf-8", "replace")]), flush=True)
"""
_ALL = ("--set", "index.hidden=true")
_LONGEST_INFLATED = 50_000_000


def run(bounds: Bounds) -> Part:
    """Plant, index, ask in every way, and look."""
    return examined(bounds, SAMPLES)


def examined(bounds: Bounds, samples: Sequence[tuple[str, str]]) -> Part:
    """The same with some samples: another kind, which whence cannot know, must be found."""
    dice = random.Random(bounds.seed)
    tree = bounds.scratch / "tree"
    planted = [*plant(tree, samples, dice), *_commit(tree, samples, dice)]
    spoken = [draw(kind, sample, "what was asked", dice) for kind, sample in samples]
    planted += [one for _, secrets in spoken for one in secrets]
    bounds.tell(f"{len(planted)} secrets of {len({one.kind for one in planted})} kinds in {tree.name}")
    home = bounds.scratch / "home"
    wanted = Fragments(planted)
    wrong, facts = _asked(bounds, tree, home, [text for text, _ in spoken], planted, wanted)
    read = 0
    for file in sorted(path for path in home.rglob("*") if path.is_file() and path.suffix != ".so"):  # grammars, as they were shipped
        raw = file.read_bytes()
        read += len(raw)
        wrong += [f"{file.relative_to(home)} holds {what}" for what in wanted.held_by(raw)]
    facts |= {"kinds": len({one.kind for one in planted}), "bytes_read": read, "seed": bounds.seed}
    return Part("secrets", len(planted), tuple(dict.fromkeys(wrong)), facts)


def _commit(tree: Path, samples: Sequence[tuple[str, str]], dice: random.Random) -> list[Planted]:
    """A past in which every message holds secrets."""
    planted: list[Planted] = []
    _git(tree, "init", "--quiet")
    _git(tree, "add", "--all")
    for number, (message, secrets) in enumerate(messages(samples, dice)):
        write(tree / "past.py", f"def past_{number}():\n    return {number}\n")
        _git(tree, "add", "past.py")
        _git(tree, "commit", "--quiet", "--cleanup=verbatim", "--message", message)
        planted += secrets
    return planted


def _git(tree: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
    subprocess.run(["git", *identity, *arguments], cwd=tree, check=True, capture_output=True)


# What is asked.
def _asked(
    bounds: Bounds, tree: Path, home: Path, spoken: Sequence[str], planted: Sequence[Planted], wanted: Fragments
) -> tuple[list[str], dict[str, object]]:
    """Every command and every tool, and what was wrong with what they said."""
    wrong: list[str] = []
    said = done = found = left = 0
    commands = [*_usual(tree, home, spoken, small=bounds.small), *_fragments(planted, small=bounds.small)]
    with _process(tree, home, "-c", _COMMANDS) as process:
        for command, may_find in commands:
            if bounds.left < 1:
                left += 1
                continue
            answer = _line(process, json.dumps(list(command)))
            if answer is None:
                wrong.append(f"whence {' '.join(command)[:80]}: ended the process")
                break
            code, text = json.loads(answer)
            done, said = done + 1, said + len(text)
            found += code == 0
            shown = " ".join(command)[:60]
            wrong += [f"whence {shown}: said {what}" for what in wanted.held_by(text.encode())]
            wrong += [f"whence {shown}: found something"] if code == 0 and not may_find else []
            wrong += [f"whence {shown}: did not find the file by its other words"] if _lost(command, text) else []
            wrong += [f"whence {shown}: exit code {code}: {text[-120:]}"] if may_find and code not in (0, 1) else []
    for line in _tools(tree, home, spoken) if bounds.left > 1 else ():
        done, said = done + 1, said + len(line)
        wrong += [f"a tool said {what}" for what in wanted.held_by(line.encode())]
        if '"result"' not in line or '"isError":true' in line.replace(" ", ""):
            wrong.append(f"a tool failed: {line[:160]}")
    return wrong, {"asked": done, "not_reached": left, "answered": found, "characters_said": said}


def _lost(command: Sequence[str], said: str) -> bool:
    """Whether a search for the words beside secrets did not find their file."""
    return command[:2] == ("search", f"keep {command[1].rpartition(' ')[2]}") and f"{command[1].rpartition(' ')[2]}.py" not in said


def _usual(tree: Path, home: Path, spoken: Sequence[str], *, small: bool) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every way of asking, and whether it may find something: about a file by its other words, and with secrets in the question."""
    word = next(path.stem for path in sorted(tree.glob("*.py")) if path.stem != "past")
    everything = ("--content", "all", "-k", "200", *_ALL)
    yield ("index", *_ALL), True
    yield ("search", f"keep the {word}", *everything), True
    yield ("search", f"keep {word}", "--json", "--why", *everything), True
    yield ("search", "-n", "-e", ".", *_ALL), True
    yield ("search", "-e", r"(?i)key|token|password|secret|=", "--content", "all", *_ALL), True
    for form in ("json",) if small else ("markdown", "xml", "json"):
        yield ("context", f"open and keep the {word}", "--format", form, "--budget", "20000", *_ALL), True
    yield ("context", "--files", f"{word}.py", "--budget", "20000", *_ALL), True
    yield ("context", "--diff", "HEAD~2", "--budget", "20000", *_ALL), True
    yield ("context", "--list", "--why", f"keep the {word}", *_ALL), True
    yield ("related", f"{word}.py:2", "--content", "all", *_ALL), True
    for command in ("callers", "callees", "impact", "tests"):
        yield (command, f"keep_{word}_0", *_ALL), True
    yield ("why", f"keep the {word}", f"{word}.py", "--json", *_ALL), True
    yield ("status", "--files", "--json", *_ALL), True
    yield ("pack", "export", "--output", str(home / "tree.whence-pack"), *_ALL), True
    if not small:
        yield ("doctor", "--questions", "20", "--json", *_ALL), True
    for number, text in enumerate(spoken[:: 40 if small else 1]):
        task = f"why does the {word} refuse {text}"
        yield ("search", task, "--json", *everything), True
        yield ("context", task, "--set", "learn.implicit=true", "--trace", os.devnull, *_ALL), True
        yield ("feedback", "useful", f"keep_{word}_0", "--task", task, "--json", *_ALL), True
        yield ("remember", f"The {word} takes {text}", "--redact", "--topic", f"{word} {number}"), True
    yield ("recall", f"what does the {word} take", "--json", "--full", "-k", "500"), True
    yield ("feedback", "export"), True
    yield ("feedback", "list", *_ALL), True


def _fragments(planted: Sequence[Planted], *, small: bool) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Parts of secrets that were planted in files: nothing may be found by them."""
    parts = [part for one in planted if "." in one.place for part in one.parts if len(part) >= SHORTEST_PART]
    for part in parts[:: 100 if small else 4]:
        yield ("search", "-F", "-e", part[: SHORTEST_PART + 4], "--content", "all", *_ALL), False


def _tools(tree: Path, home: Path, spoken: Sequence[str]) -> list[str]:
    """What the server for agents answers to each of its tools, line by line."""
    word = next(path.stem for path in sorted(tree.glob("*.py")) if path.stem != "past")
    calls = [
        ("search", {"query": f"keep the {word} in:all", "k": 50, "why": True}),
        ("context", {"task": f"keep the {word}", "budget": 20_000}),
        ("related", {"place": f"{word}.py:2"}),
        ("graph", {"question": "callers", "symbol": f"keep_{word}_0"}),
        ("feedback", {"useful": [f"keep_{word}_0"], "task": spoken[0]}),
        ("recall", {"query": f"what does the {word} take", "k": 50}),
    ]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    sent: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "resources/read", "params": {"uri": f"whence://unit/{word}.py%23keep_{word}_0"}},
        *({"id": at, "method": "tools/call", "params": {"name": name, "arguments": given}} for at, (name, given) in enumerate(calls, 2)),
    ]
    answers: list[str] = []
    with _process(tree, home, "-m", "whence", "mcp", *_ALL) as process:
        for message in sent:
            text = json.dumps({"jsonrpc": "2.0", **message})
            if "id" not in message:
                print(text, file=process.stdin, flush=True)
                continue
            while (answer := _line(process, text)) is not None and f'"id":{message["id"]}' not in answer.replace(" ", "")[:40]:
                text = ""  # what it says unasked: read on
            answers.append(answer or "")
    return answers


def _process(tree: Path, home: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process of this Python, with a home of its own."""
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHENCE_", "XDG_", "GIT_"))}
    ours = {"HOME": str(home), "WHENCE_DATA_DIR": str(home / "data"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=tree,
        env={**kept, **ours, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def _line(process: subprocess.Popen[str], sent: str) -> str | None:
    """The next line that a process says, after it was sent one; None when it ended."""
    if process.stdin is None or process.stdout is None:
        return None
    if sent:
        print(sent, file=process.stdin, flush=True)
    return process.stdout.readline() or None


# What is looked for.
class Fragments:
    """Every eight characters in a row of what was drawn at random, in all the ways in which they may be written."""

    def __init__(self, planted: Iterable[Planted]) -> None:
        self._of: dict[int, str] = {}
        for one in planted:
            named = f"a part of a secret: {one.kind}, from {one.place}"
            for part in one.parts:
                raw = part.lower().encode()
                for written in (raw, raw[::-1], *_in_base64(part)):
                    self._of |= dict.fromkeys(_windows(written).tolist(), named)
        self._sorted = np.array(sorted(self._of), np.uint64)

    def held_by(self, raw: bytes) -> list[str]:
        """What of it stands in some bytes, or in what is compressed in them."""
        found: dict[str, None] = {}
        for data in (raw, raw.replace(b"\0", b""), *_inflated(raw)):
            there = _windows(data.lower())
            places = np.searchsorted(self._sorted, there)
            places[places == len(self._sorted)] = 0
            hits = there[self._sorted[places] == there] if len(self._sorted) else there[:0]
            found |= dict.fromkeys(self._of[int(hit)] for hit in hits)
        return list(found)


def _windows(data: bytes) -> npt.NDArray[np.uint64]:
    """Every eight bytes in a row, each as one number."""
    if len(data) < SHORTEST_PART:
        return np.zeros(0, np.uint64)
    numbers = np.frombuffer(data, np.uint8).astype(np.uint64)
    many = len(data) - SHORTEST_PART + 1
    found = np.zeros(many, np.uint64)
    for at in range(SHORTEST_PART):
        found |= numbers[at : at + many] << np.uint64(8 * at)
    return found


def _in_base64(part: str) -> Iterator[bytes]:
    """A part as it stands in the middle of something in base 64, for each place where it may begin."""
    import base64  # noqa: PLC0415

    for skipped in range(3):
        yield base64.b64encode(b"\0" * skipped + part.encode()).lower()[4:-4]


def _inflated(raw: bytes) -> Iterator[bytes]:
    """Everything in some bytes that is compressed by zlib or gzip."""
    for begin in (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b\x08"):
        at = raw.find(begin)
        while at >= 0:
            try:
                data = zlib.decompressobj(wbits=47).decompress(raw[at:], _LONGEST_INFLATED)
            except zlib.error:
                data = b""
            if data:
                yield data
            at = raw.find(begin, at + 1)
