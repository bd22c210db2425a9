"""A result of every benchmark: measured for real where that takes a moment, and of made figures where it takes minutes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sample_histories import commit
from sample_trees import git, write
from whence.cli.main import main
from whence_bench import report
from whence_bench.agents import run as agents
from whence_bench.faults import running
from whence_bench.faults.part import Part
from whence_bench.fleet import run as fleet
from whence_bench.fleet import scale
from whence_bench.memory import writers
from whence_bench.search import pastes
from whence_bench.search.corpus import Corpus
from whence_bench.speed import run as speed
from whence_bench.speed.harness import Room, Row
from whence_bench.ui import run as ui

FILES = {
    "parser.py": "def parse_config(text):\n    '''Read the settings out of a text.'''\n    return dict(text)\n",
    "network.py": "def open_socket(host):\n    '''Connect to a host over the network.'''\n    return host\n",
    "shapes.py": "class Circle:\n    '''A round shape.'''\n    def area(self):\n        return 3\n",
}
QUESTIONS = [
    {"query": "parse_config", "relevant": ["parser.py"], "category": "symbol"},
    {"query": "connect to a host over the network", "relevant": ["network.py"], "category": "semantic"},
    {"query": "where is a <b>round</b> shape", "relevant": ["shapes.py"], "category": "architecture"},
]
REPOSITORIES = ("ash", "elm")
SAID = ("the ferry was late because of fog", "my sister planted tomatoes", "the violin lesson moved to the church")


def searched(folder: Path) -> Path:
    """A corpus of the search benchmark."""
    for name in REPOSITORIES:
        write(folder / "repos" / name, FILES)
        write(folder, {f"annotations/{name}.json": json.dumps(QUESTIONS)})
    return write(folder, {"repos.json": json.dumps([{"name": name, "language": "python"} for name in REPOSITORIES])})


def tasked(folder: Path) -> Path:
    """A corpus of the context benchmark."""
    wanted = {"Where are the settings read out of a text?": "parse_config", "How does it connect to a host?": "open_socket"}
    for name in REPOSITORIES:
        write(folder / "repos" / name, FILES)
        for number, (text, symbol) in enumerate(wanted.items()):
            task = {"id": f"{name}-{number}", "repo": name, "tier": "easy", "description": text, "ground_truth": [symbol]}
            write(folder, {f"tasks/{name}-{number}.yaml": json.dumps(task)})
    return write(folder, {"repos.json": json.dumps([{"name": name, "language": "Python"} for name in REPOSITORIES])})


def grown(folder: Path) -> Path:
    """A corpus of the history benchmark."""
    for name in REPOSITORIES:
        root = write(folder / name, FILES)
        git("init", "--quiet", cwd=root)
        commit(root, "The first version of the library", 1_600_000_000)
        for number, message in enumerate(("Read the settings of a section, too", "Read every setting of a text only once"), 1):
            write(root, {"parser.py": f"{FILES['parser.py']}\nsection = {number}\n"})
            commit(root, message, 1_600_000_000 + number)
    return folder


def spoken(folder: Path) -> Path:
    """A corpus of the memory benchmark."""

    def conversation(number: int) -> dict[str, Any]:
        sessions = {
            str(at): {"date": f"2:0{at} pm on {at} May, 2023", "turns": [["Ada", f"D{at}:1", f"Hey, {said}!", None]]}
            for at, said in enumerate(SAID, 1)
        }
        asked = [{"question": f"Was it that {said}?", "evidence": [f"D{at}:1"], "category": at} for at, said in enumerate(SAID, 1)]
        return {"id": str(number), "speakers": ["Ada", "Ben"], "sessions": sessions, "qa": asked}

    return write(folder, {"locomo_made.json": json.dumps([conversation(number) for number in range(2)])})


def by_command(name: str, corpus: Callable[[Path], Path], *options: str) -> Callable[[Path], dict[str, Any]]:
    """What a command writes about a corpus."""

    def run(folder: Path) -> dict[str, Any]:
        out = folder / "out.json"
        given = ["--corpus", str(corpus(folder / "corpus")), *options, "--json", str(out)]
        assert main(["bench", name, *given]) == 0
        found: dict[str, Any] = json.loads(out.read_text())
        return found

    return run


def of_memory(folder: Path) -> dict[str, Any]:
    """Questions, many notes and several writers, as one command writes them."""
    found = by_command("memory", spoken, "--learn", "--ablate", "--variants")(folder)
    room = made_room(folder)
    written = writers.Written(6, 5, 5, 5, 2, 2, more=1, broken=0, left_over=0, seconds=0.5, damaged=False)
    return {**found, "load": {**speed.as_json(room), "notes_made": 120, "seed": 1}, "writers": writers.as_json(written)}


def of_agents(folder: Path) -> dict[str, Any]:
    """Made figures: the server and its idle minute are measured elsewhere."""
    reached = [
        agents.Reached(name, category, 500 + 10 * number, 1 + number % 3, 9_000 + number, 40_000 * (1 + number), 12.5 + number, 4.25)
        for number, (name, category) in enumerate((name, one["category"]) for name in REPOSITORIES for one in QUESTIONS)
    ]
    fresh = agents.Fresh(files=3, first_seconds=0.5, first_found=2, whole_seconds=1.5, whole_found=3)
    run = agents.Run(reached, [agents.Idle(101.5, 0.0001)], fresh)
    return report.complete(agents.as_json(run, Corpus((), missing=("gone <b>",))))


def of_pastes(folder: Path) -> dict[str, Any]:
    """A few forms of each kind."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pastes, "FORMS_EACH", 2)
        patched.setattr(pastes, "TRACES", 2)
        return by_command("pastes", searched)(folder)


