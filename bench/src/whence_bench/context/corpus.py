"""The context benchmark on disk: repositories, and tasks with the symbols that each of them needs.

A corpus is a folder with `repos.json` (a list of name, language, url and revision), `repos/NAME`
and `tasks/**.yaml` (id, repo, tier, description, ground_truth). Which repository a task is
about stands in the task, not in its path. `whence bench fetch context` makes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.core.errors import UsageError
from whence_bench.search.corpus import LIST, REPOSITORIES, read_json

TASKS = "tasks"


@dataclass(frozen=True, slots=True)
class ContextTask:
    """One task and the symbols it needs."""

    name: str
    tier: str
    description: str
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextRepository:
    """One repository: the folder to index, all of it, and the tasks in it."""

    name: str
    language: str
    revision: str
    root: Path
    tasks: tuple[ContextTask, ...]


@dataclass(frozen=True, slots=True)
class ContextCorpus:
    """What is there, and the names of what is listed and is not."""

    repositories: tuple[ContextRepository, ...]
    missing: tuple[str, ...]


def read_yaml(path: Path) -> Any:
    """A YAML file of a corpus."""
    import yaml  # noqa: PLC0415  -- only where tasks are read

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"{path}: cannot be read as YAML: {line}") from error


def load(directory: Path, only: tuple[str, ...] = ()) -> ContextCorpus:
    """The corpus in a folder, or the named repositories of it."""
    if not (directory / LIST).is_file():
        raise UsageError(f"{directory / LIST}: no such file", hint="whence bench fetch context DIR makes a corpus")
    listed = read_json(directory / LIST)
    try:
        specs = {str(spec["name"]): spec for spec in listed}
    except (KeyError, TypeError) as error:
        raise UsageError(f"{directory / LIST}: not a list of repositories with names") from error
    if unknown := [name for name in only if name not in specs]:
        raise UsageError(f"the corpus has no repository {unknown[0]!r}", hint=f"it has {', '.join(specs)}")
    tasks = _tasks(directory / TASKS)
    chosen = [name for name in specs if not only or name in only]
    there = [name for name in chosen if (directory / REPOSITORIES / name).is_dir() and name in tasks]
    if not there:
        raise UsageError(f"{directory}: no listed repository is there with tasks", hint=f"they belong in {REPOSITORIES}/NAME and {TASKS}/")
    return ContextCorpus(
        tuple(_repository(directory, specs[name], tasks[name]) for name in there), tuple(name for name in chosen if name not in there)
    )


def _repository(directory: Path, spec: dict[str, Any], tasks: list[ContextTask]) -> ContextRepository:
    name = str(spec["name"])
    return ContextRepository(
        name, str(spec.get("language", "")), str(spec.get("revision", "")), directory / REPOSITORIES / name, tuple(tasks)
    )


def _tasks(folder: Path) -> dict[str, list[ContextTask]]:
    """All tasks by the repository they are about, in the order of their names."""
    found: dict[str, list[ContextTask]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        item = read_yaml(path)
        try:
            wanted = tuple(str(name) for name in item["ground_truth"])
            task = ContextTask(str(item["id"]), str(item["tier"]), str(item["description"]), wanted)
            found.setdefault(str(item["repo"]), []).append(task)
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path}: not a task: {type(error).__name__} {error}") from error
    return {repository: sorted(tasks, key=lambda task: task.name) for repository, tasks in found.items()}
