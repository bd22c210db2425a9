"""`whence bench fetch`: obtain the public data of a benchmark, repositories at their pinned revisions (B1).

The search and context benchmarks need one revision of each repository, the history benchmark all that came before it.
The memory benchmark is one file, published under CC BY-NC 4.0: for measuring, and never part of whence.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.core.errors import StorageError, UsageError
from whence_bench.context.corpus import TASKS, read_yaml
from whence_bench.memory.corpus import converted
from whence_bench.search.corpus import ANNOTATIONS, LIST, REPOSITORIES, read_json

#: Where the list of the search benchmark is published.
SEARCH_LIST = "https://github.com/MinishLab/semble"
#: Where in that repository the list and the questions are.
FOLDER = "benchmarks"
#: Where the tasks of the context benchmark are published, and where in that repository they and the list of repositories are.
CONTEXT_LIST = "https://github.com/blackwell-systems/knowing"
CONTEXT_FOLDER, MANIFEST = "bench/cross-system/corpus", "MANIFEST.yaml"
#: Where the repositories of the history benchmark are published.
HISTORY_HOST = "https://github.com"
#: They, with the last commit of each that is asked about. Chosen for their languages, for having some fifty source files or
#: more, and for what a question costs: the tree moves from commit to commit, which in larger ones takes many seconds.
HISTORIES = {
    "abseil/abseil-cpp": "926f1d05a4f85663e4ca057f70f1a7f0a7d6b762",
    "caddyserver/caddy": "0cf03d32f7d99cf160d5375e8a40fbe3d910d515",
    "colinhacks/zod": "e516c3baf22615e20934116abebfed6c000222c2",
    "google/gson": "9835b6f90192f79cdf5300c528fc6212455fb6c1",
    "http4s/http4s": "95ece6c737c835587caf14658dee22862f46a28d",
    "jekyll/jekyll": "202df571314ba1d18e9fccd81d12aaad4a703c38",
    "jgm/pandoc": "0a9a2f261510322ee5a33a2a7facce54b8a718ec",
    "Kotlin/kotlinx.coroutines": "792ac67bdcd5592e5764753e623a9e8c6e4bcb29",
    "libuv/libuv": "6179e7af87413396d5853a1c3722c8b5749336c8",
    "mirage/ocaml-cohttp": "7b77cc7f18778967cbe3f64742290f268782fb7d",
    "mojolicious/mojo": "b4de430651b722f560b1577da9018e3f402d96ab",
    "nvim-telescope/telescope.nvim": "7d324792b7943e4aa16ad007212e6acc6f9fe335",
    "pallets/flask": "2ac89889f4cc330eabd50f295dcef02828522c69",
    "phoenixframework/phoenix": "167c46950cf53aef363d672687cc653267c20aa6",
    "r-lib/usethis": "5f60819dc5dee7071d6e67cfa1fd934bb665466c",
    "rust-lang/cargo": "af373f761aa4e42b093c2e453078fd73c8ce54dd",
    "Seldaek/monolog": "57eb1028342134e701e77c617565d51b6e5a2a53",
    "sinatra/sinatra": "cb22afd7902b566b6eaba6c4ea89739494a65d12",
    "ThreeMammals/Ocelot": "30c2e08e20c096f8c8328827edfb99f4e0628fdb",
    "vapor/vapor": "13efaeefd52a965009fc6a69a96ba66e7f20402e",
}
#: Where the conversations of the memory benchmark are published, at which commit, and what the file becomes.
MEMORY_SOURCE, MEMORY_REVISION = "https://github.com/snap-research/locomo", "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376"
MEMORY_FILE, MEMORY_CORPUS = "data/locomo10.json", "locomo.json"
FETCHABLE = ("search", "context", "history", "memory")

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: A commit, perhaps cut short: one list has such.
_REVISION = re.compile(r"[0-9a-f]{7,40}|[0-9a-f]{64}")
#: The list is data from elsewhere: git may not run a command of its choosing, nor ask for a password.
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
#: Variables that would send git to another repository than the one it is called in.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR")
_CONFIGURED = (("safe.directory", "*"), ("core.hooksPath", os.devnull), ("core.logAllRefUpdates", "false"), ("core.autocrlf", "false"))
_PLAIN = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": str(len(_CONFIGURED)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(_CONFIGURED)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(_CONFIGURED)},
}

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class History:
    """A git repository, bare or with a work tree, and the last commit of it that counts."""

    name: str
    path: Path
    revision: str = "HEAD"  # empty: it has no commit


@dataclass(frozen=True, slots=True)
class Fetched:
    """Names of repositories that are in place, and of those that could not be had, with the reason."""

    there: list[str]
    failed: dict[str, str]


class GitError(StorageError):
    """A git command failed."""


def git(*arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Run git, without any shell, and return what it printed."""
    inherited = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd,
            env={**inherited, **_ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise GitError(f"git {arguments[0]} failed: {said[-1]}")
    return done.stdout


def plain_git(*arguments: str, cwd: Path) -> str:
    """Run git on anybody's repository: no hook of it and no configuration of the user's has a part in it."""
    return git(*arguments, cwd=cwd, environment=_PLAIN)


def fetch(what: str, directory: Path, source: str | None, tell: Tell) -> Fetched:
    """Fetch a benchmark by its name, from where it is published or from another source."""
    if what not in FETCHABLE:
        raise UsageError(f"there is no benchmark {what!r} to fetch", hint=f"allowed: {', '.join(FETCHABLE)}")
    if what == "history":
        return fetch_history(directory, source or HISTORY_HOST, tell)
    if what == "memory":
        return fetch_memory(directory, source or MEMORY_SOURCE, tell)
    if what == "context":
        return fetch_context(directory, source or CONTEXT_LIST, tell)
    return fetch_search(directory, source or SEARCH_LIST, tell)


def fetch_history(directory: Path, source: str, tell: Tell, listed: Mapping[str, str] = HISTORIES) -> Fetched:
    """Clone repositories with all of their history, without work trees. What is there already is kept."""
    there: list[str] = []
    failed: dict[str, str] = {}
    directory.mkdir(parents=True, exist_ok=True)
    for name, revision in listed.items():
        try:
            _place_history(directory / folder_of(name), f"{source}/{name}", revision, tell)
            there.append(name)
        except GitError as error:
            failed[name] = error.message
    return Fetched(there, failed)


def folder_of(name: str) -> str:
    """The folder of a repository that is called OWNER/NAME."""
    return name.replace("/", "+")


def _place_history(target: Path, url: str, revision: str, tell: Tell) -> None:
    """Clone a repository; the folder gets its name when it is complete. One that lacks the revision is another's, and stays."""
    if not target.exists():
        tell(f"{target.name} with its history")
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        git("clone", "--quiet", "--bare", "--", url, str(part))
        part.rename(target)
    try:
        git("cat-file", "-e", f"{revision}^{{commit}}", cwd=target)
    except GitError as error:
        raise GitError(f"{target} does not hold {revision[:12]}") from error


def fetch_search(directory: Path, source: str, tell: Tell) -> Fetched:
    """Lay out the search benchmark in a folder. What is there already is kept."""
    with _published(source, tell) as published:
        specs = [_checked(spec) for spec in read_json(published / FOLDER / LIST)]
        _begin(directory, specs)
        (directory / ANNOTATIONS).mkdir(exist_ok=True)
        for spec in specs:
            questions = published / FOLDER / ANNOTATIONS / f"{spec['name']}.json"
            if questions.is_file():
                shutil.copyfile(questions, directory / ANNOTATIONS / questions.name)
    return _place_all(directory, specs, tell)


def fetch_context(directory: Path, source: str, tell: Tell) -> Fetched:
    """Lay out the context benchmark in a folder. What is there already is kept."""
    with _published(source, tell) as published:
        specs = [_checked(spec) for spec in _manifest(published / CONTEXT_FOLDER / MANIFEST)]
        _begin(directory, specs)
        tasks = published / CONTEXT_FOLDER / TASKS
        for task in tasks.rglob("*.yaml"):
            target = directory / TASKS / task.relative_to(tasks)
            if task.is_file() and not task.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(task, target)
    return _place_all(directory, specs, tell)


def fetch_memory(directory: Path, source: str, tell: Tell, revision: str = MEMORY_REVISION) -> Fetched:
    """Lay out the memory benchmark in a folder: one file. What is there already is kept."""
    target = directory / MEMORY_CORPUS
    if not target.exists():
        with TemporaryDirectory(prefix="whence-bench-") as temporary:
            published = Path(temporary) / "published"
            try:
                _place(published, source, revision, tell)
            except GitError as error:
                return Fetched([], {source: error.message})
            found = converted(read_json(published / MEMORY_FILE))
        directory.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        part.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(target)
    return Fetched([MEMORY_CORPUS], {})


def _manifest(path: Path) -> list[dict[str, Any]]:
    """The list of the context benchmark in the words of the search benchmark's."""
    try:
        return [
            {"name": spec["name"], "language": spec.get("language", ""), "url": spec["url"], "revision": str(spec["commit"])}
            for spec in read_yaml(path)["repos"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path.name}: not a list of repositories: {type(error).__name__} {error}") from error


@contextmanager
def _published(source: str, tell: Tell) -> Iterator[Path]:
    """A repository that publishes a benchmark, for as long as something is copied from it."""
    with TemporaryDirectory(prefix="whence-bench-") as temporary:
        published = Path(temporary) / "list"
        tell(f"the list, from {source}")
        git("clone", "--quiet", "--depth", "1", "--", source, str(published))
        yield published


def _begin(directory: Path, specs: list[dict[str, Any]]) -> None:
    """Make the folder of a corpus, if no other corpus is there."""
    _keep_apart(directory, specs)
    (directory / REPOSITORIES).mkdir(parents=True, exist_ok=True)
    (directory / LIST).write_text(json.dumps(specs, indent=2) + "\n", encoding="utf-8")


def _place_all(directory: Path, specs: list[dict[str, Any]], tell: Tell) -> Fetched:
    there: list[str] = []
    failed: dict[str, str] = {}
    for spec in specs:
        try:
            _place(directory / REPOSITORIES / spec["name"], spec["url"], spec["revision"], tell)
            there.append(spec["name"])
        except GitError as error:
            failed[spec["name"]] = error.message
    return Fetched(there, failed)


def histories_in(directory: Path, only: Sequence[str] = ()) -> tuple[list[History], list[str]]:
    """The named repositories of a folder (else the listed ones, else all), and the listed ones that are not there."""
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such folder", hint="whence bench fetch history DIR makes one")
    places = dict(_repositories_in(directory))
    listed = [name for name in HISTORIES if name in places]
    names = [_named(name, [*listed, *places], directory) for name in only] or listed or list(places)
    missing = [name for name in HISTORIES if name not in places] if names == listed else []
    return [History(name, places[name], _revision(name, places[name])) for name in names], missing


def _repositories_in(directory: Path) -> Iterator[tuple[str, Path]]:
    """The repositories in a folder, or one below that; OWNER+NAME is the folder of OWNER/NAME."""
    for place in sorted(entry for entry in directory.iterdir() if entry.is_dir()):
        within = [place] if _is_repository(place) else [below for below in sorted(place.iterdir()) if _is_repository(below)]
        for path in within:
            folder = place.name if path == place or "+" in place.name else f"{place.name}+{path.name}"
            yield folder.replace("+", "/", 1).removesuffix(".git"), path


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def _named(asked: str, known: Sequence[str], directory: Path) -> str:
    """The repository of a name, with or without its owner."""
    for name in known:
        if asked in (name, name.rpartition("/")[2]):
            return name
    raise UsageError(f"{directory} has no repository {asked!r}", hint=f"it has {', '.join(sorted(set(known))) or 'none'}")


def _revision(name: str, path: Path) -> str:
    """The pinned commit of a listed repository where it is there, else the last one; empty where there is none."""
    for revision in filter(None, (HISTORIES.get(name), "HEAD")):
        with suppress(GitError):
            return plain_git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", cwd=path).strip()
    return ""


def _checked(spec: dict[str, Any]) -> dict[str, Any]:
    """A line of the list, if it can be used without harm."""
    name, url, revision = (str(spec.get(key, "")) for key in ("name", "url", "revision"))
    root = str(spec.get("benchmark_root") or "")
    if not _PLAIN_NAME.fullmatch(name) or not url or url.startswith("-") or not _REVISION.fullmatch(revision):
        raise UsageError(f"the list has a repository that cannot be used: {name!r}, {url!r}, {revision!r}")
    if root.startswith("/") or ".." in root.split("/"):
        raise UsageError(f"the list wants a folder outside of {name!r}: {root!r}")
    return spec


def _keep_apart(directory: Path, specs: list[dict[str, Any]]) -> None:
    """Refuse a folder that holds another corpus: two lists in one folder would give figures of neither."""
    if (directory / LIST).exists() and read_json(directory / LIST) != specs:
        raise UsageError(f"{directory} holds another corpus", hint="give an empty folder")


def _place(target: Path, url: str, revision: str, tell: Tell) -> None:
    """Clone at a revision. The folder gets its name when it is complete, so a cut-off clone is never taken for one."""
    if target.exists():
        if (target / ".git").exists() and git("rev-parse", "HEAD", cwd=target).startswith(revision):
            return
        raise GitError(f"{target} is there and is not at {revision[:12]}; move it away")
    tell(f"{target.name} at {revision[:12]}")
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    git("init", "--quiet", cwd=part)
    git("config", "core.autocrlf", "false", cwd=part)
    try:
        git("fetch", "--quiet", "--depth", "1", "--", url, revision, cwd=part)
    except GitError:  # a server that gives no single commit gives all of them
        git("fetch", "--quiet", "--tags", "--", url, "+refs/heads/*:refs/remotes/origin/*", cwd=part)
    git("checkout", "--quiet", "--detach", revision, cwd=part)
    part.rename(target)
