"""The search benchmark on disk: repositories, and questions with the files that answer them.

A corpus is a folder with `repos.json` (a list of name, language, url, revision and,
where only a part is indexed, benchmark_root), `repos/NAME` and `annotations/NAME.json`
(a list of query, relevant and secondary targets, category). `whence bench fetch search`
makes one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError

LIST, REPOSITORIES, ANNOTATIONS = "repos.json", "repos", "annotations"


@dataclass(frozen=True, slots=True)
class Task:
    """One question and the files that answer it."""

    query: str
    wanted: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository: the folder to index and the questions about it."""

    name: str
    language: str
    revision: str
    root: Path
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is there, and the names of what is listed and is not."""

    repositories: tuple[Repository, ...]
    missing: tuple[str, ...]


def read_json(path: Path) -> Any:
    """A JSON file of a corpus."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file", hint="whence bench fetch search DIR makes a corpus") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as JSON: {error}") from error


def load(directory: Path, only: tuple[str, ...] = ()) -> Corpus:
    """The corpus in a folder, or the named repositories of it."""
    listed = read_json(directory / LIST)
    try:
        specs = {str(spec["name"]): spec for spec in listed}
        if unknown := [name for name in only if name not in specs]:
            raise UsageError(f"the corpus has no repository {unknown[0]!r}", hint=f"it has {', '.join(specs)}")
        chosen = [spec for name, spec in specs.items() if not only or name in only]
        loaded = {str(spec["name"]): _repository(directory, spec) for spec in chosen}
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{directory}: not laid out as a corpus: {type(error).__name__} {error}") from error
    present = tuple(found for found in loaded.values() if found is not None)
    if not present:
        raise UsageError(f"{directory}: no listed repository is there", hint=f"they belong in {REPOSITORIES}/NAME")
    return Corpus(present, tuple(name for name, found in loaded.items() if found is None))


def _repository(directory: Path, spec: dict[str, Any]) -> Repository | None:
    name = str(spec["name"])
    root = directory / REPOSITORIES / name / (spec.get("benchmark_root") or "")
    annotations = directory / ANNOTATIONS / f"{name}.json"
    if not root.is_dir() or not annotations.is_file():
        return None
    tasks = tuple(_task(item) for item in read_json(annotations))
    return Repository(name, str(spec.get("language", "")), str(spec.get("revision", "")), root, tasks)


def _task(item: dict[str, Any]) -> Task:
    targets = [*item.get("relevant", []), *item.get("secondary", [])]
    query = str(item["query"])
    return Task(query, tuple(_path_of(target) for target in targets), str(item.get("category") or _category(query)))


def _path_of(target: str | dict[str, Any]) -> str:
    path = target if isinstance(target, str) else str(target["path"])
    return path.replace("\\", "/")


def _category(query: str) -> str:
    """Where none is given: a word is a symbol, a question beginning with how is about architecture."""
    if " " not in query.strip():
        return "symbol"
    return "architecture" if query.lower().startswith("how ") else "semantic"