def made_room(folder: Path) -> Room:
    """What speed is measured in, with made figures."""
    room = Room(folder, [], lambda _: None)
    room.rows += [
        Row("new process", "<= 1 x semble", 0.25, "s CPU", "semble", 0.5, 0.5, kept=True),
        Row("refresh", "<= 1 x git status", 1.5, "s", "git status", 1.0, 1.5, kept=False),
        Row("alone", "", 12345.678, "ms"),
    ]
    room.notes.append("ripgrep is not installed; <b>left out</b>")
    room.raw |= {
        "tree by units": {"units": 12, "settings": [{"name": "search.k", "value": 10, "source": "default"}]},
        "asked": {"cpu": [0.001 * number for number in range(1, 40)], "p50": 20.0},
        "runs": {"ours": {"cpu": 1.0, "wall": 2.0}, "peer": {"cpu": 3.0, "wall": 4.0}},
    }
    return room


def of_ui(folder: Path) -> dict[str, Any]:
    """What the page's own benchmark writes."""
    room = made_room(folder)
    room.raw |= {
        "key presses": [{"query": "<i>" * (number % 3), "milliseconds": 20.0 + number, "overtaken": False} for number in range(30)],
        "frames": {"symbol": "Cart.total", "nodes": 500, "panning": [16.6] * 70, "zooming": [16.6, 33.3, 16.7, 16.6, 16.6]},
        "axe": {"/ light": [], "/ dark": ["color-contrast"]},
    }
    return report.complete(ui.as_json(room))


def of_scale(folder: Path) -> dict[str, Any]:
    """What a fleet of four sizes came to."""
    room = Room(folder, [], lambda _: None)
    known = {one.key: 3.5 for one in scale.QUANTITIES}
    room.raw["samples"] = [{**known, "units": units, "query_wall": 9.0, "sent": 1500.0 * units} for units in (500, 1000, 2000, 4000)]
    scale.predict(room)
    return report.complete(scale.as_json(room))


def of_faults(folder: Path) -> dict[str, Any]:
    """A part that went well, one that did not, and one that was not tried."""
    memory = [100.0 + math.sin(at) for at in range(90)]
    parts = [
        Part(
            "load",
            812,
            (),
            {"http: calls": 812, "http: memory, MB, by the second": memory, "process: memory, MB, by the second": memory[:40]},
        ),
        Part(
            "fuzz",
            2000,
            ("query: <script>alert(1)</script> ended it",),
            {"executions": {"query": 1000, "note": 1000}, "edges": {"query": 9}},
        ),
        Part("kills", 0, (), {}, skipped="there is no strace"),
    ]
    return report.complete(running.as_json(parts, 1))


#: How a result of each benchmark is made.
MAKERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "search": by_command("search", searched),
    "search, ablated": by_command("search", searched, "--ablate"),
    "search, learned": by_command("search", searched, "--learn"),
    "context": by_command("context", tasked),
    "context, ablated": by_command("context", tasked, "--ablate"),
    "context, learned": by_command("context", tasked, "--learn"),
    "history": by_command("history", grown, "--repositories", ",".join(REPOSITORIES)),
    "memory": of_memory,
    "speed": lambda folder: report.complete(speed.as_json(made_room(folder))),
    "scale": of_scale,
    "fleet": lambda folder: report.complete(fleet.as_json(made_room(folder))),
    "ui": of_ui,
    "agents": of_agents,
    "confidence": by_command("confidence", searched),
    "pastes": of_pastes,
    "faults": of_faults,
}
