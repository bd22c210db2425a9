"""What the compilers' own tools say of calls: where each is defined. Answers are stored, for they do not depend on whence."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.graph.enrich.client import (
    LanguageServer,
    ServerError,
    ServerKind,
    Timeouts,
    find_server,
    server_kind,
    start_configuration,
    start_options,
)
from whence.graph.enrich.definitions import DefinitionLookup, Outline, Outlines
from whence_bench.graph.call_sites import CallSite, call_sites

#: The families of languages that a server answers for.
FAMILIES = ("python", "typescript", "go", "c", "rust")
SEED = 20
MOST_BYTES = 1_000_000
#: A server that has loaded a project answers in milliseconds; one that was given up on says nothing more.
PATIENCE = Timeouts(start=180.0, answer=90.0)
_MODULE = re.compile(r"(?m)^module\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A definition: the bytes where its name begins and ends do not change with whence's units."""

    path: str
    at: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said of one call."""

    name: str
    at: int
    known: bool  # whether it said anything
    places: tuple[Place, ...]  # inside the repository; none if the definition is outside


Answers = dict[str, list[Answer]]  # by path


@dataclass(frozen=True, slots=True)
class Sample:
    """Which files are asked about, and for how long."""

    files: int
    seconds: float


def answers_of(
    root: Path, languages: Mapping[str, str], family: str, sample: Sample, stored: Path | None, command: str, warn: Callable[[str], None]
) -> Answers:
    """Answers for some files of one family of languages, as stored or from the server."""
    kind = server_kind(family)
    outlines = Outlines(root, languages, MOST_BYTES)
    paths = sampled([path for path, language in languages.items() if language in kind.languages], sample.files)
    file = stored / f"{root.name}-{family}.json" if stored else None
    known = _stored(file)
    found: Answers = {}
    missing = []
    for path in paths:
        outline = outlines.outline(path)
        if outline is None:
            continue
        digest = hashlib.sha256(outline.text).hexdigest()
        if path in known and known[path]["text"] == digest:
            found[path] = [
                Answer(one["name"], one["at"], one["known"], tuple(Place(**place) for place in one["places"]))
                for one in known[path]["answers"]
            ]
        elif sites := call_sites(outline.text, outline.language):
            missing.append((outline, digest, sites))
    if missing:
        try:
            with TemporaryDirectory(prefix="whence-bench-") as temporary:
                place = _without_modules(root, Path(temporary)) if family == "go" else root
                asked = _ask(place, kind, Outlines(place, languages, MOST_BYTES), missing, sample.seconds, command)
        except ServerError as error:
            warn(f"{root.name}: {family} is left out: {error.message}")
            asked = {}
        found |= {path: answers for path, (_, answers) in asked.items()}
        known |= {path: {"text": digest, "answers": [asdict(one) for one in answers]} for path, (digest, answers) in asked.items()}
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(known), encoding="utf-8")
    return found


def _without_modules(root: Path, place: Path) -> Path:
    """A copy of the Go files where Go looked before there were modules: one that cannot be fetched then fails alone."""
    found = _MODULE.search((root / "go.mod").read_text("utf-8")) if (root / "go.mod").is_file() else None
    copy = place / "src" / (found[1] if found else root.name)
    for file in root.rglob("*.go"):
        (copy / file.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy / file.relative_to(root))
    os.environ.update(GO111MODULE="off", GOPATH=str(place), GOPROXY="off", GOFLAGS="")
    return copy


def sampled(paths: Sequence[str], most: int) -> list[str]:
    """So many of the paths, the same ones at every run."""
    chosen = sorted(paths)
    random.Random(SEED).shuffle(chosen)
    return sorted(chosen[:most])


def _stored(file: Path | None) -> dict[str, Any]:
    if file is None or not file.is_file():
        return {}
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return known


def _ask(
    root: Path, kind: ServerKind, outlines: Outlines, files: Sequence[tuple[Outline, str, Sequence[CallSite]]], seconds: float, command: str
) -> dict[str, tuple[str, list[Answer]]]:
    """The answers to all calls of some files, until the time is over."""
    began, found = time.monotonic(), {}
    with LanguageServer(
        find_server(kind, root, command),
        root,
        configuration=start_configuration(kind, outlines.languages),
        options=start_options(kind, root),
        patience=PATIENCE,
    ) as server:
        lookup = DefinitionLookup(server, outlines)
        for outline, digest, sites in files:
            if time.monotonic() - began > seconds:
                break
            answers = lookup.definitions(outline, [site.at for site in sites])
            found[outline.path] = (digest, [_answer(outlines, site, answer) for site, answer in zip(sites, answers, strict=True)])
    return found


def _answer(outlines: Outlines, site: CallSite, answer: Any) -> Answer:
    given = [one for one in (answer if isinstance(answer, list) else [answer]) if isinstance(one, dict)]
    places = [place for one in given if (place := _place(outlines, one)) is not None]
    return Answer(site.name, site.at, bool(given), tuple(dict.fromkeys(places)))


def _place(outlines: Outlines, place: dict[str, Any]) -> Place | None:
    outline = outlines.at_address(place.get("targetUri", place.get("uri")))
    start = place.get("targetSelectionRange", place.get("range", {})).get("start", {})
    if outline is None:
        return None
    byte = outline.places.byte(start.get("line", -1), start.get("character", -1))
    return None if byte is None else Place(outline.path, byte)
